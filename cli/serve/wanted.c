/* wanted.c - finds what the path and the query of a request ask for.
 *
 *     /12/debug/pprof/heap?seconds=5          or /debug/pprof/heap?pid=12&seconds=5
 *      pid            kind  parameters
 *
 *   I1  No part of a query is ignored. A parameter that the path does not have, or that is given
 *       twice, is an error: a client that asks for a difference must not get a whole heap. */
#include "cli/serve/wanted.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BAD = 400, NOT_FOUND = 404, NOT_ALLOWED = 405 };

#define OF(kind) (1u << CLI_WANTED_##kind)
#define OF_HEAP (OF(HEAP) | OF(ALLOCS))
#define OF_PROCESS (OF(PAGE) | OF_HEAP | OF(THREADS) | OF(PROFILE))

static const struct {
    const char *name;
    unsigned kinds;      /* whose parameter it is */
} parameters[] = {
    { "pid", OF_PROCESS },
    { "seconds", OF_HEAP | OF(PROFILE) },
    { "debug", OF_HEAP },
    { "gc", OF_HEAP },
    { "token", ~0u },
};

enum { PARAMETERS = sizeof(parameters) / sizeof(*parameters) };

/* Returns a number of at most nine digits, or -1 if the text is no such number. */
static long
number_of(const char *text, size_t length)
{
    long number = 0;

    if (length == 0 || length > 9) return -1;
    for (size_t i = 0; i < length; i++) {
        if (text[i] < '0' || text[i] > '9') return -1;
        number = number * 10 + (text[i] - '0');
    }
    return number;
}

/* ---- which parameters ---- */

/* Whether the path has that parameter. A path that names the process has no parameter pid. */
static bool
has_p(const struct cli_wanted *wanted, size_t parameter)
{
    return parameters[parameter].kinds >> wanted->kind & 1 && !(parameter == 0 && wanted->pid);
}

static int
refuse_parameter(const struct cli_wanted *wanted, const char *name, size_t length,
                 char line[CLI_WANTED_LINE_MAX])
{
    static const char shown[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-";
    const char *between = "";
    size_t plain = strspn(name, shown);
    int used;

    if (plain == length && length <= 40)
        used = snprintf(line, CLI_WANTED_LINE_MAX, "this path has no parameter \"%.*s\": expected ",
                        (int)length, name);
    else used = snprintf(line, CLI_WANTED_LINE_MAX, "an unknown parameter: expected ");
    for (size_t i = 0; i < PARAMETERS; i++) {
        if (!has_p(wanted, i)) continue;
        used += snprintf(line + used, CLI_WANTED_LINE_MAX - (size_t)used, "%s%s", between,
                         parameters[i].name);
        between = ", ";
    }
    return BAD;
}

/* Holds I1. */
static int
check_names(const struct cli_request *request, const struct cli_wanted *wanted,
            char line[CLI_WANTED_LINE_MAX])
{
    unsigned seen = 0;
    size_t length;

    for (const char *at = request->query; *at; at += length + (at[length] == '&')) {
        size_t name = strcspn(at, "=&"), i = 0;
        length = strcspn(at, "&");
        if (length == 0) continue;
        while (i < PARAMETERS && !(strlen(parameters[i].name) == name &&
                                   !strncmp(parameters[i].name, at, name))) i++;
        if (i == PARAMETERS || !has_p(wanted, i)) return refuse_parameter(wanted, at, name, line);
        if (seen >> i & 1) {
            snprintf(line, CLI_WANTED_LINE_MAX, "%s is given twice", parameters[i].name);
            return BAD;
        }
        seen |= 1u << i;
    }
    return 0;
}

/* ---- their values ---- */

static int
read_pid(const struct cli_request *request, struct cli_wanted *wanted,
         char line[CLI_WANTED_LINE_MAX])
{
    char value[CLI_REQUEST_VALUE_MOST] = "";

    if (wanted->pid) return 0;
    if (cli_request_parameter(request, "pid", value) == CLI_PARAMETER_GIVEN)
        wanted->pid = (pid_t)number_of(value, strlen(value));
    if (wanted->pid > 0) return 0;
    snprintf(line, CLI_WANTED_LINE_MAX, "which process? Give pid=N, or /N/debug/pprof/");
    return BAD;
}

/* Reads digits, with at most one point among them. */
static int
read_seconds(const struct cli_request *request, int longest, struct cli_wanted *wanted,
             char line[CLI_WANTED_LINE_MAX])
{
    char value[CLI_REQUEST_VALUE_MOST] = "";
    enum cli_parameter given = cli_request_parameter(request, "seconds", value);

    wanted->seconds = wanted->kind == CLI_WANTED_PROFILE ? CLI_WANTED_SECONDS : 0;
    if (given == CLI_PARAMETER_NONE) return 0;
    size_t whole = strspn(value, "0123456789");
    size_t part = value[whole] == '.' ? strspn(value + whole + 1, "0123456789") + 1 : 0;
    bool number = given == CLI_PARAMETER_GIVEN && whole > 0 && whole <= 9 && part != 1 &&
                  part <= 10 && !value[whole + part];
    wanted->seconds = number ? strtod(value, NULL) : 0;
    if (wanted->seconds > 0 && wanted->seconds <= longest) return 0;
    snprintf(line, CLI_WANTED_LINE_MAX,
             "seconds: expected a number as 10 or 0.5, more than 0, and at most %d%s", longest,
             longest > 60 ? "" : "; with HEAPPROF_TOKEN at most 600");
    return BAD;
}

static int
read_debug(const struct cli_request *request, struct cli_wanted *wanted,
           char line[CLI_WANTED_LINE_MAX])
{
    char value[CLI_REQUEST_VALUE_MOST] = "0";
    enum cli_parameter given = cli_request_parameter(request, "debug", value);
    long number = given == CLI_PARAMETER_WRONG ? -1 : number_of(value, strlen(value));

    wanted->text = number > 0;
    if (number >= 0 && number <= 2) return 0;
    snprintf(line, CLI_WANTED_LINE_MAX, "debug: expected 0 for a profile, 1 or 2 for text");
    return BAD;
}

static int
check_gc(const struct cli_request *request, char line[CLI_WANTED_LINE_MAX])
{
    char value[CLI_REQUEST_VALUE_MOST] = "0";
    enum cli_parameter given = cli_request_parameter(request, "gc", value);

    if (given == CLI_PARAMETER_NONE || (given == CLI_PARAMETER_GIVEN && !strcmp(value, "0")))
        return 0;
    snprintf(line, CLI_WANTED_LINE_MAX,
             "gc: expected 0: this server reads from outside, and cannot start a garbage "
             "collection; heapprof/rack in the program can");
    return BAD;
}

static int
read_query(const struct cli_request *request, int longest, struct cli_wanted *wanted,
           char line[CLI_WANTED_LINE_MAX])
{
    int status = check_names(request, wanted, line);

    if (!status && OF_PROCESS >> wanted->kind & 1) status = read_pid(request, wanted, line);
    if (!status) status = read_seconds(request, longest, wanted, line);
    if (!status) status = read_debug(request, wanted, line);
    return status ? status : check_gc(request, line);
}

/* ---- which path ---- */

/* Reads what comes after /debug/pprof/. */
static bool
read_name(const char *name, bool with_pid, struct cli_wanted *wanted)
{
    static const struct {
        const char *name;
        enum cli_wanted_kind kind;
    } names[] = {
        { "heap", CLI_WANTED_HEAP },
        { "allocs", CLI_WANTED_ALLOCS },
        { "profile", CLI_WANTED_PROFILE },
        { "threads", CLI_WANTED_THREADS },
    };

    wanted->kind = with_pid ? CLI_WANTED_PAGE : CLI_WANTED_INDEX;
    if (!*name) return true;
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
        wanted->kind = names[i].kind;
        if (!strcmp(names[i].name, name)) return true;
    }
    return false;
}

