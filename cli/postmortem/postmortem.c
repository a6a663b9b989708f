/* postmortem.c - heapprof postmortem: what memory was full of before a process ended. */
#include "cli/cli.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/version.h"
#include "cli/postmortem/holder.h"
#include "cli/postmortem/over_time.h"
#include "cli/postmortem/point.h"
#include "cli/several.h"
#include "report/text.h"

/* What is said of each kind. */
static const struct {
    const char *name;            /* a column */
    const char *verdict, *what;  /* "strings", "Strings hold" */
    const char *advice;          /* NULL: none */
} words[] = {
    [CLI_POINT_STRINGS] = { "strings", "strings", "Strings hold", NULL },
    [CLI_POINT_OBJECTS] = { "objects", "objects", "Objects and what they own hold", NULL },
    [CLI_POINT_MALLOC] = {
        "malloc", "malloc", "Memory that C code has requested of malloc takes",
        "Which extension: RUBY_HEAPPROF=malloc=all, and heapprof top --group=library." },
    [CLI_POINT_FREED] = {
        "freed", "fragmentation", "Memory that is free inside of Ruby and malloc takes",
        "What is in use lies between: MALLOC_ARENA_MAX=2 or jemalloc keep less, and GC.compact\n"
        "empties heap pages." },
    [CLI_POINT_REST] = { "rest", "stacks, code and files",
                         "Stacks, compiled code, files and what cannot be explained take", NULL },
    [CLI_POINT_OTHERS] = { "others", "another process", "Other processes of the group take",
                           "The limit is that of all processes of the group." },
};

struct postmortem {
    const struct cli *cli;
    struct cli_point *points;    /* of the process, in the order of their times */
    const char **names;
    size_t count;
    size_t other_files;          /* of other processes */
    struct cli_holder holder;
};

/* ---- amounts ---- */

static void
put_amount(double bytes)
{
    char amount[REPORT_AMOUNT_MAX];

    report_amount(amount, bytes, "bytes");
    fputs(amount, stdout);
}

static void
put_column(double bytes)
{
    char amount[REPORT_AMOUNT_MAX];

    report_amount(amount, bytes, "bytes");
    printf("%10s", bytes > 0 ? amount : "-");
}

static const struct cli_point *
last_of(const struct postmortem *postmortem)
{
    return &postmortem->points[postmortem->count - 1];
}

/* "60 seconds": from the first file to the last. */
static void
put_span(const struct postmortem *postmortem)
{
    double begin_ns = (double)postmortem->points[0].model->time_ns;
    double seconds = ((double)last_of(postmortem)->model->time_ns - begin_ns) / 1e9;
    char text[REPORT_COUNT_MAX];

    report_count(text, seconds > 0 ? (uint64_t)(seconds + 0.5) : 0, "second", "seconds");
    fputs(text, stdout);
}

/* ---- the process ---- */

static void
put_head(const struct postmortem *postmortem)
{
    const struct cli_point *last = last_of(postmortem);
    const char *title = rb_heapprof_model_comment(last->model, "title: ");
    char files[REPORT_COUNT_MAX];

    report_count(files, postmortem->count, "file", "files");
    report_print(stdout, "process %" PRIu64 " (%s): %s", last->pid, title ? title : "?", files);
    if (postmortem->count > 1) {
        fputs(" of ", stdout);
        put_span(postmortem);
    }
    if (postmortem->other_files) {
        report_count(files, postmortem->other_files, "file", "files");
        printf("; %s of other processes not shown", files);
    }
    putchar('\n');
    if (last->limit > 0) {
        fputs("the limit is ", stdout);
        put_amount(last->limit);
        report_print(stdout, " (%s)", last->limit_name);
        fputs(", and the last file was written at ", stdout);
        put_amount(last->used);
        if (last->reached) printf("; it was reached %" PRIu64 " times before", last->reached);
        putchar('\n');
    }
    if (last->copied && !strcmp(last->copied, HEAPPROF_CRASHED))
        puts("the last file was written by a copy: the program has crashed");
    else if (last->copied && !strcmp(last->copied, HEAPPROF_USED_UP))
        puts("the last file was written by a copy: the program had no memory left");
    else if (last->copied)
        puts("the last file was written by a copy: the program was in C code, and did not answer");
}

