/* main.c - heapprof-barriers, to which `heapprof barriers` hands over.
 *
 *     this process --fork--> one child for each extension: reads its files by libclang, writes its
 *                            findings to a temporary file, which this process copies to stdout
 *
 * So an extension costs no more than a line if libclang crashes on it, or if it takes too much
 * memory or time.
 */
#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "barriers/confirm/confirm.h"
#include "barriers/confirm/seen.h"
#include "barriers/fix/fix.h"
#include "barriers/flow/analyse.h"
#include "barriers/options.h"
#include "barriers/read/extconf.h"
#include "barriers/read/extension.h"
#include "barriers/report/accept.h"
#include "barriers/report/report.h"
#include "report/sarif.h"
#include "report/text.h"

enum wb_option {
    NONE,
#define NAME(name, text, value, help) name,
    WB_OPTIONS(NAME)
#undef NAME
    OPTIONS,
    HELP = OPTIONS
};

#define EXTCONF_SECONDS      300
#define EXTCONF_SECONDS_MOST 86400

#define SECONDS_MOST 300              /* of processor time, for an extension */
#define MEMORY_MOST  ((rlim_t)8 << 30)

struct wb_settings {
    const char *values[OPTIONS];      /* "" for an option without a value; NULL if it was not
                                       * given */
    char        directory[PATH_MAX];  /* where the program was started; libclang changes the
                                       * directory */
    char      **operands;
    size_t      operand_count;
    char        here[2];              /* ".", if there is no operand */
    char      **command;              /* the command of --confirm; NULL if there is none */
    char      **arguments;            /* of extconf.rb; ends with NULL */
    unsigned    seconds;              /* that an extconf.rb may take */
    struct wb_acceptance acceptance;
    struct wb_all_seen *seen;         /* what the collector saw; NULL without --confirm */
};

/* Memory that the child shares with this process. */
struct wb_shared {
    char file[4096];                  /* the file that the child is reading */
};

static void
problem_i(void *data, const char *problem)
{
    bool *trouble = data;

    report_print(stderr, "heapprof barriers: %s\n", problem);
    if (trouble) *trouble = true;
}

/* ---- one extension ---- */

static bool
read_all(struct wb_program *program, const struct wb_extension *extension, struct wb_shared *shared)
{
    bool trouble = false;
    size_t headerless = 0;

    for (size_t i = 0; i < extension->count; i++) {
        struct wb_command *command = &extension->commands[i];
        snprintf(shared->file, sizeof(shared->file), "%s", command->path);
        if (!wb_source_read(program, command, problem_i, &trouble)) trouble = true;
        headerless += command->headerless;
    }
    if (headerless > 0) {
        report_print(stderr,
                     "heapprof barriers: %s: %zu %s ruby.h, which is not found: install Ruby's "
                     "headers (ruby-dev in Debian), set RUBY to a ruby that has them, or say where "
                     "they are: --flags=\"-I DIR\"\n",
                     extension->name, headerless,
                     report_plural(headerless, "file includes", "files include"));
        trouble = true;
    }
    snprintf(shared->file, sizeof(shared->file), "%s", extension->name);
    return !trouble;
}

static void
write_report(const struct wb_settings *settings, const struct wb_extension *extension,
             struct wb_program *program, const struct wb_findings *findings,
             const struct wb_remark *remarks, bool whole, FILE *out)
{
    bool all = settings->values[ALL] != NULL;

    if (settings->values[FIX] && all && !whole) {
        report_print(stderr,
                     "heapprof barriers: %s: no type is made WB_PROTECTED: some of its code could "
                     "not be read\n", extension->name);
    }
    if (settings->values[FIX]) wb_fix(out, program, findings, settings->directory, all && whole);
    else if (settings->values[JSON]) {
        wb_report_json(out, extension->name, program, findings, remarks, settings->seen);
    }
    else if (settings->values[SARIF]) {
        wb_report_sarif(out, extension->name, program, findings, remarks, all,
                        settings->directory, settings->seen);
    }
    else if (settings->values[JUNIT]) {
        wb_report_junit(out, extension->name, program, findings, remarks, whole,
                        settings->directory);
    }
    else if (settings->seen) wb_write_rows(out, findings, all, settings->directory);
    else {
        wb_report_text(out, findings, all, settings->directory);
        wb_report_remarks(out, remarks, all, settings->directory);
    }
}

static int
check_extension(const struct wb_settings *settings, const struct wb_extension *extension,
                struct wb_shared *shared, FILE *out)
{
    struct wb_program program;
    struct wb_findings findings;
    int status = WB_CLEAN;

