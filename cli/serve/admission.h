#ifndef HEAPPROF_CLI_ADMISSION_H
#define HEAPPROF_CLI_ADMISSION_H
/* Who may ask heapprof serve, as far as a request says it; the rule is doc/production.md's, "Who may ask". Without sockets:
 * who is at the other end is attach/peer.h's. */
#include "cli/serve/request.h"

#define CLI_ADMISSION_WHY_MAX 160

/* Whether it has the token. */
bool cli_admission_token_p(const struct cli_request *request, const char *token);

/* Whether it may be a client's of this host: it shows no sign of a proxy or of a page of another site. False: why says
 * what it shows. */
bool cli_admission_client_p(const struct cli_request *request, bool unix_socket, char why[CLI_ADMISSION_WHY_MAX]);

#endif
