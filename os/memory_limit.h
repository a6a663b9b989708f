#ifndef HEAPPROF_MEMORY_LIMIT_H
#define HEAPPROF_MEMORY_LIMIT_H
#include <stdint.h>

/* How much memory this process may use at most, in bytes: the least of the machine's memory, of
 * the limit of the container that it runs in, and of its limit of address space. Reads a file. */
uint64_t rb_heapprof_memory_limit(void);

/* A number as the kernel writes it in a file: "65530\n". Returns otherwise if there is no such file
 * or no number in it. */
uint64_t rb_heapprof_kernel_number(const char *path, uint64_t otherwise);

#endif
