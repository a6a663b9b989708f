#ifndef HEAPPROF_VM_IDLE_H
#define HEAPPROF_VM_IDLE_H
#include <stdbool.h>

/* Work that needs the GVL, of a thread that is none of Ruby's. between lets others run, and is called where
 * nothing is lost if it does not return. */
typedef void rb_heapprof_idle_work(void (*between)(void), void *data);

/* Does the work while no thread of Ruby runs, without waking any. It runs no Ruby code, makes no objects, and
 * raises nothing. False: it was not done, or not to its end, because one runs. Always false once there has
 * been a second Ractor. To be called by one native thread alone, which is none of Ruby's. */
bool rb_heapprof_idle_do(rb_heapprof_idle_work *work, void *data);

#endif
