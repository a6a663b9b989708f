#ifndef HEAPPROF_TEST_HEAP_H
#define HEAPPROF_TEST_HEAP_H
/* heap.h - the parts of HeapProfHeap. */
#include "ruby/ruby.h"

void Init_stack_end(VALUE heap);

#endif
