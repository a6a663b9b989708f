/* unknown.c - says which command was meant, if no command has the name that was typed.
 *
 * Most such words are a typo, the second word of a command of two words ("report" of "graph
 * report"), or a file or process that stands where the command should be. */
#include "cli/cli.h"

#include <stdlib.h>
#include <string.h>

#include "cli/suggest.h"
#include "report/text.h"

static bool
number_p(const char *word)
{
    return *word && !word[strspn(word, "0123456789")];
}

/* Says what reads the file at that path, if it is one, and one that the command does not read. */
static bool
say_file(const struct cli_command *command, const char *path)
{
    char advice[CLI_KIND_ADVICE_MAX];

    if (!cli_kind_advise(advice, cli_kind_of_file(path), command, path)) return false;
    report_print(stderr, "heapprof: %s: %s\n", path, advice);
    return true;
}

/* Says which command of two words ends with that word. The file that follows may be of another
 * command. For a process there are two commands that may be meant. */
static bool
say_second_word(char *const *words, size_t count)
{
    const char *word = words[0], *next = count > 1 ? words[1] : NULL;

    for (const struct cli_command *const *each = cli_commands; *each; each++) {
        const char *second = strchr((*each)->name, ' ');
        if (!second || strcmp(second + 1, word)) continue;
        if (next && say_file(*each, next)) return true;
        report_print(stderr, "heapprof: %s is not a command; did you mean heapprof %s", word,
                     (*each)->name);
        for (size_t i = 1; i < count; i++) report_print(stderr, " %s", words[i]);
        if (next && (*each)->operand == CLI_PIDS && number_p(next)) {
            report_print(stderr, " (its objects), or heapprof snapshot %s (its heap profile)",
                         next);
        }
        fputs("?\n", stderr);
        return true;
    }
    return false;
}

/* Says which command of one word is like the word, or which of two words has a second word like
 * it. */
static bool
say_nearest(const char *word)
{
    struct cli_suggestion suggestion = {.word = word};
    const struct cli_command *nearest = NULL;

    for (const struct cli_command *const *each = cli_commands; *each; each++) {
        const char *second = strchr((*each)->name, ' '), *before = suggestion.nearest;
        cli_suggest(&suggestion, second ? second + 1 : (*each)->name);
        if (suggestion.nearest != before) nearest = *each;
    }
    if (nearest) {
        report_print(stderr, "heapprof: %s is not a command; did you mean heapprof %s?\n", word,
                     nearest->name);
    }
    return nearest;
}

/* Says that the word is like the first word of commands of two words. */
static bool
say_first_word(const char *word)
{
    for (const struct cli_command *const *each = cli_commands; *each; each++) {
        char first[32];
        struct cli_suggestion suggestion = {.word = word};
        size_t length = strcspn((*each)->name, " ");
        if (!(*each)->name[length]) continue;
        snprintf(first, sizeof(first), "%.*s", (int)length, (*each)->name);
        cli_suggest(&suggestion, first);
        if (!suggestion.nearest) continue;
        report_print(stderr, "heapprof: %s is not a command; did you mean heapprof %s?\n", word,
                     first);
        return true;
    }
    return false;
}

/* The first word is that of commands of two words. */
static void
refuse_second_word(const char *first, const char *word, const char *all)
{
    struct cli_suggestion suggestion = {.word = word};
    size_t length = strlen(first);

    for (const struct cli_command *const *each = cli_commands; *each; each++) {
        const char *name = (*each)->name;
        bool in_family = !strncmp(name, first, length) && name[length] == ' ';
        if (in_family) cli_suggest(&suggestion, name + length + 1);
    }
    if (suggestion.nearest) {
        report_print(stderr, "heapprof: %s %s is not a command; did you mean heapprof %s %s?\n",
                     first, word, first, suggestion.nearest);
    }
    else if (!say_file(NULL, word)) {
        report_print(stderr, "heapprof: %s %s is not a command; type one of these after %s:%s\n",
                     first, word, first, all);
    }
}

static void
refuse_word(char *const *words, size_t count)
{
    const char *word = words[0];

    if (say_second_word(words, count) || say_nearest(word) || say_first_word(word) ||
        say_file(NULL, word) || (count > 1 && say_file(NULL, words[1]))) return;
    report_print(stderr, "heapprof: %s is not a command; ", word);
    if (number_p(word)) fprintf(stderr, "to look at a process, type heapprof stacks %s\n", word);
    else fprintf(stderr, "type heapprof help to see all commands\n");
}

void
cli_refuse_words(char *const *words, size_t count)
{
    char *all = NULL;
    size_t size, commands = 0;
    FILE *out = open_memstream(&all, &size);

    if (out) commands = cli_family(out, words[0]);
    if (out) fclose(out);
    if (commands == 0) refuse_word(words, count);
    else if (count > 1) refuse_second_word(words[0], words[1], all);
    else fprintf(stderr, "heapprof: type one of these after %s:%s\n", words[0], all);
    free(all);
}
