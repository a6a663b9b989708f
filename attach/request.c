/* request.c - writes a request into a process, wakes it, and reads what comes of it.
 *
 *   I1  The number is written last, so what is read with it is whole, wherever the reader ends.
 *   I2  Nothing is written while the process does what an earlier reader has asked for.
 *   I3  A request that no reader waits for any more is not begun: it has a time, after which the
 *       process refuses it.
 *   I4  Nothing is written into a child of a fork before it has forgotten its parent's requests: it
 *       would forget this one, too.
 *   I5  Only an eventfd is written to, whatever the target says that its number is.
 */
#ifndef _GNU_SOURCE
# define _GNU_SOURCE
#endif
#include "attach/request.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "attach/status.h"
#include "os/clock.h"

enum { REQUEST_MOST = 16384 }; /* bytes */

#define WAKE_EVERY_NS INT64_C(500000000)
#define WAKE_STOP_NS  UINT64_C(100000000)

static const struct attach_want wants[] = {
#define WANT(kind, member, name) ATTACH_WANT_##kind(struct attach_request, member, name),
    ATTACH_WANT_CONTRACT(struct attach_request, contract, "requests", 2),
    ATTACH_WANT_GLOBAL(struct attach_request, place, "rb_heapprof_request", 1),
    ATTACH_WANT_GLOBAL(struct attach_request, comm_fds, "timer_th.comm_fds", 2 * sizeof(int)),
    ATTACH_WANT_GLOBAL(struct attach_request, event_fd, "timer_th.event_fd", sizeof(int)),
    WANT(TYPE, bytes, "heapprof_request")
    WANT(CONSTANT, open_door, "HEAPPROF_DOOR_OPEN")
    WANT(CONSTANT, locked_door, "HEAPPROF_DOOR_LOCKED")
    WANT(NUMBER, asked, "heapprof_request.asked")
    WANT(NUMBER, what, "heapprof_request.what")
    WANT(NUMBER, until, "heapprof_request.until_ns")
    WANT(NUMBER, term, "heapprof_request.for_ms")
    ATTACH_WANT_BYTES(struct attach_request, text, "heapprof_request.text", 1),
    WANT(NUMBER, pid, "heapprof_request.pid")
    WANT(NUMBER, door, "heapprof_request.door")
    WANT(NUMBER, heard, "heapprof_request.heard")
    WANT(NUMBER, taken, "heapprof_request.taken")
    WANT(NUMBER, answered, "heapprof_request.answered")
    WANT(NUMBER, done, "heapprof_request.done")
    ATTACH_WANT_BYTES(struct attach_request, answer_text, "heapprof_request.answer", 1),
#undef WANT
};

static bool
read_request(struct attach_request *request, unsigned char copy[REQUEST_MOST])
{
    return attach_target_read(request->vm->target, request->place.address, copy, request->bytes);
}

/* ---- the lock, and the door ---- */

static bool
fill(struct attach_request *request, char error[ATTACH_TARGET_ERROR_MAX])
{
    struct attach_target *target = request->vm->target;

    if (attach_layout_fill(request->vm->layout, wants, sizeof(wants) / sizeof(*wants), request,
                           error) &&
        request->bytes <= REQUEST_MOST && request->bytes <= request->place.size &&
        request->text.size >= ATTACH_REQUEST_TEXT_MAX &&
        request->answer_text.size <= sizeof(request->answer))
        return true;
    attach_target_say(target, error,
                      "its ruby is of another version than this heapprof, and cannot be asked");
    return false;
}

/* A file of the kernel's that only those may open who may trace the process: each reader locks the
 * same one, and no other user can. */
static bool
lock(struct attach_request *request)
{
    char path[32];

    snprintf(path, sizeof(path), "/proc/%d/mem", (int)request->vm->target->pid);
    request->lock = open(path, O_RDONLY | O_CLOEXEC);
    return request->lock >= 0 && flock(request->lock, LOCK_EX | LOCK_NB) == 0;
}

