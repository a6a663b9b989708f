#ifndef HEAPPROF_VM_MARKS_H
#define HEAPPROF_VM_MARKS_H
/* Files that are written when memory crosses a mark (at=85%). All functions need the GVL. */
#include "profiler/options.h"

/* Returns one line that says what this process cannot do of that; NULL if it can all. */
const char *rb_heapprof_marks_remark(const struct heapprof_options *options);

/* Watches from here on. Names of files are made of options->out, relative to `directory`. Does
 * nothing if the options have no mark. Returns 0, or the errno that there is no thread, or no
 * memory to set aside, for. */
int rb_heapprof_marks_start(const struct heapprof_options *options, const char *directory);

/* Ends that. A file that is being written is given up. */
void rb_heapprof_marks_stop(void);

/* Called in the child of a fork, behind rb_heapprof_own_thread_after_fork. It watches, too, and
 * its files are its own. */
void rb_heapprof_marks_after_fork(void);

#endif
