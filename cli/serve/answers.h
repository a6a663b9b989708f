#ifndef HEAPPROF_CLI_ANSWERS_H
#define HEAPPROF_CLI_ANSWERS_H
/* What heapprof serve answers. This file uses no sockets. */
#include "attach/host.h"
#include "attach/peer.h"
#include "cli/serve/request.h"

struct cli_answer {
    int    status;
    const char *type;      /* the MIME type of bytes */
    const char *download;  /* the name of a file; NULL if the browser shows it */
    char  *bytes;          /* from malloc; NULL if there is no memory */
    size_t size;
    long   retry_seconds;  /* when to ask again; 0 if it does not say */
};

/* Returns an answer of one line that says what is wrong. */
struct cli_answer
cli_answer_line(int status, const char *format, ...) __attribute__((format(printf, 2, 3)));

#define CLI_ANSWER_HEAD_MAX 512

/* Writes the head of HTTP/1.1 that goes before the bytes. The connection is closed after this
 * answer. Returns the head's length. */
size_t cli_answer_head(const struct cli_answer *answer, char head[CLI_ANSWER_HEAD_MAX]);

/* Returns an answer that is a profile. The answer owns the bytes. */
struct cli_answer cli_answer_profile(const char *download, char *bytes, size_t size);

/* Answers all requests except for a profile over time. host is the host whose processes are
 * listed. peer is the client. peer is NULL if the client has the token; it may then see all that
 * heapprof sees. address is the host and port as the client called them. */
struct cli_answer cli_answer_at_once(const struct attach_host *host, const struct attach_peer *peer,
                                     const struct cli_wanted *wanted, const char *address);

/* Whether the process may be read for that peer. */
bool cli_answer_permitted_p(const struct attach_peer *peer, pid_t pid,
                            char error[ATTACH_TARGET_ERROR_MAX]);

#endif
