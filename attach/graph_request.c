/* graph_request.c - asks a process for a dump of its object graph. */
#include "attach/graph_request.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "attach/status.h"
#include "os/signals.h"

enum { ASKED_MOST = 16384, SHARED_MOST = 256 }; /* bytes */

static const struct heapprof_want wants[] = {
#define WANT(kind, member, name) HEAPPROF_WANT_##kind(struct heapprof_graph_request, member, name),
    HEAPPROF_WANT_GLOBAL(struct heapprof_graph_request, asked, "rb_heapprof_graph_asked", 1),
    WANT(TYPE, asked_bytes, "heapprof_graph_asked")
    WANT(NUMBER, signal, "heapprof_graph_asked.signal")
    WANT(NUMBER, answers, "heapprof_graph_asked.answers")
    WANT(NUMBER, begun, "heapprof_graph_asked.begun")
    WANT(NUMBER, child, "heapprof_graph_asked.child")
    WANT(NUMBER, shared, "heapprof_graph_asked.shared")
    HEAPPROF_WANT_BYTES(struct heapprof_graph_request, text, "heapprof_graph_asked.answer", 1),
    WANT(TYPE, shared_bytes, "heapprof_graph_shared")
    WANT(NUMBER, pause, "heapprof_graph_shared.pause_ns")
    WANT(NUMBER, bytes, "heapprof_graph_shared.bytes")
    WANT(NUMBER, error, "heapprof_graph_shared.error")
    WANT(NUMBER, done, "heapprof_graph_shared.done")
#undef WANT
};

static bool
read_asked(struct heapprof_graph_request *request, unsigned char copy[ASKED_MOST])
{
    return rb_heapprof_target_read(request->vm->target, request->asked.address, copy, request->asked_bytes);
}

/* ---- asking ---- */

bool
rb_heapprof_graph_request_stopped_p(const struct heapprof_graph_request *request)
{
    char status[HEAPPROF_STATUS_MAX];
    pid_t pid = request->vm->target->pid;
    char state = rb_heapprof_status_read(pid, pid, status) ? rb_heapprof_status_state(status) : '\0';

    return state == 'T' || state == 't';
}

/* A signal that nobody handles might end it. */
static bool
handled_p(pid_t pid, int signal)
{
    char status[HEAPPROF_STATUS_MAX];
    const char *caught = rb_heapprof_status_read(pid, pid, status) ? rb_heapprof_status_line(status, "\nSigCgt:") : NULL;

    return caught && strtoull(caught, NULL, 16) >> (signal - 1) & 1;
}

static bool
fill(struct heapprof_graph_request *request, char error[HEAPPROF_TARGET_ERROR_MAX])
{
    if (!rb_heapprof_layout_fill(request->vm->layout, wants, sizeof(wants) / sizeof(*wants), request, error)) return false;
    if (request->asked_bytes <= ASKED_MOST && request->asked_bytes <= request->asked.size &&
        request->shared_bytes <= SHARED_MOST && request->text.size <= sizeof(request->answer)) return true;
    rb_heapprof_target_say(request->vm->target, error, "it is another version of this ruby");
    return false;
}

bool
rb_heapprof_graph_request_send(struct heapprof_graph_request *request, struct heapprof_vm *vm,
                               char error[HEAPPROF_TARGET_ERROR_MAX])
{
    struct heapprof_target *target = vm->target;
    unsigned char copy[ASKED_MOST];

    *request = (struct heapprof_graph_request){.vm = vm};
    if (!fill(request, error)) return false;
    if (!read_asked(request, copy)) {
        rb_heapprof_target_say(target, error, "it has ended");
        return false;
    }
    uint64_t number = rb_heapprof_field_get(&request->signal, copy);
    const char *name = number <= INT_MAX ? rb_heapprof_signal_name((int)number) : "";
    request->answers_before = rb_heapprof_field_get(&request->answers, copy);
    if (!*name) {
        rb_heapprof_target_say(target, error, "nothing was set for dumps when it was started: RUBY_HEAPGRAPH=signal=URG");
        return false;
    }
    request->signal_number = (int)number;
    if (!handled_p(target->pid, request->signal_number)) {
        rb_heapprof_target_say(target, error, "it takes SIG%s no more", name);
        return false;
    }
    if (syscall(SYS_pidfd_send_signal, target->end_fd, request->signal_number, NULL, 0) == 0) return true;
    rb_heapprof_target_say(target, error, "SIG%s cannot be sent: %s", name, strerror(errno));
    return false;
}

