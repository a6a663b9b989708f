/* table.c - writes rows in order, as text.
 *
 *     ~    9.16 MB    412 kB   37.7%   37.7%     100,000     12  String
 *          value      +-       share   sum       objects     age what
 *
 * A row whose value is no more than its error is marked with '~': it cannot be told from noise.
 */
#include "report/table.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/ranking.h"
#include "report/rows.h"
#include "report/text.h"

#define INDENT 8        /* columns before a frame */
#define COLUMNS_MOST 4  /* columns of values that are shown of several profiles */
/* Columns that a title needs beside its numbers; with fewer it is on the next line. */
#define TITLE_LEAST 24

#define BOLD "\033[1m"
#define DIM "\033[2m"
#define RED "\033[31m"
#define GREEN "\033[32m"
#define PLAIN "\033[0m"

struct table {
    FILE *out;
    const struct report_groups *groups;
    const struct report_look *look;
    struct report_ranking ranking;
    double sum;         /* sum of the rows so far */
    size_t used;        /* columns that this row's numbers take */
};

/* Returns whether a column is shown. If there are many, only the first and the last are. */
static bool
column_p(const struct table *table, uint32_t column)
{
    return table->ranking.last < COLUMNS_MOST || column == 0 || column == table->ranking.last;
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

    report_amount(text, value, table->ranking.unit);
    put_cell(table, width, text);
}

static void
put_share(struct table *table, double part)
{
    char text[REPORT_AMOUNT_MAX];

    report_share(text, part, table->ranking.whole);
    put_cell(table, 8, text);
}

static void
put_header(struct table *table)
{
    const struct report_groups *groups = table->groups;
    bool many = table->ranking.last > 0;

    colour(table, DIM);
    put_cell(table, 2, "");
    put_cell(table, 10, many ? "growth" : "value");
    if (groups->has_errors) put_cell(table, 10, "\xc2\xb1");
    for (uint32_t profile = 0; many && profile <= table->ranking.last; profile++) {
        char number[16];
        if (!column_p(table, profile)) continue;
        snprintf(number, sizeof(number), "%u", profile + 1);
        put_cell(table, 10, profile == 0 ? "old" : profile == table->ranking.last ? "new" : number);
    }
    if (!many) {
        put_cell(table, 8, "share");
        put_cell(table, 8, "sum");
    }
    if (table->groups->cumulative) put_cell(table, 11, "cum");
    if (groups->has_objects) put_cell(table, 12, "objects");
    if (groups->has_ages) put_cell(table, 6, "age");
    fputs(many ? "  what grew\n" : "  what\n", table->out);
    colour(table, PLAIN);
}

static void
put_objects_and_age(struct table *table, uint32_t row)
{
    const struct report_figures *now = report_figures_of(table->groups, row, table->ranking.last);
    double objects = report_objects_of(&table->ranking, row);
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
    const struct report_ranking *ranking = &table->ranking;
    bool many = ranking->last > 0, noise = report_noise_p(ranking, row);
    double value = report_value_of(ranking, row), error = report_error_of(ranking, row);

    table->used = 0;
    table->sum += value;
    put_cell(table, 2, noise ? "~ " : "");
    colour(table, noise ? DIM : !many ? BOLD : value > 0 ? RED : GREEN);
    put_amount(table, 10, value);
    colour(table, PLAIN);
    if (table->groups->has_errors) {
        if (error > 0) put_amount(table, 10, error);
        else put_cell(table, 10, "0");
    }
    for (uint32_t profile = 0; many && profile <= table->ranking.last; profile++) {
        if (column_p(table, profile))
            put_amount(table, 10, report_figures_of(table->groups, row, profile)->value);
    }
    if (!many) {
        put_share(table, value);
        put_share(table, table->sum);
    }
    if (table->groups->cumulative) put_amount(table, 11, report_cumulative_of(ranking, row));
    put_objects_and_age(table, row);
}

static void
put_frame(void *data, const char *text, bool near)
{
    const struct table *table = data;
    unsigned width = table->look->width;

    fprintf(table->out, "%*s", INDENT, near ? "" : "app: ");
    report_put(table->out, text, width > INDENT + 8 ? width - INDENT : 0, true);
    putc('\n', table->out);
}

