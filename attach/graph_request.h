#ifndef ATTACH_GRAPH_REQUEST_H
#define ATTACH_GRAPH_REQUEST_H
/* A process with RUBY_HEAPGRAPH is asked for a dump of its object graph by its signal, and read until a copy of it has
 * written the file (vm/graph/graph_signal.h has what it says of that). */
#include "attach/vm.h"

#include <limits.h>

#define ATTACH_GRAPH_ANSWER_MAX (PATH_MAX + 128)

enum attach_graph_request_state {
    ATTACH_GRAPH_ASKED,    /* it has not answered yet */
    ATTACH_GRAPH_BEGUN,    /* a copy of it writes; answer is the file's path, as the process names it. All others are ends: */
    ATTACH_GRAPH_REFUSED,  /* answer says why */
    ATTACH_GRAPH_WRITTEN,  /* the file is there */
    ATTACH_GRAPH_FAILED,   /* it is not: error_number says why */
    ATTACH_GRAPH_ENDED,    /* the process is there no more; its copy may go on */
    ATTACH_GRAPH_LOST      /* its copy has been ended before the file was there */
};

struct attach_graph_request {
    struct attach_vm *vm;
    struct attach_global asked;
    struct attach_field signal, answers, begun, child, shared, text;
    struct attach_field pause, bytes, error, done;
    uint32_t asked_bytes, shared_bytes;

    int      signal_number;
    uint64_t answers_before, shared_at;
    pid_t    inner_child;    /* as the process numbers it */
    enum attach_graph_request_state state;
    char     answer[ATTACH_GRAPH_ANSWER_MAX];
    int64_t  pause_ns;       /* that the process has waited for its copy */
    uint64_t file_bytes;
    int      error_number;
};

/* Sends the signal. False: error says why not: it was started without one, or takes it no more. */
bool attach_graph_request_send(struct attach_graph_request *request, struct attach_vm *vm,
                                    char error[ATTACH_TARGET_ERROR_MAX]);

/* What has become of it; to be called many times a second. */
enum attach_graph_request_state attach_graph_request_look(struct attach_graph_request *request);

/* Whether the process is stopped, by a signal or a debugger: it answers when it goes on. */
bool attach_graph_request_stopped_p(const struct attach_graph_request *request);

/* When it has begun: whether the copy is still there. Goes through all processes. */
void attach_graph_request_look_for_copy(struct attach_graph_request *request);

#endif
