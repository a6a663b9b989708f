/* help.c - heapprof help: prints the commands' tables as text. Also writes what the build
 * installs from them. */
#include "cli/cli.h"

#include <string.h>

#include "attach/host.h"
#include "base/version.h"
#include "cli/made.h"
#include "report/text.h"

/* Writes "-n, --count=N". */
static int
put_option_name(FILE *out, const struct cli_option_words *words)
{
    int width = 0;

    if (words->letter) width += fprintf(out, "-%c, ", words->letter);
    else width += fprintf(out, "    ");
    width += fprintf(out, "%s", words->name);
    if (words->value) width += fprintf(out, "=%s", words->value);
    return width;
}

static void
put_options(FILE *out, const struct cli_command *command)
{
    const struct cli_option *option;

    for (size_t place = 0; (option = cli_option_at(command, place)) != NULL; place++) {
        int width = fprintf(out, "  ");
        width += put_option_name(out, &cli_option_words[option->id]);
        if (width >= 28) fprintf(out, "\n%28s", "");
        else fprintf(out, "%*s", 28 - width, "");
        fprintf(out, "%s\n", option->help);
        if (option->choices) fprintf(out, "%28s(%s)\n", "", option->choices);
    }
}

static void
help_of(FILE *out, const struct cli_command *command)
{
    const struct cli_example *example = command->examples;

    fprintf(out, "heapprof %s - %s\n\nUsage: heapprof %s %s\n\n%s\n\n", command->name,
            command->summary, command->name, command->arguments, command->description);
    if (cli_readers(command)) fprintf(out, "Who can read it: %s\n\n", cli_readers(command));
    fputs("Options:\n", out);
    put_options(out, command);
    if (example) fprintf(out, "\nExamples:\n");
    for (; example && example->command; example++) {
        fprintf(out, "  %s\n      %s\n", example->command, example->what);
    }
}

void
cli_help(FILE *out, const struct cli_command *command)
{
    const struct cli_group *group = cli_groups;

    if (command) {
        help_of(out, command);
        return;
    }
    fprintf(out, "heapprof - profiles of Ruby's heap: take, look, compare, convert\n\n"
                 "Usage: heapprof COMMAND [options] [FILE...]\n");
    for (const struct cli_command *const *each = cli_commands; *each; each++) {
        if (group->first == *each) fprintf(out, "\n%s:\n", group++->title);
        fprintf(out, "  %-15s%s\n", (*each)->name, (*each)->summary);
    }
    fprintf(out, "\nheapprof COMMAND --help says more, with examples. A FILE is a profile in "
                 "pprof's format,\n"
                 "gzip'd or not, from any program; of graph commands it is a dump of "
                 "ObjectSpace::HeapGraph.\n"
                 "\"-\" is stdin. This is " HEAPPROF_NAME " " HEAPPROF_VERSION ".\n");
}

/* Shows the commands that begin with that word. Returns false if no command does. */
static bool
help_of_family(const char *word)
{
    size_t length = strlen(word), count = 0;

    for (const struct cli_command *const *each = cli_commands; *each; each++) {
        if (strncmp((*each)->name, word, length) || (*each)->name[length] != ' ') continue;
        if (!count++) cli_page();
        printf("heapprof %-20s%s\n", (*each)->name, (*each)->summary);
    }
    return count > 0;
}

/* For the shells' completions: a line for each Ruby process that may be read, with its PID, a tab
 * and what it is called. */
static int
put_processes(const struct cli *cli)
{
    struct attach_host host = {0};

    if (!attach_host_list(&host)) return cli_wrong(cli, "the processes cannot be listed");
    for (size_t i = 0; i < host.count; i++) {
        if (!host.all[i].ruby) continue;
        printf("%d\t", (int)host.all[i].pid);
        report_put(stdout, host.all[i].title, 0, false);
        putchar('\n');
    }
    attach_host_free(&host);
    return cli_finish(cli);
}

static void
make(const struct cli *cli)
{
    const char *shell = cli->values[CLI_COMPLETION];

    if (cli->values[CLI_OPTION_TABLE]) cli_option_table(stdout);
    else if (!shell) cli_manual(stdout);
    else if (!strcmp(shell, "bash")) cli_completion_bash(stdout);
    else if (!strcmp(shell, "zsh")) cli_completion_zsh(stdout);
    else cli_completion_fish(stdout);
}

static int
run(struct cli *cli)
{
    const struct cli_command *command = NULL;
    size_t words;

    if (cli->values[CLI_PROCESSES]) return put_processes(cli);
    if (cli->values[CLI_MAN] || cli->values[CLI_COMPLETION] || cli->values[CLI_OPTION_TABLE]) {
        make(cli);
        return cli_finish(cli);
    }
    if (cli->operand_count == 1 && help_of_family(cli->operands[0])) return cli_finish(cli);
    if (cli->operand_count > 0 &&
        !(command = cli_find_words(cli->operands, cli->operand_count, &words))) {
        cli_refuse_words(cli->operands, cli->operand_count);
        return CLI_USAGE;
    }
    cli_page();
    cli_help(stdout, command);
    return cli_finish(cli);
}

static const struct cli_option options[] = {
    { CLI_MAN, NULL, "Print the man page, for man" },
    { CLI_COMPLETION, "bash zsh fish", "Print the completion of that shell" },
    { CLI_OPTION_TABLE, NULL, "Print which letter and which option means what, in Markdown" },
    { CLI_PROCESSES, NULL,
      "Print the Ruby processes that you may read: PID, tab, title. Completions use it" },
    { 0 }
};

static const struct cli_example examples[] = {
    {"heapprof help top", "what top shows, and its options"},
    {"heapprof help --man | man -l -", "the man page, of a heapprof that is not installed"},
    {"eval \"$(heapprof help --completion=bash)\"", "completion in this shell"},
    {0}
};

const struct cli_command cli_help_command = {
    .name = "help",
    .arguments = "[COMMAND] [--man] [--completion=SHELL] [--options] [--processes]",
    .summary = "List the commands, or explain one",
    .description = "Lists the commands, or explains one of them.",
    .options = options,
    .examples = examples,
    .least = 0,
    .most = 2,
    .operand = CLI_OTHER,
    .run = run,
};
