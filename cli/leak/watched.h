#ifndef HEAPPROF_CLI_WATCHED_H
#define HEAPPROF_CLI_WATCHED_H
/* The processes that `heapprof leak` watches: each is profiled and dumped, and left as it was. */
#include "cli/live/dumped.h"
#include "cli/leak/verdict.h"

#define CLI_LEAK_STEPS 2         /* between dumps */

struct cli_watched {
    struct attach_target *target;
    struct attach_vm *vm;
    bool   started;              /* we have started its profiler, and stop it again */
    uint64_t requests_before;    /* that it had begun when it was watched first; see
                                    attach_label_sets_begun */
    uint64_t requests;           /* that it has begun since */
    bool   over;                 /* it has ended, or cannot be asked: error says why */
    char   error[ATTACH_TARGET_ERROR_MAX + ATTACH_REQUEST_ANSWER_MAX];
    char   name[160];            /* "process 42 (puma: cluster worker 0)" */
    struct cli_leak_blocks blocks; /* what C has allocated since the start */
    struct cli_dumped *dumped;   /* the last dump; NULL: there was none */
    bool   asked;                /* we have asked for the dumps, and may remove them */
    char  *paths[CLI_LEAK_STEPS + 1];
    size_t count;                /* of dumps */
};

struct cli_watch {
    const struct cli *cli;
    long   patience;             /* seconds for which a process may not answer */
    uint64_t for_ms;             /* after that time a process ends by itself what we have started */
    struct cli_watched *all;
    size_t count;
};

/* Adds the process of that number, and the Rubies that are its children, unless they are there
 * already. Returns false after telling the user why it cannot be watched. */
bool cli_watch_add(struct cli_watch *watch, int64_t pid);

/* Starts the profiler where it is off. */
void cli_watch_start(struct cli_watch *watch);

/* How many requests all processes have begun since they were started. */
uint64_t cli_watch_requests(struct cli_watch *watch);

/* Waits for that many seconds. A signal ends that, and the end of the last process. Returns whether
 * one still runs. */
bool cli_watch_wait(const struct cli_watch *watch, double seconds);

/* Takes a dump of each process that is not over. */
void cli_watch_dump(struct cli_watch *watch);

/* Finds the blocks of those that we have started. */
void cli_watch_find_blocks(struct cli_watch *watch);

/* Ends what was started. Then each process is as it was. Called on ^C, too. */
void cli_watch_stop(struct cli_watch *watch);

/* Removes the dumps, except those of a process that has a place of its own for them. */
void cli_watch_remove(struct cli_watch *watch);

/* How many processes are not over. */
size_t cli_watch_left(const struct cli_watch *watch);

void cli_watch_free(struct cli_watch *watch);

#endif