    wb_program_init(&program);
    if (!read_all(&program, extension, shared)) status = WB_TROUBLE;
    wb_analyse(&program, &findings);
    wb_apply_acceptance(&program, &findings, &settings->acceptance);
    if (settings->seen) wb_match_seen(&program, &findings, settings->seen);
    const struct wb_remark *remarks = wb_make_remarks(&program, &findings);
    write_report(settings, extension, &program, &findings, remarks, status == WB_CLEAN &&
                 !findings.truncated, out);
    wb_report_summary(stderr, extension->name, &program, &findings, wb_count_faults(remarks));
    for (size_t i = 0; i < findings.count && status == WB_CLEAN; i++) {
        if (wb_missing_p(findings.all[i])) status = WB_MISSING;
    }
    if (status == WB_CLEAN && wb_count_faults(remarks) > 0) status = WB_MISSING;
    return fflush(out) == 0 ? status : WB_TROUBLE;
}

static void
set_limit(int resource, rlim_t most)
{
    struct rlimit rlimit;

    if (getrlimit(resource, &rlimit)) return;
    if (rlimit.rlim_cur == RLIM_INFINITY || rlimit.rlim_cur > most) rlimit.rlim_cur = most;
    setrlimit(resource, &rlimit);
}

static int
status_of(int ended, const struct wb_shared *shared)
{
    const char *why = "the compiler's library crashed on it";

    if (WIFEXITED(ended)) return WEXITSTATUS(ended);
    if (WTERMSIG(ended) == SIGXCPU) why = "it takes too long";
    report_print(stderr, "heapprof barriers: %s: %s (%s)\n", shared->file, why,
                 strsignal(WTERMSIG(ended)));
    return WB_TROUBLE;
}

/* Writes the child's output for people, with control characters made harmless. A diff for
 * `patch` is copied as it is. */
static void
copy_text(FILE *from)
{
    char *line = NULL;
    size_t size = 0;

    rewind(from);
    while (getline(&line, &size, from) >= 0) report_put_lines(stdout, line);
    free(line);
}

/* Copies the child's output, after a comma if others came before it in the same document. */
static void
copy_out(FILE *from, FILE *to, bool comma)
{
    char bytes[1 << 16];
    size_t size;

    rewind(from);
    while ((size = fread(bytes, 1, sizeof(bytes), from)) > 0) {
        if (comma) fputs(",\n", to);
        comma = false;
        fwrite(bytes, 1, size, to);
    }
}

/* Runs a child that writes to out. ended: as for waitpid. Returns false if there is no child;
 * a line said why. */
static bool
run_child(const struct wb_settings *settings, const struct wb_extension *extension,
          struct wb_shared *shared, FILE *out, int *ended)
{
    pid_t child = fork();

    if (child == 0) {
        set_limit(RLIMIT_CPU, SECONDS_MOST);
        set_limit(RLIMIT_AS, MEMORY_MOST);
        set_limit(RLIMIT_CORE, 0);
        _exit(check_extension(settings, extension, shared, out));
    }
    if (child < 0) {
        report_print(stderr, "heapprof barriers: %s: %s\n", extension->name, strerror(errno));
        return false;
    }
    while (waitpid(child, ended, 0) < 0 && errno == EINTR) continue;
    return true;
}

/* Removes the file that crashed libclang. Returns false if none of the files did. */
static bool
skip_file(struct wb_extension *extension, const char *file)
{
    for (size_t i = 0; i < extension->count; i++) {
        if (strcmp(extension->commands[i].path, file)) continue;
        extension->count--;
        memmove(&extension->commands[i], &extension->commands[i + 1],
                (extension->count - i) * sizeof(*extension->commands));
        return true;
    }
    return false;
}

/* Runs the child again without a file that crashes libclang, so that the rest is judged. */
static int
check_in_child(const struct wb_settings *settings, struct wb_extension *extension,
               struct wb_shared *shared, FILE *out)
{
    int ended, status = WB_TROUBLE;
    bool crashed = false;

    while (run_child(settings, extension, shared, out, &ended)) {
        status = status_of(ended, shared);
        if (!WIFSIGNALED(ended) || !skip_file(extension, shared->file)) break;
        crashed = true;
    }
    return crashed ? WB_TROUBLE : status;
}

/* The start of a document around all extensions. */
static const char *
opening(const struct wb_settings *settings)
{
    if (settings->values[JSON]) return "{\"extensions\":[";
    if (settings->values[JUNIT]) return REPORT_JUNIT_BEGIN;
    if (!settings->values[SARIF]) return "";
    return REPORT_SARIF_BEGIN;
}

