/* memcheck.c - heapprof memcheck: finds memory from malloc that a command's extensions have
 * lost.
 *
 *     RUBY_HEAPPROF=...,memcheck=1,out=DIRECTORY/%p-%t.pb.gz command
 *         each Ruby process writes a file at its end
 *     memcheck/: process, judge, text or JSON
 *         on all files that are there then
 *
 * run.c reads the files. With Valgrind (valgrind.h) the command runs under Valgrind, and
 * Valgrind's files are joined with these.
 *
 * The directory is temporary. Processes that the command leaves behind become heapprof's
 * children. heapprof waits for them for a while. If such a process goes on, as a server does,
 * heapprof tells the user. The process finds later that the directory is gone, and says so.
 */
#ifndef _GNU_SOURCE
# define _GNU_SOURCE /* asprintf */
#endif
#include "cli/cli.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "cli/child.h"
#include "cli/memcheck/baseline.h"
#include "cli/memcheck/run.h"
#include "memcheck/report.h"
#include "os/file.h"
#include "report/text.h"

#define FOUND 42         /* exit status if there are leaks */
#define STATUS_MOST 255
#define GRACE_SECONDS 10 /* from SIGTERM to SIGKILL; also for processes left behind */
#define LOOK_NS 10000000 /* between two checks whether those have ended */

/* ---- the command ---- */

/* The memory is as large as it may be: memory that is not touched costs nothing. Few objects are
 * sampled. */
#define SETTINGS "memory=4g,interval=1g"
#define OBJECT_SETTINGS_MAX 128
#define QUARANTINE_BYTES ((size_t)256 << 20)

/* Who allocated a dead object is known if each object is sampled; and so is each allocation, which
 * --gc-stress counts. "" if neither is asked for. */
static void
object_settings(const struct cli_memcheck_run *run, char text[OBJECT_SETTINGS_MAX])
{
    text[0] = '\0';
    if (run->quarantine_bytes == 0 && run->gc_stress == 0) return;
    snprintf(text, OBJECT_SETTINGS_MAX, ",interval=1,quarantine=%zu,gc_stress=%ld",
             run->quarantine_bytes, run->gc_stress);
}

/* Returns the new value of RUBY_HEAPPROF, in a block from malloc. If a key is given twice, the
 * last one counts. */
static char *
settings(const struct cli_memcheck_run *run)
{
    char objects[OBJECT_SETTINGS_MAX];
    const char *before = getenv("RUBY_HEAPPROF");
    char *text;

    if (!before || !strcmp(before, "0")) before = "";
    if (!strncmp(before, "1", 1) && (!before[1] || before[1] == ',')) before += before[1] ? 2 : 1;
    object_settings(run, objects);
    if (asprintf(&text, SETTINGS "%s%s%s%s,memcheck=1,out=%s/%%p-%%t.pb.gz", *before ? "," : "",
                 before, objects, run->cli->values[CLI_SIZES] ? ",sizes=1" : "",
                 run->directory) < 0)
        return NULL;
    return text;
}

/* Makes a directory whose name has no comma and no '%'. A comma would end the setting. A '%' has
 * a meaning in the name of a file. */
static bool
make_directory(struct cli_memcheck_run *run)
{
    const char *parent = getenv("TMPDIR");

    if (!parent || parent[0] != '/' || strpbrk(parent, ",%")) parent = "/tmp";
    if (strlen(parent) < sizeof(run->directory) - 64) {
        snprintf(run->directory, sizeof(run->directory), "%s/heapprof-memcheck-XXXXXX", parent);
        if (mkdtemp(run->directory)) return true;
    }
    cli_wrong(run->cli, "%s: cannot make a directory there: %s", parent, strerror(errno));
    return false;
}

static void
wait_for(struct cli_memcheck_run *run, struct cli_child *child)
{
    if (run->timeout == 0) {
        cli_child_wait(child);
        return;
    }
    if (cli_child_wait_for(child, run->timeout)) return;
    cli_wrong(run->cli, "%s: was ended after %ld %s, as --timeout says", run->cli->operands[0],
              run->timeout, report_plural((uint64_t)run->timeout, "second", "seconds"));
    run->wrong = true;
    kill(child->pid, SIGTERM);
    if (cli_child_wait_for(child, GRACE_SECONDS)) return;
    kill(child->pid, SIGKILL);
    cli_child_wait(child);
}

