/* named.c - from a name to the process that has it. A process comes before a file of its name. */
#include "cli/live/named.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "attach/host.h"
#include "report/text.h"

enum { TITLE_MOST = 100 }; /* columns */

static bool
named_p(const struct attach_host_process *process, const char *name)
{
    return process->ruby && attach_host_called_p(process, name);
}

static void
list(const struct cli *cli, const struct attach_host *host, const char *name, size_t count)
{
    cli_wrong(cli, "%s: %zu processes have this name; give the PID:", name, count);
    for (size_t i = 0; i < host->count; i++) {
        if (!named_p(&host->all[i], name)) continue;
        fprintf(stderr, "%9d  ", (int)host->all[i].pid);
        report_put(stderr, host->all[i].title, TITLE_MOST, false);
        fputc('\n', stderr);
    }
}

/* No process has this name: a file may be meant. */
static void
say_none(const struct cli *cli, const char *name)
{
    struct stat status;
    bool there = stat(name, &status) == 0;

    if (!there && strchr(name, '/')) cli_wrong(cli, "%s: %s", name, strerror(errno));
    else if (!there)
        cli_wrong(cli, "%s: no Ruby process that you may read has this name; heapprof ps lists the "
                  "processes", name);
    else if (S_ISDIR(status.st_mode)) cli_wrong(cli, "%s: is a directory", name);
    else if (access(name, R_OK) != 0) cli_wrong(cli, "%s: %s", name, strerror(errno));
    else if (S_ISREG(status.st_mode) && status.st_size == 0) cli_wrong(cli, "%s: is empty", name);
    else
        cli_wrong(cli, "%s: is no profile and no object graph, nor has a Ruby process that you may "
                  "read this name", name);
}

pid_t
cli_named(const struct cli *cli, const char *name)
{
    const struct attach_host_process *found = NULL;
    struct attach_host host = { 0 };
    size_t count = 0;
    pid_t pid = 0;

    if (!attach_host_list(&host)) cli_wrong(cli, "the processes cannot be listed");
    else {
        for (size_t i = 0; i < host.count; i++) {
            if (named_p(&host.all[i], name) && count++ == 0) found = &host.all[i];
        }
        if (count == 0) say_none(cli, name);
        else if (count > 1) list(cli, &host, name, count);
        else {
            pid = found->pid;
            report_print(stderr, "heapprof %s: %s is process %d: %s\n", cli->command->name, name,
                         (int)pid, found->title);
        }
    }
    attach_host_free(&host);
    return pid;
}
