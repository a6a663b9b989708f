#ifndef ATTACH_GRAPH_REQUEST_H
#define ATTACH_GRAPH_REQUEST_H
/* A process is asked for a dump of its object graph: by the signal that RUBY_HEAPGRAPH names, or by
 * a request (request.h) if it was started without one. Then a forked copy of the process writes the
 * file. The memory of the process tells how far the copy is (vm/graph/graph_signal.h). */
#include "attach/vm.h"

#include <limits.h>

#define ATTACH_GRAPH_ANSWER_MAX (PATH_MAX + 128)

enum attach_graph_request_state {
    ATTACH_GRAPH_ASKED,    /* the process has not answered yet */
    ATTACH_GRAPH_BEGUN,    /* the copy writes; answer is the file's path, as the process sees it */
    /* The rest are ends. */
    ATTACH_GRAPH_REFUSED,  /* answer says why */
    ATTACH_GRAPH_WRITTEN,  /* the file is there */
    ATTACH_GRAPH_FAILED,   /* the file could not be written: error_number says why */
    ATTACH_GRAPH_ENDED,    /* the process has ended; its copy may go on */
    ATTACH_GRAPH_LOST      /* the copy has ended before the file was there */
};

struct attach_graph_request {
    struct attach_vm *vm;
    struct attach_global asked;
    struct attach_field signal, answers, begun, child, shared, text;
    struct attach_field pause, bytes, error, done;
    uint32_t asked_bytes, shared_bytes;

    int      signal_number;  /* 0: it was started without one */
    uint64_t answers_before, shared_at;
    pid_t    inner_child;    /* the copy's pid, in the process's pid namespace */
    enum attach_graph_request_state state;
    char     answer[ATTACH_GRAPH_ANSWER_MAX];
    int64_t  pause_ns;       /* how long the process has waited for its copy */
    uint64_t file_bytes;
    int      error_number;
};

/* Begins to follow; to be called before the process is asked. Returns false on failure; error says
 * why. */
bool attach_graph_request_open(struct attach_graph_request *request, struct attach_vm *vm,
                               char error[ATTACH_TARGET_ERROR_MAX]);

/* Sends the signal that the process was started with. Returns false if it handles it no longer;
 * error says so. */
bool attach_graph_request_send(struct attach_graph_request *request,
                               char error[ATTACH_TARGET_ERROR_MAX]);

/* Reads the state of the request; to be called many times a second. */
enum attach_graph_request_state attach_graph_request_look(struct attach_graph_request *request);


/* To be called when the state is BEGUN: changes it to LOST if the copy has ended. Goes through all
 * processes. */
void attach_graph_request_look_for_copy(struct attach_graph_request *request);

#endif
