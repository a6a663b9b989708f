#ifndef HEAPPROF_VM_BORROW_H
#define HEAPPROF_VM_BORROW_H
#include <stdbool.h>

struct heapprof_others;

/* Work that needs the GVL, of a native thread that is none of Ruby's. The others (others.h) are Ruby threads; between and
 * beside return with the GVL, and never jump. beside leaves nothing undone. */
typedef void rb_heapprof_borrowing_work(const struct heapprof_others *others, void *data);

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
