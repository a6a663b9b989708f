#ifndef ATTACH_ROSTER_H
#define ATTACH_ROSTER_H
/* Who has been seen: the programs that are looked at, and the threads of each. A thread is known by
 * its serial, since the memory of one that has ended is used again. A program is known by the
 * number of its looks: a process that executes another file is another program.
 *
 *     programs -> threads that live -> whos: labels, which stay when the thread has ended
 */
#include "attach/look.h"

/* The labels of a profile that say whose time it is. */
enum attach_roster_label {
    ATTACH_ROSTER_THREAD,
    ATTACH_ROSTER_PID,
    ATTACH_ROSTER_TITLE,
    ATTACH_ROSTER_CONTAINER,
    ATTACH_ROSTER_LABELS
};

struct attach_roster_who {
    uint32_t program;                      /* whose time it is; 0: of several programs */
    uint32_t labels[ATTACH_ROSTER_LABELS]; /* strings of names; 0: it has no such label */
};

/* A thread that lives, as far as is known. */
struct attach_roster_thread {
    uint64_t address, serial;
    uint64_t name;          /* the String of the name that was read last, an address */
    uint32_t program;
    uint32_t who;           /* number in whos */
    uint32_t next;          /* of the same program; 0: none. Of a free one: the next free one */
    uint32_t entry;         /* what the caller counts it in; 0: nothing */
    uint64_t look;          /* the program's look that saw it last */
    uint32_t own;           /* the string of that name; 0: the program gave it none */
    bool     numbered;      /* its label has its number */
    bool     folded;        /* it has no label of its own */
};

struct attach_roster_program {
    bool     known;
    int      pid;
    uint32_t before;        /* the program that the process ran before; 0: none that was seen */
    uint64_t looks;
    int64_t  looked_ns;     /* time of the last look */
    uint32_t first;         /* of its threads */
    uint32_t who;           /* all of it; 0: it has no label */
    uint32_t others;        /* the threads that have no labels of their own; 0: there are none */
    uint64_t ran_ns;        /* by the clock of the process, up to the last look */
    uint64_t counted_ns;    /* how much of that has been counted, or was before it was seen */
    uint64_t unknown_ns;    /* how much of that no account had said */
};

struct attach_roster {
    struct heapprof_mem *mem;
    struct attach_names *names;
    bool     apart;         /* threads have labels of their own */
    struct attach_roster_who *whos;         /* [0] has no labels */
    size_t   who_capacity;
    uint32_t who_count;
    struct attach_roster_program *programs; /* by number of looks; [0] unused */
    size_t   program_capacity;
    uint32_t program_count;
    struct heapprof_index by_pid;           /* pid -> the process's last program */
    uint32_t pids;
    struct attach_roster_thread *threads;   /* [0] unused */
    size_t   thread_capacity;
    uint32_t thread_count;                  /* used or free */
    uint32_t live, free;                    /* how many live; the first free one */
    struct heapprof_index index;            /* (program, serial, address) -> thread */
    uint64_t folded;        /* threads that were seen, and have no labels of their own */
};

/* More threads than that are one: a profile of a million labels helps nobody. */
enum { ATTACH_ROSTER_WHOS_MOST = 10000 };

/* mem and names have to outlive the roster. */
void attach_roster_init(struct attach_roster *roster, struct attach_names *names,
                        struct heapprof_mem *mem, bool apart);
void attach_roster_free(struct attach_roster *roster);

/* The program of these looks, valid until the next call. Returns NULL without memory. */
struct attach_roster_program *
attach_roster_program(struct attach_roster *roster, const struct attach_looks *looks);

/* Labels the program and all its threads: with its pid, title or container. A title that comes
 * later takes the place of the one before. "": it has no such label. If there are too many rows, a
 * program gets no labels. Returns false without memory. */
bool attach_roster_label(struct attach_roster *roster, uint32_t number,
                         enum attach_roster_label label, const char *text);

/* The labels of the program's threads that have none of their own. Returns UINT32_MAX without
 * memory. */
uint32_t
attach_roster_others(struct attach_roster *roster, struct attach_roster_program *program);

/* A thread of the program that these looks see. It is in the list afterwards, and its look is the
 * last one that saw it: 0 if it is new. Valid until the next call. Returns NULL without memory. */
struct attach_roster_thread *
attach_roster_thread(struct attach_roster *roster, struct attach_looks *looks,
                     const struct attach_thread *thread);

/* Takes out the threads of the program that its last look has not seen, or all of them. Calls
 * ended_i for each. */
void attach_roster_sweep(struct attach_roster *roster, uint32_t number, bool all,
                         void (*ended_i)(const struct attach_roster_thread *thread, void *data),
                         void *data);

#endif
