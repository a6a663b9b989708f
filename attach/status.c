/* status.c - lines of /proc/PID/status. */
#include "attach/status.h"

#include <stdlib.h>
#include <string.h>

const char *
rb_heapprof_status_line(const char *status, const char *name)
{
    const char *line = strstr(status, name);

    return line ? line + strlen(name) : NULL;
}

pid_t
rb_heapprof_status_inner(const char *status, pid_t pid)
{
    const char *line = rb_heapprof_status_line(status, "\nNSpid:"), *last = line;

    for (; line && *line && *line != '\n'; line++) {
        if (*line == '\t') last = line;
    }
    return last && *last == '\t' ? (pid_t)atoi(last + 1) : pid;
}
