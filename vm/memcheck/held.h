#ifndef HEAPPROF_VM_HELD_H
#define HEAPPROF_VM_HELD_H
/* Words that lead to memory that is in use, as of a moment: to go on from when what had them is gone. */
#include "base/mem.h"

struct heapprof_held {
    struct heapprof_mem mem;          /* an account of its own */
    uintptr_t *words;
    size_t words_capacity, count;
    bool   incomplete;                /* memory was refused, or something could not be read */
};

void rb_heapprof_held_init(struct heapprof_held *held);
void rb_heapprof_held_free(struct heapprof_held *held);

/* Adds what stands on all stacks: the caller's from innermost outwards, those of other threads, and of fibers that have not
 * ended. All ractors are stopped. */
void rb_heapprof_held_add_stacks(struct heapprof_held *held, uintptr_t innermost);

/* Adds the address of each block of our tables that an object of an extension's leads to. The same. */
void rb_heapprof_held_add_blocks_of_objects(struct heapprof_held *held);

#endif
