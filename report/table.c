/* table.c - writes rows in order, as text and as JSON.
 *
 *     ~    9.16 MB    412 kB   37.7%   37.7%     100,000     12  String
 *          value      +-       share   sum       objects     age what
 *
 * The error is two standard deviations: the true value is within it 19 times out of 20. A row
 * whose value is no more than that is marked with '~': it cannot be told from noise.
 */
#include "report/table.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/json.h"
#include "report/own.h"
#include "report/rows.h"
#include "report/text.h"

#define SIGMAS 2
/* A row kept growing if it had this part of its growth before the middle, and behind it. */
#define PART 0.25
#define INDENT 8        /* columns before a frame */
#define COLUMNS_MOST 4  /* columns of values that are shown of several profiles */
#define LEAST_BYTES 1024    /* a row below both is no finding, */
#define LEAST_PART 0.001    /* a part of all that there is, or of all that has changed; */
#define LEAST_CHANGE 1.5    /* nor is a byte more or less, which rounding makes */
/* Columns that a title needs beside its numbers; with fewer it is on the next line. */
#define TITLE_LEAST 24

#define BOLD "\033[1m"
#define DIM "\033[2m"
#define RED "\033[31m"
#define GREEN "\033[32m"
#define PLAIN "\033[0m"

struct ranked {
    uint32_t row;
    bool     last;      /* the row is not the application's */
    bool     steady;    /* the row kept growing */
    double   value, cumulative, objects; /* of several profiles, their growth */
};

struct table {
    FILE *out;
    const struct report_groups *groups;
    const struct report_look *look;
    const char *unit;
    struct ranked *ranked;
    size_t count;
    size_t small_count; /* rows that are left out, because they are too small */
    double small;       /* the sum of their values */
    char  *why_empty;   /* why there are no rows; "": there are */
    uint32_t
        middle; /* with three columns and more, the column at which half of the work was done */
    double whole;       /* 100 % of the shares */
    double sum;         /* sum of the rows so far */
    bool   any_noise, any_vm; /* in the rows so far */
    size_t used;        /* columns that this row's numbers take */
};

/* ---- figures ---- */

static uint32_t
last(const struct table *table)
{
    return table->groups->columns - 1;
}

static const struct report_figures *
figures(const struct table *table, uint32_t row, uint32_t column)
{
    return report_figures_of(table->groups, row, column);
}

/* Returns the last profile of the last column. */
static const struct heapprof_model *
last_model(const struct table *table, uint32_t *type)
{
    const struct report_groups *groups = table->groups;

    *type = groups->types[groups->profiles - 1];
    return groups->models[groups->profiles - 1];
}

/* Returns the value of a row, or its growth if there are several profiles. */
static double
value_of(const struct table *table, uint32_t row)
{
    double value = figures(table, row, last(table))->value;

    return last(table) == 0 ? value : value - figures(table, row, 0)->value;
}

static double
cumulative_of(const struct table *table, uint32_t row)
{
    double value = figures(table, row, last(table))->cumulative;

    return last(table) == 0 ? value : value - figures(table, row, 0)->cumulative;
}

static double
objects_of(const struct table *table, uint32_t row)
{
    double objects = figures(table, row, last(table))->objects;

    return last(table) == 0 ? objects : objects - figures(table, row, 0)->objects;
}

/* Returns whether a column with the cumulative values is shown. */
static bool
cumulative_p(const struct table *table)
{
    return table->groups->cumulative;
}

/* Memory that both profiles of a run have is in the same samples, so it adds nothing to the
 * error. It is at most what the first profile has: by its age, some of it may have been allocated
 * right after that profile. */
static double
error_of(const struct table *table, uint32_t row)
{
    const struct report_figures *now = figures(table, row, last(table)),
                                *before = figures(table, row, 0);
    double variance = now->variance;

    if (last(table) > 0) {
        double kept = now->kept < before->variance ? now->kept : before->variance;
        variance += before->variance - 2 * kept;
    }
    return variance > 0 ? SIGMAS * sqrt(variance) : 0;
}

