#ifndef HEAPPROF_MISMATCHES_H
#define HEAPPROF_MISMATCHES_H
/* Blocks that one allocator gave out and another one got: of malloc, given to MRI's xfree, or the
 * other way round. There is an entry for each pair of code that asked and code that freed. */
#include "profiler/stacks.h"

/* Code: a Ruby stack, which is held, and a path of C functions (tables.h), innermost the one that
 * called the allocator. 0: not known. */
struct heapprof_mismatch_end {
    uint32_t stack, c_path;
};

struct heapprof_mismatch {
    struct heapprof_mismatch_end asked, freed;
    bool     of_ruby;    /* xmalloc gave it out */
    uint32_t blocks;     /* how often */
    uint64_t bytes;
};

struct heapprof_mismatches {
    struct heapprof_mem *mem;
    struct heapprof_stacks *stacks;
    struct heapprof_mismatch *all;
    size_t   capacity;
    uint32_t count;
};

/* Empty; allocates nothing. mem and stacks must outlive it. */
void rb_heapprof_mismatches_init(struct heapprof_mismatches *mismatches, struct heapprof_mem *mem,
                                 struct heapprof_stacks *stacks);

/* Gives the memory back; as after init. The stacks keep its holds: they are freed, too. */
void rb_heapprof_mismatches_free(struct heapprof_mismatches *mismatches);

/* Adds one block. Of many different ends, or if memory is refused, the rest is not kept. */
void rb_heapprof_mismatches_add(struct heapprof_mismatches *mismatches,
                                const struct heapprof_mismatch *one);

#endif
