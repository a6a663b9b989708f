/* completions.c - what the shells complete, made from the commands' tables. */
#include "cli/made.h"

#include <string.h>

#include "cli/cli.h"

#define EACH_COMMAND(command) \
    for (const struct cli_command *const *command = cli_commands; *command; command++)
#define EACH_OPTION(command, option) \
    for (size_t n_ = 0; n_ == 0; n_++) \
        for (const struct cli_option *option; (option = cli_option_at(command, n_)) != NULL; n_++)

/* ---- families: commands of two words ---- */

/* Returns the first word's length. Returns 0 if an earlier command of the family has the same
 * first word. */
static int
first_word(const struct cli_command *const *command)
{
    const char *name = (*command)->name;
    size_t length = strcspn(name, " ");

    for (const struct cli_command *const *each = cli_commands; each != command; each++) {
        if (name[length] && !strncmp((*each)->name, name, length + 1)) return 0;
    }
    return (int)length;
}

/* Returns the second word of the name, or NULL if the name has one word. */
static const char *
second_word(const struct cli_command *command)
{
    const char *space = strchr(command->name, ' ');

    return space ? space + 1 : NULL;
}

/* Writes all first words, each after a space. */
static void
put_first_words(FILE *out)
{
    for (const struct cli_command *const *each = cli_commands; *each; each++) {
        if (first_word(each)) fprintf(out, " %.*s", first_word(each), (*each)->name);
    }
}

/* Likewise writes the second words of the command's family. */
static void
put_family(FILE *out, const struct cli_command *command)
{
    char word[32];

    snprintf(word, sizeof(word), "%.*s", (int)strcspn(command->name, " "), command->name);
    cli_family(out, word);
}

/* Loops over the first command of each family, with the length of the family's word. */
#define EACH_FAMILY(command, length) \
    for (const struct cli_command *const *command = cli_commands; *command; command++) \
        for (int length = second_word(*command) ? first_word(command) : 0; length; length = 0)

static const struct cli_option_words *
words_of(const struct cli_option *option)
{
    return &cli_option_words[option->id];
}

static bool
files_p(const struct cli_option *option)
{
    const char *value = words_of(option)->value;

    return value && (!strcmp(value, "FILE") || !strcmp(value, "DIR"));
}

/* Whether a command may stand where PIDs do. Then files are completed, too. */
static bool
command_p(const struct cli_command *command)
{
    return strstr(command->arguments, "COMMAND") != NULL;
}

/* Writes the choices that are words, in quotes, with spaces between them. Special characters are
 * escaped. */
static void
put_choices(FILE *out, const struct cli_option *option, const char *special)
{
    const char *at = option->choices, *between = "";

    while (at && *at) {
        size_t length = strcspn(at, " ");
        size_t word = strcspn(at, ":") < length ? strcspn(at, ":") + 1 : length;
        if (strncmp(at, "...", 3)) {
            fputs(between, out);
            between = " ";
            for (size_t i = 0; i < word; i++)
                fprintf(out, strchr(special, at[i]) ? "\\%c" : "%c", at[i]);
        }
        at += length;
        while (*at == ' ') at++;
    }
}

/* Writes the text in single quotes. In zsh's specifications brackets and colons are special,
 * too. */
static void
put_quoted(FILE *out, const char *text, const char *special)
{
    for (; *text; text++) {
        if (*text == '\'') fputs("'\\''", out);
        else {
            if (strchr(special, *text)) putc('\\', out);
            putc(*text, out);
        }
    }
}

/* ---- bash ---- */

