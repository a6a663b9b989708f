/* run.c - heapprof run: runs a command with the profiler on. What its processes have written is
 * told at the end (written.c). */
#include "cli/cli.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cli/child.h"
#include "cli/written.h"
#include "os/file.h"
#include "profiler/options.h"

/* ---- the environment ---- */

/* The options that are keys of RUBY_HEAPPROF. */
static const struct {
    enum cli_option_id option;
    const char *key;
} keys[] = {
    { CLI_OUTPUT, "out" },  { CLI_INTERVAL, "interval" }, { CLI_MALLOC, "malloc" },
    { CLI_EVERY, "every" }, { CLI_SIGNAL, "signal" },     { CLI_KEEP, "keep" },
};

/* Samples as closely as is useful. A user who runs a program by hand wants to see small things,
 * too, without a second run. */
#define CLOSE "interval=auto"

/* Whether one of the settings has that key. */
static bool
has_key(const char *settings, const char *key)
{
    size_t length = strlen(key);

    for (const char *at = settings; at; at = strchr(at, ',')) {
        if (*at == ',') at++;
        if (!strncmp(at, key, length) && at[length] == '=') return true;
    }
    return false;
}

/* Returns the new value of RUBY_HEAPPROF, in a block from malloc. It is the old value, followed
 * by what the options say: if a key is given twice, the last one counts. Returns NULL after
 * telling the user what is wrong. */
static char *
settings(const struct cli *cli)
{
    const char *before = getenv("RUBY_HEAPPROF");
    const char *closely;
    size_t size = 2;
    char *text;

    if (!before || !*before || !strcmp(before, "0")) before = "1";
    closely = has_key(before, "interval") || cli->values[CLI_INTERVAL] ? "" : ","CLOSE;
    size += strlen(before) + strlen(closely);
    for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
        const char *value = cli->values[keys[i].option];
        if (value && strchr(value, ',')) {
            cli_usage(cli, "%s=%s: has a comma, which a value cannot have",
                      cli_option_words[keys[i].option].name, value);
            return NULL;
        }
        if (value) size += strlen(keys[i].key) + strlen(value) + 2;
    }
    text = malloc(size);
    if (!text) {
        cli_wrong(cli, "no memory");
        return NULL;
    }
    strcpy(text, before);
    strcat(text, closely);
    for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
        const char *value = cli->values[keys[i].option];
        if (value) sprintf(text + strlen(text), ",%s=%s", keys[i].key, value);
    }
    return text;
}

/* ---- the whole ---- */

/* Checks what the ruby would refuse: it would say so and run without the profiler. Returns a
 * status; unless it is CLI_DONE, the user was told what is wrong. */
static int
check_settings(const struct cli *cli, const char *heapprof)
{
    struct heapprof_options options;
    char message[1024];
    const char *slash;
    int error;

    if (rb_heapprof_options_parse(heapprof, &options, message, sizeof(message)) ==
        HEAPPROF_OPTIONS_BAD) {
        return cli_usage(cli, "%s", message);
    }
    slash = strrchr(options.out, '/');
    if (!options.out[0] || (slash && memchr(options.out, '%', (size_t)(slash - options.out))))
        return CLI_DONE;
    error = rb_heapprof_file_check(options.out);
    return error ? cli_usage(cli, "%s: %s", options.out, strerror(error)) : CLI_DONE;
}

static int
run(struct cli *cli)
{
    char *heapprof = settings(cli);
    struct timespec began;
    struct cli_child child;
    int error, status;

    if (!heapprof) return CLI_USAGE;
    status = check_settings(cli, heapprof);
    if (status != CLI_DONE) {
        free(heapprof);
        return status;
    }
    clock_gettime(CLOCK_REALTIME_COARSE, &began); /* the clock of file times */
    error = cli_child_start(&child, cli->operands, heapprof);
    if (error) status = cli_child_not_run(cli, &child, error);
    else {
        cli_child_wait(&child);
        cli_child_restore(&child);
        if (!cli->values[CLI_QUIET]) cli_written_say(cli, heapprof, &began);
        status = cli_child_end_like(&child);
    }
    free(heapprof);
    return status;
}

static const struct cli_option options[] = {
    { CLI_OUTPUT, NULL,
      "Name of the profiles. %p is the PID, %e the program, %t the time, %n a number (default: "
      "heapprof-%p.pb.gz)" },
    { CLI_INTERVAL, NULL,
      "Take a sample every BYTES allocated, on average: 4096, 64k. 1 counts everything exactly "
      "(default: auto, which starts at 4k and grows with the heap)" },
    { CLI_MALLOC, "ruby all",
      "Whose malloc'ed memory is counted. all: that of extensions and libraries, too" },
    { CLI_EVERY, NULL, "Write a profile every SECONDS" },
    { CLI_SIGNAL, NULL, "Write a profile at this signal, such as USR2" },
    { CLI_KEEP, NULL,
      "How many profiles of --every and --signal are kept: the first, and more of the newer than "
      "of the older ones (default: 10)" },
    { CLI_QUIET, NULL, "Say nothing at the end" },
    { 0 }
};

static const struct cli_example examples[] = {
    { "heapprof run ruby app.rb", "profile it, and show the largest rows when it ends" },
    { "heapprof run --interval=64k -- bundle exec rake import",
      "the same with a sample every 64 kB allocated" },
    { "heapprof run --every=60 --keep=10 -- bundle exec puma",
      "a profile of a server every minute; what grew is shown when it ends" },
    { 0 }
};

const struct cli_command cli_run_command = {
    .name = "run",
    .arguments = "[options] [--] COMMAND...",
    .summary = "Run a command with the profiler on",
    .description =
        "Runs the command with RUBY_HEAPPROF set. Each Ruby process of the command writes a\n"
        "profile when it ends. At the end heapprof prints on stderr the names of these files, a\n"
        "line for each process, and the largest rows; with --every, the rows that grew most. It\n"
        "passes signals on to the command, and ends with the command's exit\n"
        "status or signal. The exit status is 127 if the command is not found, and 126 if it\n"
        "cannot be run. The ruby has to be one with the heap profiler.\n"
        "\n"
        "By default it takes many samples at first, and fewer as the heap grows (interval=auto).\n"
        "This costs a program that allocates all the time a few percent. --interval=64k, the\n"
        "default of RUBY_HEAPPROF, takes a sample every 64 kB allocated, on average, and costs\n"
        "less than 1 %.",
    .readers = "only the owner of the files (mode 0600), which is the command's user. They name "
               "methods, classes,\n"
               "files and the command line, but have no contents of objects.",
    .options = options,
    .examples = examples,
    .least = 1,
    .most = SIZE_MAX,
    .passes_rest = true,
    .operand = CLI_OTHER,
    .writes_output = true,
    .run = run,
};