static void
wait_for_orphans(struct cli_memcheck_run *run)
{
    const struct timespec wait = {0, LOOK_NS};
    long looks = GRACE_SECONDS * (1000000000L / LOOK_NS);
    pid_t ended;

    while ((ended = waitpid(-1, NULL, WNOHANG)) > 0 || (ended == 0 && looks-- > 0)) {
        if (ended == 0) nanosleep(&wait, NULL);
    }
    if (ended < 0) return;
    cli_wrong(run->cli, "%s has left processes that still run: they are not in the report",
              run->cli->operands[0]);
    run->wrong = true;
}

/* ---- the report ---- */

static memcheck_report *
report_asked_for(const struct cli *cli)
{
    if (cli->values[CLI_SARIF]) return memcheck_sarif;
    if (cli->values[CLI_JUNIT]) return memcheck_junit;
    return cli->values[CLI_JSON] ? memcheck_json : memcheck_text;
}

/* Writes to stderr, because stdout belongs to the command. */
static bool
report(struct cli_memcheck_run *run)
{
    const char *path = run->cli->values[CLI_OUTPUT];
    bool file = path && strcmp(path, "-");
    char *text = NULL;
    size_t size = 0;
    FILE *out = file ? open_memstream(&text, &size) : path ? stdout : stderr;
    bool written =
        out && report_asked_for(run->cli)(out, &run->question, run->processes, run->count);

    written = out && fflush(out) == 0 && !ferror(out) && written;
    if (file && out) written = fclose(out) == 0 && written;
    if (file && written) {
        errno = rb_heapprof_file_write_whole(path, text, size, true);
        written = errno == 0;
    }
    if (!written) cli_wrong(run->cli, "%s: %s", path ? path : "stderr", strerror(errno));
    free(text);
    return written;
}

static size_t
leaks_and_errors(const struct cli_memcheck_run *run)
{
    size_t count = 0;

    for (size_t i = 0; i < run->count; i++) {
        struct memcheck_tally tally = memcheck_tally_of(&run->question, &run->processes[i]);
        count += tally.leaks + tally.errors;
    }
    return count;
}

/* ---- the whole ---- */

/* Tells if no process has loaded the library that --only names. A user who misspells the name
 * must not believe that nothing is lost. */
static void
tell_unloaded(struct cli_memcheck_run *run)
{
    const char *only = run->question.only;

    if (!only || run->count == 0) return;
    for (size_t i = 0; i < run->count; i++) {
        if (memcheck_loaded_p(&run->processes[i], only)) return;
    }
    cli_wrong(run->cli, "--only=%s: no process has loaded a library of that name", only);
    run->wrong = true;
}

static int
status_of(struct cli_memcheck_run *run, const struct cli_child *child)
{
    int status;

    if (!report(run)) run->wrong = true;
    if (!cli_memcheck_write_baseline(run)) run->wrong = true;
    bool found = !run->cli->values[CLI_WRITE_BASELINE] && leaks_and_errors(run) > 0;
    if (run->exitcode > 0 && found) return (int)run->exitcode;
    status = cli_child_end_like(child);
    return status == CLI_DONE && run->wrong ? CLI_WRONG : status;
}

static int
run_command(struct cli_memcheck_run *run, char **command)
{
    char *heapprof = settings(run);
    struct cli_child child;

    prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
    int error = heapprof ? cli_child_start(&child, command, heapprof) : ENOMEM;

    free(heapprof);
    if (error) {
        rmdir(run->directory);
        return cli_child_not_run(run->cli, &child, error);
    }
    wait_for(run, &child);
    wait_for_orphans(run);
    cli_child_restore(&child);
    cli_memcheck_collect(run);
    tell_unloaded(run);
    return status_of(run, &child);
}

/* Runs the command without YJIT: Valgrind would translate YJIT's code again and again. */
static int
run_under_valgrind(struct cli_memcheck_run *run)
{
    char **command = cli_valgrind_command(run->cli, run->directory, run->question.most,
                                          run->cli->values[CLI_UNDEFINED] != NULL);
    int status = CLI_WRONG;

    unsetenv("RUBY_YJIT_ENABLE");
    if (command) status = run_command(run, command);
    else rmdir(run->directory);
    cli_valgrind_command_free(command);
    return status;
}

static enum memcheck_kind
most_of(const char *name)
{
    if (name && !strcmp(name, "possible")) return MEMCHECK_POSSIBLE;
    return name && !strcmp(name, "all") ? MEMCHECK_REACHABLE : MEMCHECK_DEFINITE;
}

static bool
read_suppressions(struct cli_memcheck_run *run)
{
    const char *path = run->cli->values[CLI_SUPPRESSIONS];
    char error[MEMCHECK_SUPPRESSIONS_ERROR_MAX];

    if (!path) return true;
    run->question.suppressions = &run->suppressions;
    if (memcheck_suppressions_read(&run->suppressions, path, cli_ruby_version, error)) return true;
    cli_wrong(run->cli, "%s: %s", path, error);
    return false;
}

