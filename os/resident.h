#ifndef HEAPPROF_RESIDENT_H
#define HEAPPROF_RESIDENT_H
#include <stddef.h>
#include <stdint.h>

/* How many bytes of an anonymous range are in memory, in whole pages of the system. What is not
 * mapped is not in memory. (Of a file mincore would tell what the page cache has.) No allocation,
 * no lock of ours; errno is kept. */
size_t rb_heapprof_resident_bytes(uintptr_t address, size_t bytes);

#endif
