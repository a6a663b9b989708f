#ifndef HEAPPROF_ATTACH_STATUS_H
#define HEAPPROF_ATTACH_STATUS_H
#include <sys/types.h>

#define HEAPPROF_STATUS_MAX 4096 /* bytes of a status, with its NUL */

/* Of the text of /proc/PID/status, what stands behind "\nNAME:"; NULL: there is no such line. */
const char *rb_heapprof_status_line(const char *status, const char *name);

/* The last number of "NSpid:	812	14	3", which is what its own pid namespace calls it; without that line, the pid given. */
pid_t rb_heapprof_status_inner(const char *status, pid_t pid);

#endif
