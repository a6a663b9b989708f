#ifndef HEAPPROF_VM_THREAD_SERIAL_H
#define HEAPPROF_VM_THREAD_SERIAL_H
#include "ruby_atomic.h"

/* A number that no other thread of this process has or had, from 1. A reader outside tells threads
 * apart by it. An address does not do, because MRI uses the memory of an rb_thread_t again; nor
 * does the native thread, because several threads may share one. Any thread may call it. */
static inline rb_atomic_t
rb_heapprof_thread_serial(void)
{
    static rb_atomic_t last;

    return RUBY_ATOMIC_FETCH_ADD(last, 1) + 1;
}

#endif
