#ifndef HEAPPROF_VM_LEAK_SEARCH_H
#define HEAPPROF_VM_LEAK_SEARCH_H
/* leak_search.h - the search for blocks that nothing leads to: the algorithm of
 * profiler/leaks/lost, with the blocks of our tables and the roots of os/roots.
 *
 *     begin -> settle -> free
 *
 * All of it runs as own work (rb_heapprof_gc_begin_own_work). */
#include "vm/memcheck/held.h"
#include "os/roots.h"
#include "profiler/leaks/lost.h"
#include <setjmp.h>

struct heapprof_leak_search {
    struct heapprof_mem  mem;         /* separate from the profiler's budget */
    struct heapprof_lost lost;
    struct heapprof_memory *roots;
    size_t roots_capacity, root_count;
    jmp_buf registers;                /* the caller's; they are a root */
    bool   known;                     /* all roots and all blocks are known */
};

/* Finds blocks and roots, but does not read them. Blocks that are older than the GC of number
 * since_gc get no site, so they are not reported. */
void rb_heapprof_leak_search_begin(struct heapprof_leak_search *search,
                                   const struct heapprof_root_stacks *stacks,
                                   const struct heapprof_held *held, uint32_t since_gc);

/* Decides the fate of each block, from all roots. `held` takes the place of the caller's stack
 * and registers; with NULL they are roots themselves. Returns false if nothing can be decided. */
bool rb_heapprof_leak_search_settle(struct heapprof_leak_search *search,
                                    const struct heapprof_held *held);

void rb_heapprof_leak_search_free(struct heapprof_leak_search *search);

#endif
