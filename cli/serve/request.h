#ifndef HEAPPROF_CLI_REQUEST_H
#define HEAPPROF_CLI_REQUEST_H
/* A request of HTTP/1 as bytes of anybody's, and what it asks heapprof serve for. Without sockets. */
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

enum { CLI_REQUEST_MOST = 16384, CLI_REQUEST_HEADERS_MOST = 64, CLI_REQUEST_VALUE_MOST = 512 };

struct cli_header {
    const char *name, *value;
};

struct cli_request {
    const char *method, *path, *query;   /* query: behind '?', ""; both as they came */
    struct cli_header headers[CLI_REQUEST_HEADERS_MOST];
    size_t header_count;
    char   text[CLI_REQUEST_MOST + 1];   /* what they point into */
};

/* Reads the first bytes of a connection, up to the empty line. Returns 0, and the request; -1: the empty line is not there yet;
 * a status: it is wrong, *line says how. */
int cli_request_read(struct cli_request *request, const char *bytes, size_t size, const char **line);

/* The only header of that name. Returns NULL if there is none, or if there are several. */
const char *cli_request_header(const struct cli_request *request, const char *name);

enum cli_parameter { CLI_PARAMETER_NONE, CLI_PARAMETER_GIVEN, CLI_PARAMETER_WRONG };

/* A parameter of the query, decoded; the first of that name. Wrong: it is longer than CLI_REQUEST_VALUE_MOST - 1, or not encoded
 * as it has to be. */
enum cli_parameter cli_request_parameter(const struct cli_request *request, const char *key,
                                         char value[CLI_REQUEST_VALUE_MOST]);

/* ---- what it asks for ---- */

enum cli_wanted_kind {
    CLI_WANTED_INDEX, CLI_WANTED_TARGETS, CLI_WANTED_HEAP, CLI_WANTED_ALLOCS, CLI_WANTED_THREADS, CLI_WANTED_PROFILE
};

struct cli_wanted {
    enum cli_wanted_kind kind;
    pid_t  pid;      /* of heap, allocs, threads and profile */
    double seconds;  /* of profile: more than 0 */
};

/* Returns 0, and what is wanted; or a status, and *line says what is wrong. longest: seconds. */
int cli_request_wanted(const struct cli_request *request, int longest, struct cli_wanted *wanted, const char **line);

#endif