/* Reads --objects, which may be given without a size. */
static bool
objects_of(struct cli_memcheck_run *run)
{
    const char *size = run->cli->values[CLI_OBJECTS];

    if (!size || *size) return cli_size(run->cli, CLI_OBJECTS, 0, &run->quarantine_bytes);
    run->quarantine_bytes = QUARANTINE_BYTES;
    return true;
}

static int
memcheck(struct cli *cli)
{
    struct cli_memcheck_run run = {
        .cli = cli,
        .question = { .core = cli->values[CLI_RUBY] != NULL,
                      .only = cli->values[CLI_ONLY],
                      .most = most_of(cli->values[CLI_SHOW]),
                      .valgrind =
                          cli->values[CLI_ENGINE] && !strcmp(cli->values[CLI_ENGINE], "valgrind"),
                      .generate = cli->values[CLI_GENERATE] != NULL },
    };
    int status = CLI_WRONG;

    if (!cli_number(cli, CLI_EXITCODE, 0, FOUND, &run.exitcode) ||
        !cli_number(cli, CLI_TIMEOUT, 1, 0, &run.timeout))
        return CLI_USAGE;
    if (run.exitcode > STATUS_MOST)
        return cli_usage(cli, "--exitcode=%s: give at most %d", cli->values[CLI_EXITCODE],
                         STATUS_MOST);
    if (!cli_number(cli, CLI_GC_STRESS, 1, 0, &run.gc_stress) || !objects_of(&run))
        return CLI_USAGE;
    if (cli->values[CLI_UNDEFINED] && !run.question.valgrind)
        return cli_usage(cli, "--undefined works only with --engine=valgrind");
    if (cli->values[CLI_SIZES] && run.question.valgrind)
        return cli_usage(cli, "--sizes works only with --engine=vm");
    if (read_suppressions(&run) && cli_memcheck_read_baseline(&run) && make_directory(&run)) {
        status =
            run.question.valgrind ? run_under_valgrind(&run) : run_command(&run, cli->operands);
    }
    cli_memcheck_run_free(&run);
    return status;
}

static const struct cli_option options[] = {
    { CLI_ENGINE, "vm valgrind",
      "What finds leaks: the Ruby process itself, or Valgrind, which is slow and also finds "
      "errors" },
    { CLI_RUBY, NULL, "Also show leaks of Ruby itself" },
    { CLI_UNDEFINED, NULL, "With Valgrind: also uses of undefined values, and their origin" },
    { CLI_OBJECTS, NULL,
      "Also uses of dead objects, whose memory is not used again until there are this many bytes "
      "of them (default: 256m); each object takes 4 KB, except with Valgrind" },
    { CLI_SIZES, NULL,
      "Also types of typed data whose dsize says less than half of what their objects hold at the "
      "end, or more than twice as much" },
    { CLI_GC_STRESS, NULL,
      "A full garbage collection at each Nth allocation, so that forgotten objects die soon" },
    { CLI_ONLY, NULL,
      "Show only leaks of this library, such as nokogiri or nokogiri.so, and leaks of libraries "
      "that it has called" },
    { CLI_SHOW, "definite possible all",
      "possible: also possibly lost blocks; all: also indirectly lost and still reachable ones "
      "(default: definite)" },
    { CLI_SUPPRESSIONS, NULL,
      "Known leaks that are not shown: lines LIBRARY FUNCTION [FRAME], patterns like a shell's for "
      "files; # begins a comment" },
    { CLI_GENERATE, NULL, "Print with each leak the line that would suppress it" },
    { CLI_BASELINE, NULL,
      "Leaks and errors that were known when --write-baseline wrote this file: they are not "
      "shown" },
    { CLI_WRITE_BASELINE, NULL,
      "Write what is found to this file, for --baseline; the exit status is that of the command" },
    { CLI_EXITCODE, NULL,
      "Exit status if there are leaks or errors; 0: that of the command (default: 42)" },
    { CLI_TIMEOUT, NULL,
      "End the command after this time: by SIGTERM, and 10 seconds later by SIGKILL" },
    { CLI_JSON, NULL, "The report as JSON" },
    { CLI_JUNIT, NULL, "The report as JUnit's XML: a test case for each process" },
    { CLI_SARIF, NULL, "The report as SARIF 2.1.0, for code scanning: a result for each leak" },
    { CLI_OUTPUT, NULL, "Write the report to this file; -: to stdout (default: to stderr)" },
    { 0 }
};

