#ifndef HEAPPROF_PEEK_H
#define HEAPPROF_PEEK_H
/* Memory of this process that may not be there: whatever the address, and whatever other threads
 * unmap meanwhile, nothing faults. No allocation, no lock of ours; errno is kept. */
#include <stddef.h>
#include <stdint.h>

/* A descriptor to read through, for this process and not for a child of fork; -1: the system has
 * none. To be closed. */
int rb_heapprof_peek_open(void);
void rb_heapprof_peek_close(int fd);

/* Copies bytes at address, up to the first that is not mapped; returns how many. */
size_t rb_heapprof_peek(int fd, uintptr_t address, void *buffer, size_t bytes);

#endif