/* ---- the verdict ---- */

/* By how much a kind has grown; of one file, how much it has. */
static double
growth_of(const struct postmortem *postmortem, size_t kind)
{
    double last = last_of(postmortem)->kinds[kind];

    return postmortem->count > 1 ? last - postmortem->points[0].kinds[kind] : last;
}

/* Sets *share to its part of all that grew. */
static enum cli_point_kind
find_cause(const struct postmortem *postmortem, double *share)
{
    enum cli_point_kind cause = CLI_POINT_STRINGS;
    double sum = 0;

    for (size_t i = 0; i < CLI_POINT_KIND_COUNT; i++) {
        double growth = growth_of(postmortem, i);
        if (growth > 0) sum += growth;
        if (growth > growth_of(postmortem, cause)) cause = (enum cli_point_kind)i;
    }
    *share = sum > 0 ? growth_of(postmortem, cause) / sum : 0;
    return cause;
}

/* What was requested and never touched is in no RSS. */
static void
put_caller(const struct cli_point *last)
{
    put_amount(last->caller_bytes);
    if (last->caller_bytes > last->kinds[CLI_POINT_MALLOC])
        report_print(stdout, " were requested by %s: what it has never touched takes no memory.\n",
                     last->caller);
    else report_print(stdout, " of it by %s.\n", last->caller);
}

/* Whether a C function is known that has most of malloc's memory. */
static bool
caller_known_p(const struct cli_point *last)
{
    return last->caller && last->caller_bytes * 2 >= last->kinds[CLI_POINT_MALLOC];
}

static void
put_verdict(const struct postmortem *postmortem, const struct cli_over_time_first *first)
{
    const struct cli_point *last = last_of(postmortem);
    double share;
    enum cli_point_kind cause = find_cause(postmortem, &share);
    double growth = growth_of(postmortem, cause);

    if (growth <= 0) {
        puts(postmortem->count > 1 ? "\nVerdict: memory did not grow between these files."
                                   : "\nVerdict: the file does not say what filled memory.");
        return;
    }
    printf("\nVerdict: %s. %s ", words[cause].verdict, words[cause].what);
    put_amount(last->kinds[cause]);
    if (postmortem->count > 1) {
        fputs(", ", stdout);
        put_amount(growth);
        fputs(" more than ", stdout);
        put_span(postmortem);
        printf(" before: %.0f%% of what grew", 100 * share);
    }
    puts(".");
    if (cause == CLI_POINT_OTHERS && last->largest)
        report_print(stdout, "The largest of them: %s.\n", last->largest);
    if (cause == CLI_POINT_MALLOC && last->caller) put_caller(last);
    if (first->title && (cause == CLI_POINT_STRINGS || cause == CLI_POINT_OBJECTS))
        report_print(stdout, "The %s that %s: %s.\n", first->what,
                     postmortem->count > 1 ? "grew most" : "holds most", first->title);
    if (words[cause].advice && !(cause == CLI_POINT_MALLOC && caller_known_p(last)))
        puts(words[cause].advice);
}

/* ---- over time ---- */

static void
put_time(const struct heapprof_model *model)
{
    time_t seconds = (time_t)(model->time_ns / 1000000000);
    char text[16] = "?";
    struct tm local;

    if (model->time_ns > 0 && localtime_r(&seconds, &local))
        strftime(text, sizeof(text), "%H:%M:%S", &local);
    printf("%8s", text);
}

