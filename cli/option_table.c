/* option_table.c - doc/options.md: which letter and which option means what, and in which
 * commands. */
#include "cli/made.h"

#include <string.h>

#include "cli/cli.h"

/* Writes "top, diff, graph (top, why)": commands of a family stand together. */
static void
put_commands(FILE *out, enum cli_option_id id)
{
    const char *between = "";
    char family[32] = "";

    if (id == CLI_HELP) fputs("all", out);
    if (id == CLI_VERSION) fputs("heapprof itself", out);
    for (const struct cli_command *const *each = cli_commands; *each; each++) {
        const char *name = (*each)->name, *second = strchr(name, ' ');
        size_t length = second ? (size_t)(second - name) : 0;
        if (!cli_has_option_p(*each, id)) continue;
        bool goes_on = length && strlen(family) == length && !strncmp(family, name, length);
        if (*family && !goes_on) putc(')', out);
        fputs(between, out);
        if (length && !goes_on) fprintf(out, "%.*s (", (int)length, name);
        fputs(length ? second + 1 : name, out);
        snprintf(family, sizeof(family), "%.*s", (int)length, name);
        between = ", ";
    }
    if (*family) putc(')', out);
}

static void
put_row(FILE *out, enum cli_option_id id)
{
    const struct cli_option_words *words = &cli_option_words[id];

    if (words->letter) fprintf(out, "| `-%c`", words->letter);
    else fputs("| ", out);
    fprintf(out, " | `%s%s%s` | %s | ", words->name, words->value ? "=" : "",
            words->value ? words->value : "", words->meaning);
    put_commands(out, id);
    fputs(" |\n", out);
}

void
cli_option_table(FILE *out)
{
    fputs("# Options of heapprof\n\n"
          "Made by `heapprof help --options`. A letter or a name means the same in each command\n"
          "that has it; `heapprof COMMAND --help` says what it does there.\n\n"
          "| letter | option | means | commands |\n|---|---|---|---|\n", out);
    for (enum cli_option_id id = CLI_NO_OPTION + 1; id < CLI_OPTION_COUNT; id++) put_row(out, id);
    fputs("\n## Old spellings\n\nThey work, and a line on stderr says what to type instead. They "
          "will\n"
          "go away.\n\n"
          "| command | old | type |\n|---|---|---|\n",
          out);
    for (const struct cli_old_spelling *old = cli_old_spellings; old->command; old++) {
        fprintf(out, "| %s | `%s` | `%s` |\n", old->command, old->spelling,
                cli_option_words[old->option].name);
    }
}
