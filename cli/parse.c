/* parse.c - reads a command line, by the command's table of options.
 *
 * Options may stand anywhere before "--". A value is the next word, or stands after "=" or after
 * the letter: --by inuse_space, --by=inuse_space, -n 5, -n5. If an option is given twice, the
 * last value counts.
 *
 * An old spelling counts only if the word is no option of the command (options.h).
 */
#include "cli/cli.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "cli/suggest.h"
#include "report/text.h"

enum {NUMBER_MOST = 1000000000}; /* as seconds, it may be counted in nanoseconds */

const struct cli_option cli_common_options[] = {
    {CLI_HELP, NULL, "Show this help"},
    {0}
};

/* ---- saying what is wrong ---- */

/* The message may have names in it that come from anybody. So they are made harmless. */
static void
say(const struct cli *cli, const char *format, va_list arguments)
{
    fflush(stdout);
    fprintf(stderr, "heapprof %s: ", cli->command->name);
    report_print_arguments(stderr, format, arguments);
}

int
cli_wrong(const struct cli *cli, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    say(cli, format, arguments);
    va_end(arguments);
    fputc('\n', stderr);
    return CLI_WRONG;
}

int
cli_usage(const struct cli *cli, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    say(cli, format, arguments);
    va_end(arguments);
    fprintf(stderr, " (usage: heapprof %s %s)\n", cli->command->name, cli->command->arguments);
    return CLI_USAGE;
}

bool
cli_number(const struct cli *cli, enum cli_option_id option, long least, long default_number,
           long *number)
{
    const char *text = cli->values[option];
    char *end;

    *number = default_number;
    if (!text) return true;
    *number = strtol(text, &end, 10); /* LONG_MAX if it is larger */
    bool whole = end != text && !*end && *number >= least;
    if (whole && *number <= NUMBER_MOST) return true;
    if (whole)
        cli_usage(cli, "%s=%s: give at most %d", cli_option_words[option].name, text, NUMBER_MOST);
    else
        cli_usage(cli, "%s=%s: give a whole number of %ld or more", cli_option_words[option].name,
                  text, least);
    return false;
}

/* Returns the shift of a unit: "", "k", "kB", "MB", "G". Returns 64 if the text is not a unit. */
static unsigned
shift_of(const char *unit)
{
    static const char units[] = "KMGT";
    const char *found;

    while (*unit == ' ') unit++;
    if (!*unit || !strcmp(unit, "B")) return 0;
    found = strchr(units, toupper((unsigned char)*unit));
    if (!found || (unit[1] && strcmp(unit + 1, "B"))) return 64;
    return 10 * (unsigned)(found - units + 1);
}

bool
cli_size(const struct cli *cli, enum cli_option_id option, size_t default_bytes, size_t *bytes)
{
    const char *text = cli->values[option];
    char *end;

    *bytes = default_bytes;
    if (!text) return true;
    errno = 0;
    unsigned long long number = strtoull(text, &end, 10);
    unsigned shift = shift_of(end);
    if (end != text && text[0] != '-' && errno == 0 && shift < 64 && number <= SIZE_MAX >> shift) {
        *bytes = (size_t)number << shift;
        return true;
    }
    cli_usage(cli, "%s=%s: give a size, such as 512k, 5MB or 4G", cli_option_words[option].name,
              text);
    return false;
}

/* ---- options ---- */

bool
cli_has_option_p(const struct cli_command *command, enum cli_option_id id)
{
    const struct cli_option *option = command->options;

    while (option && option->id && option->id != id) option++;
    return option && option->id;
}

const struct cli_option *
cli_option_at(const struct cli_command *command, size_t place)
{
    size_t own = 0;

    while (command->options && command->options[own].id) own++;
    if (place < own) return &command->options[place];
    return cli_common_options[place - own].id ? &cli_common_options[place - own] : NULL;
}

static const struct cli_option *
find_option(const struct cli_command *command, enum cli_option_id id)
{
    const struct cli_option *option;
    size_t place = 0;

    while ((option = cli_option_at(command, place)) && option->id != id) place++;
    return option;
}

/* Splits "--by=x" and "-bx": *rest is what follows the name. Returns the name's length. */
static size_t
split(const char *word, const char **rest)
{
    size_t length = word[1] == '-' ? strcspn(word, "=") : 2;

    *rest = word + length;
    return length;
}

/* Returns the option that had this spelling in an earlier version, after telling the user its
 * name. Returns NULL if none had. */
static const struct cli_option *
find_old(const struct cli_command *command, const char *word, size_t length)
{
    for (const struct cli_old_spelling *old = cli_old_spellings; old->command; old++) {
        if (strcmp(old->command, command->name) || strlen(old->spelling) != length ||
            strncmp(old->spelling, word, length)) continue;
        fprintf(stderr, "heapprof %s: %s is an old spelling, and will go away: type %s\n",
                command->name, old->spelling, cli_option_words[old->option].name);
        return find_option(command, old->option);
    }
    return NULL;
}

/* Writes which commands have the option, "top, diff". Returns how many have it. */
static size_t
put_owners(FILE *out, enum cli_option_id id)
{
    size_t count = 0;

    for (const struct cli_command *const *each = cli_commands; id && *each; each++) {
        if (find_option(*each, id)) fprintf(out, count++ ? ", %s" : "%s", (*each)->name);
    }
    return count;
}

