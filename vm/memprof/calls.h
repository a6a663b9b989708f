#ifndef HEAPPROF_VM_CALLS_H
#define HEAPPROF_VM_CALLS_H
/* Counted calls and the resources that the process has used, for lib/heapprof/memprof. */
#include "ruby/ruby.h"

/* Defines Reflection.count_calls and the like. */
void rb_heapprof_calls_define(VALUE reflection);

#endif
