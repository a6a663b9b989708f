#ifndef HEAPPROF_VM_JSON_H
#define HEAPPROF_VM_JSON_H
#include "ruby/ruby.h"

/* All of these allocate Ruby objects and raise NoMemoryError. None calls a method of the program.
 */

/* What stands for a value in JSON: a number that is no object, true, false and nil stand for
 * themselves; a symbol is ":name"; an object is its address, "0x7f0123456789". */
VALUE rb_heapprof_reflection_reference(VALUE value);

/* A copy of the String if JSON can hold it, else what String#dump makes of it. */
VALUE rb_heapprof_reflection_text(VALUE string);

/* hash[key] = value. */
void rb_heapprof_reflection_set(VALUE hash, const char *key, VALUE value);

/* hash[key] = rb_heapprof_reflection_text(string). Does nothing if that is nil. */
void rb_heapprof_reflection_set_text(VALUE hash, const char *key, VALUE string);

/* The name of an ID; nil if it has no name. */
VALUE rb_heapprof_reflection_name(ID id);

#endif
