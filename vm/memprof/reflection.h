#ifndef HEAPPROF_VM_REFLECTION_H
#define HEAPPROF_VM_REFLECTION_H
/* What Ruby's own reflection does not reach, for the dumps of lib/heapprof/memprof. Everything here allocates Ruby
 * objects, raises when there is no memory, and calls no method of the program. */
#include "ruby/ruby.h"
#include "vm_core.h"

/* Defines ObjectSpace::HeapProfile::Reflection. */
void rb_heapprof_reflection_define(VALUE profile_class);

/* What stands for a value in JSON: numbers that are no objects, true, false and nil themselves; ":name" of a symbol; the
 * address of an object, "0x7f0123456789". */
VALUE rb_heapprof_reflection_reference(VALUE value);

/* hash[key] = value. */
void rb_heapprof_reflection_set(VALUE hash, const char *key, VALUE value);

/* hash[key] = a copy of the String, or what String#dump makes of it when JSON could not have it. nil: hash is as before. */
void rb_heapprof_reflection_set_text(VALUE hash, const char *key, VALUE string);

/* The name of an ID, for JSON; nil: it has none. */
VALUE rb_heapprof_reflection_name(ID id);

/* Sets what Ruby cannot ask of a class, a module, and what stands for an included one. (reflection_class.c) */
void rb_heapprof_reflection_class_fields(VALUE hash, VALUE klass);

/* The same of code, environments and what else only the VM sees. (reflection_code.c) */
void rb_heapprof_reflection_imemo_fields(VALUE hash, VALUE object);

/* The same of a Proc: the environment it is in, and its code. (reflection_code.c) */
void rb_heapprof_reflection_proc_fields(VALUE hash, VALUE proc);

/* Frames of the running fiber of a thread, innermost first, each a Hash. (reflection_code.c) */
VALUE rb_heapprof_reflection_frames(const rb_thread_t *thread);

/* The innermost frame of a thread: its function, receiver, and last argument if it is a C function that Ruby
 * code has called with one. nil: there is none. (reflection_code.c) */
VALUE rb_heapprof_reflection_innermost(const rb_thread_t *thread);

#endif
