/* memcheck.c - heapprof memcheck: what a command's extensions have lost of malloc's memory.
 *
 *     RUBY_HEAPPROF=...,memcheck=1,out=DIRECTORY/%p-%t.pb.gz command      each Ruby process writes a file at its end
 *     memcheck/: process, judge, text or JSON                             of all the files there are then
 *
 * With Valgrind (valgrind.h) the command runs under it, and its files are joined with these.
 *
 * The directory is temporary. Processes that the command leaves behind become our children, and are waited for a while.
 * One that goes on, as a server does, is told of; it finds the directory gone, and says so.
 */
#ifndef _GNU_SOURCE
# define _GNU_SOURCE /* asprintf */
#endif
#include "cli/cli.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "cli/child.h"
#include "cli/valgrind.h"
#include "memcheck/report.h"

enum {ENGINE = 1, CORE, UNDEFINED, ONLY, SHOW, SUPPRESSIONS, GENERATE, EXITCODE, TIMEOUT, JSON, JUNIT, SARIF, OUT};

#define FOUND 42         /* exit status when there are leaks */
#define STATUS_MOST 255
#define GRACE_SECONDS 10 /* between SIGTERM and SIGKILL; and for processes that the command leaves behind */
#define LOOK_NS 10000000 /* so often it is seen whether these have ended */

struct run {
    struct cli *cli;
    struct memcheck_question question;
    struct memcheck_suppressions suppressions;
    long   exitcode, timeout;          /* timeout: seconds; 0: none */
    char   directory[PATH_MAX];
    struct memcheck_process *processes;
    size_t count, capacity;
    struct cli_valgrind valgrind;
    bool   wrong;                      /* something was told that keeps the report from being whole */
};

/* ---- the command ---- */

/* As large as it may be, for what is not touched costs nothing; and few objects are sampled. */
#define SETTINGS "memory=4g,interval=1g"

/* What RUBY_HEAPPROF is to be, in a block from malloc: of a key given twice the last counts. */
static char *
settings(const char *directory)
{
    const char *before = getenv("RUBY_HEAPPROF");
    char *text;

    if (!before || !strcmp(before, "0")) before = "";
    if (!strncmp(before, "1", 1) && (!before[1] || before[1] == ',')) before += before[1] ? 2 : 1;
    if (asprintf(&text, SETTINGS"%s%s,memcheck=1,out=%s/%%p-%%t.pb.gz", *before ? "," : "", before, directory) < 0) return NULL;
    return text;
}

/* Without a comma, which would end the setting, or a '%', which means something in a name. */
static bool
make_directory(struct run *run)
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
wait_for(struct run *run, struct cli_child *child)
{
    if (run->timeout == 0) {
        cli_child_wait(child);
        return;
    }
    if (cli_child_wait_for(child, run->timeout)) return;
    cli_wrong(run->cli, "%s: ended after %ld seconds", run->cli->operands[0], run->timeout);
    run->wrong = true;
    kill(child->pid, SIGTERM);
    if (cli_child_wait_for(child, GRACE_SECONDS)) return;
    kill(child->pid, SIGKILL);
    cli_child_wait(child);
}

static void
wait_for_orphans(struct run *run)
{
    const struct timespec wait = {0, LOOK_NS};
    long looks = GRACE_SECONDS * (1000000000L / LOOK_NS);
    pid_t ended;

    while ((ended = waitpid(-1, NULL, WNOHANG)) > 0 || (ended == 0 && looks-- > 0)) {
        if (ended == 0) nanosleep(&wait, NULL);
    }
    if (ended < 0) return;
    cli_wrong(run->cli, "%s has left processes behind that still run: they are not in the report", run->cli->operands[0]);
    run->wrong = true;
}

/* ---- what it has left ---- */

/* Room for one more process; NULL: there is no memory. */
static struct memcheck_process *
next_process(struct run *run)
{
    if (run->count == run->capacity) {
        size_t capacity = run->capacity ? 2 * run->capacity : 16;
        struct memcheck_process *processes = realloc(run->processes, capacity * sizeof(*processes));
        if (!processes) {
            cli_wrong(run->cli, "no memory");
            run->wrong = true;
            return NULL;
        }
        run->processes = processes;
        run->capacity = capacity;
    }
    return memset(&run->processes[run->count], 0, sizeof(*run->processes));
}

