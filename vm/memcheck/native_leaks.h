#ifndef HEAPPROF_VM_NATIVE_LEAKS_H
#define HEAPPROF_VM_NATIVE_LEAKS_H
#include "ruby/ruby.h"

/* Starts the profiler as memcheck needs it. False: so it runs already, to the end of the process. Raises RuntimeError when it runs otherwise
 * or there are other Ractors, NotImplementedError where it cannot be. */
bool rb_heapprof_native_leaks_start(void);

/* Forks a child that writes what extensions have lost, of what they asked for since that GC, to the descriptor (profiler/leaks/list.h), and ends.
 * The child's pid. innermost: an address on the caller's stack; what lies further in is of no interest. Raises RuntimeError when the profiler has been
 * stopped since start, or there are other Ractors now; SystemCallError when there cannot be a child. */
rb_pid_t rb_heapprof_native_leaks_fork(int fd, uintptr_t innermost, size_t since_gc);

#endif
