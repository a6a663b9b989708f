#ifndef ATTACH_HEAP_SIZE_H
#define ATTACH_HEAP_SIZE_H
/* How large the objects of a Ruby are, by the counters of its collector. */
#include "attach/vm.h"

/* The bytes of all slots that have an object: as many as GC.stat(:heap_live_slots) counts. What
 * objects hold by malloc is not in it. Takes a read for each size of slot, whatever the size of the
 * heap, and stops nobody. Returns false if the process does not tell. */
bool attach_heap_size(struct attach_vm *vm, uint64_t *bytes);

#endif
