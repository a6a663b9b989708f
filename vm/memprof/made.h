#ifndef HEAPPROF_VM_MADE_H
#define HEAPPROF_VM_MADE_H
/* Objects as they are made: how many by type, and when. For lib/heapprof/memprof. */
#include "ruby/ruby.h"

/* Defines Reflection.made. */
void rb_heapprof_made_define(VALUE reflection);

/* When the object was made, in nanoseconds since the epoch; 0: not known. */
int64_t rb_heapprof_made_at(VALUE object);

#endif
