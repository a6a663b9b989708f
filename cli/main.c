/* main.c - heapprof: finds the command and runs it. */
#include "cli/cli.h"

#include <locale.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "cli/child.h"
#include "cli/commands.h"
#include "report/text.h"

#define DECLARE(name) extern const struct cli_command cli_##name##_command;
CLI_COMMANDS(DECLARE)

#define ADDRESS(name) &cli_##name##_command,
static const struct cli_command *const commands[] = {CLI_COMMANDS(ADDRESS) NULL};

/* Says which commands there are. */
static int
refuse(const char *word, const char *next)
{
    char *family = NULL;
    size_t size, count;
    FILE *out = open_memstream(&family, &size);

    count = out ? cli_family(out, word) : 0;
    if (out) fclose(out);
    if (count && next) report_print(stderr, "heapprof: %s %s is not a command; the commands are:%s\n", word, next, family);
    else if (count) fprintf(stderr, "heapprof: type one of these after %s:%s\n", word, family);
    else {
        report_print(stderr, "heapprof: %s is not a command; the commands are:", word);
        for (const struct cli_command *const *each = cli_commands; *each; each++) fprintf(stderr, " %s", (*each)->name);
        fputc('\n', stderr);
    }
    free(family);
    return CLI_USAGE;
}

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
    return command->run(&cli);
}

int
main(int argc, char **argv)
{
    const struct cli_command *command;
    size_t words;

    cli_commands = commands;
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
    if (!command) return refuse(argv[1], argv[2]);
    return run(command, argc - 1 - (int)words, argv + 1 + words);
}
