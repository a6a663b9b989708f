#ifndef HEAPPROF_VM_CALLS_H
#define HEAPPROF_VM_CALLS_H
#include "ruby/ruby.h"

/* Defines Reflection.count_calls and the like: counted calls, and the resources that the process
 * has used. For lib/heapprof/memprof. */
void rb_heapprof_calls_define(VALUE reflection);

#endif