static void
read_process(struct run *run, const char *path)
{
    struct memcheck_process *process = next_process(run);
    struct heapprof_model *model = process ? cli_read(run->cli, path) : NULL;
    enum memcheck_read read = MEMCHECK_NO_MEMORY;

    if (model) read = memcheck_process_read(process, model);
    if (read == MEMCHECK_IS_ONE) {
        run->count++;
    }
    else if (read == MEMCHECK_NO_MEMORY) {
        if (model) cli_wrong(run->cli, "no memory");
        run->wrong = true;
    }
}

static int
file_p(const struct dirent *entry)
{
    return entry->d_name[0] != '.';
}

static bool
profile_p(const char *name)
{
    const char *dot = strchr(name, '.');
    return dot && strcmp(dot, ".pb.gz") == 0;
}

/* ---- what Valgrind says ---- */

/* The file that is Ruby, as the processes say it. */
static const char *
core_of(const struct run *run)
{
    for (size_t i = 0; i < run->count; i++) {
        const struct heapprof_model *model = run->processes[i].model;
        if (rb_heapprof_model_mappings(model) > 0) return rb_heapprof_model_string(model, model->mappings[0].filename, NULL);
    }
    return "ruby";
}

static struct memcheck_process *
process_of(struct run *run, const char *pid)
{
    for (size_t i = 0; i < run->count; i++) {
        if (!run->processes[i].valgrind && strcmp(run->processes[i].pid, pid) == 0) return &run->processes[i];
    }
    return NULL;
}

static bool
errors_p(const struct memcheck_valgrind *found, uint32_t document)
{
    for (uint32_t i = 0; i < found->error_count; i++) {
        if (found->errors[i].document == document && memcheck_error_p(found->errors[i].kind)) return true;
    }
    return false;
}

/* A process without a file of its own is no matter unless Valgrind has seen an error in it. */
static void
join_document(struct run *run, uint32_t number)
{
    const struct memcheck_valgrind *found = &run->valgrind.found;
    const struct memcheck_document *document = &found->documents[number];
    struct memcheck_process *process = process_of(run, memcheck_valgrind_string(found, document->pid));

    if (!process && errors_p(found, number) && (process = next_process(run)) != NULL) {
        process->pid = memcheck_valgrind_string(found, document->pid);
        process->program = memcheck_valgrind_string(found, document->program);
        run->count++;
    }
    if (!process || memcheck_join(process, found, number, &run->valgrind.lists[number])) return;
    cli_wrong(run->cli, "no memory");
    run->wrong = true;
}

/* One of which Valgrind has said nothing cannot be told of. */
static void
drop_unjoined(struct run *run)
{
    size_t kept = 0;

    for (size_t i = 0; i < run->count; i++) {
        if (run->processes[i].valgrind) {
            run->processes[kept++] = run->processes[i];
            continue;
        }
        cli_wrong(run->cli, "Valgrind has written nothing of process %s", run->processes[i].pid);
        run->wrong = true;
        memcheck_process_free(&run->processes[i]);
    }
    run->count = kept;
}

static void
join_all(struct run *run)
{
    if (!cli_valgrind_read(run->cli, &run->valgrind, run->directory)) run->wrong = true;
    memcheck_valgrind_attribute(&run->valgrind.found, core_of(run));
    for (uint32_t i = 0; run->valgrind.lists && i < run->valgrind.found.document_count; i++) {
        if (!run->valgrind.found.documents[i].elsewhere) join_document(run, i);
    }
    drop_unjoined(run);
}

/* ---- the report ---- */

static void
remove_directory(struct run *run)
{
    struct dirent **entries;
    int count = scandir(run->directory, &entries, file_p, alphasort);

    for (int i = 0; i < count; i++) {
        char *path;
        if (asprintf(&path, "%s/%s", run->directory, entries[i]->d_name) >= 0) {
            unlink(path);
            free(path);
        }
        free(entries[i]);
    }
    if (count >= 0) free(entries);
    if (rmdir(run->directory) != 0) cli_wrong(run->cli, "%s: %s", run->directory, strerror(errno));
}

static void
read_processes(struct run *run)
{
    struct dirent **entries;
    int count = scandir(run->directory, &entries, file_p, alphasort);

    for (int i = 0; i < count; i++) {
        char *path;
        if (profile_p(entries[i]->d_name) && asprintf(&path, "%s/%s", run->directory, entries[i]->d_name) >= 0) {
            read_process(run, path);
            free(path);
        }
        free(entries[i]);
    }
    if (count >= 0) free(entries);
}

