#ifndef HEAPPROF_CLI_TIMED_H
#define HEAPPROF_CLI_TIMED_H
/* A profile over time of heapprof serve: looks by a timer of libevent, while other requests are answered. */
#include "cli/serve/answers.h"

struct event_base;
struct cli_timed;

/* Begins; done is called with the answer when the time is up or the process has ended, and has to free it. peer as in
 * cli/serve/answers.h. NULL: error says why. */
struct cli_timed *cli_timed_begin(struct event_base *base, const struct cli_wanted *wanted, const struct attach_peer *peer,
                                  void done(void *data, struct cli_answer answer), void *data,
                                  char error[ATTACH_TARGET_ERROR_MAX]);
void cli_timed_free(struct cli_timed *timed);

#endif
