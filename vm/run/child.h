#ifndef HEAPPROF_VM_CHILD_H
#define HEAPPROF_VM_CHILD_H

/* Called in a child that is a copy of the program. HUP, INT, QUIT and TERM end it; it ignores all
 * other signals. */
void rb_heapprof_child_take_no_signals(void);

/* Called in such a child: if the system runs out of memory, it is ended before the program. */
void rb_heapprof_child_die_first(void);

#endif