static void
read_directory(struct run *run)
{
    read_processes(run);
    if (run->question.valgrind) join_all(run);
    remove_directory(run);
    for (size_t i = 0; i < run->count; i++) {
        if (!run->processes[i].decided || run->processes[i].dropped > 0) run->wrong = true;
    }
    if (run->count > 0 || run->wrong) return;
    cli_wrong(run->cli, "no process of %s wrote a report: it is no ruby with the heap profiler, or ended by exit!, exec or a "
              "signal", run->cli->operands[0]);
    run->wrong = true;
}

static memcheck_report *
report_asked_for(const struct cli *cli)
{
    if (cli->values[SARIF]) return memcheck_sarif;
    if (cli->values[JUNIT]) return memcheck_junit;
    return cli->values[JSON] ? memcheck_json : memcheck_text;
}

/* To stderr, for stdout is the command's. */
static bool
report(struct run *run)
{
    const char *path = run->cli->values[OUT];
    FILE *out = !path ? stderr : !strcmp(path, "-") ? stdout : fopen(path, "w");

    if (out) {
        memcheck_report *write = report_asked_for(run->cli);
        bool written = write(out, &run->question, run->processes, run->count);
        written = fflush(out) == 0 && !ferror(out) && written;
        if (out != stderr && out != stdout) written = fclose(out) == 0 && written;
        if (written) return true;
    }
    cli_wrong(run->cli, "%s: %s", path ? path : "stderr", strerror(errno));
    return false;
}

static size_t
leaks_and_errors(const struct run *run)
{
    size_t count = 0;

    for (size_t i = 0; i < run->count; i++) {
        struct memcheck_tally tally = memcheck_tally_of(&run->question, &run->processes[i]);
        count += tally.leaks + tally.errors;
    }
    return count;
}

/* ---- the whole ---- */

static int
status_of(struct run *run, const struct cli_child *child)
{
    int status;

    if (!report(run)) run->wrong = true;
    if (run->exitcode > 0 && leaks_and_errors(run) > 0) return (int)run->exitcode;
    status = cli_child_end_like(child);
    return status == CLI_DONE && run->wrong ? CLI_WRONG : status;
}

static int
run_command(struct run *run, char **command)
{
    char *heapprof = settings(run->directory);
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
    read_directory(run);
    return status_of(run, &child);
}

