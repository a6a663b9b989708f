#ifndef HEAPPROF_VM_BORROW_H
#define HEAPPROF_VM_BORROW_H
#include <stdbool.h>
#include <stdint.h>

struct heapprof_others;

/* Work under the GVL that a native thread does which Ruby does not know. `others` are Ruby
 * threads. Its between and beside return with the GVL, and never jump. Its beside always does the
 * work. */
typedef void rb_heapprof_borrowing_work(const struct heapprof_others *others, void *data);

/* Called before the first use, and in the child of a fork, where no loan goes on. */
void rb_heapprof_borrow_init(void);

/* Does the work with the GVL, as soon as the GVL can be had. `ask` makes a Ruby thread of the
 * main ractor call rb_heapprof_lend soon; it is called again and again until one has. The work
 * runs no Ruby code, makes no objects and raises nothing. Only one thread may call this. */
void rb_heapprof_borrow(rb_heapprof_borrowing_work *work, void *data, void (*ask)(void));

/* Called in a copy of the process that has one thread, which may be any: does the work as if it had
 * the GVL. There is one ractor. `others` is NULL. */
void rb_heapprof_borrow_alone(rb_heapprof_borrowing_work *work, void *data);

/* How long the thread that borrows has waited for the GVL by now; 0: it does not wait. May be
 * called by any thread. */
int64_t rb_heapprof_borrow_waits_ns(void);

/* Called by a Ruby thread of the main ractor, where it may be interrupted. If the GVL is wanted,
 * lends it for a slice of the work. Returns with the GVL. */
void rb_heapprof_lend(void);

#endif