static bool
noise_p(const struct table *table, uint32_t row)
{
    double error = error_of(table, row);

    return error > 0 && fabs(value_of(table, row)) <= error;
}

/* Returns the column at which about half of the work was done. It is neither the first nor the
 * last. The clock is the memory allocated so far, so files of an idle time do not count. */
static uint32_t
middle_of(const struct table *table)
{
    const double *work = table->groups->work;
    double half = (work[0] + work[last(table)]) / 2;
    uint32_t middle = 1;

    if (work[last(table)] <= work[0]) return last(table) / 2;
    for (uint32_t column = 2; column < last(table); column++) {
        if (fabs(work[column] - half) < fabs(work[middle] - half)) middle = column;
    }
    return middle;
}

/* Returns whether a row kept growing, as a leak does: before the middle and behind it, and by
 * more than its error. It need not have grown from each file to the next. A full cache, and what
 * a program loads as it starts, grew only before the middle. Only memory that has survived a GC
 * counts. The rest may be dead: it would hide when a small leak grew, because most of the memory
 * may wait for a GC. */
static bool
steady_p(const struct table *table, uint32_t row)
{
    if (last(table) < 2 || value_of(table, row) <= 0 || noise_p(table, row)) return false;

    double before = figures(table, row, 0)->survived,
           middle = figures(table, row, table->middle)->survived;
    double now = figures(table, row, last(table))->survived, growth = now - before;
    if (growth <= 0 || growth <= error_of(table, row)) return false;
    return middle - before >= PART * growth && now - middle >= PART * growth;
}

/* ---- order ---- */

static int
compare(double one, double other)
{
    return (one < other) - (one > other);
}

static int
before(const struct ranked *one, const struct ranked *other, int order)
{
    if (one->last != other->last) return one->last - other->last;
    if (one->steady != other->steady) return other->steady - one->steady;
    if (order == 0) order = compare(one->value, other->value);
    if (order == 0) order = compare(one->cumulative, other->cumulative);
    return order ? order : (one->row > other->row) - (one->row < other->row);
}

static int
before_by_value(const void *a, const void *b)
{
    return before(a, b, 0);
}

static int
before_by_cumulative(const void *a, const void *b)
{
    const struct ranked *one = a, *other = b;

    return before(one, other, compare(one->cumulative, other->cumulative));
}

static int
before_by_objects(const void *a, const void *b)
{
    const struct ranked *one = a, *other = b;

    return before(one, other, compare(one->objects, other->objects));
}

/* Returns the values below which a row is no finding: of all that there is, or of all that has
 * changed. */
static double
least_of(const struct table *table)
{
    double all = 0, part;

    if (table->look->limit == 0 || strcmp(table->unit, "bytes")) return 0;
    for (uint32_t row = 1; row <= table->groups->digests.count; row++)
        all += fabs(value_of(table, row));
    part = LEAST_PART * all;
    if (part > LEAST_BYTES) part = LEAST_BYTES;
    return last(table) > 0 && part < LEAST_CHANGE ? LEAST_CHANGE : part;
}

/* Puts the rows in order. In a difference the rows that shrank come last: there a user sees them
 * without scrolling if all rows are shown. */
