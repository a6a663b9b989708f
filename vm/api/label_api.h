#ifndef HEAPPROF_VM_LABEL_API_H
#define HEAPPROF_VM_LABEL_API_H
#include "ruby/ruby.h"
#include "vm_core.h"

/* The primitives of ObjectSpace::HeapProfile.label, label! and labels. heapprof.rb has their
 * documentation. begin returns what end wants. */
VALUE rb_heapprof_label_api_begin(rb_execution_context_t *ec, VALUE labels);
VALUE rb_heapprof_label_api_end(rb_execution_context_t *ec, VALUE before);
VALUE rb_heapprof_label_api_change(rb_execution_context_t *ec, VALUE labels);
VALUE rb_heapprof_label_api_all(rb_execution_context_t *ec);

/* The text of a set of labels (profiler/label_sets.h) as a Hash. The text must not move. */
VALUE rb_heapprof_label_hash(const char *text, size_t length);

/* Defines ObjectSpace::HeapProfile::Label. */
void rb_heapprof_label_define(VALUE heap_profile);

#endif
