#ifndef HEAPPROF_SMAPS_H
#define HEAPPROF_SMAPS_H
#include <stdbool.h>
#include <stdint.h>

/* The mappings of this process by kind, in bytes in memory unless a comment says otherwise. */
struct heapprof_mappings {
    uint64_t rss;
    uint64_t files;            /* files, libraries, the kernel's own */
    uint64_t executable;       /* anonymous and executable */
    uint64_t main_stack;
    uint64_t heap;             /* "[heap]", the allocator's first memory */
    uint64_t heap_mapped;      /* the same, in memory or not */
    uint64_t anonymous;        /* all other mappings */
    uintptr_t main_stack_begin, main_stack_end; /* addresses */
};

/* Fills mappings in from the kernel's list. Returns false if the kernel does not tell. Needs no
 * lock, and allocates nothing. */
bool rb_heapprof_smaps_read(struct heapprof_mappings *mappings);

#endif