static bool
put_row(struct table *table, uint32_t row)
{
    char *title = report_row_title(table->groups, row);
    unsigned width = table->look->width, room;

    if (!title) return false;
    put_numbers(table, row);
    room = width > table->used + 2 ? width - (unsigned)table->used - 2 : 0;
    if (width > 0 && room < TITLE_LEAST) {
        fprintf(table->out, "\n%*s", INDENT - 4, "");
        room = width > INDENT ? width - INDENT : 0;
    }
    else fputs("  ", table->out);
    report_put(table->out, title, room, table->groups->question.group != REPORT_SITE);
    putc('\n', table->out);
    free(title);
    return report_row_shown_frames(table->groups, row, put_frame, table);
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
    for (uint32_t column = 0; column <= table->ranking.last; column++) {
        if (!column_p(table, column)) continue;
        if (column > 0) fputs(column == table->ranking.last ? " to " : ", ", table->out);
        report_put(table->out, look->names[column], 0, true);
    }
    if (table->ranking.last >= COLUMNS_MOST)
        fprintf(table->out, " (%u files)", table->ranking.last + 1);
}

static void
put_summary(const struct table *table)
{
    const struct report_ranking *ranking = &table->ranking;

    put_names(table);
    fputs(": ", table->out);
    if (ranking->why_empty[0]) {
        report_put(table->out, ranking->why_empty, 0, false);
        putc('\n', table->out);
        return;
    }
    report_put_sum(table->out, ranking);
    fputs("\n\n", table->out);
}

/* Writes what is not shown, and what has to be known of what is. */
static void
put_rest(const struct table *table)
{
    const struct report_ranking *ranking = &table->ranking;
    const char *remarks[REPORT_REMARKS_MOST];
    size_t more, count = report_remarks(ranking, remarks);
    double value = report_rest(ranking, &more);
    char amount[REPORT_AMOUNT_MAX], rows[REPORT_COUNT_MAX];

    report_amount(amount, value, ranking->unit);
    if (more > 0 || count > 0) putc('\n', table->out);
    if (more > 0) {
        report_count(rows, more, "more row", "more rows");
        fprintf(table->out, "%s%s (%s shows all): %s\n", rows,
                more > ranking->small_count ? ""
                : more == 1                 ? ", which is too small to matter"
                                            : ", too small to matter",
                table->look->ruby ? "limit: 0" : "-n 0", amount);
    }
    for (size_t i = 0; i < count; i++) fprintf(table->out, "%s\n", remarks[i]);
}

static bool
put_rows(struct table *table, const struct report_ranked *rest)
{
    const struct report_ranking *ranking = &table->ranking;
    bool room = true, several = ranking->last > 1;

    for (size_t i = 0; room && i < report_ranking_shown(ranking); i++) {
        bool steady = ranking->rows[i].steady;
        if (several && (i == 0 ? steady : steady != ranking->rows[i - 1].steady)) {
            fputs(steady ? "kept growing:\n" : "the others:\n", table->out);
        }
        room = put_row(table, ranking->rows[i].row);
    }
    if (!room || !rest) return room;
    if (several) fputs("all else:\n", table->out);
    return put_row(table, rest->row);
}

bool
report_table_text(FILE *out, const struct report_groups *groups, const struct report_look *look)
{
    struct table table = {.out = out, .groups = groups, .look = look};
    struct report_ranking *ranking = &table.ranking;
    bool room = report_ranking_make(ranking, groups, look);
    const struct report_ranked *rest = room ? report_ranking_take_rest(ranking) : NULL;

    if (room) {
        if (!look->headless) put_summary(&table);
        if (look->title) fprintf(out, "%s\n", look->title);
        if (ranking->count > 0 || rest) put_header(&table);
        room = put_rows(&table, rest);
        if (room && !look->brief && !ranking->why_empty[0]) put_rest(&table);
    }
    report_ranking_free(ranking);
    return room;
}