static void
put_bash_command(FILE *out, const struct cli_command *command)
{
    fprintf(out, "    '%s')\n        case $previous in\n", command->name);
    EACH_OPTION(command, option) {
        const struct cli_option_words *words = words_of(option);
        if (!words->value || files_p(option)) continue;
        fprintf(out, "        %s%s%.*s) words='", words->name, words->letter ? "|-" : "",
                words->letter != 0, &words->letter);
        put_choices(out, option, "");
        fputs("'; files= ;;\n", out);
    }
    fputs("        *) [[ $current != -* ]] || words='", out);
    EACH_OPTION(command, option) fprintf(out, " %s", words_of(option)->name);
    fputs("' ;;\n        esac", out);
    if (command->operand == CLI_PIDS) {
        fputs("\n        [[ $current == -* || ! $files ]] || words=$(\"${COMP_WORDS[0]}\" help "
              "--processes 2>/dev/null | cut -f1)",
              out);
        if (!command_p(command)) fputs(" files=", out);
    }
    if (!strcmp(command->name, "help")) {
        fputs("\n        [[ $current == -* || $words ]] || words='", out);
        put_first_words(out);
        fputs("' files=", out);
    }
    fputs(" ;;\n", out);
}

void
cli_completion_bash(FILE *out)
{
    fputs("# bash completion for heapprof, made by: heapprof help --completion=bash\n\n_heapprof() "
          "{\n"
          "    local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]} "
          "words= files=1\n\n"
          "    # --by=TYPE is three words to bash\n"
          "    [[ $current != = ]] || current=\n"
          "    [[ $previous != = ]] || previous=${COMP_WORDS[COMP_CWORD - 2]}\n"
          "    if [ \"$COMP_CWORD\" = 1 ]; then\n        words='",
          out);
    put_first_words(out);
    fputs("' files=\n", out);
    EACH_FAMILY(command, length) {
        fprintf(out,
                "    elif [ \"$COMP_CWORD\" = 2 ] && [ \"${COMP_WORDS[1]}\" = %.*s ]; then\n       "
                " words='",
                length, (*command)->name);
        put_family(out, *command);
        fputs("' files=\n", out);
    }
    fputs("    else\n    local command=${COMP_WORDS[1]}\n", out);
    EACH_FAMILY(command, length)
    fprintf(out, "    [ $command != %.*s ] || command=\"$command ${COMP_WORDS[2]}\"\n", length,
            (*command)->name);
    fputs("    case $command in\n", out);
    EACH_COMMAND(command) put_bash_command(out, *command);
    fputs("    esac\n    fi\n"
          "    mapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$current\")\n"
          "    if [ -n \"$files\" ] && [[ $current != -* ]]; then\n"
          "        mapfile -t -O ${#COMPREPLY[@]} COMPREPLY < <(compgen -f -- \"$current\")\n"
          "        compopt -o filenames 2>/dev/null\n    fi\n}\ncomplete -F _heapprof heapprof\n",
          out);
}

/* ---- zsh ---- */

static void
put_zsh_option(FILE *out, const struct cli_option *option)
{
    const struct cli_option_words *words = words_of(option);

    if (words->letter) {
        fprintf(out, " \\\n            '(-%c %s)'{-%c%s,%s%s}'[", words->letter, words->name,
                words->letter, words->value ? "+" : "", words->name, words->value ? "=" : "");
    }
    else fprintf(out, " \\\n            '%s%s[", words->name, words->value ? "=" : "");
    put_quoted(out, option->help, "[]:");
    fputs("]", out);
    if (words->value) {
        fprintf(out, ":%s:", words->value);
        if (files_p(option)) fputs("_files", out);
        else if (option->choices) {
            fputs("(", out);
            put_choices(out, option, ":");
            fputs(")", out);
        }
    }
    fputs("'", out);
}

