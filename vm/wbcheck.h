#ifndef HEAPPROF_VM_WBCHECK_H
#define HEAPPROF_VM_WBCHECK_H

/* GC.wbcheck is there; and if RUBY_WBCHECK says so, barriers are checked from here on. */
void rb_heapprof_wbcheck_boot(void);

/* A last check; and if RUBY_WBCHECK has found anything, the sum, one line. */
void rb_heapprof_wbcheck_at_exit(void);

#endif
