#ifndef HEAPPROF_VM_REFLECTION_CLASS_H
#define HEAPPROF_VM_REFLECTION_CLASS_H
#include "ruby/ruby.h"

/* Sets the fields that Ruby code cannot ask of a class, a module, or the object that stands for
 * an included module. Allocates; raises NoMemoryError. */
void rb_heapprof_reflection_class_fields(VALUE hash, VALUE klass);

#endif
