#ifndef HEAPPROF_VM_FORK_H
#define HEAPPROF_VM_FORK_H

/* Called in parent and child after fork; pid is 0 in the child. */
void rb_heapprof_after_fork(rb_pid_t pid);

#endif
