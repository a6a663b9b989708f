/* attach.c - processes and cores on the command line. */
#include "cli/attach.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "attach/rights.h"

/* -1: it is no number. One that no process can have is told as such by who opens it. */
static bool
parse_pid(const char *text, int64_t *pid)
{
    char *end;

    errno = 0;
    long long number = strtoll(text, &end, 10);
    if (!*text || *end) return false;
    *pid = errno ? INT64_MAX : number;
    return true;
}

struct heapprof_target *
cli_attach_open(const struct cli *cli, const char *name, bool core)
{
    char error[HEAPPROF_TARGET_ERROR_MAX];
    struct heapprof_target *target;
    int64_t pid;

    if (core) target = rb_heapprof_target_open_core(name, error);
    else if (!parse_pid(name, &pid)) {
        cli_wrong(cli, "%s: is no process number", name);
        return NULL;
    }
    else target = rb_heapprof_target_open_pid(pid, error);
    if (!target) cli_wrong(cli, "%s", error);
    return target;
}

enum heapprof_look_mode
cli_attach_mode(const char *stop)
{
    if (!stop || !strcmp(stop, "auto")) return HEAPPROF_LOOK_AUTO;
    return strcmp(stop, "always") ? HEAPPROF_LOOK_NEVER : HEAPPROF_LOOK_ALWAYS;
}

void
cli_attach_put_heading(const struct heapprof_target *target)
{
    printf("%s\n", target->name);
}
