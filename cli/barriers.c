/* barriers.c - heapprof barriers: hands over to heapprof-barriers, so that nobody else needs libclang. */
#include "cli/cli.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "barriers/options.h"

enum {
    COMMON,
#define PLACE(name, text, letter, value, choices, help) name,
    WB_OPTIONS(PLACE)
#undef PLACE
    OPTIONS
};

static const struct cli_option options[] = {
#define ROW(name, text, letter, value, choices, help) {text, letter, value, choices, help},
    WB_OPTIONS(ROW)
#undef ROW
    {0}
};

/* The program beside our own, to path. False: ours is not known. */
static bool
beside_us(char *path, size_t size)
{
    ssize_t length = readlink("/proc/self/exe", path, size - 1);
    char *slash;

    if (length < 0) return false;
    path[length] = '\0';
    slash = strrchr(path, '/');
    if (!slash || (size_t)(slash + 1 - path) + sizeof(WB_PROGRAM) > size) return false;
    strcpy(slash + 1, WB_PROGRAM);
    return true;
}

/* Our command line for it, in blocks that are never freed; NULL: no memory. */
static char **
command_line(const struct cli *cli, char *program)
{
    char **words = calloc(OPTIONS + cli->operand_count + 4, sizeof(*words));
    size_t count = 0;

    if (!words) return NULL;
    words[count++] = program;
    for (int i = COMMON + 1; i < OPTIONS; i++) {
        const char *name = options[i - 1].name, *value = cli->values[i];
        size_t size;
        if (!value) continue;
        size = strlen(name) + strlen(value) + 2;
        if (!(words[count] = malloc(size))) return NULL;
        snprintf(words[count++], size, "%s%s%s", name, options[i - 1].value ? "=" : "", value);
    }
    words[count++] = "--";
    for (size_t i = 0; i < cli->operand_count; i++) {
        if (i == cli->before_dashes && cli->values[CONFIRM]) words[count++] = "--";
        words[count++] = cli->operands[i];
    }
    return words;
}

static int
run(struct cli *cli)
{
    static char program[PATH_MAX];
    char **words;

    if (!beside_us(program, sizeof(program))) return cli_usage(cli, "where heapprof is, is not known: %s", strerror(errno));
    words = command_line(cli, program);
    if (!words) return cli_usage(cli, "no memory");
    signal(SIGPIPE, cli_sigpipe);
    execv(program, words);
    cli_wrong(cli, "%s: %s; it was built without libclang: install that (Debian: libclang-dev) and build again", program, strerror(errno));
    return WB_TROUBLE;
}

static const struct cli_example examples[] = {
    {"heapprof barriers ext/date", "an extension that has been built: the flags are of its Makefile"},
    {"heapprof barriers --confirm ext/date -- ruby -Ilib test.rb", "the same, and what the collector missed while that ran"},
    {"heapprof barriers --fix ext/date | patch -p1", "the barriers that are missing are added"},
    {"heapprof barriers --extconf .", "a gem that has not: its extconf.rb is run, in a directory of its own"},
    {0}
};

const struct cli_command cli_barriers_command = {
    .name = "barriers", .arguments = "[options] DIR... | FILE... [-- COMMAND]",
    .summary = "Find stores into an extension's objects that have no write barrier",
    .description = "Reads the C and C++ sources of extensions by the compiler's own library, libclang. An object of a type of typed "
        "data that is RUBY_TYPED_WB_PROTECTED is not looked at by a minor GC once it is old. So a reference that is stored into its "
        "data has to be told to the GC, by RB_OBJ_WRITE or RB_OBJ_WRITTEN; else what it refers to is freed while it is in use.\n\n"
        "A line a store, as a compiler writes it: `error` when the object is seen into which it is stored, `warning` when it "
        "is not. A directory is searched for extensions: where there is a Makefile of mkmf's or a compile_commands.json. "
        "Nothing of them is run. Files are taken as one extension.\n\n"
        "With --confirm the command behind \"--\" is run first, under RUBY_WBCHECK. Then a table says of each store: `confirmed` when "
        "the collector missed a barrier at that field of that type in a method that leads there; `refuted` when it saw new references "
        "there, each of which a barrier of that store had told of in time; else `not reached`: the command has not come there, or it may "
        "have been another store. `only seen` is what the collector missed and no store explains. The "
        "command has to run the ruby that heapprof came with; what it prints goes to stderr. Without DIR or FILE the current "
        "directory is looked at.\n\n"
        "Exit status: 0 when nothing is missing, 1 when something is, 2 when something could not be read.",
    .options = options, .examples = examples, .least = 1, .most = SIZE_MAX, .run = run,
};
