#ifndef ATTACH_HOST_H
#define ATTACH_HOST_H
/* The processes of this host: which of them are Rubies that may be read, and what they are
 * called. */
#include "attach/target.h"

struct attach_host_process {
    pid_t    pid;
    uint64_t start;           /* clock ticks since boot: with the pid, which process it is */
    uint64_t image[2];        /* where the kernel has put its code and stack: exec changes them */
    uint64_t bytes;           /* of its address space */
    uint64_t on_at;           /* where a Ruby says whether its heap is profiled; 0: nowhere */
    bool     ruby;            /* a Ruby that can be read */
    bool     refused;         /* it may not be read, so whether it is a Ruby is not known */
    bool     profiled;        /* its heap was profiled when it was last looked at */
    bool     seen;            /* in the last listing */
    char     name[64];        /* what the kernel calls it */
    char     title[256];      /* its command line, or what it calls itself */
    char     program[64];     /* what it runs: "puma", "import.rb"; "": unknown */
    char     container[72];   /* id of its container; "": it is in none */
};

/* Reads what the process of that pid is called. Any user may ask that of any process. */
void attach_host_read_names(struct attach_host_process *process);

/* Whether a user may mean this process by that name: its program, with or without ".rb", what the
 * kernel calls it, or its whole title. */
bool attach_host_called_p(const struct attach_host_process *process, const char *name);

/* Whether it seems to be a Ruby, by its names. */
bool attach_host_looks_like_ruby_p(const struct attach_host_process *process);

/* Calls process_i for each process, until one call returns false. Returns false then, and if there
 * is no /proc. */
bool attach_host_each(bool (*process_i)(pid_t pid, void *data), void *data);

struct attach_host {
    struct attach_host_process *all;
    size_t count, capacity;
};

/* Lists the processes anew. A process of the last listing that is the same is not searched again:
 * a Ruby while it has executed nothing else, another process while its address space has the same
 * size. Returns false without memory, or if there is no /proc. */
bool attach_host_list(struct attach_host *host);
void attach_host_free(struct attach_host *host);

#endif
