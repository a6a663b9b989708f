#ifndef ATTACH_HOST_H
#define ATTACH_HOST_H
/* The Ruby processes of this host that may be read. */
#include "attach/target.h"

struct attach_host_process {
    pid_t    pid;
    uint64_t start;           /* clock ticks since boot: with the pid, which process it is */
    bool     ruby;            /* a Ruby that can be read */
    bool     profiled;        /* its heap was profiled when it was last looked at */
    bool     seen;            /* in the last listing */
    char     name[64];        /* what the kernel calls it */
    char     title[256];      /* its command line, or what it calls itself */
    char     container[72];   /* id of its container; "": it is in none */
};

struct attach_host {
    struct attach_host_process *all;
    size_t count, capacity;
};

/* Lists the processes anew. Returns false without memory, or if there is no /proc. */
bool attach_host_list(struct attach_host *host);
void attach_host_free(struct attach_host *host);

#endif
