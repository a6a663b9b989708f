#ifndef ATTACH_TALLY_H
#define ATTACH_TALLY_H
/* How often each function was seen, innermost or anywhere in a stack, and each set of labels: over
 * all looks, and over those since a mark. */
#include "attach/look.h"

struct attach_tally_function {
    uint64_t self, total;           /* stacks in which it is innermost; in which it is at all */
    uint64_t self_marked, total_marked; /* the same numbers when the mark was set */
    uint64_t seen;                  /* number of the last stack that counted it */
};

struct attach_tally_labels {
    uint64_t total, total_marked;   /* stacks that have that set; the same when the mark was set */
};

struct attach_tally {
    struct heapprof_mem *mem;
    struct attach_tally_labels *sets; /* by set of looks->label_sets; [0]: stacks without labels */
    size_t   set_capacity;
    uint32_t set_end;               /* only sets below this number may have been seen */
    struct attach_tally_function *functions; /* by number of looks->names */
    size_t   capacity;
    uint32_t end;                   /* only functions below this number may have been seen */
    uint64_t stacks, stacks_marked; /* counted stacks */
    uint64_t collecting, collecting_marked; /* how many of these ran a garbage collection */
    uint64_t passed;                /* number of the last stack, for seen */
};

/* mem has to outlive the tally. */
void attach_tally_init(struct attach_tally *tally, struct heapprof_mem *mem);
void attach_tally_free(struct attach_tally *tally);

/* Counts the stacks of a look; those of idle threads if idle is true. Returns false without
 * memory. */
bool attach_tally_add(struct attach_tally *tally, const struct attach_looks *looks, bool idle);

/* Sets the mark. */
void attach_tally_mark(struct attach_tally *tally);

/* Sets all counts to 0. */
void attach_tally_clear(struct attach_tally *tally);

#endif
