/* ranking.c - the figures of rows, and which rows come first.
 *
 * The error is two standard deviations: the true value is within it 19 times out of 20. A row
 * whose value is no more than that cannot be told from noise. */
#include "report/ranking.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/rows.h"
#include "report/text.h"

#define SIGMAS 2
/* A row kept growing if it had this part of its growth before the middle, and behind it. */
#define PART 0.25
#define LEAST_BYTES 1024    /* a row below both is no finding, */
#define LEAST_PART 0.001    /* a part of all that there is, or of all that has changed; */
#define LEFT_OUT_PART 0.1   /* but many such rows may be more than this part together; */
#define LEAST_CHANGE 1.5    /* nor is a byte more or less, which rounding makes */

/* ---- figures ---- */

double
report_value_of(const struct report_ranking *ranking, uint32_t row)
{
    double value = report_figures_of(ranking->groups, row, ranking->last)->value;

    return ranking->last == 0 ? value : value - report_figures_of(ranking->groups, row, 0)->value;
}

double
report_cumulative_of(const struct report_ranking *ranking, uint32_t row)
{
    double value = report_figures_of(ranking->groups, row, ranking->last)->cumulative;

    return ranking->last == 0 ? value
                              : value - report_figures_of(ranking->groups, row, 0)->cumulative;
}

double
report_objects_of(const struct report_ranking *ranking, uint32_t row)
{
    double objects = report_figures_of(ranking->groups, row, ranking->last)->objects;

    return ranking->last == 0 ? objects
                              : objects - report_figures_of(ranking->groups, row, 0)->objects;
}

double
report_error_of(const struct report_ranking *ranking, uint32_t row)
{
    double variance = report_growth_variance(ranking->groups, row);

    return variance > 0 ? SIGMAS * sqrt(variance) : 0;
}

bool
report_noise_p(const struct report_ranking *ranking, uint32_t row)
{
    double error = report_error_of(ranking, row);

    return error > 0 && fabs(report_value_of(ranking, row)) <= error;
}

/* Returns the column at which about half of the work was done. It is neither the first nor the
 * last. The clock is the memory allocated so far, so files of an idle time do not count. */
static uint32_t
middle_of(const struct report_ranking *ranking)
{
    const double *work = ranking->groups->work;
    double half = (work[0] + work[ranking->last]) / 2;
    uint32_t middle = 1;

    if (work[ranking->last] <= work[0]) return ranking->last / 2;
    for (uint32_t column = 2; column < ranking->last; column++) {
        if (fabs(work[column] - half) < fabs(work[middle] - half)) middle = column;
    }
    return middle;
}

/* Returns whether a row kept growing, as a leak does: before the middle and behind it, and by
 * more than its error. It need not have grown from each file to the next. A full cache, and what
 * a program loads as it starts, grew only before the middle. Only memory that has survived a GC
 * counts. The rest may be dead: it would hide when a small leak grew, because most of the memory
 * may wait for a GC. */
bool
report_steady_p(const struct report_ranking *ranking, uint32_t row)
{
    const struct report_groups *groups = ranking->groups;

    if (ranking->last < 2 || report_value_of(ranking, row) <= 0 || report_noise_p(ranking, row))
        return false;
    double before = report_figures_of(groups, row, 0)->survived,
           middle = report_figures_of(groups, row, ranking->middle)->survived;
    double now = report_figures_of(groups, row, ranking->last)->survived, growth = now - before;
    if (growth <= 0 || growth <= report_error_of(ranking, row)) return false;
    return middle - before >= PART * growth && now - middle >= PART * growth;
}

/* ---- order ---- */

static int
compare(double one, double other)
{
    return (one < other) - (one > other);
}

static int
before(const struct report_ranked *one, const struct report_ranked *other, int order)
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
    const struct report_ranked *one = a, *other = b;

    return before(one, other, compare(one->cumulative, other->cumulative));
}

