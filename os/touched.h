#ifndef HEAPPROF_TOUCHED_H
#define HEAPPROF_TOUCHED_H
/* Which pages of this process have been written to. Any other page is zero, or as in its file. */
#include <stdbool.h>
#include <stdint.h>

/* Opens a descriptor. Returns -1 if the system does not tell. The same process calls close. */
int rb_heapprof_touched_open(void);
void rb_heapprof_touched_close(int fd);

/* Finds the first part of [*begin, end) that may have been written to, and sets *begin and
 * *part_end to it. Returns false if there is no such part. If fd is -1, the part is all of it. */
bool rb_heapprof_touched(int fd, uintptr_t *begin, uintptr_t end, uintptr_t *part_end);

/* Returns whether that address is mapped. Does not read there: a read would make the page, or 2
 * MB around it, count as written to. */
bool rb_heapprof_mapped_p(uintptr_t address);

#endif
