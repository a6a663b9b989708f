/* options.c - the table of options (options.h) as data, and by letter and name. */
#include "cli/options.h"

#include <stdbool.h>
#include <string.h>

const struct cli_option_words cli_option_words[CLI_OPTION_COUNT] = {
#define LETTER(option, name, letter, value, meaning) \
    [CLI_##option] = {name, letter, value, meaning},
#define WORD(option, name, value, meaning) [CLI_##option] = {name, 0, value, meaning},
    CLI_OPTIONS(LETTER, WORD)
#undef LETTER
#undef WORD
};

const struct cli_old_spelling cli_old_spellings[] = {
#define SPELLING(command, spelling, option) {command, spelling, CLI_##option},
    CLI_OLD_SPELLINGS(SPELLING)
#undef SPELLING
    {0}
};

/* A letter with two meanings would be a case that stands twice, which does not compile. */
enum cli_option_id
cli_option_of_letter(char letter)
{
    switch (letter) {
#define LETTER(option, name, letter, value, meaning) case letter: return CLI_##option;
#define WORD(option, name, value, meaning)
      CLI_OPTIONS(LETTER, WORD)
#undef LETTER
#undef WORD
      default: return CLI_NO_OPTION;
    }
}

static bool
same_p(const char *name, const char *word, size_t length)
{
    return strlen(name) == length && !strncmp(name, word, length);
}

enum cli_option_id
cli_option_of_name(const char *word, size_t length)
{
    for (enum cli_option_id option = CLI_NO_OPTION + 1; option < CLI_OPTION_COUNT; option++) {
        if (same_p(cli_option_words[option].name, word, length)) return option;
    }
#define SECOND_NAME(name, option) if (same_p(name, word, length)) return CLI_##option;
    CLI_SECOND_NAMES(SECOND_NAME)
#undef SECOND_NAME
    return CLI_NO_OPTION;
}