static enum attach_request_lock
look_at_door(struct attach_request *request, const unsigned char *copy,
             char error[ATTACH_TARGET_ERROR_MAX])
{
    int64_t door = (int64_t)attach_field_get(&request->door, copy);
    struct attach_target *target = request->vm->target;

    if (door == request->open_door) return ATTACH_REQUEST_OPEN;
    if (door != request->locked_door) {
        attach_target_say(target, error, "its ruby has not started yet");
        return ATTACH_REQUEST_BUSY;
    }
    attach_target_say(target, error,
                      "it was started with RUBY_HEAPPROF=locked, and takes no requests");
    return ATTACH_REQUEST_IMPOSSIBLE;
}

/* I4 */
static bool
own_p(const struct attach_request *request, const unsigned char *copy)
{
    char status[ATTACH_STATUS_MAX];
    pid_t pid = request->vm->target->pid;

    return attach_status_read(pid, pid, status) &&
           attach_field_get(&request->pid, copy) == (uint64_t)attach_status_inner(status, pid);
}

/* An earlier request whose reader has ended is withdrawn. Returns false if the process does it. */
static bool
free_p(struct attach_request *request, const unsigned char *copy)
{
    request->number = (uint32_t)attach_field_get(&request->asked, copy);
    return attach_field_get(&request->answered, copy) == request->number ||
           attach_request_withdraw(request);
}

enum attach_request_lock
attach_request_open(struct attach_request *request, struct attach_vm *vm,
                    char error[ATTACH_TARGET_ERROR_MAX])
{
    unsigned char copy[REQUEST_MOST];

    *request = (struct attach_request){.vm = vm, .lock = -1};
    if (!fill(request, error)) return ATTACH_REQUEST_IMPOSSIBLE;
    attach_target_say(vm->target, error,
                      "another heapprof asks it for something; try again when that has ended");
    if (!lock(request)) return ATTACH_REQUEST_BUSY;
    if (vm->target->borrows || !read_request(request, copy)) {
        attach_target_say(vm->target, error, "it has ended, or begins another program");
        return ATTACH_REQUEST_IMPOSSIBLE;
    }
    enum attach_request_lock door = look_at_door(request, copy, error);
    if (door != ATTACH_REQUEST_OPEN) return door;
    if (!own_p(request, copy)) {
        attach_target_say(vm->target, error, "it was forked, and its ruby has not noticed yet");
        return ATTACH_REQUEST_BUSY;
    }
    return free_p(request, copy) ? ATTACH_REQUEST_OPEN : ATTACH_REQUEST_BUSY;
}

void
attach_request_close(struct attach_request *request)
{
    if (request->lock >= 0) close(request->lock);
    request->lock = -1;
}

/* ---- waking its timer thread ---- */

static bool
eventfd_p(int fd)
{
    static const char expected[] = "anon_inode:[eventfd]";
    char path[32], name[64];

    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    ssize_t length = readlink(path, name, sizeof(name));
    return length == (ssize_t)sizeof(expected) - 1 && !memcmp(name, expected, (size_t)length);
}

/* I5 */
static bool
ring_eventfd(const struct attach_target *target, int number)
{
    const uint64_t one = 1;
    int fd = (int)syscall(SYS_pidfd_getfd, target->end_fd, number, 0);
    bool rung = fd >= 0 && eventfd_p(fd) && write(fd, &one, sizeof(one)) == sizeof(one);

    if (fd >= 0) close(fd);
    return rung;
}

/* Whether this thread waits in epoll_wait for that descriptor. */
static bool
polls_p(pid_t pid, pid_t tid, int number)
{
    char path[64];
    long call = -1;
    unsigned long fd = 0;

    snprintf(path, sizeof(path), "/proc/%d/task/%d/syscall", (int)pid, (int)tid);
    FILE *file = fopen(path, "re");
    int got = file ? fscanf(file, "%ld %lx", &call, &fd) : 0;
    if (file) fclose(file);
#ifdef SYS_epoll_wait
    if (call == SYS_epoll_wait) call = SYS_epoll_pwait;
#endif
    return got == 2 && call == SYS_epoll_pwait && fd == (unsigned long)number;
}

/* Where pidfd_getfd is forbidden, as in containers: a stop of a moment has epoll_wait return, which
 * the timer thread takes for a signal. */
