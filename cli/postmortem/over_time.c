/* over_time.c - memory in use over time, by line and by label. */
#include "cli/postmortem/over_time.h"

#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "report/groups.h"
#include "report/rows.h"
#include "report/text.h"

#define ROWS_MOST 6
#define SHARE 100                /* a row below 1/100 of the whole is not shown */
#define LABELS_MOST 3
#define AMOUNT_WIDTH 10

struct ranked {
    uint32_t row;
    double   rank;               /* growth, or the value of a single file */
};

/* ---- rows ---- */

static double
rank_of(const struct report_groups *groups, uint32_t row)
{
    double last = report_figures_of(groups, row, groups->columns - 1)->value;

    return groups->columns > 1 ? last - report_figures_of(groups, row, 0)->value : last;
}

static int
higher_first(const void *a, const void *b)
{
    const struct ranked *one = a, *other = b;

    if (one->rank != other->rank) return one->rank < other->rank ? 1 : -1;
    return (one->row > other->row) - (one->row < other->row);
}

/* Returns how many there are; all of them are in *ranked, in a block from malloc. */
static size_t
rank(const struct report_groups *groups, struct ranked **ranked)
{
    uint32_t rows = groups->digests.count;
    double whole = report_figures_of(groups, 0, groups->columns - 1)->value;
    size_t count = 0;

    *ranked = malloc(((size_t)rows + 1) * sizeof(**ranked));
    for (uint32_t row = 1; *ranked && row <= rows; row++) {
        double value = rank_of(groups, row);
        if (value > 0 && value * SHARE >= whole)
            (*ranked)[count++] = (struct ranked){row, value};
    }
    if (count) qsort(*ranked, count, sizeof(**ranked), higher_first);
    return count;
}

static void
put_amount(FILE *out, double bytes)
{
    char amount[REPORT_AMOUNT_MAX];

    report_amount(amount, bytes, "bytes");
    fprintf(out, "%*s  ", AMOUNT_WIDTH, amount);
}

static bool
put_row(FILE *out, const struct report_groups *groups, uint32_t row, char **title)
{
    unsigned used = (AMOUNT_WIDTH + 2) * groups->columns, width = cli_width();

    *title = report_row_title(groups, row);
    if (!*title) return false;
    for (uint32_t i = 0; i < groups->columns; i++)
        put_amount(out, report_figures_of(groups, row, i)->value);
    report_put(out, *title, width > used + 20 ? width - used : 0, false);
    putc('\n', out);
    return true;
}

/* Writes the table, if there is a row. */
static bool
put_groups(FILE *out, const struct report_groups *groups, const char *title, char **first)
{
    struct ranked *ranked;
    size_t count = rank(groups, &ranked);
    bool room = ranked != NULL;

    if (room && count) {
        putc('\n', out);
        report_print(out, "%s\n", title);
    }
    for (size_t i = 0; room && i < count && i < ROWS_MOST; i++) {
        char *text;
        room = put_row(out, groups, ranked[i].row, &text);
        bool line = !report_row_of_others_p(groups, ranked[i].row) &&
                    !groups->rows[ranked[i].row].vm;
        if (room && first && !*first && line) *first = text;
        else free(text);
    }
    free(ranked);
    return room;
}

static bool
put(FILE *out, const struct cli_over_time *files, const struct report_question *question,
    const char *title, char **first, bool *none)
{
    struct report_groups groups;
    bool room = report_groups_make(&groups, question, files->models, files->types, files->count);

    *none = room && question->group == REPORT_APP && !report_any_own_p(&groups);
    if (room && !*none) room = put_groups(out, &groups, title, first);
    report_groups_free(&groups);
    return room;
}

bool
cli_over_time_lines(FILE *out, const struct cli_over_time *files, const char *title,
                    const char *end, struct cli_over_time_first *first)
{
    struct report_question question = {.group = REPORT_APP};
    struct cli_over_time_first unused;
    char heading[80];
    bool none;

    if (!first) first = &unused;
    *first = (struct cli_over_time_first){.what = "line of the application"};
    snprintf(heading, sizeof(heading), "%sline%s", title, end);
    bool room = put(out, files, &question, heading, &first->title, &none);
    if (room && none) {
        first->what = "function";
        question.group = REPORT_FUNCTION;
        snprintf(heading, sizeof(heading), "%sfunction%s", title, end);
        room = put(out, files, &question, heading, &first->title, &none);
    }
    if (first == &unused) free(unused.title);
    return room;
}

/* ---- labels ---- */

/* Labels that a profile has by itself. A thread of a pool says nothing of what it was doing. */
static bool
own_p(const char *key)
{
    static const char *const own[] = { "class", "caller", "owner", "owner_allocated_by",
                                       "native_leak", "gc_age", "death_age",
                                       "memsize", "thread" };

    for (size_t i = 0; i < sizeof(own) / sizeof(*own); i++) {
        if (!strcmp(key, own[i])) return true;
    }
    return false;
}

/* Finds the keys that the program has given. Returns false if there is no memory. */
static bool
find_keys(const struct heapprof_model *model, const char *keys[LABELS_MOST], size_t *count)
{
    struct heapprof_samples samples;
    bool room = rb_heapprof_samples_begin(&samples, model);

    while (room && rb_heapprof_samples_next(&samples)) {
        for (uint32_t i = 0; i < samples.label_count; i++) {
            const char *key = rb_heapprof_model_string(model, samples.labels[i].key, NULL);
            size_t at = 0;
            if (own_p(key) || !samples.labels[i].str) continue;
            while (at < *count && strcmp(keys[at], key)) at++;
            if (at == *count && *count < LABELS_MOST) keys[(*count)++] = key;
        }
    }
    rb_heapprof_samples_end(&samples);
    return room;
}

bool
cli_over_time_labels(FILE *out, const struct cli_over_time *files)
{
    const char *keys[LABELS_MOST];
    size_t count = 0;
    bool none, room = find_keys(files->models[files->count - 1], keys, &count);

    for (size_t i = 0; room && i < count; i++) {
        struct report_question question = {.group = REPORT_LABEL, .label = keys[i]};
        char title[160];
        snprintf(title, sizeof(title), "By label %.100s:", keys[i]);
        room = put(out, files, &question, title, NULL, &none);
    }
    return room;
}
