#ifndef ATTACH_TALLY_H
#define ATTACH_TALLY_H
/* How often each function was seen, itself or anywhere in a stack: over all looks, and over the last of them. */
#include "attach/look.h"

struct attach_tally_function {
    uint64_t self, total;           /* stacks where it is the innermost; where it is at all */
    uint64_t self_marked, total_marked; /* the same when the mark was set */
    uint64_t seen;                  /* the last stack that counted it */
};

struct attach_tally {
    struct heapprof_mem *mem;
    struct attach_tally_function *functions; /* by number of looks->names */
    size_t   capacity;
    uint32_t end;                   /* functions below this may have been seen */
    uint64_t stacks, stacks_marked; /* that were counted */
    uint64_t collecting, collecting_marked; /* of these, in a garbage collection */
    uint64_t passed;                /* stacks, for seen */
};

/* mem has to outlive it. */
void attach_tally_init(struct attach_tally *tally, struct heapprof_mem *mem);
void attach_tally_free(struct attach_tally *tally);

/* Counts the stacks of a look, idle ones if asked for. False: no memory. */
bool attach_tally_add(struct attach_tally *tally, const struct attach_looks *looks, bool idle);

/* From here on "since the mark" begins. */
void attach_tally_mark(struct attach_tally *tally);

/* Begins anew. */
void attach_tally_clear(struct attach_tally *tally);

#endif
