#ifndef HEAPPROF_VM_GRAPH_API_H
#define HEAPPROF_VM_GRAPH_API_H
#include "ruby/ruby.h"

/* ObjectSpace::HeapGraph.dump. heapprof.rb has its documentation. */
VALUE rb_heapprof_graph_dump_to(VALUE path_or_io, VALUE gc, VALUE fork, VALUE values);

/* Called at boot. Finds what dumps have to know of Ruby's own classes. */
void rb_heapprof_graph_define(VALUE object_space);

#endif