/* A comma goes before the SARIF run of what only the collector missed, if there are other runs. */
static void
close_document(const struct wb_settings *settings, FILE *rows, bool first)
{
    if (settings->values[JSON]) {
        putchar(']');
        if (settings->seen) wb_report_json_seen(stdout, settings->seen);
        fputs("}\n", stdout);
    }
    else if (settings->values[SARIF]) {
        if (settings->seen && !first) fputs(",\n", stdout);
        if (settings->seen) wb_report_sarif_seen(stdout, settings->seen);
        fputs(REPORT_SARIF_END, stdout);
    }
    else if (settings->values[JUNIT]) fputs(REPORT_JUNIT_END, stdout);
    else if (settings->seen) {
        wb_write_rows_seen(rows, settings->seen);
        wb_write_table(stdout, rows);
    }
}

static FILE *
temporary_file(void)
{
    FILE *file = tmpfile();

    if (!file) fprintf(stderr, "heapprof barriers: a temporary file: %s\n", strerror(errno));
    return file;
}

/* Appends the output of each extension: to stdout, or to the rows of the table. */
static int
check_each(const struct wb_settings *settings, struct wb_extension *extensions,
           struct wb_shared *shared,
           FILE *rows)
{
    bool comma = settings->values[JSON] || settings->values[SARIF], first = true;
    bool programs = comma || settings->values[JUNIT];
    int status = WB_CLEAN;

    fputs(opening(settings), stdout);
    for (struct wb_extension *each = extensions; each; each = each->next) {
        FILE *out = temporary_file();
        int one;
        if (!out) return WB_TROUBLE;
        one = check_in_child(settings, each, shared, out);
        if (one > status) status = one;
        if (!programs && !settings->seen && !(settings->values[FIX] && !isatty(1))) copy_text(out);
        else copy_out(out, settings->seen && !programs ? rows : stdout, comma && !first);
        first = first && ftell(out) == 0;
        fclose(out);
    }
    close_document(settings, rows, first);
    return status;
}

/* A barrier that only the collector missed is missing, too. */
static bool
unexplained_p(const struct wb_all_seen *seen)
{
    for (size_t i = 0; seen && i < seen->count; i++) {
        if (!seen->items[i].explained) return true;
    }
    return false;
}

static int
check_all(struct wb_settings *settings, struct wb_extension *extensions, struct wb_shared *shared)
{
    FILE *rows = temporary_file();

    if (!rows) return WB_TROUBLE;
    int status = check_each(settings, extensions, shared, rows);
    fclose(rows);
    return status == WB_CLEAN && unexplained_p(settings->seen) ? WB_MISSING : status;
}

/* ---- the command line ---- */

static const char usage[] =
    "usage: heapprof barriers [options] DIR... | FILE... [-- COMMAND | ARGUMENTS]";

static const struct option long_options[] = {
#define ROW(name, text, value, help) \
    {&text[2], (value) ? required_argument : no_argument, NULL, name},
    WB_OPTIONS(ROW)
#undef ROW
    {"help", no_argument, NULL, HELP},
    {0}
};

/* For those who have this program alone. heapprof prints its own help. */
static void
print_help(void)
{
    printf("%s\n\nFinds stores into an extension's objects that have no write barrier.\n\n", usage);
#define PRINT(name, text, value, help) \
    printf("  %s%s%s\n      %s\n", text, (value) ? "=" : "", (value) ? (value) : "", help);
    WB_OPTIONS(PRINT)
#undef PRINT
    exit(fflush(stdout) == 0 ? WB_CLEAN : WB_TROUBLE);
}

/* The words behind "--" are the command of --confirm, or the arguments of extconf.rb. If no word
 * stands before it, the current directory is searched. */
static bool
split_operands(struct wb_settings *settings)
{
    size_t at = 0;
    bool confirm = settings->values[CONFIRM] != NULL;

    if (!confirm && !settings->values[EXTCONF]) return true;
    while (at < settings->operand_count && strcmp(settings->operands[at], "--")) at++;
    if (confirm && at + 1 >= settings->operand_count) {
        fprintf(stderr, "heapprof barriers: --confirm: a command is missing behind \"--\" (%s)\n",
                usage);
        return false;
    }
    if (at == settings->operand_count) return true;
    *(confirm ? &settings->command : &settings->arguments) = settings->operands + at + 1;
    settings->operand_count = at;
    if (at == 0) {
        settings->operands[0] = settings->here;
        settings->operand_count = 1;
    }
    return true;
}

