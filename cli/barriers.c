/* barriers.c - heapprof barriers: runs the program heapprof-barriers, so that heapprof itself
 * needs no libclang. */
#include "cli/child.h"
#include "cli/cli.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "barriers/options.h"

static const struct cli_option options[] = {
#define ROW(name, text, value, help) {CLI_##name, NULL, help},
    WB_OPTIONS(ROW)
#undef ROW
    CLI_OUTPUT_OPTION,
    {0}
};

enum { OPTION_COUNT = sizeof(options) / sizeof(options[0]) - 1 };

/* Writes the path of the program in the same directory as this program. Returns false if this
 * program's path is not known. */
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

/* Returns the command line for that program, in memory that is never freed. Returns NULL if
 * there is no memory. */
static char **
command_line(const struct cli *cli, char *program)
{
    char **words = calloc(OPTION_COUNT + cli->operand_count + 4, sizeof(*words));
    size_t count = 0;

    if (!words) return NULL;
    words[count++] = program;
    for (int i = 0; i < OPTION_COUNT; i++) {
        const struct cli_option_words *option = &cli_option_words[options[i].id];
        const char *value = cli->values[options[i].id];
        size_t size;
        if (!value || options[i].id == CLI_OUTPUT) continue;
        size = strlen(option->name) + strlen(value) + 2;
        if (!(words[count] = malloc(size))) return NULL;
        snprintf(words[count++], size, "%s%s%s", option->name, option->value ? "=" : "", value);
    }
    words[count++] = "--";
    bool dashes = cli->values[CLI_CONFIRM] || cli->values[CLI_EXTCONF];
    for (size_t i = 0; i < cli->operand_count; i++) {
        if (i == cli->before_dashes && dashes) words[count++] = "--";
        words[count++] = cli->operands[i];
    }
    return words;
}

/* Returns the program's status. Its output is copied then (--output). */
static int
wait_for(pid_t child)
{
    int status;

    while (waitpid(child, &status, 0) < 0) if (errno != EINTR) return WB_TROUBLE;
    return WIFEXITED(status) ? WEXITSTATUS(status) : WB_TROUBLE;
}

static int
run(struct cli *cli)
{
    static char program[PATH_MAX];
    pid_t child = -1;
    char **words;

    if (!beside_us(program, sizeof(program)))
        return cli_wrong(cli, "cannot find the directory that heapprof is in: %s", strerror(errno));
    words = command_line(cli, program);
    if (!words) return cli_wrong(cli, "no memory");
    if (cli->values[CLI_OUTPUT] && (child = fork()) > 0) return wait_for(child);
    signal(SIGPIPE, cli_sigpipe);
    execv(program, words);
    cli_wrong(cli,
              "%s: %s; heapprof was built without libclang: install it (Debian: libclang-dev), and "
              "build again",
              program, strerror(errno));
    if (child == 0) _exit(WB_TROUBLE);
    return WB_TROUBLE;
}

static const struct cli_example examples[] = {
    { "heapprof barriers ext/date", "an extension that was built: its Makefile has the flags" },
    { "heapprof barriers --confirm ext/date -- ruby -Ilib test.rb",
      "the same, and what the collector missed while the command ran" },
    { "heapprof barriers --fix ext/date | patch -p1", "add the missing barriers" },
    { "heapprof barriers --extconf .",
      "a gem that was not built: run its extconf.rb in a temporary directory" },
    { "heapprof barriers --extconf . -- --with-zlib-dir=/opt/zlib", "with an argument for it" },
    { "heapprof barriers list.c",
      "a file alone: the ruby in PATH, or $RUBY, tells where its headers are" },
    { 0 }
};

const struct cli_command cli_barriers_command = {
    .name = "barriers",
    .arguments = "[options] DIR... | FILE... [-- COMMAND | ARGUMENTS]",
    .summary = "Find stores into an extension's objects that have no write barrier",
    .description =
        "Reads the C and C++ sources of extensions by the compiler's own library, libclang. A "
        "minor GC does not look at "
        "an old object whose type of typed data is RUBY_TYPED_WB_PROTECTED. So the extension has "
        "to tell the GC of each reference "
        "that it stores into the data of such an object, by RB_OBJ_WRITE or RB_OBJ_WRITTEN. "
        "Otherwise the GC frees what the "
        "reference points to while it is in use.\n\n"
        "Prints a line for each store without a barrier, as a compiler does: `error` if the object "
        "that it is stored into is known, "
        "`warning` if not. In a directory it looks for extensions, which have a Makefile of mkmf's "
        "or a compile_commands.json. It "
        "runs nothing of them. All files together are one extension; a file without a Makefile "
        "beside it gets the headers of $RUBY, or of the ruby in PATH.\n\n"
        "Also reports objects that the GC does not know: in a global variable, or in memory of "
        "malloc that something keeps, and marked or registered by nothing.\n\n"
        "With --confirm it first runs the command behind \"--\" under RUBY_WBCHECK. Then it prints "
        "a table with a verdict for each "
        "store. `confirmed`: the collector missed a barrier at that field of that type, in a "
        "method that leads to the store. "
        "`refuted`: the collector saw new references in the field, and each time a barrier of that "
        "store came in time. "
        "`not reached`: anything else; the command did not run the store, or the reference may "
        "come from another store. "
        "`only seen`: the collector missed a barrier, and no store explains it. The command has to "
        "run the ruby that heapprof came "
        "with. Its output goes to stderr. Then DIR may be left out, and stands for the current "
        "directory.\n\n"
        "Exit status: 0 if nothing is missing, 1 if a barrier is or if the GC does not know an "
        "object, 2 if something could not be read.",
    .options = options,
    .examples = examples,
    .least = 1,
    .most = SIZE_MAX,
    .operand = CLI_OTHER,
    .unwritten = CLI_USAGE, /* 1 means that a barrier is missing */
    .run = run,
};