/* ---- following ---- */

static void
take_answer(struct heapprof_graph_request *request, const unsigned char *copy)
{
    size_t bytes = request->text.size;

    memcpy(request->answer, copy + request->text.offset, bytes);
    request->answer[bytes - 1] = '\0';
    for (char *c = request->answer; *c; c++) {
        if ((unsigned char)*c < 0x20 || *c == 0x7f) *c = '?'; /* it is shown on a terminal */
    }
    request->inner_child = (pid_t)rb_heapprof_field_get(&request->child, copy);
    request->shared_at = rb_heapprof_field_get(&request->shared, copy);
    request->state = rb_heapprof_field_get(&request->begun, copy) ? HEAPPROF_GRAPH_BEGUN : HEAPPROF_GRAPH_REFUSED;
}

static void
look_at_process(struct heapprof_graph_request *request)
{
    unsigned char copy[ASKED_MOST];

    if (!read_asked(request, copy)) request->state = HEAPPROF_GRAPH_ENDED;
    else if (rb_heapprof_field_get(&request->answers, copy) != request->answers_before) take_answer(request, copy);
}

/* What the two processes share. */
static void
look_at_file(struct heapprof_graph_request *request)
{
    unsigned char copy[SHARED_MOST];

    if (!rb_heapprof_target_read(request->vm->target, request->shared_at, copy, request->shared_bytes)) {
        request->state = HEAPPROF_GRAPH_ENDED;
        return;
    }
    if (!rb_heapprof_field_get(&request->done, copy)) return;
    request->pause_ns = (int64_t)rb_heapprof_field_get(&request->pause, copy);
    request->file_bytes = rb_heapprof_field_get(&request->bytes, copy);
    request->error_number = (int)rb_heapprof_field_get(&request->error, copy);
    request->state = request->error_number ? HEAPPROF_GRAPH_FAILED : HEAPPROF_GRAPH_WRITTEN;
}

enum heapprof_graph_request_state
rb_heapprof_graph_request_look(struct heapprof_graph_request *request)
{
    if (request->state == HEAPPROF_GRAPH_ASKED) look_at_process(request);
    if (request->state == HEAPPROF_GRAPH_BEGUN) look_at_file(request);
    return request->state;
}

/* Whether that process is the copy, and has not ended. */
static bool
writes_p(const struct heapprof_graph_request *request, pid_t pid)
{
    char status[HEAPPROF_STATUS_MAX];

    if (!rb_heapprof_status_read(pid, pid, status)) return false;
    const char *parent = rb_heapprof_status_line(status, "\nPPid:");
    char state = rb_heapprof_status_state(status);
    return parent && atoi(parent) == request->vm->target->pid && rb_heapprof_status_inner(status, pid) == request->inner_child &&
           state && state != 'Z' && state != 'X';
}

void
rb_heapprof_graph_request_look_for_copy(struct heapprof_graph_request *request)
{
    DIR *directory = opendir("/proc");
    struct dirent *entry;
    bool found = false;

    if (!directory) return;
    while (!found && (entry = readdir(directory))) {
        pid_t pid = (pid_t)strtol(entry->d_name, NULL, 10);
        found = pid > 0 && writes_p(request, pid);
    }
    closedir(directory);
    if (!found && rb_heapprof_graph_request_look(request) == HEAPPROF_GRAPH_BEGUN) request->state = HEAPPROF_GRAPH_LOST;
}
