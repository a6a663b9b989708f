#ifndef HEAPPROF_CLI_ANSWERS_H
#define HEAPPROF_CLI_ANSWERS_H
/* What heapprof serve answers, without sockets. */
#include "attach/host.h"
#include "attach/peer.h"
#include "cli/serve/request.h"

struct cli_answer {
    int    status;
    const char *type;      /* of its content */
    const char *download;  /* the name of a file; NULL: it is shown */
    char  *bytes;          /* from malloc; NULL: no memory */
    size_t size;
    long   retry_seconds;  /* when to ask again; 0: it does not say */
};

/* One line that says what is wrong. */
struct cli_answer cli_answer_line(int status, const char *format, ...) __attribute__((format(printf, 2, 3)));

#define CLI_ANSWER_HEAD_MAX 512

/* The head of HTTP/1.1 that goes before the bytes, for a connection that is closed then; returns its length. */
size_t cli_answer_head(const struct cli_answer *answer, char head[CLI_ANSWER_HEAD_MAX]);

/* A profile; takes the bytes. */
struct cli_answer cli_answer_profile(const char *download, char *bytes, size_t size);

/* All that is wanted but a profile over time. host: what is listed. peer: the client; NULL if it has the token, and so sees all that we do.
 * address: the host and port as the client called them. */
struct cli_answer cli_answer_at_once(const struct attach_host *host, const struct attach_peer *peer,
                                     const struct cli_wanted *wanted, const char *address);

/* Whether the process may be read for that peer. */
bool cli_answer_permitted_p(const struct attach_peer *peer, pid_t pid, char error[ATTACH_TARGET_ERROR_MAX]);

#endif