static void
interrupt_poll(struct attach_target *target, int number)
{
    struct attach_stop *stop = attach_stop_new(target->pid);

    for (size_t i = 0; stop && attach_target_threads(target) && i < target->thread_count; i++) {
        if (!polls_p(target->pid, target->threads[i].tid, number)) continue;
        attach_stop_thread(stop, target->threads[i].tid, WAKE_STOP_NS);
        break;
    }
    attach_stop_free(stop);
}

static void
wake(struct attach_request *request)
{
    struct attach_target *target = request->vm->target;
    int fds[2];
    uint64_t poll;

    request->wake_ns = rb_heapprof_clock_ns(CLOCK_MONOTONIC) + WAKE_EVERY_NS;
    if (attach_target_read(target, request->comm_fds.address, fds, sizeof(fds)) &&
        !ring_eventfd(target, fds[1]) && attach_global_read(target, &request->event_fd, &poll))
        interrupt_poll(target, (int)poll);
}

/* ---- sending ---- */

static bool
write_number(struct attach_request *request, const struct attach_field *field, uint64_t value)
{
    return attach_target_write(request->vm->target, request->place.address + field->offset, &value,
                               field->size);
}

bool
attach_request_send(struct attach_request *request, enum attach_request_what what,
                    const char *text, int64_t limit_ns, uint64_t for_ms,
                    char error[ATTACH_TARGET_ERROR_MAX])
{
    struct attach_target *target = request->vm->target;
    int64_t until = rb_heapprof_clock_ns(CLOCK_MONOTONIC) + limit_ns;
    size_t length = strlen(text) + 1;

    if (length > ATTACH_REQUEST_TEXT_MAX) {
        attach_target_say(target, error, "the request is too long");
        return false;
    }
    request->number++;
    request->state = ATTACH_REQUEST_ASKED;
    if (write_number(request, &request->what, what) &&
        write_number(request, &request->until, (uint64_t)until) &&
        write_number(request, &request->term, for_ms) &&
        attach_target_write(target, request->place.address + request->text.offset, text, length) &&
        write_number(request, &request->asked, request->number)) {
        wake(request);
        return true;
    }
    attach_target_say(target, error, "it cannot be written to: %s", strerror(errno));
    return false;
}

/* ---- following ---- */

/* Reads again, now that the answer is complete. */
static void
take_answer(struct attach_request *request, unsigned char copy[REQUEST_MOST])
{
    size_t bytes = request->answer_text.size;

    if (!read_request(request, copy)) return;
    memcpy(request->answer, copy + request->answer_text.offset, bytes);
    request->answer[bytes - 1] = '\0';
    for (char *c = request->answer; *c; c++) {
        if ((unsigned char)*c < 0x20 || *c == 0x7f) *c = '?'; /* it is shown on a terminal */
    }
    request->state =
        attach_field_get(&request->done, copy) ? ATTACH_REQUEST_DONE : ATTACH_REQUEST_REFUSED;
}

enum attach_request_state
attach_request_look(struct attach_request *request)
{
    unsigned char copy[REQUEST_MOST];

    if (request->state >= ATTACH_REQUEST_DONE) return request->state;
    if (!read_request(request, copy) ||
        attach_target_state(request->vm->target) != ATTACH_TARGET_SAME)
        request->state = ATTACH_REQUEST_ENDED;
    else if (attach_field_get(&request->answered, copy) == request->number)
        take_answer(request, copy);
    else if (attach_field_get(&request->taken, copy) == request->number)
        request->state = ATTACH_REQUEST_TAKEN;
    else if (attach_field_get(&request->heard, copy) == request->number)
        request->state = ATTACH_REQUEST_HEARD;
    else if (rb_heapprof_clock_ns(CLOCK_MONOTONIC) >= request->wake_ns) wake(request);
    return request->state;
}

bool
attach_request_withdraw(struct attach_request *request)
{
    unsigned char copy[REQUEST_MOST];

    return write_number(request, &request->until, 0) && read_request(request, copy) &&
           attach_field_get(&request->taken, copy) != request->number;
}