static const struct cli_example examples[] = {
    { "heapprof memcheck ruby -Ilib test/test_parser.rb",
      "which memory extensions lose, and which Ruby line allocated it" },
    { "heapprof memcheck --only=nokogiri -- bundle exec rake test",
      "leaks of one extension, in all processes of the tests" },
    { "heapprof memcheck --json -o leaks.json -- bundle exec rspec", "for a program" },
    { "heapprof memcheck --engine=valgrind -- ruby test.rb",
      "also invalid reads and writes, and blocks freed twice or by the wrong function" },
    { "heapprof memcheck --objects --gc-stress=100 -- ruby test.rb",
      "also uses of objects that the collector has freed, because nothing marked them" },
    { "heapprof memcheck --baseline=known.txt -- rake test", "only what is new" },
    { "heapprof memcheck --ruby -- ruby test.rb", "also leaks of Ruby itself" },
    { 0 }
};

const struct cli_command cli_memcheck_command = {
    .name = "memcheck", .arguments = "[options] [--] COMMAND...",
    .summary = "Find memory that C extensions lose, with the Ruby line that allocated it",
    .description =
        "Runs the command while every block of malloc is recorded. At the end of each Ruby\n"
        "process, Ruby frees all of its own memory. Then the process searches for pointers\n"
        "to the blocks that are left, conservatively: in registers, stacks, the variables\n"
        "of libraries and threads, and in the blocks themselves. A block without a pointer\n"
        "to it is definitely lost. A block that only lost blocks point to is indirectly\n"
        "lost. A block with pointers only into its middle is possibly lost. The rest is\n"
        "still reachable. These are the words of Valgrind's memcheck.\n"
        "\n"
        "For each leak the report says which Ruby code ran, which C function of which\n"
        "library allocated, and how much. What Ruby allocates on behalf of an extension\n"
        "belongs to the extension. Leaks of Ruby itself are shown only with --ruby.\n"
        "\n"
        "Memory of malloc that is given to xfree, and memory of xmalloc that is given to free,\n"
        "is an error (mismatched free), with the Ruby code of both.\n"
        "\n"
        "With --engine=valgrind the command runs under Valgrind, which takes many times as\n"
        "long. Then Valgrind decides what is lost. Each record also has the stack of C\n"
        "functions, with the methods they are. Valgrind also finds invalid reads and\n"
        "writes, uses after free, blocks that are freed twice or by the wrong function,\n"
        "and, with --undefined, uses of undefined values; each with the Ruby code that ran.\n"
        "\n"
        "With --objects, the slots of dead objects are held back and made inaccessible. A use of\n"
        "a dead object is an error, with the Ruby code that used it, that allocated it, and\n"
        "that ran when the collection began which freed it. Such an object is one that an\n"
        "extension keeps where nothing marks it: in a static variable, in memory of malloc, in\n"
        "a struct whose mark function forgets it, or at an address from before compaction.\n"
        "With --gc-stress=N a collection comes at each Nth allocation, so that it dies soon.\n"
        "So that one object alone can be made inaccessible, each takes a page of memory (4 KB),\n"
        "as long as a quarter of the memory suffices. The report says how many could not be.\n"
        "With Valgrind no more memory is needed, and it takes many times as long.\n"
        "\n"
        "If --suppressions names a directory, the files in it for this ruby are read:\n"
        "ruby.supp, ruby-3.4.supp, NAME_ruby-3.4.supp and so on. The report counts what\n"
        "each line suppresses.\n"
        "\n"
        "What one C function loses has one cause, however many Ruby lines call it. The\n"
        "report puts these calls together. --write-baseline writes a line for each cause;\n"
        "with --baseline, causes in that file are not shown. Lines and addresses do not\n"
        "change the number of a cause, so a branch can be compared with the main branch.\n"
        "\n"
        "The exit status, or the signal it ends by, is that of the command, except 42 if\n"
        "there are leaks or errors. It is 1 if the command succeeds and the report is\n"
        "incomplete: no process wrote one, or none loaded the library of --only, or there\n"
        "were more blocks than memory to record them, or the command ran out of time. If\n"
        "the command cannot be run, it is 127 (not found) or 126.\n"
        "\n"
        "A process that ends by exit!, exec or a signal that Ruby does not handle has no\n"
        "report. Neither has a process that outlives the command. Memory that finalizers\n"
        "allocate is not known. Only leaks in code that the command runs can be found.",
    .readers =
        "with --out the owner of the file alone (mode 0600). Until then, the files of the\n"
        "processes are in a directory of their own below TMPDIR. It belongs to the same\n"
        "owner (mode 0700) and is removed.",
    .options = options, .examples = examples, .least = 1, .most = SIZE_MAX, .passes_rest = true,
    .operand = CLI_OTHER, .writes_output = true, .run = memcheck,
};
