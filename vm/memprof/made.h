#ifndef HEAPPROF_VM_MADE_H
#define HEAPPROF_VM_MADE_H
#include "ruby/ruby.h"

/* Defines Reflection.made: how many objects of each type are made, and when. For
 * lib/heapprof/memprof. */
void rb_heapprof_made_define(VALUE reflection);

/* When the object was made, in nanoseconds since the epoch. Returns 0 if that is not known. */
int64_t rb_heapprof_made_at(VALUE object);

#endif
