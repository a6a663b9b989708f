#ifndef HEAPPROF_USES_H
#define HEAPPROF_USES_H
/* Uses of dead objects: who used one, who had allocated it, and which GC found it dead. There is an
 * entry for each different use. */
#include "profiler/dead_objects.h"
#include "profiler/mismatches.h"

enum heapprof_access { HEAPPROF_ACCESS, HEAPPROF_READ, HEAPPROF_WRITE }; /* the first: not known */

struct heapprof_use {
    struct heapprof_mismatch_end used; /* its code. The stack is held */
    enum heapprof_access access;
    struct heapprof_dead_object object; /* all 0: the memory is that of no object any more */
    struct heapprof_dead_gc gc;        /* its stack and the object's are held */
    uint32_t times;
};

struct heapprof_uses {
    struct heapprof_mem *mem;
    struct heapprof_stacks *stacks;
    struct heapprof_use *all;
    size_t   capacity;
    uint32_t count;
    uint64_t unknown; /* uses of which nothing is known but that there was one */
};

/* Empty; allocates nothing. mem and stacks must outlive it. */
void rb_heapprof_uses_init(struct heapprof_uses *uses, struct heapprof_mem *mem,
                           struct heapprof_stacks *stacks);

/* Gives the memory back; as after init. The stacks keep its holds: they are freed, too. */
void rb_heapprof_uses_free(struct heapprof_uses *uses);

/* Adds one use. Of many different ones, or if memory is refused, the rest is counted as unknown. */
void rb_heapprof_uses_add(struct heapprof_uses *uses, const struct heapprof_use *one);

#endif
