#ifndef HEAPPROF_CLI_TIMED_H
#define HEAPPROF_CLI_TIMED_H
/* A profile over time of heapprof serve. A timer of libevent takes looks, while other requests
 * are answered. */
#include "cli/serve/answers.h"

struct event_base;
struct cli_timed;

/* Begins a profile. done is called with the answer when the time is up, or when the process has
 * ended. done has to free the answer. peer is as in cli/serve/answers.h. Returns NULL if it
 * fails; error says why. */
struct cli_timed *
cli_timed_begin(struct event_base *base, const struct cli_wanted *wanted,
                const struct attach_peer *peer, void done(void *data, struct cli_answer answer),
                void *data, char error[ATTACH_TARGET_ERROR_MAX]);
void cli_timed_free(struct cli_timed *timed);

#endif
