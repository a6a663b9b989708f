#ifndef HEAPPROF_VM_REFLECTION_H
#define HEAPPROF_VM_REFLECTION_H
#include "ruby/ruby.h"

/* Defines ObjectSpace::HeapProfile::Reflection: what Ruby's own reflection does not reach, for
 * lib/heapprof/memprof. */
void rb_heapprof_reflection_define(VALUE profile_class);

#endif
