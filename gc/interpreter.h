#ifndef HEAPPROF_GC_INTERPRETER_H
#define HEAPPROF_GC_INTERPRETER_H
/* interpreter.h - what gc/ asks of the interpreter's side: the only door from the collector to
 * names. vm/ implements it, and the file is named at each function. Nothing else of vm/ is called
 * from gc/.
 *
 * All of it may be called inside an allocation and inside a GC: under the VM lock, or with all
 * ractors stopped. None of it makes a Ruby object, raises, or starts a GC. Memory comes from
 * base/mem.c.
 */
#include "vm_core.h"

/* The call stack of the running thread or fiber, as a stack number that is not held. Returns
 * HEAPPROF_NO_STACK when memory is refused, and 0 if there is no frame yet. (vm/names/frames.c) */
uint32_t rb_heapprof_frames_capture(const rb_execution_context_t *ec);

/* The C function of the method that runs. Returns 0 if that is Ruby code, or there is none.
 * (vm/names/frames.c) */
uintptr_t rb_heapprof_frames_c_method(const rb_execution_context_t *ec);

/* If the innermost frame is that of Class#new: the function that makes an object of that class.
 * Otherwise 0. */
uintptr_t rb_heapprof_frames_allocator(const rb_execution_context_t *ec);

/* The set of labels of a fiber, with the name of its thread; the text of a set
 * (profiler/label_sets.h), good until the next set is made. Under the VM lock.
 * (vm/labels/labels.c) */
uint32_t rb_heapprof_label_now(const rb_execution_context_t *ec);
const char *rb_heapprof_label_text(uint32_t set, size_t *length);

/* The number that samples of a fiber wait for, whose labels are named late; 0: for nothing.
 * (vm/labels/labels.c) */
uint32_t rb_heapprof_label_late(const rb_execution_context_t *ec);

/* Forgets what is known of addresses of code: a compaction will move code. (vm/names/frames.c) */
void rb_heapprof_frames_forget_code(void);

/* The class that an object is labelled with: its own, or the first ancestor of that which is
 * neither a singleton nor an included module. 0 for an object hidden from Ruby.
 * (vm/names/names.c) */
VALUE rb_heapprof_real_class(VALUE object);

/* The identity of that class, named. Returns false if the object has no such class. *id is 0 when
 * memory is refused. (vm/names/names.c) */
bool rb_heapprof_class_label(VALUE object, uint32_t *id);

/* Writes what a class, a method, or code is called, as in a profile, and returns its length. Code
 * belongs to a method of owner, or to no method (0). Nothing is remembered. (vm/names/names.c) */
#define HEAPPROF_NAME_BYTES 1024

size_t rb_heapprof_class_text(VALUE klass, char text[HEAPPROF_NAME_BYTES]);
size_t rb_heapprof_method_text(const rb_method_entry_t *method, char text[HEAPPROF_NAME_BYTES]);
size_t rb_heapprof_code_text(const rb_iseq_t *iseq, VALUE owner, char text[HEAPPROF_NAME_BYTES]);

/* Names the callers of the allocator that have no name yet, from the files that they are in.
 * (vm/names/caller_names.c) */
void rb_heapprof_caller_names_find(void);

/* Marks what each global variable leads to. Calls begin_i before each part of one: `part` is NULL
 * for its value, else "data" that its getter reads, or "trace" for blocks of trace_var.
 * (vm/globals.h) */
void rb_heapprof_globals_mark(void (*begin_i)(ID id, const char *part, void *data), void *data);

/* The Proc that a fiber was made with; 0 for the root fiber of a thread. The fiber that resumed it,
 * if there is one and it is an object, else 0. Its state as Fiber#inspect has it. (vm/fibers.h) */
VALUE rb_heapprof_fiber_block(const struct rb_fiber_struct *fiber);
VALUE rb_heapprof_fiber_resumer(const struct rb_fiber_struct *fiber);
const char *rb_heapprof_fiber_state(const struct rb_fiber_struct *fiber);

/* The C function that the stack of every fiber but a thread's root begins with. (vm/fibers.h) */
uintptr_t rb_heapprof_fiber_entry(void);

/* What the reference at that offset of a structure of MRI's is called: "receiver". Returns NULL if
 * that is not known. (vm/names/fields.c) */
const char *rb_heapprof_field_name(const rb_data_type_t *type, size_t offset);

/* How many bytes of a structure of MRI's lie before the end of the last such reference. 0 if none
 * is known. (vm/names/fields.c) */
size_t rb_heapprof_fields_bytes(const rb_data_type_t *type);

/* What a variable is called whose ID has no name. Returns NULL if that is not known.
 * (vm/errors.h) */
const char *rb_heapprof_hidden_variable_name(ID id);

/* The bytes in memory of the stacks of a fiber. 0 for other objects and for a thread's own fiber.
 * (vm/names/fiber.c) */
size_t rb_heapprof_fiber_resident_bytes(VALUE object);

#endif