/* Says that the command has no such option, and which one was meant, or whose it is. */
static void
refuse_option(const struct cli *cli, const char *word, size_t length, enum cli_option_id id)
{
    const struct cli_option *option;
    char name[64], *owners = NULL;
    size_t size, count = 0;

    snprintf(name, sizeof(name), "%.*s", (int)length, word);
    struct cli_suggestion suggestion = {.word = name};
    for (size_t place = 0; word[1] == '-' && (option = cli_option_at(cli->command, place)) != NULL;
         place++) {
        cli_suggest(&suggestion, cli_option_words[option->id].name);
    }
    FILE *out = open_memstream(&owners, &size);
    if (out) count = put_owners(out, id);
    if (out) fclose(out);
    if (suggestion.nearest) {
        cli_usage(cli, "%s is not an option of this command; did you mean %s?", name,
                  suggestion.nearest);
    }
    else if (count) cli_usage(cli, "%s is not an option of this command, but of: %s", name, owners);
    else cli_usage(cli, "%s is not an option of this command", name);
    free(owners);
}

/* "..." among the choices means that other values are accepted, too. "label:KEY" means any text
 * after the colon. */
static bool
choice_p(const struct cli_option *option, const char *value)
{
    const char *choice = option->choices;

    if (!choice || strstr(choice, " ...")) return true;
    while (*choice) {
        size_t length = strcspn(choice, " "), colon = strcspn(choice, ":");
        bool open = colon < length;
        if (open ? !strncmp(value, choice, colon + 1) && value[colon + 1]
                 : strlen(value) == length && !strncmp(value, choice, length)) return true;
        choice += length;
        while (*choice == ' ') choice++;
    }
    return false;
}

/* Says which values the option has. */
static void
refuse_value(const struct cli *cli, const struct cli_option *option, const char *value)
{
    const char *name = cli_option_words[option->id].name;
    struct cli_suggestion suggestion = {.word = value};
    char *words = strdup(option->choices);

    for (char *word = words ? strtok(words, " ") : NULL; word; word = strtok(NULL, " ")) {
        if (!strchr(word, ':')) cli_suggest(&suggestion, word);
    }
    if (suggestion.nearest) {
        cli_usage(cli, "%s=%s: did you mean %s? Give one of: %s", name, value, suggestion.nearest,
                  option->choices);
    }
    else cli_usage(cli, "%s=%s: give one of: %s", name, value, option->choices);
    free(words);
}

/* Takes the option at argv[0]. Returns how many words it took. Returns 0 after telling the user
 * what is wrong. */
static int
take_option(struct cli *cli, int argc, char **argv)
{
    const char *word = argv[0], *rest;
    size_t length = split(word, &rest);
    enum cli_option_id id = word[1] == '-' ? cli_option_of_name(word, length)
                                           : cli_option_of_letter(word[1]);
    const struct cli_option *option = find_option(cli->command, id);

    if (!option && !(option = find_old(cli->command, word, length))) {
        refuse_option(cli, word, length, id);
        return 0;
    }
    const struct cli_option_words *words = &cli_option_words[option->id];
    bool may_stand_alone = words->value && words->value[0] == '[' && !*rest;
    if (!words->value || may_stand_alone) {
        if (*rest) {
            cli_usage(cli, "%s takes no value", words->name);
            return 0;
        }
        cli->values[option->id] = "";
        return 1;
    }
    if (!*rest && argc < 2) {
        cli_usage(cli, "%s needs a value: %s", words->name, words->value);
        return 0;
    }
    cli->values[option->id] = *rest ? rest + (*rest == '=') : argv[1];
    if (!choice_p(option, cli->values[option->id])) {
        refuse_value(cli, option, cli->values[option->id]);
        return 0;
    }
    return *rest ? 1 : 2;
}

/* ---- operands ---- */

/* Finds in "[EARLIER...] FILE --to=FORMAT" the name of the operand at that place: a word in
 * capitals that is not in brackets. Returns its length, or 0 if there is none. */
static int
name_operand(const char *arguments, size_t place, const char **name)
{
    size_t length;
    int depth = 0;

    for (const char *at = arguments; *at; at += length, at += strspn(at, " ")) {
        length = strcspn(at, " ");
        size_t letters = strspn(at, "ABCDEFGHIJKLMNOPQRSTUVWXYZ|");
        if (depth == 0 && letters && place-- == 0) {
            *name = at;
            return (int)letters;
        }
        for (size_t i = 0; i < length; i++) depth += (at[i] == '[') - (at[i] == ']');
    }
    return 0;
}

static bool
check_operands(const struct cli *cli)
{
    const struct cli_command *command = cli->command;
    const char *name = "";
    char most[REPORT_COUNT_MAX];

    if (cli->operand_count < command->least) {
        int length = name_operand(command->arguments, cli->operand_count, &name);
        if (length) cli_usage(cli, "%.*s is missing", length, name);
        else cli_usage(cli, "too few arguments");
        return false;
    }
    if (cli->operand_count <= command->most) return true;
    if (command->most == 0) cli_usage(cli, "%s: this command takes no arguments", cli->operands[0]);
    else {
        report_count(most, command->most, "argument", "arguments");
        cli_usage(cli, "%s: this command takes %s%s", cli->operands[command->most],
                  command->least < command->most ? "at most " : "", most);
    }
    return false;
}

bool
cli_parse(struct cli *cli, int argc, char **argv)
{
    bool options = true;
    int at = 0;

    cli->operands = argv; /* the operands move to the front */
    while (at < argc) {
        if (options && !strcmp(argv[at], "--")) {
            options = false;
            cli->before_dashes = cli->operand_count;
            at++;
        }
        else if (options && argv[at][0] == '-' && argv[at][1]) {
            int words = take_option(cli, argc - at, argv + at);
            if (words == 0) return false;
            at += words;
        }
        else {
            options = options && !cli->command->passes_rest;
            cli->operands[cli->operand_count++] = argv[at++];
        }
    }
    if (options) cli->before_dashes = cli->operand_count;
    cli->operands[cli->operand_count] = NULL; /* as argv ends; run passes them to a command */
    return cli->values[CLI_HELP] || check_operands(cli);
}
