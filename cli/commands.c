/* commands.c - finds a command by its name, in the list that main.c made. */
#include <string.h>

#include "cli/cli.h"

const struct cli_command *const *cli_commands;
const struct cli_group *cli_groups;

/* Returns how many words the name has, or 0 if the words do not begin with the name. */
static size_t
words_of(const char *name, char *const *words, size_t count)
{
    size_t length, used = 0;

    for (; *name; name += length + (name[length] == ' ')) {
        length = strcspn(name, " ");
        if (used == count || strlen(words[used]) != length || strncmp(words[used], name, length))
            return 0;
        used++;
    }
    return used;
}

const struct cli_command *
cli_find(const char *name)
{
    for (const struct cli_command *const *command = cli_commands; *command; command++) {
        if (!strcmp((*command)->name, name)) return *command;
    }
    return NULL;
}

const struct cli_command *
cli_find_words(char *const *words, size_t count, size_t *used)
{
    for (const struct cli_command *const *command = cli_commands; *command; command++) {
        *used = words_of((*command)->name, words, count);
        if (*used) return *command;
    }
    return NULL;
}

size_t
cli_family(FILE *out, const char *word)
{
    size_t length = strlen(word), count = 0;

    for (const struct cli_command *const *each = cli_commands; *each; each++) {
        if (strncmp((*each)->name, word, length) || (*each)->name[length] != ' ') continue;
        fputs((*each)->name + length, out);
        count++;
    }
    return count;
}
