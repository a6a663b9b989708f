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

static const struct attach_want wants[] = {
#define WANT(kind, member, name) ATTACH_WANT_##kind(struct attach_graph_request, member, name),
    ATTACH_WANT_GLOBAL(struct attach_graph_request, asked, "rb_heapprof_graph_asked", 1),
    WANT(TYPE, asked_bytes, "heapprof_graph_asked")
    WANT(NUMBER, signal, "heapprof_graph_asked.signal")
    WANT(NUMBER, answers, "heapprof_graph_asked.answers")
    WANT(NUMBER, begun, "heapprof_graph_asked.begun")
    WANT(NUMBER, child, "heapprof_graph_asked.child")
    WANT(NUMBER, shared, "heapprof_graph_asked.shared")
    ATTACH_WANT_BYTES(struct attach_graph_request, text, "heapprof_graph_asked.answer", 1),
    WANT(TYPE, shared_bytes, "heapprof_graph_shared")
    WANT(NUMBER, pause, "heapprof_graph_shared.pause_ns")
    WANT(NUMBER, bytes, "heapprof_graph_shared.bytes")
    WANT(NUMBER, error, "heapprof_graph_shared.error")
    WANT(NUMBER, done, "heapprof_graph_shared.done")
#undef WANT
};

static bool
read_asked(struct attach_graph_request *request, unsigned char copy[ASKED_MOST])
{
    return attach_target_read(request->vm->target, request->asked.address, copy,
                              request->asked_bytes);
}

/* ---- asking ---- */

/* A signal without a handler might end the process. */
static bool
handled_p(pid_t pid, int signal)
{
    char status[ATTACH_STATUS_MAX];
    const char *caught =
        attach_status_read(pid, pid, status) ? attach_status_line(status, "\nSigCgt:") : NULL;

    return caught && strtoull(caught, NULL, 16) >> (signal - 1) & 1;
}

static bool
fill(struct attach_graph_request *request, char error[ATTACH_TARGET_ERROR_MAX])
{
    if (!attach_layout_fill(request->vm->layout, wants, sizeof(wants) / sizeof(*wants), request,
                            error))
        return false;
    if (request->asked_bytes <= ASKED_MOST && request->asked_bytes <= request->asked.size &&
        request->shared_bytes <= SHARED_MOST && request->text.size <= sizeof(request->answer))
        return true;
    attach_target_say(request->vm->target, error,
                      "its ruby is of another version than this heapprof");
    return false;
}

bool
attach_graph_request_open(struct attach_graph_request *request, struct attach_vm *vm,
                          char error[ATTACH_TARGET_ERROR_MAX])
{
    unsigned char copy[ASKED_MOST];

    *request = (struct attach_graph_request){.vm = vm};
    if (!fill(request, error)) return false;
    if (!read_asked(request, copy)) {
        attach_target_say(vm->target, error, "it has ended");
        return false;
    }
    uint64_t number = attach_field_get(&request->signal, copy);
    bool known = number <= INT_MAX && *rb_heapprof_signal_name((int)number);
    request->answers_before = attach_field_get(&request->answers, copy);
    request->signal_number = known ? (int)number : 0;
    return true;
}

bool
attach_graph_request_send(struct attach_graph_request *request,
                          char error[ATTACH_TARGET_ERROR_MAX])
{
    struct attach_target *target = request->vm->target;
    const char *name = rb_heapprof_signal_name(request->signal_number);

    if (!handled_p(target->pid, request->signal_number)) {
        attach_target_say(target, error, "it no longer handles SIG%s", name);
        return false;
    }
    if (syscall(SYS_pidfd_send_signal, target->end_fd, request->signal_number, NULL, 0) == 0)
        return true;
    attach_target_say(target, error, "SIG%s cannot be sent: %s", name, strerror(errno));
    return false;
}

/* ---- following ---- */

static void
take_answer(struct attach_graph_request *request, const unsigned char *copy)
{
    size_t bytes = request->text.size;

    memcpy(request->answer, copy + request->text.offset, bytes);
    request->answer[bytes - 1] = '\0';
    for (char *c = request->answer; *c; c++) {
        if ((unsigned char)*c < 0x20 || *c == 0x7f) *c = '?'; /* it is shown on a terminal */
    }
    request->inner_child = (pid_t)attach_field_get(&request->child, copy);
    request->shared_at = attach_field_get(&request->shared, copy);
    request->state =
        attach_field_get(&request->begun, copy) ? ATTACH_GRAPH_BEGUN : ATTACH_GRAPH_REFUSED;
}

static void
look_at_process(struct attach_graph_request *request)
{
    unsigned char copy[ASKED_MOST];

    if (!read_asked(request, copy)) request->state = ATTACH_GRAPH_ENDED;
    else if (attach_field_get(&request->answers, copy) != request->answers_before)
        take_answer(request, copy);
}

/* Reads what the two processes share. */
static void
look_at_file(struct attach_graph_request *request)
{
    unsigned char copy[SHARED_MOST];

    if (!attach_target_read(request->vm->target, request->shared_at, copy, request->shared_bytes)) {
        request->state = ATTACH_GRAPH_ENDED;
        return;
    }
    if (!attach_field_get(&request->done, copy)) return;
    request->pause_ns = (int64_t)attach_field_get(&request->pause, copy);
    request->file_bytes = attach_field_get(&request->bytes, copy);
    request->error_number = (int)attach_field_get(&request->error, copy);
    request->state = request->error_number ? ATTACH_GRAPH_FAILED : ATTACH_GRAPH_WRITTEN;
}

enum attach_graph_request_state
attach_graph_request_look(struct attach_graph_request *request)
{
    if (request->state == ATTACH_GRAPH_ASKED) look_at_process(request);
    if (request->state == ATTACH_GRAPH_BEGUN) look_at_file(request);
    return request->state;
}

/* True if that process is the copy, and has not ended. */
static bool
writes_p(const struct attach_graph_request *request, pid_t pid)
{
    char status[ATTACH_STATUS_MAX];

    if (!attach_status_read(pid, pid, status)) return false;
    const char *parent = attach_status_line(status, "\nPPid:");
    char state = attach_status_state(status);
    return parent && atoi(parent) == request->vm->target->pid &&
           attach_status_inner(status, pid) == request->inner_child && state && state != 'Z' &&
           state != 'X';
}

void
attach_graph_request_look_for_copy(struct attach_graph_request *request)
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
    if (!found && attach_graph_request_look(request) == ATTACH_GRAPH_BEGUN)
        request->state = ATTACH_GRAPH_LOST;
}
