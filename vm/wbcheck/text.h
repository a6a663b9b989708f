#ifndef HEAPPROF_VM_WBCHECK_TEXT_H
#define HEAPPROF_VM_WBCHECK_TEXT_H
#include "ruby/debug.h"
#include <stddef.h>

struct heapprof_missed;

/* All of these may run inside a GC. */

/* "JSON::State (JSON::State+0x10) -> String, in JSON::State#configure". call is the C function
 * that has just returned, or NULL if it is not known. */
void rb_heapprof_wbcheck_what(const struct heapprof_missed *missed, const rb_trace_arg_t *call,
                              char *text, size_t size);

/* The current Ruby stack as lines of a backtrace: as many of the innermost as there is room for. */
void rb_heapprof_wbcheck_stack(char *text, size_t size);

/* The innermost frames of where an object was allocated, in the same form. "" if the profiler is
 * off or has not sampled the object. */
void rb_heapprof_wbcheck_allocated(VALUE object, char *text, size_t size);

#endif
