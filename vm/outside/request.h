#ifndef HEAPPROF_VM_REQUEST_H
#define HEAPPROF_VM_REQUEST_H
/* Requests from outside: `heapprof start PID` and its like, to a process that was started with
 * nothing set (doc/design/requests.md; contract "requests" in doc/descriptor.md). */
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include "ruby/ruby.h"

enum heapprof_request_what {
    HEAPPROF_REQUEST_NOTHING,
    HEAPPROF_REQUEST_START,      /* text: settings, as RUBY_HEAPPROF has them. With marks, the
                                    answer is the first file */
    HEAPPROF_REQUEST_STOP,
    HEAPPROF_REQUEST_DUMP        /* text: the file. The answer is in rb_heapprof_graph_asked, too */
};

enum heapprof_request_door {
    HEAPPROF_DOOR_SHUT,          /* the VM is not there yet */
    HEAPPROF_DOOR_OPEN,
    HEAPPROF_DOOR_LOCKED         /* RUBY_HEAPPROF=locked */
};

/* The asker writes the first half, and this process the second.
 *
 *     asker     what, for_ms, until_ns, text; then asked = n         until_ns = 0: withdrawn
 *     process                      heard = n ... taken = n; is it still wanted? ... answered = n
 *
 * `taken` is written before `until_ns` is read. An asker that withdraws writes `until_ns` before it
 * reads `taken`. So at least one of the two sees the other. */
struct heapprof_request {
    uint32_t asked;              /* the number of the request, which differs from the last one */
    uint32_t what;
    int64_t  until_ns;           /* of CLOCK_MONOTONIC; nothing is begun after it */
    uint64_t for_ms;             /* START: the run ends by itself after that time; 0: never */
    char     text[PATH_MAX];

    uint32_t pid;                /* whose requests these are; a child of a fork has its parent's,
                                    until it has forgotten them */
    uint32_t door;
    uint32_t heard;              /* it waits for the GVL */
    uint32_t taken;              /* it is carried out */
    uint32_t answered;           /* written last */
    uint32_t done;               /* 1: what was asked for was done; 0: `answer` says why not */
    char     answer[512];
};
extern struct heapprof_request rb_heapprof_request;

void rb_heapprof_request_hear(void);

/* Called by the timer thread each time that it wakes up: costs a comparison. */
static inline void
rb_heapprof_request_listen(void)
{
    if (RB_UNLIKELY(__atomic_load_n(&rb_heapprof_request.asked, __ATOMIC_ACQUIRE) !=
                    rb_heapprof_request.heard)) {
        rb_heapprof_request_hear();
    }
}

/* Whether the run that is on was asked for from outside. Called with the GVL. */
bool rb_heapprof_request_run_p(void);

/* Opens the door, unless it is to be locked. Called once, at boot. */
void rb_heapprof_request_boot(bool locked);

/* Called in the child of a fork, which nobody has asked anything, behind
 * rb_heapprof_own_thread_after_fork. */
void rb_heapprof_request_after_fork(void);

#endif