static void
put_points(const struct postmortem *postmortem, const size_t *shown, size_t count)
{
    fputs("\n    time    mark      used       RSS", stdout);
    for (size_t i = 0; i < CLI_POINT_KIND_COUNT; i++) printf("%10s", words[i].name);
    putchar('\n');
    for (size_t i = 0; i < count; i++) {
        const struct cli_point *point = &postmortem->points[shown[i]];
        char mark[16];
        put_time(point->model);
        snprintf(mark, sizeof(mark), "%s", point->mark ? point->mark : "-");
        report_print(stdout, "%8s", mark);
        put_column(point->used);
        put_column(point->resident);
        for (size_t kind = 0; kind < CLI_POINT_KIND_COUNT; kind++) put_column(point->kinds[kind]);
        putchar('\n');
    }
}

/* The first, the last, and some between. Returns how many. */
static size_t
choose(size_t count, size_t shown[CLI_OVER_TIME_COLUMNS])
{
    size_t most = count < CLI_OVER_TIME_COLUMNS ? count : CLI_OVER_TIME_COLUMNS;

    for (size_t i = 0; i < most; i++) shown[i] = most > 1 ? i * (count - 1) / (most - 1) : 0;
    return most;
}

static struct cli_over_time
files_of(const struct postmortem *postmortem, const size_t *shown, size_t count)
{
    struct cli_over_time files = {.count = (uint32_t)count};

    for (size_t i = 0; i < count; i++) {
        files.models[i] = postmortem->points[shown[i]].model;
        files.types[i] = rb_heapprof_model_type(files.models[i], "inuse_space");
    }
    return files;
}

/* ---- how certain, and what next ---- */

static void
put_rest(const struct postmortem *postmortem)
{
    const struct cli_point *last = last_of(postmortem);
    size_t count = postmortem->count;

    putchar('\n');
    if (last->unexplained >= 0 && last->resident > 0)
        printf("How certain: the last file explains %.1f%% of RSS\n",
               100 * (1 - last->unexplained / last->resident));
    if (count > 1)
        report_print(stdout, "Next: heapprof diff %s %s\n", postmortem->names[0],
                     postmortem->names[count - 1]);
    else report_print(stdout, "Next: heapprof top %s\n", postmortem->names[0]);
    report_print(stdout, "      heapprof view %s\n", postmortem->names[count - 1]);
    if (postmortem->holder.last)
        report_print(stdout, "      heapprof graph report %s\n", postmortem->holder.last);
}

static bool
put(const struct postmortem *postmortem)
{
    size_t shown[CLI_OVER_TIME_COLUMNS], count = choose(postmortem->count, shown);
    size_t step[2] = {postmortem->count - 2, postmortem->count - 1};
    struct cli_over_time files = files_of(postmortem, shown, count);
    struct cli_over_time_first first = {0};
    char *lines = NULL;
    size_t size;
    FILE *text = open_memstream(&lines, &size);
    bool room = text && cli_over_time_lines(text, &files, "In use over time, by ", ":", &first);

    if (text && fclose(text) != 0) room = false;
    if (room) {
        put_head(postmortem);
        put_verdict(postmortem, &first);
        room = cli_holder_put(&postmortem->holder, postmortem->cli);
    }
    if (room) {
        put_points(postmortem, shown, count);
        fputs(lines, stdout);
        room = cli_over_time_labels(stdout, &files);
    }
    if (room && postmortem->count > 2) {
        struct cli_over_time last = files_of(postmortem, step, 2);
        room = cli_over_time_lines(stdout, &last, "The last step, by ",
                                   ", before and after:", NULL);
    }
    if (room) put_rest(postmortem);
    free(first.title);
    free(lines);
    return room;
}

/* ---- which files ---- */

