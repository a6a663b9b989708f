#ifndef HEAPPROF_VM_BORROW_H
#define HEAPPROF_VM_BORROW_H
#include <stdbool.h>

/* Work that needs the GVL, of a native thread that is none of Ruby's. between lets Ruby threads run; it
 * returns with the GVL, and never jumps. */
typedef void rb_heapprof_borrowing_work(void (*between)(void), void *data);

/* Before the first use; and in the child of a fork, where nobody lends or borrows. */
void rb_heapprof_borrow_init(void);

/* Does the work with the GVL, as soon as that is to be had. ask has a Ruby thread of the main ractor call lend
 * soon; it is called again and again until one has. The work runs no Ruby code, makes no objects and raises
 * nothing. To be called by one thread alone. */
void rb_heapprof_borrow(rb_heapprof_borrowing_work *work, void *data, void (*ask)(void));

/* By a Ruby thread of the main ractor, where it may be interrupted: lends the GVL for a slice of the work, if that
 * is wanted, and returns with it. */
void rb_heapprof_lend(void);

#endif
