#ifndef ATTACH_STATUS_H
#define ATTACH_STATUS_H
/* Lines of /proc/PID/status. */
#include <stdbool.h>
#include <sys/types.h>

#define ATTACH_STATUS_MAX 4096 /* bytes of a status, with its NUL */
#define ATTACH_STOPPED_MAX 128 /* bytes of what has stopped a process, with its NUL */

/* Reads the status of a thread of that process. The first thread has the process's number. Returns
 * false if there is no such thread. */
bool attach_status_read(pid_t pid, pid_t tid, char status[ATTACH_STATUS_MAX]);

/* The text behind "\nNAME:" in a status. Returns NULL if there is no such line. */
const char *attach_status_line(const char *status, const char *name);

/* "State:	T (stopped)": the letter; 0 if there is no such line. */
char attach_status_state(const char *status);

/* Writes "stopped", or "stopped by process 77 (gdb)". Returns false if the process runs, or if no
 * process has that number. */
bool attach_status_stopped(pid_t pid, char text[ATTACH_STOPPED_MAX]);

/* The last number of "NSpid: 812 14 3": the pid in the process's own namespace. Returns pid if
 * there is no such line. */
pid_t attach_status_inner(const char *status, pid_t pid);

#endif