static int
before_by_objects(const void *a, const void *b)
{
    const struct report_ranked *one = a, *other = b;

    return before(one, other, compare(one->objects, other->objects));
}

/* All that there is, or all that has changed. */
static double
all_of(const struct report_ranking *ranking)
{
    double all = 0;

    for (uint32_t row = 1; row <= ranking->groups->digests.count; row++)
        all += fabs(report_value_of(ranking, row));
    return all;
}

/* Returns the value below which a row is no finding. */
static double
least_of(const struct report_ranking *ranking, double all)
{
    double part = LEAST_PART * all;

    if (ranking->look->limit == 0 || strcmp(ranking->unit, "bytes")) return 0;
    if (part > LEAST_BYTES) part = LEAST_BYTES;
    return ranking->last > 0 && part < LEAST_CHANGE ? LEAST_CHANGE : part;
}

/* Collects the rows whose value is `least` or more. Returns the sum of all other values, without
 * their signs. */
static double
collect(struct report_ranking *ranking, double least)
{
    const struct report_groups *groups = ranking->groups;
    double left_out = 0;

    ranking->count = ranking->small_count = 0;
    ranking->small = 0;
    for (uint32_t row = 1; row <= groups->digests.count; row++) {
        struct report_ranked ranked = {
            .row = row,
            .last = ranking->look->brief && report_row_of_others_p(groups, row),
            .value = report_value_of(ranking, row),
            .cumulative = report_cumulative_of(ranking, row),
            .objects = report_objects_of(ranking, row),
        };
        ranked.steady = !ranked.last && report_steady_p(ranking, row);
        if (ranked.value == 0 && ranked.cumulative == 0) continue;
        if (ranking->look->brief && ranking->last > 0 && !ranked.last &&
            report_noise_p(ranking, row)) continue;
        if (fabs(ranked.value) < least && fabs(ranked.cumulative) < least && !ranked.last) {
            ranking->small_count++;
            ranking->small += ranked.value;
            left_out += fabs(ranked.value);
        }
        else ranking->rows[ranking->count++] = ranked;
    }
    return left_out;
}

/* Puts the rows in order. In a difference the rows that shrank come last: there a user sees them
 * without scrolling if all rows are shown. Small rows are left out, unless they are much
 * together. */
static bool
rank(struct report_ranking *ranking)
{
    static int (*const orders[])(const void *, const void *) = {
        [REPORT_SORT_SELF] = before_by_value, [REPORT_SORT_CUMULATIVE] = before_by_cumulative,
        [REPORT_SORT_OBJECTS] = before_by_objects,
    };
    const struct report_groups *groups = ranking->groups;
    double all = all_of(ranking);

    ranking->rows = malloc(((size_t)groups->digests.count + 1) * sizeof(*ranking->rows));
    if (!ranking->rows) return false;
    if (collect(ranking, least_of(ranking, all)) > LEFT_OUT_PART * all)
        collect(ranking, ranking->last > 0 ? LEAST_CHANGE : 0);
    qsort(ranking->rows, ranking->count, sizeof(*ranking->rows), orders[groups->question.sort]);
    return true;
}

bool
report_ranking_make(struct report_ranking *ranking, const struct report_groups *groups,
                    const struct report_look *look)
{
    uint32_t type = groups->types[groups->profiles - 1];
    const struct heapprof_model *model = groups->models[groups->profiles - 1];

    *ranking = (struct report_ranking){
        .groups = groups, .look = look, .last = groups->columns - 1,
        .type = rb_heapprof_model_string(model, model->types[type].type, NULL),
        .unit = rb_heapprof_model_string(model, model->types[type].unit, NULL),
    };
    ranking->whole = report_figures_of(groups, 0, ranking->last)->value;
    ranking->middle = ranking->last > 1 ? middle_of(ranking) : 0;
    ranking->why_empty = report_why_empty(groups);
    return ranking->why_empty && (ranking->why_empty[0] || rank(ranking));
}

