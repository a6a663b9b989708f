#ifndef ATTACH_STATUS_H
#define ATTACH_STATUS_H
#include <stdbool.h>
#include <sys/types.h>

#define ATTACH_STATUS_MAX 4096 /* bytes of a status, with its NUL */

/* Of a thread of that process; its first one has the same number. False: it is not there. */
bool attach_status_read(pid_t pid, pid_t tid, char status[ATTACH_STATUS_MAX]);

/* Of the text of /proc/PID/status, what stands behind "\nNAME:"; NULL: there is no such line. */
const char *attach_status_line(const char *status, const char *name);

/* "State:	T (stopped)": the letter; 0: there is none. */
char attach_status_state(const char *status);

/* The last number of "NSpid:	812	14	3", which is what its own pid namespace calls it; without that line, the pid given. */
pid_t attach_status_inner(const char *status, pid_t pid);

#endif
