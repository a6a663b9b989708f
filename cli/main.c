/* main.c - heapprof: finds the command and runs it. */
#include "cli/cli.h"

#include <locale.h>
#include <signal.h>
#include <string.h>

#include "cli/commands.h"

#define TEXT(macro) TEXT_OF(macro)
#define TEXT_OF(text) #text

#define DECLARE(name) extern const struct cli_command cli_##name##_command;
CLI_COMMANDS(DECLARE)

#define ADDRESS(name) &cli_##name##_command,
const struct cli_command *const cli_commands[] = {CLI_COMMANDS(ADDRESS) NULL};

void (*cli_sigpipe)(int);

const struct cli_command *
cli_find(const char *name)
{
    for (const struct cli_command *const *command = cli_commands; *command; command++) {
        if (!strcmp((*command)->name, name)) return *command;
    }
    return NULL;
}

static int
run(const struct cli_command *command, int argc, char **argv)
{
    struct cli cli = {.command = command};

    if (!cli_parse(&cli, argc, argv)) return CLI_USAGE;
    if (cli.values[0]) { /* --help, of every command the first */
        cli_page();
        cli_help(stdout, command);
        return cli_finish(&cli);
    }
    return command->run(&cli);
}

int
main(int argc, char **argv)
{
    const struct cli_command *command;

    cli_sigpipe = signal(SIGPIPE, SIG_IGN); /* a pager that is left early is no error: cli_finish looks */
    setlocale(LC_CTYPE, "");
    if (argc < 2) {
        cli_help(stderr, NULL);
        return CLI_USAGE;
    }
    if (!strcmp(argv[1], "--version")) {
        puts("heapprof of ruby " TEXT(HEAPPROF_VERSION));
        return CLI_DONE;
    }
    if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h")) argv[1] = "help";
    command = cli_find(argv[1]);
    if (!command) {
        fprintf(stderr, "heapprof: %s is no command; they are:", argv[1]);
        for (const struct cli_command *const *each = cli_commands; *each; each++) {
            fprintf(stderr, " %s", (*each)->name);
        }
        fputc('\n', stderr);
        return CLI_USAGE;
    }
    return run(command, argc - 2, argv + 2);
}
