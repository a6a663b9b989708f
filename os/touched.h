#ifndef HEAPPROF_TOUCHED_H
#define HEAPPROF_TOUCHED_H
/* Which pages of this process anybody has written to: what nobody has is zero, or as in its
 * file. */
#include <stdbool.h>
#include <stdint.h>

/* -1: the system does not tell. close is called in the same process. */
int rb_heapprof_touched_open(void);
void rb_heapprof_touched_close(int fd);

/* The first part of [*begin, end) that may have been written to: [*begin, *part_end). False:
 * there is none. With fd -1 that is all of it. */
bool rb_heapprof_touched(int fd, uintptr_t *begin, uintptr_t end, uintptr_t *part_end);

/* Whether anything is mapped there. Does not read it: then its page, or 2 MB with it, would
 * count as written to. */
bool rb_heapprof_mapped_p(uintptr_t address);

#endif
