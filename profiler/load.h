#ifndef HEAPPROF_LOAD_H
#define HEAPPROF_LOAD_H
/* Makes a snapshot of a profile that was written to a file: the reverse of pprof.c. */
#include "pprof/model.h"
#include "profiler/snapshot.h"

#define HEAPPROF_LOAD_ERROR_MAX 256 /* bytes of a message, with its NUL */

/* The rows, facts and rungs of a heap profile, which has values inuse_space or alloc_space.
 * Restores everything that a file of ours contains, except that the stack that allocated an
 * owner has only its innermost frame. In a file of another program (Go's), all space is taken
 * as space of slots. Returns NULL with one line in error that says why; error is "" if there
 * was no memory. Memory and time are in proportion to the model's. */
struct heapprof_snapshot *
rb_heapprof_load(const struct heapprof_model *model, char error[HEAPPROF_LOAD_ERROR_MAX]);

#endif
