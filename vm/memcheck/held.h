#ifndef HEAPPROF_VM_HELD_H
#define HEAPPROF_VM_HELD_H
#include "base/mem.h"

/* Words that led to memory in use at one moment. They are kept because their owner, such as a
 * stack, will be gone when the search for leaks begins. */
struct heapprof_held {
    struct heapprof_mem mem;          /* separate from the profiler's budget */
    uintptr_t *words;
    size_t words_capacity, count;
    bool   incomplete;                /* memory was refused, or something could not be read */
};

void rb_heapprof_held_init(struct heapprof_held *held);
void rb_heapprof_held_free(struct heapprof_held *held);

/* Adds the words of all stacks: the caller's from `innermost` outwards, those of other threads,
 * and those of fibers that have not ended. All ractors have to be stopped. */
void rb_heapprof_held_add_stacks(struct heapprof_held *held, uintptr_t innermost);

/* Adds the address of each block of our tables to which an object of an extension leads. All
 * ractors have to be stopped. */
void rb_heapprof_held_add_blocks_of_objects(struct heapprof_held *held);

#endif
