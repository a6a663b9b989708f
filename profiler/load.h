#ifndef HEAPPROF_LOAD_H
#define HEAPPROF_LOAD_H
/* A snapshot out of a profile that was written to a file: the way back from pprof.c. */
#include "pprof/model.h"
#include "profiler/snapshot.h"

#define HEAPPROF_LOAD_ERROR_MAX 256 /* bytes of a message, with its NUL */

/* The rows, facts and rungs of a heap profile: one with values inuse_space or alloc_space. What a file of ours says
 * is all there again, but of who allocated an owner, of whom a file has the innermost frame alone. Of others' (Go's)
 * space counts as that of slots. NULL: error says why in one line; there is none when there was no memory. Memory
 * and time are in proportion to the model's. */
struct heapprof_snapshot *rb_heapprof_load(const struct heapprof_model *model, char error[HEAPPROF_LOAD_ERROR_MAX]);

#endif