/* Keeps the files of one process: that whose last file has most in memory. */
static void
choose_process(struct postmortem *postmortem)
{
    const struct cli_point *chosen = NULL;
    size_t kept = 0;

    for (size_t i = 0; i < postmortem->count; i++) {
        const struct cli_point *point = &postmortem->points[i];
        size_t later = i + 1;
        while (later < postmortem->count && postmortem->points[later].pid != point->pid) later++;
        if (later == postmortem->count && (!chosen || point->resident > chosen->resident))
            chosen = point;
    }
    uint64_t pid = chosen->pid;
    for (size_t i = 0; i < postmortem->count; i++) {
        if (postmortem->points[i].pid != pid) continue;
        postmortem->points[kept] = postmortem->points[i];
        postmortem->names[kept++] = postmortem->names[i];
    }
    postmortem->other_files = postmortem->count - kept;
    postmortem->count = kept;
}

/* Returns a status. */
static int
show(struct postmortem *postmortem, struct heapprof_model **models)
{
    const struct cli *cli = postmortem->cli;

    if (!cli_sort_by_time(models, postmortem->names, postmortem->count))
        return cli_wrong(cli, "no memory");
    for (size_t i = 0; i < postmortem->count; i++) {
        if (rb_heapprof_model_type(models[i], "inuse_space") == models[i]->type_count)
            return cli_wrong(cli, "%s: has no inuse_space: not a profile of a heap",
                             postmortem->names[i]);
        if (!cli_point_read(&postmortem->points[i], models[i])) return cli_wrong(cli, "no memory");
    }
    choose_process(postmortem);
    if (!cli_holder_find(&postmortem->holder, postmortem->names, postmortem->count))
        return cli_wrong(cli, "no memory");
    cli_page();
    if (!put(postmortem)) return cli_wrong(cli, "no memory");
    return cli_finish(cli);
}

static int
run(struct cli *cli)
{
    struct heapprof_model **models = calloc(cli->operand_count, sizeof(*models));
    struct postmortem postmortem = {
        .cli = cli,
        .points = calloc(cli->operand_count, sizeof(*postmortem.points)),
        .names = calloc(cli->operand_count, sizeof(*postmortem.names)),
    };
    int status = CLI_WRONG;
    size_t read = 0;

    if (!models || !postmortem.points || !postmortem.names) status = cli_wrong(cli, "no memory");
    else {
        read = cli_read_operands(cli, models, postmortem.names);
        postmortem.count = cli->operand_count;
        if (read == cli->operand_count) status = show(&postmortem, models);
    }
    while (read > 0) rb_heapprof_model_free(models[--read]);
    free(models);
    cli_holder_free(&postmortem.holder);
    free(postmortem.points);
    free(postmortem.names);
    return status;
}

static const struct cli_option options[] = {
    CLI_OUTPUT_OPTION,
    {0}
};

static const struct cli_example examples[] = {
    {"heapprof postmortem heapprof-4242-*.pb.gz", "what memory was full of before it was killed"},
    {0}
};

const struct cli_command cli_postmortem_command = {
    .name = "postmortem",
    .arguments = "FILE...",
    .summary = "What filled memory before a process was killed",
    .description =
        "Reads the files that a process has written when its memory crossed a mark\n"
        "(RUBY_HEAPPROF=at=85%), or every so many seconds, and says in words what filled memory:\n"
        "strings, objects, malloc, memory that was freed and not given back, or another process\n"
        "of the control group. Below stands memory over time, by kind, by line of the\n"
        "application, and by label, and the last step, from the last file but one to the last.\n"
        "\n"
        "The kinds of a process add up to its RSS. Of several files, the verdict is the kind that\n"
        "grew most from the first to the last; of one file, the largest. With files of several\n"
        "processes, that which had most in memory at the end is shown.\n"
        "\n"
        "Beside a file may stand a dump of all objects (.rbgraph), which the process has written\n"
        "if there was room. The first and the last of them tell who holds what grew.",
    .options = options,
    .examples = examples,
    .least = 1,
    .most = 1000,
    .run = run,
};
