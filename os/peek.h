#ifndef HEAPPROF_PEEK_H
#define HEAPPROF_PEEK_H
/* Memory of this process that may not be mapped. Nothing faults, whatever the address is, and
 * whatever other threads unmap meanwhile. No allocation and no lock of ours. errno is kept. */
#include <stddef.h>
#include <stdint.h>

/* Opens a descriptor to read through, for this process and not for a child of fork. Returns -1
 * if the system does not have one. The caller closes it. */
int rb_heapprof_peek_open(void);
void rb_heapprof_peek_close(int fd);

/* Copies so many bytes from address, up to the first that is not mapped. Returns how many. */
size_t rb_heapprof_peek(int fd, uintptr_t address, void *buffer, size_t bytes);

#endif
