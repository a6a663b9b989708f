/* settings.c - options of a command line as settings of a run, for a process that runs already. */
#include "cli/live/settings.h"

#include <limits.h>
#include <string.h>
#include <unistd.h>

#include "profiler/options.h"
#include "profiler/out.h"

static const struct {
    enum cli_option_id option;
    const char *key;
} keys[] = { { CLI_INTERVAL, "interval" }, { CLI_MALLOC, "malloc" }, { CLI_AT, "at" } };

/* Appends that. Returns false if there is no room. */
static bool
append(char text[ATTACH_REQUEST_TEXT_MAX], const char *more)
{
    size_t used = strlen(text), length = strlen(more);

    if (length >= ATTACH_REQUEST_TEXT_MAX - used) return false;
    memcpy(text + used, more, length + 1);
    return true;
}

/* The process has another directory. */
static bool
append_directory(char text[ATTACH_REQUEST_TEXT_MAX])
{
    char directory[PATH_MAX];
    bool room = getcwd(directory, sizeof(directory));

    for (const char *c = directory; room && *c; c++) {
        const char letter[] = { *c, '\0' };
        room = append(text, *c == '%' ? "%%" : letter);
    }
    return room && append(text, "/");
}

static bool
append_output(char text[ATTACH_REQUEST_TEXT_MAX], const char *output)
{
    char distinct[HEAPPROF_OUT_MAX];

    if (strlen(output) + 4 > sizeof(distinct)) return false;
    rb_heapprof_out_with_pid(output, distinct, sizeof(distinct));
    return append(text, ",out=") && (*output == '/' || append_directory(text)) &&
           append(text, distinct);
}

/* Returns false after telling the user which value cannot be one. */
static bool
values_p(const struct cli *cli)
{
    static const enum cli_option_id all[] = { CLI_INTERVAL, CLI_MALLOC, CLI_AT, CLI_OUTPUT };
    const char *output = cli->values[CLI_OUTPUT];

    for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++) {
        const char *value = cli->values[all[i]];
        if (!value || !strchr(value, ',')) continue;
        cli_usage(cli, "%s: has a comma", cli_option_words[all[i]].name);
        return false;
    }
    if (!output) return true;
    if (!cli->values[CLI_AT]) {
        cli_usage(cli, "--output: a file is written only at marks; give --at, too");
        return false;
    }
    if (*output && strcmp(output, "-") != 0) return true;
    cli_usage(cli, "--output: has to name a file, such as /tmp/heapprof-%%p.pb.gz");
    return false;
}

bool
cli_settings_of_run(const struct cli *cli, char text[ATTACH_REQUEST_TEXT_MAX])
{
    struct heapprof_options options;
    char message[1024];

    if (!values_p(cli)) return false;
    strcpy(text, "1");
    bool room = true;
    for (size_t i = 0; i < sizeof(keys) / sizeof(*keys); i++) {
        const char *value = cli->values[keys[i].option];
        if (value)
            room = room && append(text, ",") && append(text, keys[i].key) && append(text, "=") &&
                   append(text, value);
    }
    if (cli->values[CLI_OUTPUT]) room = room && append_output(text, cli->values[CLI_OUTPUT]);
    if (!room) {
        cli_usage(cli, "--output: the name is too long");
        return false;
    }
    if (rb_heapprof_options_parse(text, &options, message, sizeof(message)) ==
        HEAPPROF_OPTIONS_ON)
        return true;
    cli_usage(cli, "%s", message);
    return false;
}
