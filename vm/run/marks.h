#ifndef HEAPPROF_VM_MARKS_H
#define HEAPPROF_VM_MARKS_H
/* Files that are written when memory crosses a mark (at=85%). All functions need the GVL. */
#include <limits.h>
#include <sys/types.h>
#include "profiler/options.h"

/* Returns one line that says what this process cannot do of that; NULL if it can all. */
const char *rb_heapprof_marks_remark(const struct heapprof_options *options);

/* Whether a mark is a size, which needs no limit. */
bool rb_heapprof_marks_size_p(const struct heapprof_options *options);

/* Whether memory is watched already. */
bool rb_heapprof_marks_on_p(void);

/* Writes the path of the first file of the first mark. Returns 0, or the errno that it could not be
 * written for. */
int rb_heapprof_marks_check(const struct heapprof_options *options, const char *directory,
                            char path[PATH_MAX]);

/* Begins a dump of all objects to path, which a copy of the process writes: *copy is its pid. Needs
 * the GVL; called by our thread. Returns false if none has begun. */
typedef bool rb_heapprof_marks_dump(const char *path, pid_t *copy);

/* Watches from here on. Names of files are made of options->out, relative to `directory`. Does
 * nothing if the options have no mark. Returns 0, or the errno that there is no thread, or no
 * memory to set aside, for; EBUSY if the thread of an earlier run still ends. Memory must not be
 * watched already. */
int rb_heapprof_marks_start(const struct heapprof_options *options, const char *directory,
                            rb_heapprof_marks_dump *dump);

/* Ends that. A file that is being written is given up. */
void rb_heapprof_marks_stop(void);

/* Called in the child of a fork, behind rb_heapprof_own_thread_after_fork. It watches, too, and
 * its files are its own. */
void rb_heapprof_marks_after_fork(void);

#endif
