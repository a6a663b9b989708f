#ifndef HEAPPROF_VM_LEAK_SEARCH_H
#define HEAPPROF_VM_LEAK_SEARCH_H
/* The search for blocks that nothing leads to: profiler/lost with the blocks of our tables, and the roots of os/roots.
 *
 *     begin -> root_of of what else may lead to blocks -> settle -> free
 *
 * As own work (rb_heapprof_gc_begin_own_work). */
#include "vm/memcheck/held.h"
#include "os/roots.h"
#include "profiler/leaks/lost.h"
#include <setjmp.h>

struct heapprof_leak_search {
    struct heapprof_mem  mem;         /* an account of its own */
    struct heapprof_lost lost;
    struct heapprof_memory *roots;
    size_t roots_capacity, root_count;
    jmp_buf registers;                /* the caller's, a root */
    bool   known;                     /* all of the roots are, and all blocks */
};

/* Finds blocks and roots; blocks from before that GC have no site. Nothing is read yet. */
void rb_heapprof_leak_search_begin(struct heapprof_leak_search *search, const struct heapprof_root_stacks *stacks,
                                   const struct heapprof_held *held, uint32_t since_gc);

/* Gives each block its fate, by all roots; and by what is held, where the caller's stack and registers are (NULL: nothing is). False: it cannot be
 * told. */
bool rb_heapprof_leak_search_settle(struct heapprof_leak_search *search, const struct heapprof_held *held);

void rb_heapprof_leak_search_free(struct heapprof_leak_search *search);

#endif
