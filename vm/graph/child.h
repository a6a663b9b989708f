#ifndef HEAPPROF_VM_CHILD_H
#define HEAPPROF_VM_CHILD_H
/* In a child of ours that is a copy of the program: the signals that end a program end it, too; all else is not for it. */
void rb_heapprof_child_take_no_signals(void);

#endif
