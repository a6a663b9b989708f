#ifndef HEAPPROF_VM_CHILD_H
#define HEAPPROF_VM_CHILD_H

#include <stddef.h>

/* Memory that the children share with their parent, all zeros. It is given back by munmap. Returns
 * NULL if the system refuses it. */
void *rb_heapprof_child_share(size_t bytes);

/* Called in a child that is a copy of the program. HUP, INT, QUIT and TERM end it; it ignores all
 * other signals. */
void rb_heapprof_child_take_no_signals(void);

/* Called in such a child: if the system runs out of memory, it is ended before the program. */
void rb_heapprof_child_die_first(void);

/* Calls function on a stack of its own: that of a signal handler is too small to copy the process
 * and to go on in the copy. Without memory for the stack it does nothing. One thread at a time. */
void rb_heapprof_on_own_stack(void (*function)(void));

#endif
