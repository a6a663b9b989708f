#ifndef HEAPPROF_CLI_ADMISSION_H
#define HEAPPROF_CLI_ADMISSION_H
/* Who may ask heapprof serve, as far as the request tells. The rule is in doc/production.md,
 * "Who may ask". This file uses no sockets. attach/peer.h finds who is at the other end. */
#include <stdbool.h>

#include "cli/serve/request.h"

#define CLI_ADMISSION_WHY_MAX 160

/* Whether the request has the token. */
bool cli_admission_token_p(const struct cli_request *request, const char *token);

/* Whether a client on this host may have sent the request. Such a request shows no sign of a
 * proxy, or of a page of another site. If it returns false, why says which sign the request
 * shows. */
bool cli_admission_client_p(const struct cli_request *request, bool unix_socket,
                            char why[CLI_ADMISSION_WHY_MAX]);

#endif