/* Reads the pid at the beginning of the path, if there is one. Returns the rest of the path. */
static const char *
read_path_pid(const char *path, struct cli_wanted *wanted)
{
    size_t length = strcspn(path + 1, "/");
    long pid = number_of(path + 1, length);

    wanted->pid = pid > 0 ? (pid_t)pid : 0;
    return pid >= 0 ? path + 1 + length : path;
}

static bool
query_has_pid_p(const struct cli_request *request)
{
    char value[CLI_REQUEST_VALUE_MOST];

    return cli_request_parameter(request, "pid", value) != CLI_PARAMETER_NONE;
}

int
cli_wanted_read(const struct cli_request *request, int longest, struct cli_wanted *wanted,
                char line[CLI_WANTED_LINE_MAX])
{
    static const char prefix[] = "/debug/pprof";

    *wanted = (struct cli_wanted){.kind = CLI_WANTED_INDEX};
    snprintf(line, CLI_WANTED_LINE_MAX, "method not allowed: expected GET or HEAD");
    if (strcmp(request->method, "GET") && strcmp(request->method, "HEAD")) return NOT_ALLOWED;
    const char *path = read_path_pid(request->path, wanted);
    size_t length = strlen(prefix);
    if (!strncmp(path, prefix, length) && (!path[length] || path[length] == '/')) {
        bool with_pid = path != request->path || query_has_pid_p(request);
        snprintf(line, CLI_WANTED_LINE_MAX,
                 "no such profile: expected heap, allocs, profile or threads");
        if (!read_name(path + length + (path[length] == '/'), with_pid, wanted)) return NOT_FOUND;
    }
    else {
        snprintf(line, CLI_WANTED_LINE_MAX, "expected /, /targets or /PID/debug/pprof/");
        if (path != request->path || (strcmp(path, "/") && strcmp(path, "/targets")))
            return NOT_FOUND;
        if (path[1]) wanted->kind = CLI_WANTED_TARGETS;
    }
    return read_query(request, longest, wanted, line);
}
