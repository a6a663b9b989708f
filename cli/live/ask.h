#ifndef HEAPPROF_CLI_ASK_H
#define HEAPPROF_CLI_ASK_H
/* Asks a running process to do something, for the commands start, stop, graph dump and leak
 * (attach/request.h). */
#include "attach/request.h"
#include "cli/cli.h"

struct cli_ask {
    enum attach_request_what what;
    const char *text;        /* settings, or a file */
    const char *will;        /* what the process does when it can: "it will start" */
    uint64_t for_ms;         /* a run ends by itself after that time; 0: never */
    long     seconds;        /* how long to wait until the process begins */
    bool     to_the_end;     /* ^C withdraws nothing: the caller tidies up */
    bool     refused;        /* it cannot be asked, or has answered that it does not do it */
    char     answer[ATTACH_REQUEST_ANSWER_MAX];
    char     error[ATTACH_TARGET_ERROR_MAX + ATTACH_REQUEST_ANSWER_MAX]; /* "process 12: ..." */
};

/* Asks, and waits until the process has done it, between cli_interrupt_begin and _end. If that
 * takes more than a few seconds, a line on stderr says what the process is doing. After `seconds`,
 * and on ^C, the request is withdrawn. Returns false if it was not done; error says why. */
bool cli_ask(const struct cli *cli, struct attach_vm *vm, struct cli_ask *ask);

/* Asks each process that the command line names. say tells the user of one that has done it. Ends
 * the command, and returns its status; unless that is CLI_DONE, the user was told why. */
int cli_ask_each(struct cli *cli, const struct cli_ask *ask,
                 void (*say)(const struct cli_ask *ask, const struct attach_target *target));

#endif
