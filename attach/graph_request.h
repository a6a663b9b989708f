#ifndef HEAPPROF_ATTACH_GRAPH_REQUEST_H
#define HEAPPROF_ATTACH_GRAPH_REQUEST_H
/* A process with RUBY_HEAPGRAPH is asked for a dump of its object graph by its signal, and read until a copy of it has
 * written the file (vm/graph/graph_signal.h has what it says of that). */
#include "attach/vm.h"

#include <limits.h>

#define HEAPPROF_GRAPH_ANSWER_MAX (PATH_MAX + 128)

enum heapprof_graph_request_state {
    HEAPPROF_GRAPH_ASKED,    /* it has not answered yet */
    HEAPPROF_GRAPH_BEGUN,    /* a copy of it writes; answer is the file's path, as the process names it. All others are ends: */
    HEAPPROF_GRAPH_REFUSED,  /* answer says why */
    HEAPPROF_GRAPH_WRITTEN,  /* the file is there */
    HEAPPROF_GRAPH_FAILED,   /* it is not: error_number says why */
    HEAPPROF_GRAPH_ENDED,    /* the process is there no more; its copy may go on */
    HEAPPROF_GRAPH_LOST      /* its copy has been ended before the file was there */
};

struct heapprof_graph_request {
    struct heapprof_vm *vm;
    struct heapprof_global asked;
    struct heapprof_field signal, answers, begun, child, shared, text;
    struct heapprof_field pause, bytes, error, done;
    uint32_t asked_bytes, shared_bytes;

    int      signal_number;
    uint64_t answers_before, shared_at;
    pid_t    inner_child;    /* as the process numbers it */
    enum heapprof_graph_request_state state;
    char     answer[HEAPPROF_GRAPH_ANSWER_MAX];
    int64_t  pause_ns;       /* that the process has waited for its copy */
    uint64_t file_bytes;
    int      error_number;
};

/* Sends the signal. False: error says why not: it was started without one, or takes it no more. */
bool rb_heapprof_graph_request_send(struct heapprof_graph_request *request, struct heapprof_vm *vm,
                                    char error[HEAPPROF_TARGET_ERROR_MAX]);

/* What has become of it; to be called many times a second. */
enum heapprof_graph_request_state rb_heapprof_graph_request_look(struct heapprof_graph_request *request);

/* Whether the process is stopped, by a signal or a debugger: it answers when it goes on. */
bool rb_heapprof_graph_request_stopped_p(const struct heapprof_graph_request *request);

/* When it has begun: whether the copy is still there. Goes through all processes. */
void rb_heapprof_graph_request_look_for_copy(struct heapprof_graph_request *request);

#endif
