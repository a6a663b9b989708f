#ifndef HEAPPROF_VM_WBCHECK_H
#define HEAPPROF_VM_WBCHECK_H
#include "ruby/debug.h"
#include <stdbool.h>
#include <stddef.h>

struct heapprof_missed;

/* GC.wbcheck is there; and if RUBY_WBCHECK says so, barriers are checked from here on. */
void rb_heapprof_wbcheck_boot(void);

/* A last check; and if RUBY_WBCHECK has found anything, the sum, one line. */
void rb_heapprof_wbcheck_at_exit(void);

/* ---- among the files of this name ---- */

/* "JSON::State (JSON::State+0x10) -> String, in JSON::State#configure". call: of C, that has just returned; NULL: not known. May be in
 * a GC, as the next. */
void rb_heapprof_wbcheck_what(const struct heapprof_missed *missed, const rb_trace_arg_t *call, char *text, size_t size);

/* The Ruby stack that there is, as lines of a backtrace: the innermost that there is room for. */
void rb_heapprof_wbcheck_stack(char *text, size_t size);

/* Where an object was allocated, in the same way, its innermost frames; "": the profiler is off, or has not sampled it. */
void rb_heapprof_wbcheck_allocated(VALUE object, char *text, size_t size);

typedef void rb_heapprof_wbcheck_print(const char *line);

/* Prints what is known of places where barriers are called: which have told of references in time, if that is kept; and those
 * that never were of use, if sites. */
void rb_heapprof_wbcheck_say_sites(rb_heapprof_wbcheck_print *print, bool sites);

#endif
