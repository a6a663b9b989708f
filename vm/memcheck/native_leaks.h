#ifndef HEAPPROF_VM_NATIVE_LEAKS_H
#define HEAPPROF_VM_NATIVE_LEAKS_H
#include "ruby/ruby.h"

/* Starts the profiler as memcheck needs it. Returns NULL, or why it cannot start. *started is false
 * in a run with memcheck=1, which goes on to the end of the process. The system has to be one on
 * which malloc=all works (rb_heapprof_gc_malloc_all_refusal). */
const char *rb_heapprof_native_leaks_start(bool *started);

/* Returns why there can be no list at the end of the block, or NULL. */
const char *rb_heapprof_native_leaks_refusal(void);

/* Forks a child that finds the blocks that extensions have lost, among those that they asked for
 * since the GC with that number. The child writes them to the descriptor (profiler/leaks/list.h)
 * and ends. innermost is an address on the caller's stack; what lies further in is ignored.
 * Returns the child's pid, or -1 with errno. */
rb_pid_t rb_heapprof_native_leaks_fork(int fd, uintptr_t innermost, size_t since_gc);

#endif