void
cli_completion_zsh(FILE *out)
{
    fputs("#compdef heapprof\n# made by: heapprof help --completion=zsh\n\n"
          "_heapprof_processes() {\n    local -a processes=(${(f)\"$(heapprof help --processes "
          "2>/dev/null)\"})\n"
          "    processes=(${processes/$'\\t'/:})\n    _describe process "
          "processes\n}\n\n_heapprof() {\n    local -a commands=(\n",
          out);
    EACH_COMMAND(command) {
        if (!first_word(command)) continue;
        fprintf(out, "        '%.*s:", first_word(command), (*command)->name);
        if (second_word(*command)) put_family(out, *command);
        else put_quoted(out, (*command)->summary, ":");
        fputs("'\n", out);
    }
    fputs("    )\n    if (( CURRENT == 2 )); then\n        _describe command commands\n        "
          "return\n    fi\n"
          "    local command=$words[2]\n    shift words\n    (( CURRENT-- ))\n",
          out);
    EACH_FAMILY(command, length) {
        fprintf(out,
                "    if [[ $command == %.*s ]]; then\n        if (( CURRENT == 2 )); then\n        "
                "    compadd --",
                length, (*command)->name);
        put_family(out, *command);
        fputs("\n            return\n        fi\n        command=\"$command $words[2]\"\n        "
              "shift words\n        (( CURRENT-- ))\n    fi\n",
              out);
    }
    fputs("    case $command in\n", out);
    EACH_COMMAND(command) {
        fprintf(out, "        (\"%s\") _arguments -S", (*command)->name);
        EACH_OPTION(*command, option) put_zsh_option(out, option);
        fprintf(out, " \\\n            '%s' ;;\n",
                (*command)->passes_rest             ? "*::command:_normal"
                : !strcmp((*command)->name, "help") ? "1:command:(${commands%%:*})"
                : (*command)->operand == CLI_PIDS   ? "*:process:_heapprof_processes"
                                                    : "*:file:_files");
    }
    fputs("    esac\n}\n_heapprof \"$@\"\n", out);
}

/* ---- fish ---- */

/* Writes the condition under which the command's options are completed: its word, or words, come
 * before. */
static void
put_fish_condition(FILE *out, const struct cli_command *command)
{
    const char *second = second_word(command);

    fprintf(out, "__fish_seen_subcommand_from %.*s", (int)strcspn(command->name, " "),
            command->name);
    if (second) fprintf(out, "; and __fish_seen_subcommand_from %s", second);
    else
        EACH_FAMILY(family, length)
        fprintf(out, "; and not __fish_seen_subcommand_from %.*s", length, (*family)->name);
}

static void
put_fish_word(FILE *out, const struct cli_command *const *command)
{
    const char *second = second_word(*command);

    if (!second || first_word(command)) {
        fprintf(out, "complete -c heapprof -n __fish_use_subcommand -f -a %.*s -d '",
                (int)strcspn((*command)->name, " "), (*command)->name);
        if (second) put_family(out, *command);
        else put_quoted(out, (*command)->summary, "");
        fputs("'\n", out);
    }
    if (!second) return;
    fprintf(out,
            "complete -c heapprof -n '__fish_seen_subcommand_from %.*s; and not "
            "__fish_seen_subcommand_from",
            (int)(second - 1 - (*command)->name), (*command)->name);
    put_family(out, *command);
    fprintf(out, "' -f -a %s -d '", second);
    put_quoted(out, (*command)->summary, "");
    fputs("'\n", out);
}

void
cli_completion_fish(FILE *out)
{
    fputs("# fish completion for heapprof, made by: heapprof help --completion=fish\n\n", out);
    EACH_COMMAND(command) {
        put_fish_word(out, command);
        if ((*command)->operand == CLI_PIDS) {
            fputs("complete -c heapprof -n '", out);
            put_fish_condition(out, *command);
            fprintf(out, "'%s -a '(heapprof help --processes 2>/dev/null)'\n",
                    command_p(*command) ? "" : " -f");
        }
        EACH_OPTION(*command, option) {
            const struct cli_option_words *words = words_of(option);
            fputs("complete -c heapprof -n '", out);
            put_fish_condition(out, *command);
            fprintf(out, "' -l %s", words->name + 2);
            if (words->letter) fprintf(out, " -s %c", words->letter);
            if (words->value) fputs(files_p(option) ? " -r -F" : " -x", out);
            if (option->choices) {
                fputs(" -a '", out);
                put_choices(out, option, "");
                fputs("'", out);
            }
            fputs(" -d '", out);
            put_quoted(out, option->help, "");
            fputs("'\n", out);
        }
    }
}
