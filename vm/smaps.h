#ifndef HEAPPROF_VM_SMAPS_H
#define HEAPPROF_VM_SMAPS_H
#include "profiler/ladder.h"

struct heapprof_range {
    uintptr_t begin, end;
};

/* Fills in what the kernel knows of the mappings of this process (the first group of struct
 * heapprof_measured), and where the main
 * stack is. False where it does not tell. Needs no lock; nothing from the allocator. */
bool rb_heapprof_smaps_read(struct heapprof_measured *measured, struct heapprof_range *main_stack);

#endif
