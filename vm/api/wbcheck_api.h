#ifndef HEAPPROF_VM_WBCHECK_API_H
#define HEAPPROF_VM_WBCHECK_API_H

/* Defines GC.wbcheck. */
void rb_heapprof_wbcheck_define(void);

#endif
