#ifndef HEAPPROF_ATTACH_TALLY_H
#define HEAPPROF_ATTACH_TALLY_H
/* How often each function was seen, itself or anywhere in a stack: over all looks, and over the last of them. */
#include "attach/look.h"

struct heapprof_tally_function {
    uint64_t self, total;           /* stacks where it is the innermost; where it is at all */
    uint64_t self_marked, total_marked; /* the same when the mark was set */
    uint64_t seen;                  /* the last stack that counted it */
};

struct heapprof_tally {
    struct heapprof_mem *mem;
    struct heapprof_tally_function *functions; /* by number of looks->names */
    size_t   capacity;
    uint32_t end;                   /* functions below this may have been seen */
    uint64_t stacks, stacks_marked; /* that were counted */
    uint64_t collecting, collecting_marked; /* of these, in a garbage collection */
    uint64_t passed;                /* stacks, for seen */
};

/* mem has to outlive it. */
void rb_heapprof_tally_init(struct heapprof_tally *tally, struct heapprof_mem *mem);
void rb_heapprof_tally_free(struct heapprof_tally *tally);

/* Counts the stacks of a look, idle ones if asked for. False: no memory. */
bool rb_heapprof_tally_add(struct heapprof_tally *tally, const struct heapprof_looks *looks, bool idle);

/* From here on "since the mark" begins. */
void rb_heapprof_tally_mark(struct heapprof_tally *tally);

/* Begins anew. */
void rb_heapprof_tally_clear(struct heapprof_tally *tally);

#endif
