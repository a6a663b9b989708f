/* status.c - lines of /proc/PID/status. */
#include "attach/status.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool
attach_status_read(pid_t pid, pid_t tid, char status[ATTACH_STATUS_MAX])
{
    char path[64];

    snprintf(path, sizeof(path), "/proc/%d/task/%d/status", (int)pid, (int)tid);
    FILE *file = fopen(path, "re");
    if (!file) return false;
    size_t bytes = fread(status, 1, ATTACH_STATUS_MAX - 1, file);
    fclose(file);
    status[bytes] = '\0';
    return bytes > 0;
}

const char *
attach_status_line(const char *status, const char *name)
{
    const char *line = strstr(status, name);

    return line ? line + strlen(name) : NULL;
}

char
attach_status_state(const char *status)
{
    const char *state = attach_status_line(status, "\nState:");

    return state ? state[strspn(state, "\t ")] : '\0';
}

bool
attach_status_stopped(pid_t pid, char text[ATTACH_STOPPED_MAX])
{
    char status[ATTACH_STATUS_MAX], theirs[ATTACH_STATUS_MAX], name[64] = "";

    if (!attach_status_read(pid, pid, status)) return false;
    char state = attach_status_state(status);
    if (state != 'T' && state != 't') return false;
    const char *line = attach_status_line(status, "\nTracerPid:");
    int tracer = state == 't' && line ? atoi(line) : 0;
    if (!tracer) {
        strcpy(text, "stopped");
        return true;
    }
    if (attach_status_read(tracer, tracer, theirs)) sscanf(theirs, "Name: %60[^\n]", name);
    snprintf(text, ATTACH_STOPPED_MAX, "stopped by process %d%s%s%s", tracer, *name ? " (" : "",
             name, *name ? ")" : "");
    return true;
}

pid_t
attach_status_inner(const char *status, pid_t pid)
{
    const char *line = attach_status_line(status, "\nNSpid:"), *last = line;

    for (; line && *line && *line != '\n'; line++) {
        if (*line == '\t') last = line;
    }
    return last && *last == '\t' ? (pid_t)atoi(last + 1) : pid;
}