static bool
parse_timeout(struct wb_settings *settings)
{
    const char *text = settings->values[TIMEOUT];
    char *end = NULL;

    settings->seconds = EXTCONF_SECONDS;
    if (!text) return true;
    long seconds = strtol(text, &end, 10);
    if (*text >= '0' && *text <= '9' && !*end && seconds > 0 && seconds <= EXTCONF_SECONDS_MOST) {
        settings->seconds = (unsigned)seconds;
        return true;
    }
    report_print(stderr,
                 "heapprof barriers: --timeout=%s: must be a number of seconds from 1 to %d\n",
                 text, EXTCONF_SECONDS_MOST);
    return false;
}

/* Of the forms of the answer there can be one. A diff and JUnit's XML have no place for verdicts.
 */
static bool
one_form_p(const struct wb_settings *settings)
{
    static const enum wb_option forms[] = {FIX, JUNIT, JSON, SARIF, CONFIRM};
    enum wb_option one = NONE;

    for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
        if (!settings->values[forms[i]]) continue;
        if (one == FIX || one == JUNIT || (one == JSON && forms[i] == SARIF)) {
            fprintf(stderr, "heapprof barriers: --%s cannot be combined with --%s (%s)\n",
                    long_options[one - 1].name, long_options[forms[i] - 1].name, usage);
            return false;
        }
        one = forms[i];
    }
    return true;
}

static bool
parse(struct wb_settings *settings, int argc, char **argv)
{
    int option;

    while ((option = getopt_long(argc, argv, "a", long_options, NULL)) != -1) {
        if (option == 'a') option = ALL;
        if (option == HELP) print_help();
        if (option <= NONE || option >= OPTIONS) {
            fprintf(stderr, "%s\n", usage);
            return false;
        }
        settings->values[option] = optarg ? optarg : "";
    }
    settings->operands = argv + optind;
    settings->operand_count = (size_t)(argc - optind);
    if (!one_form_p(settings) || !parse_timeout(settings) || !split_operands(settings)) {
        return false;
    }
    if (settings->operand_count == 0) {
        fprintf(stderr, "heapprof barriers: a directory or a file is missing (%s)\n", usage);
    }
    return settings->operand_count > 0;
}

/* Each directory is searched for extensions. All files together are one extension. */
static bool
find_extensions(struct wb_search *search, const struct wb_settings *settings)
{
    char **files = calloc(settings->operand_count, sizeof(*files));
    size_t file_count = 0;
    bool all = true;

    if (!files) wb_out_of_memory();
    for (size_t i = 0; i < settings->operand_count; i++) {
        struct stat status;
        bool directory = stat(settings->operands[i], &status) == 0 && S_ISDIR(status.st_mode);
        if (directory) all &= wb_search_directory(search, settings->operands[i]);
        else files[file_count++] = settings->operands[i];
    }
    if (file_count > 0) all &= wb_search_files(search, files, file_count);
    free(files);
    return all;
}

int
main(int argc, char **argv)
{
    static char *const none[] = {NULL};
    struct wb_settings settings = { .here = ".", .arguments = (char **)none };
    struct wb_search search;
    struct wb_shared *shared = wb_shared_memory(sizeof(*shared));
    int status = WB_CLEAN, looked;
    bool trouble = false;

    if (!parse(&settings, argc, argv)) return WB_TROUBLE;
    if (!getcwd(settings.directory, sizeof(settings.directory))) settings.directory[0] = '\0';
    wb_search_init(&search);
    if (settings.values[ACCEPT] &&
        !wb_acceptance_read(&settings.acceptance, &search.arena, settings.values[ACCEPT])) {
        return WB_TROUBLE;
    }
    wb_search_flags(&search, settings.values[FLAGS] ? settings.values[FLAGS] : "");
    search.extconf = settings.values[EXTCONF] != NULL;
    search.arguments = settings.arguments;
    search.seconds = settings.seconds;
    search.problem_i = problem_i;
    search.data = &trouble;
    if (!find_extensions(&search, &settings) || trouble) status = WB_TROUBLE;
    if (settings.command && !(settings.seen = wb_run_and_read(settings.command))) {
        status = WB_TROUBLE;
    }
    looked = check_all(&settings, search.extensions, shared);
    if (looked > status) status = looked;
    wb_acceptance_report_unused(&settings.acceptance);
    wb_extconf_clean();
    return fflush(stdout) == 0 ? status : WB_TROUBLE;
}