static bool
rank(struct table *table)
{
    static int (*const orders[])(const void *, const void *) = {
        [REPORT_SORT_SELF] = before_by_value, [REPORT_SORT_CUMULATIVE] = before_by_cumulative,
        [REPORT_SORT_OBJECTS] = before_by_objects,
    };
    const struct report_groups *groups = table->groups;
    double least = least_of(table);

    table->ranked = malloc(((size_t)groups->digests.count + 1) * sizeof(*table->ranked));
    if (!table->ranked) return false;
    for (uint32_t row = 1; row <= groups->digests.count; row++) {
        struct ranked ranked = {
            .row = row,
            .last = table->look->brief && report_row_of_others_p(groups, row),
            .value = value_of(table, row),
            .cumulative = cumulative_of(table, row),
            .objects = objects_of(table, row),
        };
        ranked.steady = !ranked.last && steady_p(table, row);
        if (ranked.value == 0 && ranked.cumulative == 0) continue;
        if (table->look->brief && last(table) > 0 && !ranked.last && noise_p(table, row)) continue;
        if (fabs(ranked.value) < least && fabs(ranked.cumulative) < least && !ranked.last) {
            table->small_count++;
            table->small += ranked.value;
        }
        else table->ranked[table->count++] = ranked;
    }
    qsort(table->ranked, table->count, sizeof(*table->ranked), orders[groups->question.sort]);
    return true;
}

static bool
begin(struct table *table)
{
    uint32_t type;
    const struct heapprof_model *model = last_model(table, &type);

    table->unit = rb_heapprof_model_string(model, model->types[type].unit, NULL);
    table->middle = last(table) > 1 ? middle_of(table) : 0;
    table->whole = figures(table, 0, last(table))->value;
    table->why_empty = report_why_empty(table->groups);
    return table->why_empty && (table->why_empty[0] || rank(table));
}

/* Takes out the row that has to come last, if there is one. */
static const struct ranked *
take_rest(struct table *table)
{
    if (table->count == 0 || !table->ranked[table->count - 1].last) return NULL;
    return &table->ranked[--table->count];
}

static size_t
shown(const struct table *table)
{
    size_t limit = table->look->limit;

    return limit == 0 || limit > table->count ? table->count : limit;
}

/* ---- as text ---- */

/* Returns whether a column is shown. If there are many, only the first and the last are. */
static bool
column_p(const struct table *table, uint32_t column)
{
    return last(table) < COLUMNS_MOST || column == 0 || column == last(table);
}

static void
colour(const struct table *table, const char *code)
{
    if (table->look->colour) fputs(code, table->out);
}

static void
put_cell(struct table *table, int width, const char *text)
{
    int columns = (int)strlen(text);

    if (strstr(text, "\xc2\xb1")) columns--; /* one character of two bytes */
    table->used += (size_t)(columns > width ? columns : width);
    fprintf(table->out, "%*s%s", width > columns ? width - columns : 0, "", text);
}

static void
put_amount(struct table *table, int width, double value)
{
    char text[REPORT_AMOUNT_MAX];

    report_amount(text, value, table->unit);
    put_cell(table, width, text);
}

static void
put_share(struct table *table, double part)
{
    char text[REPORT_AMOUNT_MAX];

    report_share(text, part, table->whole);
    put_cell(table, 8, text);
}

static void
put_header(struct table *table)
{
    const struct report_groups *groups = table->groups;
    bool many = last(table) > 0;

    colour(table, DIM);
    put_cell(table, 2, "");
    put_cell(table, 10, many ? "growth" : "value");
    if (groups->has_errors) put_cell(table, 10, "\xc2\xb1");
    for (uint32_t profile = 0; many && profile <= last(table); profile++) {
        char number[16];
        if (!column_p(table, profile)) continue;
        snprintf(number, sizeof(number),
                 profile == 0       ? "old"
                 : last(table) == 1 ? "new"
                                    : "%u",
                 profile + 1);
        put_cell(table, 10, number);
    }
    if (!many) {
        put_cell(table, 8, "share");
        put_cell(table, 8, "sum");
    }
    if (cumulative_p(table)) put_cell(table, 11, "cum");
    if (groups->has_objects) put_cell(table, 12, "objects");
    if (groups->has_ages) put_cell(table, 6, "age");
    fputs(many ? "  what grew\n" : "  what\n", table->out);
    colour(table, PLAIN);
}

