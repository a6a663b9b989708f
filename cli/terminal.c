/* terminal.c - how wide and how colourful stdout is, and a pager for stdout.
 *
 * The pager is the user's PAGER, or less. less ends by itself if a screen is enough (LESS=FRX,
 * as git sets it, unless the user has set LESS). stdout becomes a pipe to the pager. A user who
 * leaves the pager early has seen enough. So the broken pipe that follows is no error.
 */
#include "cli/cli.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "os/terminal.h"

static struct {
    pid_t    pager;      /* 0 if none runs */
    unsigned width;      /* of the terminal, before a pager took its place */
    bool     colour;
    bool     terminal;
    bool     known;
} terminal;

static void
look(void)
{
    if (terminal.known) return;
    terminal.known = true;
    terminal.terminal = isatty(1);
    terminal.width = rb_heapprof_terminal_width(1);
    terminal.colour = rb_heapprof_terminal_colour_p(1);
}

unsigned
cli_width(void)
{
    look();
    return terminal.width;
}

bool
cli_colour(void)
{
    look();
    return terminal.colour;
}

static void
become_pager(const int ends[2])
{
    const char *pager = getenv("PAGER");

    dup2(ends[0], 0);
    close(ends[0]);
    close(ends[1]);
    setenv("LESS", "FRX", 0);
    execl("/bin/sh", "sh", "-c", pager && *pager ? pager : "less || cat", (char *)NULL);
    _exit(127);
}

void
cli_page(void)
{
    const char *pager = getenv("PAGER");
    int ends[2];

    look();
    if (!terminal.terminal || terminal.pager || (pager && (!strcmp(pager, "cat") || !*pager)))
        return;
    if (pipe(ends) != 0) return;
    terminal.pager = fork();
    if (terminal.pager == 0) become_pager(ends);
    if (terminal.pager > 0) dup2(ends[1], 1);
    else terminal.pager = 0;
    close(ends[0]);
    close(ends[1]);
}

int
cli_finish(const struct cli *cli)
{
    bool failed = ferror(stdout);
    int error;

    errno = 0;
    failed = fflush(stdout) != 0 || failed;
    error = errno;
    if (terminal.pager) {
        close(1);
        waitpid(terminal.pager, NULL, 0);
        return CLI_DONE;
    }
    if (!failed || error == EPIPE) return CLI_DONE;
    return cli_wrong(cli, "stdout: %s", error ? strerror(error) : "cannot be written");
}