/* Without YJIT, whose code Valgrind would translate again and again. */
static int
run_under_valgrind(struct run *run)
{
    char **command = cli_valgrind_command(run->cli, run->directory, run->question.most, run->cli->values[UNDEFINED] != NULL);
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
read_suppressions(struct run *run)
{
    const char *path = run->cli->values[SUPPRESSIONS];
    char error[MEMCHECK_SUPPRESSIONS_ERROR_MAX];

    if (!path) return true;
    run->question.suppressions = &run->suppressions;
    if (memcheck_suppressions_read(&run->suppressions, path, error)) return true;
    cli_wrong(run->cli, "%s: %s", path, error);
    return false;
}

static int
memcheck(struct cli *cli)
{
    struct run run = {
        .cli = cli,
        .question = {.core = cli->values[CORE] != NULL, .only = cli->values[ONLY], .most = most_of(cli->values[SHOW]),
                     .valgrind = cli->values[ENGINE] && !strcmp(cli->values[ENGINE], "valgrind"),
                     .generate = cli->values[GENERATE] != NULL},
    };
    int status = CLI_WRONG;

    if (!cli_number(cli, EXITCODE, 0, FOUND, &run.exitcode) || !cli_number(cli, TIMEOUT, 1, 0, &run.timeout)) return CLI_USAGE;
    if (run.exitcode > STATUS_MOST) return cli_usage(cli, "--exitcode=%s: at most %d", cli->values[EXITCODE], STATUS_MOST);
    if (cli->values[UNDEFINED] && !run.question.valgrind) return cli_usage(cli, "--undefined: with --engine=valgrind alone");
    if (read_suppressions(&run) && make_directory(&run)) {
        status = run.question.valgrind ? run_under_valgrind(&run) : run_command(&run, cli->operands);
    }
    for (size_t i = 0; i < run.count; i++) memcheck_process_free(&run.processes[i]);
    free(run.processes);
    cli_valgrind_free(&run.valgrind);
    memcheck_suppressions_free(&run.suppressions);
    return status;
}

static const struct cli_option options[] = {
    {"--engine", 0, "ENGINE", "vm valgrind", "Who finds out: Ruby's process by itself, or Valgrind, which sees errors, too, and is slow"},
    {"--core", 0, NULL, NULL, "Show what is Ruby's own, too"},
    {"--undefined", 0, NULL, NULL, "With Valgrind: also uses of undefined values, and where these come from"},
    {"--only", 0, "NAME", NULL, "Show what that library asked for alone, as nokogiri or nokogiri.so"},
    {"--show", 0, "KINDS", "definite possible all",
     "Also what is possibly lost; or all, what is indirectly lost and still reachable, too (default: definite)"},
    {"--suppressions", 's', "FILE", "FILE",
     "Leaks that are known and not shown: lines LIBRARY FUNCTION [FRAME], of patterns as for files; # begins a comment"},
    {"--gen-suppressions", 0, NULL, NULL, "With each leak the line that would suppress it"},
    {"--exitcode", 0, "N", NULL, "Exit status when there are leaks or errors; 0: the command's own (default: 42)"},
    {"--timeout", 0, "SECONDS", NULL, "End the command after so long: by SIGTERM, and 10 seconds later by SIGKILL"},
    {"--json", 0, NULL, NULL, "The report as JSON"},
    {"--junit", 0, NULL, NULL, "The report as JUnit's XML: a test case for each process"},
    {"--sarif", 0, NULL, NULL, "The report as SARIF 2.1.0, for code scanning: a result for each leak"},
    {"--out", 'o', "FILE", "FILE", "Write the report there; -: to stdout (default: to stderr)"},
    {0}
};

static const struct cli_example examples[] = {
    {"heapprof memcheck ruby -Ilib test/test_parser.rb", "which memory the extensions lose, and which Ruby line asked for it"},
    {"heapprof memcheck --only=nokogiri -- bundle exec rake test", "of one extension, in all processes of the tests"},
    {"heapprof memcheck --json -o leaks.json -- bundle exec rspec", "for a program"},
    {"heapprof memcheck --engine=valgrind -- ruby test.rb", "also invalid reads and writes, and what is freed twice or by the wrong function"},
    {"heapprof memcheck --core -- ruby test.rb", "also what Ruby itself loses"},
    {0}
};

const struct cli_command cli_memcheck_command = {
    .name = "memcheck", .arguments = "[options] [--] COMMAND...",
    .summary = "Find memory that C extensions lose, with the Ruby line that asked for it",
    .description =
        "Runs the command with every block of malloc known. At the end of each Ruby process, when Ruby has freed all that is its own,\n"
        "what is left is searched for, conservatively: in registers, stacks, the variables of libraries and threads, and in the\n"
        "blocks themselves. What nothing leads to is definitely lost; what only lost blocks lead to is indirectly lost; what only\n"
        "pointers into its middle lead to is possibly lost; the rest is still reachable. These are the words of Valgrind's memcheck.\n"
        "\n"
        "The report says of each leak which Ruby code ran, which C function asked, of which library, and how much. What Ruby\n"
        "asked for on behalf of an extension is the extension's. What is Ruby's own is not shown without --core.\n"
        "\n"
        "With --engine=valgrind the command runs under Valgrind, which takes many times as long. Then it is Valgrind that says what is lost,\n"
        "and each record has the stack of C functions, too. It also finds invalid reads and writes, uses after free, blocks that are\n"
        "freed twice or by a function they are not for, and, with --undefined, uses of undefined values.\n"
        "\n"
        "The exit status, or the signal it ends by, is the command's own, but for 42 when there are leaks or errors. It is 1 when the\n"
        "command's own is 0 and the report is not whole: no process wrote one, or had more blocks than memory to know them, or\n"
        "the command ran out of time. A command that cannot be run is 127 (not found) or 126.\n"
        "\n"
        "Processes that end by exit!, exec or a signal that Ruby does not handle have no report, nor have those that outlive the\n"
        "command. What finalizers ask for is not known. Only what the command runs can be found.",
    .options = options, .examples = examples, .least = 1, .most = SIZE_MAX, .passes_rest = true, .run = memcheck,
};
