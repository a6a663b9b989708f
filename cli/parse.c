/* parse.c - reads a command line, by the command's table of options.
 *
 * Options may stand anywhere before "--". A value is the next word, or stands after "=" or after
 * the letter: --by inuse_space, --by=inuse_space, -n 5, -n5. If an option is given twice, the
 * last value counts.
 *
 * values[] is indexed by the options' places: first the options that every command has, then the
 * command's own.
 */
#include "cli/cli.h"

#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "report/text.h"

const struct cli_option cli_common_options[] = {
    {"--help", 'h', NULL, NULL, "Show this help"},
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
cli_number(const struct cli *cli, int option, long least, long default_number, long *number)
{
    const char *text = cli->values[option];
    char *end;

    *number = default_number;
    if (!text) return true;
    errno = 0;
    *number = strtol(text, &end, 10);
    if (end != text && !*end && errno == 0 && *number >= least) return true;
    cli_usage(cli, "%s=%s: give a whole number of %ld or more",
              cli->command->options[option - 1].name, text, least);
    return false;
}

/* ---- options ---- */

static const struct cli_option *
option_at(const struct cli_command *command, int place)
{
    if (place == 0) return &cli_common_options[0];
    return command->options && command->options[place - 1].name ? &command->options[place - 1] : NULL;
}

/* If word begins with that option's name, returns what follows the name. Otherwise returns NULL. */
static const char *
behind(const char *word, const struct cli_option *option)
{
    size_t length = strlen(option->name);

    if (!strncmp(word, option->name, length) && (word[length] == '=' || !word[length])) return word + length;
    return option->letter && word[0] == '-' && word[1] == option->letter ? word + 2 : NULL;
}

/* "..." among the choices means that other values are accepted, too. "label:KEY" means any text
 * after the colon. */
static bool
choice_p(const struct cli_option *option, const char *value)
{
    const char *choice = option->choices;

    if (!choice || !strcmp(choice, "FILE") || strstr(choice, " ...")) return true;
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

/* Takes the option at argv[0]. Returns how many words it took. Returns 0 after telling the user
 * what is wrong. */
static int
take_option(struct cli *cli, int argc, char **argv)
{
    const struct cli_option *option;
    const char *rest = NULL;
    int place = 0;

    while ((option = option_at(cli->command, place)) && !(rest = behind(argv[0], option))) place++;
    if (!option) {
        cli_usage(cli, "%s is not an option of this command", argv[0]);
        return 0;
    }
    if (!option->value) {
        if (*rest) {
            cli_usage(cli, "%s takes no value", option->name);
            return 0;
        }
        cli->values[place] = "";
        return 1;
    }
    if (!*rest && argc < 2) {
        cli_usage(cli, "%s needs a value: %s", option->name, option->value);
        return 0;
    }
    cli->values[place] = *rest ? rest + (*rest == '=') : argv[1];
    if (!choice_p(option, cli->values[place])) {
        cli_usage(cli, "%s=%s: give one of %s", option->name, cli->values[place], option->choices);
        return 0;
    }
    return *rest ? 1 : 2;
}

static const char *
what_is_missing(const struct cli_command *command)
{
    if (command->passes_rest) return "a command is missing";
    return command->least == 1 ? "a file is missing" : "files are missing";
}

static bool
check_operands(const struct cli *cli)
{
    const struct cli_command *command = cli->command;

    if (cli->operand_count < command->least) {
        cli_usage(cli, "%s", what_is_missing(command));
        return false;
    }
    if (cli->operand_count <= command->most) return true;
    cli_usage(cli, "%s is one argument too many", cli->operands[command->most]);
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
    return cli->values[0] || check_operands(cli);
}
