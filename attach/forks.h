#ifndef ATTACH_FORKS_H
#define ATTACH_FORKS_H
/* Processes as they begin, without asking each process of the host.
 *
 *     EVENTS   the kernel tells each fork ("process events", a netlink socket). Needs CAP_NET_ADMIN,
 *              and to be in no container. Nothing is missed
 *     NUMBERS  the kernel gives out numbers in order, and tells the last one (/proc/loadavg). So a
 *              new process has a number behind the last one that was seen. Needs no right. A process
 *              that ends before the caller asks is only known by its number
 *
 * Neither disturbs the processes. */
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum attach_forks_way { ATTACH_FORKS_EVENTS, ATTACH_FORKS_NUMBERS, ATTACH_FORKS_NOT };

struct attach_forks {
    enum attach_forks_way way;
    int      fd;
    /* EVENTS */
    size_t   used, at;       /* bytes in the buffer; the next message */
    char     buffer[8192] __attribute__((aligned(8)));
    /* NUMBERS. A number is given out a moment before its process can be seen. So one that cannot be
     * seen is tried once more */
    pid_t    settled, seen;  /* up to which numbers need not be tried again; were tried once */
    pid_t    next, last;     /* of this call: the number that was tried last, and the last one */
    bool     trying;
    uint64_t lost;           /* processes and threads that ended before they were tried */
};

struct attach_fork {
    pid_t pid, parent; /* pid 0: too much has happened; the caller has to list all processes */
};

/* Begins. Afterwards the caller may give up its rights. Without the right to events, or if they are
 * not wanted, takes numbers. */
void attach_forks_open(struct attach_forks *forks, bool events);
void attach_forks_close(struct attach_forks *forks);

/* Tells the processes that have begun, one a call. Returns false if there is none since the last
 * time that it returned false. A process may be told twice, or have ended. */
bool attach_forks_next(struct attach_forks *forks, struct attach_fork *fork);

/* The parent of a process; 0 if there is no such process, or if the number is a thread's. */
pid_t attach_forks_parent(pid_t pid);

#endif
