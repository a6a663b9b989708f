#ifndef HEAPPROF_CLI_REQUEST_H
#define HEAPPROF_CLI_REQUEST_H
/* A request of HTTP/1, whose bytes may come from anybody. This file uses no sockets. */
#include <stddef.h>

enum { CLI_REQUEST_MOST = 16384, CLI_REQUEST_HEADERS_MOST = 64, CLI_REQUEST_VALUE_MOST = 512 };

struct cli_header {
    const char *name, *value;
};

struct cli_request {
    const char *method, *path, *query;   /* query: after '?', or ""; path, query: not decoded */
    struct cli_header headers[CLI_REQUEST_HEADERS_MOST];
    size_t header_count;
    char   text[CLI_REQUEST_MOST + 1];   /* what the pointers point into */
};

/* Reads the first bytes of a connection, up to the empty line. Returns 0, and fills the request.
 * Returns -1 if the empty line is not there yet. Returns an HTTP status if the request is wrong;
 * *line says how. */
int
cli_request_read(struct cli_request *request, const char *bytes, size_t size, const char **line);

/* The only header of that name. Returns NULL if there is none, or if there are several. */
const char *cli_request_header(const struct cli_request *request, const char *name);

enum cli_parameter { CLI_PARAMETER_NONE, CLI_PARAMETER_GIVEN, CLI_PARAMETER_WRONG };

/* Finds the first parameter of that name in the query, and decodes its value. It is wrong if the
 * value is longer than CLI_REQUEST_VALUE_MOST - 1, or not encoded properly. */
enum cli_parameter cli_request_parameter(const struct cli_request *request, const char *key,
                                         char value[CLI_REQUEST_VALUE_MOST]);

#endif
