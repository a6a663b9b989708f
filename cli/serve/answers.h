#ifndef HEAPPROF_CLI_ANSWERS_H
#define HEAPPROF_CLI_ANSWERS_H
/* What heapprof serve answers. This file uses no sockets, and reads no process. */
#include <stdio.h>

#include "attach/host.h"
#include "attach/peer.h"

struct cli_answer {
    int    status;
    const char *type;      /* the MIME type */
    const char *download;  /* the name of a file; NULL if the browser shows it */
    char  *bytes;          /* from malloc; NULL if the body is in fd, or is empty */
    int    fd;             /* a file that has the body from offset on; -1: none */
    size_t offset, size;
    long   retry_seconds;  /* when to ask again; 0 if it does not say */
};

extern const char cli_answer_text[], cli_answer_html[], cli_answer_json[]; /* MIME types */

/* Returns an answer of one line that says what is wrong. */
struct cli_answer
cli_answer_line(int status, const char *format, ...) __attribute__((format(printf, 2, 3)));

#define CLI_ANSWER_HEAD_MAX 512

/* Writes the head of HTTP/1.1 that goes before the body. The connection is closed after this
 * answer. Returns the head's length. */
size_t cli_answer_head(const struct cli_answer *answer, char head[CLI_ANSWER_HEAD_MAX]);

/* The processes of the host that the peer may read: for scrapers, and as a page. peer is NULL if
 * the client has the token; it may then see all that heapprof sees. address is the host and port
 * as the client called them. */
struct cli_answer cli_answer_targets(const struct attach_host *host, const struct attach_peer *peer,
                                     const char *address);
struct cli_answer cli_answer_index(const struct attach_host *host, const struct attach_peer *peer);

/* Writes text that cannot be trusted into a page. */
void cli_answer_put_html(FILE *out, const char *text);

/* Whether the process may be read for that peer. */
bool cli_answer_permitted_p(const struct attach_peer *peer, pid_t pid,
                            char error[ATTACH_TARGET_ERROR_MAX]);

#endif
