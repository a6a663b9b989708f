#ifndef HEAPPROF_RESIDENT_H
#define HEAPPROF_RESIDENT_H
#include "base/mem.h"

/* How many bytes of an anonymous range are in memory, in whole pages. A page that is not mapped
 * is not in memory. (For a file, mincore would tell what the page cache has.) No allocation and
 * no lock of ours. errno is kept. */
size_t rb_heapprof_resident_bytes(uintptr_t address, size_t bytes);

/* The same for all blocks of mem. It is less than used_bytes, because blocks have room to grow.
 */
size_t rb_heapprof_resident_mem_bytes(const struct heapprof_mem *mem);

#endif