void
report_ranking_free(struct report_ranking *ranking)
{
    free(ranking->rows);
    free(ranking->why_empty);
}

const struct report_ranked *
report_ranking_take_rest(struct report_ranking *ranking)
{
    if (ranking->count == 0 || !ranking->rows[ranking->count - 1].last) return NULL;
    return &ranking->rows[--ranking->count];
}

size_t
report_ranking_shown(const struct report_ranking *ranking)
{
    size_t limit = ranking->look->limit;

    return limit == 0 || limit > ranking->count ? ranking->count : limit;
}

/* ---- in words ---- */

void
report_put_sum(FILE *out, const struct report_ranking *ranking)
{
    bool many = ranking->last > 0;
    const struct report_figures *all = report_figures_of(ranking->groups, 0, ranking->last);
    double value = report_value_of(ranking, 0);
    char amount[REPORT_AMOUNT_MAX];

    report_put(out, ranking->type, 0, false);
    report_amount(amount, many ? fabs(value) : value, ranking->unit);
    fprintf(out, " %s%s", !many ? "" : value >= 0 ? "grew by " : "shrank by ", amount);
    if (ranking->groups->has_errors) {
        report_amount(amount, report_error_of(ranking, 0), ranking->unit);
        fprintf(out, " \xc2\xb1 %s", amount);
    }
    if (!many && all->objects != 0 && strcmp(ranking->unit, "count")) {
        report_amount(amount, all->objects, "count");
        fprintf(out, " in %s objects", amount);
    }
}

double
report_rest(const struct report_ranking *ranking, size_t *count)
{
    size_t shown = report_ranking_shown(ranking);
    double value = ranking->small;

    for (size_t i = shown; i < ranking->count; i++) value += ranking->rows[i].value;
    *count = ranking->count - shown + ranking->small_count;
    return value;
}

size_t
report_remarks(const struct report_ranking *ranking, const char *remarks[REPORT_REMARKS_MOST])
{
    const struct report_groups *groups = ranking->groups;
    bool any_noise = false, any_vm = false;
    size_t count = 0;

    if (!strncmp(ranking->type, "temp_", 5))
        remarks[count++] = "what has died before its first garbage collection; a share is of all "
                           "that";
    if (!strncmp(ranking->type, "peak_", 5))
        remarks[count++] = "what was alive when most was alive; `heapprof info` says when that was";
    for (size_t i = 0; i < report_ranking_shown(ranking); i++) {
        uint32_t row = ranking->rows[i].row;
        any_noise = any_noise || report_noise_p(ranking, row);
        any_vm = any_vm || groups->rows[row].vm;
    }
    if (any_noise) remarks[count++] = "~ cannot be told from noise (\xc2\xb1: 19 times out of 20)";
    if (groups->any_caller && !groups->any_owner)
        remarks[count++] = "it is not known who holds malloc'ed memory: Ruby's own tables count "
                           "for the lines that made them grow";
    if (any_vm)
        remarks[count++] = "[VM] is memory of Ruby's own tables: all code has filled them, so no "
                           "line is charged for it";
    return count;
}

bool
report_growth_find(struct report_growth *growth, const struct report_question *question,
                   const struct heapprof_model *const *models, const uint32_t *types,
                   uint32_t profiles)
{
    static const struct report_look look;
    struct report_question all = *question;
    struct report_groups groups;
    struct report_ranking ranking = {0};
    bool room;

    all.group = REPORT_LIBRARY;
    room = report_groups_make(&groups, &all, models, types, profiles) &&
           report_ranking_make(&ranking, &groups, &look);
    if (room) {
        *growth = (struct report_growth){
            .type = ranking.type, .unit = ranking.unit,
            .value = report_value_of(&ranking, 0), .error = report_error_of(&ranking, 0),
        };
    }
    report_ranking_free(&ranking);
    report_groups_free(&groups);
    return room;
}
