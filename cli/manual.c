/* manual.c - heapprof(1), made from the commands' tables. */
#include "cli/made.h"

#include <string.h>

#include "base/version.h"
#include "cli/cli.h"

/* Writes text that troff shows as it is. start says whether the text begins a line. */
static void
put(FILE *out, const char *text, bool start)
{
    for (; *text; text++) {
        if (start && (*text == '.' || *text == '\'')) fputs("\\&", out);
        start = false;
        if (*text == '\\') fputs("\\e", out);
        else if (*text == '-') fputs("\\-", out);
        else if (*text == '\'') fputs("\\(aq", out);
        else if (*text == '~') fputs("\\(ti", out);
        else if (*text == '^') fputs("\\(ha", out);
        else if (!strncmp(text, "\xc2\xb1", 2)) fputs("\\(+-", out), text++;
        else putc(*text, out);
        start = *text == '\n';
    }
}

/* Writes paragraphs. In text, an empty line separates them. */
static void
put_paragraphs(FILE *out, const char *text)
{
    const char *end;

    for (; (end = strstr(text, "\n\n")) != NULL; text = end + 2) {
        char paragraph[4096];
        snprintf(paragraph, sizeof(paragraph), "%.*s", (int)(end - text), text);
        put(out, paragraph, true);
        fputs("\n.PP\n", out);
    }
    put(out, text, true);
    putc('\n', out);
}

static void
put_option(FILE *out, const struct cli_option *option)
{
    const struct cli_option_words *words = &cli_option_words[option->id];

    fputs(".TP\n", out);
    if (words->letter) fprintf(out, "\\fB\\-%c\\fR, ", words->letter);
    fputs("\\fB", out);
    put(out, words->name, false);
    fputs("\\fR", out);
    if (words->value) fprintf(out, "=\\fI%s\\fR", words->value);
    putc('\n', out);
    put(out, option->help, true);
    if (option->choices) {
        fputs(" (", out);
        put(out, option->choices, false);
        putc(')', out);
    }
    fputs(".\n", out);
}

static void
put_command(FILE *out, const struct cli_command *command)
{
    fprintf(out, ".SS heapprof %s ", command->name);
    put(out, command->arguments, false);
    putc('\n', out);
    put_paragraphs(out, command->description);
    if (cli_readers(command)) {
        fputs(".PP\nWho can read it: ", out);
        put(out, cli_readers(command), false);
        putc('\n', out);
    }
    for (const struct cli_option *option = command->options; option && option->id; option++)
        put_option(out, option);
}

static void
put_examples(FILE *out)
{
    for (const struct cli_command *const *command = cli_commands; *command; command++) {
        for (const struct cli_example *example = (*command)->examples; example && example->command;
             example++) {
            fputs(".TP\n.B ", out);
            put(out, example->command, true);
            putc('\n', out);
            put(out, example->what, true);
            putc('\n', out);
        }
    }
}

void
cli_manual(FILE *out)
{
    fputs(".TH HEAPPROF 1 \"\" \"" HEAPPROF_NAME " " HEAPPROF_VERSION "\" \"User Commands\"\n"
          ".SH NAME\nheapprof \\- take, look at, compare and convert profiles of Ruby's heap\n"
          ".SH SYNOPSIS\n.B heapprof\n.I COMMAND\n[\\fIoptions\\fR] [\\fIFILE\\fR...]\n"
          ".SH DESCRIPTION\nReads profiles in pprof's format, gzip'd or not: those of a Ruby with "
          "the heap profiler, and of\n"
          "anybody else. A\n.I FILE\nthat is\n.B \\-\nis standard input.\n.SH COMMANDS\n",
          out);
    for (const struct cli_command *const *command = cli_commands; *command; command++)
        put_command(out, *command);
    fputs(".SH OPTIONS OF EVERY COMMAND\n", out);
    put_option(out, cli_common_options);
    fputs(".TP\n.BR \"heapprof \\-V\" \", \" \"heapprof \\-\\-version\"\nThe same as \n.BR version "
          ".\n.SH EXAMPLES\n",
          out);
    put_examples(out);
    fputs(".SH EXIT STATUS\n.TP\n0\ndone.\n.TP\n1\na file, or what is in it, is wrong; a line on "
          "standard error says what.\n"
          ".TP\n2\nthe command line is wrong; the line says what is accepted.\n.PP\n.B heapprof "
          "run\nends as its command does.\n"
          ".SH ENVIRONMENT\n.TP\n.B PAGER\nshows what is longer than a screen (default: less).\n"
          ".TP\n.B NO_COLOR\nif it is set, there is no colour.\n"
          ".TP\n.B COLUMNS\nhow wide lines are (default: as the terminal; in a file as long as "
          "they are).\n"
          ".TP\n.B RUBY_HEAPPROF\nturns the profiler on in a Ruby process;\n.B heapprof run\nsets "
          "it.\n"
          ".SH SEE ALSO\n.BR ruby (1)\n",
          out);
}