static void
put_objects_and_age(struct table *table, uint32_t row)
{
    const struct report_figures *now = figures(table, row, last(table));
    double objects = objects_of(table, row);
    char text[REPORT_AMOUNT_MAX] = "";

    if (table->groups->has_objects) {
        if (objects != 0) report_amount(text, objects, "count");
        put_cell(table, 12, text);
    }
    if (table->groups->has_ages) {
        text[0] = '\0';
        if (now->aged != 0) report_amount(text, floor(now->age / now->aged + 0.5), "count");
        put_cell(table, 6, text);
    }
}

static void
put_numbers(struct table *table, uint32_t row)
{
    bool many = last(table) > 0, noise = noise_p(table, row);
    double value = value_of(table, row), error = error_of(table, row);

    table->used = 0;
    table->any_noise = table->any_noise || noise;
    table->sum += value;
    put_cell(table, 2, noise ? "~ " : "");
    colour(table, noise ? DIM : !many ? BOLD : value > 0 ? RED : GREEN);
    put_amount(table, 10, value);
    colour(table, PLAIN);
    if (table->groups->has_errors) {
        if (error > 0) put_amount(table, 10, error);
        else put_cell(table, 10, "0");
    }
    for (uint32_t profile = 0; many && profile <= last(table); profile++) {
        if (column_p(table, profile)) put_amount(table, 10, figures(table, row, profile)->value);
    }
    if (!many) {
        put_share(table, value);
        put_share(table, table->sum);
    }
    if (cumulative_p(table)) put_amount(table, 11, cumulative_of(table, row));
    put_objects_and_age(table, row);
}

struct frames {
    struct table *table;
    const char *directory; /* the application's */
    size_t count;
    bool   own_shown;
};

static void
put_frame(void *data, const struct report_frame *frame, bool own)
{
    struct frames *frames = data;
    struct table *table = frames->table;
    unsigned width = table->look->width;
    bool near = frames->count++ < table->groups->question.frames;
    char text[4096];
    int length = 0;

    if (!near && (!own || frames->own_shown)) return;
    frames->own_shown = frames->own_shown || own;
    const char *file = report_short_path(frame->file, frames->directory);
    bool template = file[0] && !strcmp(frame->name, file);
    if (file[0]) length = snprintf(text, sizeof(text), "%s:%lld", file, (long long)frame->line);
    if (length >= 0 && (size_t)length < sizeof(text) && !template) {
        size_t left = sizeof(text) - (size_t)length;
        if (frame->name[0])
            snprintf(text + length, left, "%s'%s'", length ? ":in " : "", frame->name);
        else snprintf(text + length, left, " 0x%llx", (unsigned long long)frame->address);
    }
    fprintf(table->out, "%*s", INDENT, near ? "" : "app: ");
    report_put(table->out, text, width > INDENT + 8 ? width - INDENT : 0, true);
    putc('\n', table->out);
}

static bool
put_row(struct table *table, uint32_t row)
{
    char *title = report_row_title(table->groups, row);
    struct frames frames = {.table = table, .directory = report_row_directory(table->groups, row)};
    unsigned width = table->look->width, room;

    if (!title) return false;
    put_numbers(table, row);
    table->any_vm = table->any_vm || table->groups->rows[row].vm;
    room = width > table->used + 2 ? width - (unsigned)table->used - 2 : 0;
    if (width > 0 && room < TITLE_LEAST) {
        fprintf(table->out, "\n%*s", INDENT - 4, "");
        room = width > INDENT ? width - INDENT : 0;
    }
    else fputs("  ", table->out);
    report_put(table->out, title, room, table->groups->question.group != REPORT_SITE);
    putc('\n', table->out);
    free(title);
    return report_row_frames(table->groups, row, put_frame, &frames);
}

