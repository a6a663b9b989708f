/* main.c - heapprof: finds the command and runs it. */
#include "cli/cli.h"

#include <locale.h>
#include <signal.h>
#include <string.h>

#include "cli/child.h"
#include "cli/commands.h"

#define DECLARE(name) extern const struct cli_command cli_##name##_command;
#define ADDRESS(name) &cli_##name##_command,
#define TITLE(title, first) {title, &cli_##first##_command},
#define NOTHING(...)
CLI_COMMANDS(DECLARE, NOTHING)
static const struct cli_command *const commands[] = {CLI_COMMANDS(ADDRESS, NOTHING) NULL};
static const struct cli_group groups[] = {CLI_COMMANDS(NOTHING, TITLE) {0}};

static int
run(const struct cli_command *command, int argc, char **argv)
{
    struct cli cli = {.command = command};

    if (!cli_parse(&cli, argc, argv)) return CLI_USAGE;
    if (cli.values[CLI_HELP]) {
        cli_page();
        cli_help(stdout, command);
        return cli_finish(&cli);
    }
    return cli_output_run(&cli);
}

int
main(int argc, char **argv)
{
    const struct cli_command *command;
    size_t words;

    cli_commands = commands;
    cli_groups = groups;
    cli_sigpipe = signal(SIGPIPE, SIG_IGN); /* a pager may be left early: cli_finish checks */
    setlocale(LC_CTYPE, "");
    if (argc < 2) {
        cli_help(stderr, NULL);
        return CLI_USAGE;
    }
    if (!strcmp(argv[1], "--version") || !strcmp(argv[1], "-V")) argv[1] = "version";
    if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h")) argv[1] = "help";
    if (argc == 3 && (!strcmp(argv[2], "--help") || !strcmp(argv[2], "-h")) && !cli_find(argv[1])) {
        argv[2] = argv[1]; /* the name of a family */
        argv[1] = "help";
    }
    command = cli_find_words(argv + 1, (size_t)argc - 1, &words);
    if (!command) {
        cli_refuse_words(argv + 1, (size_t)argc - 1);
        return CLI_USAGE;
    }
    return run(command, argc - 1 - (int)words, argv + 1 + words);
}