/* Writes the lines above the table, which say what it shows. */
static void
put_names(const struct table *table)
{
    const struct report_look *look = table->look;

    if (look->files > 0) {
        report_put(table->out, look->sum, 0, true);
        return;
    }
    for (uint32_t column = 0; column <= last(table); column++) {
        if (!column_p(table, column)) continue;
        if (column > 0) fputs(column == last(table) ? " to " : ", ", table->out);
        report_put(table->out, look->names[column], 0, true);
    }
    if (last(table) >= COLUMNS_MOST) fprintf(table->out, " (%u files)", last(table) + 1);
}

static void
put_summary(const struct table *table)
{
    bool many = last(table) > 0;
    uint32_t type;
    const struct heapprof_model *model = last_model(table, &type);
    const struct report_figures *all = figures(table, 0, last(table));
    char amount[REPORT_AMOUNT_MAX], error[REPORT_AMOUNT_MAX];

    report_amount(amount, many ? fabs(value_of(table, 0)) : value_of(table, 0), table->unit);
    report_amount(error, error_of(table, 0), table->unit);
    put_names(table);
    fputs(": ", table->out);
    if (table->why_empty[0]) {
        report_put(table->out, table->why_empty, 0, false);
        putc('\n', table->out);
        return;
    }
    report_put(table->out, rb_heapprof_model_string(model, model->types[type].type, NULL), 0,
               false);
    fprintf(table->out, " %s%s",
            !many                     ? ""
            : value_of(table, 0) >= 0 ? "grew by "
                                      : "shrank by ",
            amount);
    if (table->groups->has_errors) fprintf(table->out, " \xc2\xb1 %s", error);
    if (!many && all->objects != 0 && strcmp(table->unit, "count")) {
        report_amount(amount, all->objects, "count");
        fprintf(table->out, " in %s objects", amount);
    }
    fputs("\n\n", table->out);
}

static void
put_rest(const struct table *table)
{
    double value = 0;
    char amount[REPORT_AMOUNT_MAX];
    size_t more = table->count - shown(table) + table->small_count;

    for (size_t i = shown(table); i < table->count; i++) value += table->ranked[i].value;
    report_amount(amount, value + table->small, table->unit);
    if (more > 0) {
        fprintf(table->out, "\n%zu more row%s%s (%s shows all): %s\n", more, more == 1 ? "" : "s",
                more > table->small_count ? ""
                : more == 1               ? ", which is too small to matter"
                                          : ", too small to matter",
                table->look->ruby ? "limit: 0" : "-n 0", amount);
    }
    if (table->any_noise) {
        fprintf(table->out, "%s~ cannot be told from noise (\xc2\xb1: 19 times out of 20)\n",
                more > 0 ? "" : "\n");
    }
    if (table->groups->any_caller && !table->groups->any_owner) {
        fprintf(table->out,
                "%sit is not known who holds malloc'ed memory: Ruby's own tables count for the "
                "lines that made them grow\n",
                more > 0 || table->any_noise ? "" : "\n");
    }
    if (table->any_vm) {
        fprintf(table->out,
                "%s[VM] is memory of Ruby's own tables: all code has filled them, so no line is "
                "charged for it\n",
                more > 0 || table->any_noise ? "" : "\n");
    }
}

bool
report_table_text(FILE *out, const struct report_groups *groups, const struct report_look *look)
{
    struct table table = {.out = out, .groups = groups, .look = look};
    bool room = begin(&table);
    const struct ranked *rest = room ? take_rest(&table) : NULL;

    if (room) {
        if (!look->headless) put_summary(&table);
        if (look->title) fprintf(out, "%s\n", look->title);
        if (table.count > 0 || rest) put_header(&table);
        for (size_t i = 0; room && i < shown(&table); i++) {
            bool steady = table.ranked[i].steady;
            if (last(&table) > 1 && (i == 0 ? steady : steady != table.ranked[i - 1].steady)) {
                fputs(steady ? "kept growing:\n" : "the others:\n", out);
            }
            room = put_row(&table, table.ranked[i].row);
        }
        if (room && rest) {
            if (last(&table) > 1) fputs("all else:\n", out);
            room = put_row(&table, rest->row);
        }
        if (room && !look->brief && !table.why_empty[0]) put_rest(&table);
    }
    free(table.ranked);
    free(table.why_empty);
    return room;
}

/* ---- as JSON ---- */

static void
put_json_frame(void *data, const struct report_frame *frame, bool own)
{
    struct report_json *json = data;

    report_json_begin(json, '{');
    report_json_member_text(json, "function", frame->name);
    report_json_member_text(json, "file", frame->file);
    report_json_member_number(json, "line", (double)frame->line);
    report_json_member_bool(json, "own", own);
    report_json_end(json, '}');
}

static void
put_json_values(struct report_json *json, const struct table *table, uint32_t row)
{
    const struct report_figures *now = figures(table, row, last(table));

    report_json_member_number(json, last(table) > 0 ? "growth" : "value", value_of(table, row));
    report_json_member_number(json, "error", error_of(table, row));
    if (last(table) > 0) {
        report_json_member_begin(json, "values", '[');
        for (uint32_t p = 0; p <= last(table); p++)
            report_json_number(json, figures(table, row, p)->value);
        report_json_end(json, ']');
    }
    report_json_member_number(json, "objects", objects_of(table, row));
    if (row == 0) return;
    if (cumulative_p(table)) {
        report_json_member_number(json, "cumulative", cumulative_of(table, row));
    }
    report_json_member_number(json, "share",
                              table->whole != 0 ? value_of(table, row) / table->whole : 0);
    if (now->aged != 0) report_json_member_number(json, "age", now->age / now->aged);
    report_json_member_bool(json, "noise", noise_p(table, row));
    if (last(table) > 1) {
        report_json_member_bool(json, "kept_growing", steady_p(table, row));
    }
}

static bool
put_json_row(struct report_json *json, const struct table *table, uint32_t row)
{
    char *title = report_row_title(table->groups, row);
    bool room = title != NULL;

    report_json_line(json);
    report_json_begin(json, '{');
    if (title) report_json_member_text(json, "what", title);
    free(title);
    put_json_values(json, table, row);
    if (table->groups->question.group == REPORT_SITE) {
        report_json_member_begin(json, "frames", '[');
        room = report_row_frames(table->groups, row, put_json_frame, json) && room;
        report_json_end(json, ']');
    }
    report_json_end(json, '}');
    return room;
}

bool
report_table_json(FILE *out, const struct report_groups *groups, const struct report_look *look)
{
    struct table table = {.out = out, .groups = groups, .look = look};
    struct report_json json = {.out = out};
    bool room = begin(&table);

    if (room) {
        uint32_t type, files = look->files > 0 ? look->files : last(&table) + 1;
        const struct heapprof_model *model = last_model(&table, &type);
        report_json_begin(&json, '{');
        report_json_member_begin(&json, "files", '[');
        for (uint32_t file = 0; file < files; file++) report_json_text(&json, look->names[file]);
        report_json_end(&json, ']');
        report_json_member_text(&json, "type",
                                rb_heapprof_model_string(model, model->types[type].type, NULL));
        report_json_member_text(&json, "unit", table.unit);
        report_json_member_begin(&json, "total", '{');
        put_json_values(&json, &table, 0);
        report_json_end(&json, '}');
        report_json_member_begin(&json, "rows", '[');
        for (size_t i = 0; room && i < shown(&table); i++)
            room = put_json_row(&json, &table, table.ranked[i].row);
        report_json_end(&json, ']');
        if (table.why_empty[0]) report_json_member_text(&json, "why_empty", table.why_empty);
        report_json_end(&json, '}');
        putc('\n', out);
    }
    free(table.ranked);
    free(table.why_empty);
    return room;
}
