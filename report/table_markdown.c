/* table_markdown.c - writes rows in order, as a table of Markdown (GitHub's).
 *
 *     | growth | ± | old | new | objects | what |
 *     |---:|---:|---:|---:|---:|---|
 *     | 59.0 MB | 991 kB | 1.95 MB | 61 MB | 58,551 | `String`<br>`leak.rb:2:in 'String#*'` |
 */
#include <stdlib.h>
#include <string.h>

#include "report/ranking.h"
#include "report/rows.h"
#include "report/text.h"

struct markdown {
    FILE *out;
    const struct report_ranking *ranking;
};

/* Writes a name as code. A '|' would end the cell, and a '`' the code. */
static void
put_code(FILE *out, const char *text)
{
    char *escaped = NULL;
    size_t size = 0;
    FILE *memory = open_memstream(&escaped, &size);

    if (memory) {
        report_put(memory, text, 0, false);
        fclose(memory);
    }
    if (!escaped) return;
    const char *fence = strchr(escaped, '`') ? "`` " : "`", *end = fence[1] ? " ``" : "`";
    fputs(fence, out);
    for (const char *at = escaped; *at; at++) {
        if (*at == '|') putc('\\', out);
        putc(*at, out);
    }
    fputs(end, out);
    free(escaped);
}

static void
put_amount(const struct markdown *markdown, double value, const char *unit)
{
    char text[REPORT_AMOUNT_MAX];

    report_amount(text, value, unit);
    fprintf(markdown->out, " %s |", text);
}

static void
put_header(const struct markdown *markdown)
{
    const struct report_groups *groups = markdown->ranking->groups;
    bool many = markdown->ranking->last > 0;
    const struct {
        bool shown;
        const char *title, *rule;
    } columns[] = {
        {true, many ? "growth" : "value", "---:"}, {groups->has_errors, "\xc2\xb1", "---:"},
        {many, "old", "---:"}, {many, "new", "---:"}, {!many, "share", "---:"},
        {groups->cumulative, "cum", "---:"}, {groups->has_objects, "objects", "---:"},
        {true, many ? "what grew" : "what", "---"},
    };

    for (size_t line = 0; line < 2; line++) {
        for (size_t i = 0; i < sizeof(columns) / sizeof(columns[0]); i++) {
            if (columns[i].shown)
                fprintf(markdown->out, line ? "|%s" : "| %s ",
                        line ? columns[i].rule : columns[i].title);
        }
        fputs("|\n", markdown->out);
    }
}

static void
put_figures(const struct markdown *markdown, uint32_t row)
{
    const struct report_ranking *ranking = markdown->ranking;
    const struct report_groups *groups = ranking->groups;
    double value = report_value_of(ranking, row);

    fprintf(markdown->out, "|%s", report_noise_p(ranking, row) ? " ~" : "");
    put_amount(markdown, value, ranking->unit);
    if (groups->has_errors) put_amount(markdown, report_error_of(ranking, row), ranking->unit);
    if (ranking->last > 0) {
        put_amount(markdown, report_figures_of(groups, row, 0)->value, ranking->unit);
        put_amount(markdown, report_figures_of(groups, row, ranking->last)->value, ranking->unit);
    }
    else {
        char share[REPORT_AMOUNT_MAX];
        report_share(share, value, ranking->whole);
        fprintf(markdown->out, " %s |", share);
    }
    if (groups->cumulative)
        put_amount(markdown, report_cumulative_of(ranking, row), ranking->unit);
    if (!groups->has_objects) return;
    if (report_objects_of(ranking, row) == 0) fputs(" |", markdown->out);
    else put_amount(markdown, report_objects_of(ranking, row), "count");
}

static void
put_frame(void *data, const char *text, bool near)
{
    const struct markdown *markdown = data;

    fputs(near ? "<br>" : "<br>app: ", markdown->out);
    put_code(markdown->out, text);
}

static bool
put_row(struct markdown *markdown, uint32_t row, bool steady)
{
    const struct report_groups *groups = markdown->ranking->groups;
    char *title = report_row_title(groups, row);
    bool room = title != NULL;

    if (!room) return false;
    put_figures(markdown, row);
    putc(' ', markdown->out);
    if (steady) fputs("kept growing: ", markdown->out);
    put_code(markdown->out, title);
    free(title);
    room = report_row_shown_frames(groups, row, put_frame, markdown);
    fputs(" |\n", markdown->out);
    return room;
}

/* Writes what is not shown, and what has to be known of what is. */
static void
put_rest(const struct markdown *markdown)
{
    const struct report_ranking *ranking = markdown->ranking;
    const char *remarks[REPORT_REMARKS_MOST];
    size_t more, count = report_remarks(ranking, remarks);
    double value = report_rest(ranking, &more);
    char amount[REPORT_AMOUNT_MAX], rows[REPORT_COUNT_MAX];

    report_amount(amount, value, ranking->unit);
    report_count(rows, more, "more row", "more rows");
    if (more > 0) fprintf(markdown->out, "\n%s: %s\n", rows, amount);
    for (size_t i = 0; i < count; i++) fprintf(markdown->out, "\n%s\n", remarks[i]);
}

static void
put_summary(const struct markdown *markdown)
{
    const struct report_ranking *ranking = markdown->ranking;
    const struct report_look *look = ranking->look;

    fputs("**", markdown->out);
    if (look->files > 0) put_code(markdown->out, look->sum);
    else {
        put_code(markdown->out, look->names[0]);
        fputs(" to ", markdown->out);
        put_code(markdown->out, look->names[ranking->last]);
    }
    fputs(": ", markdown->out);
    if (ranking->why_empty[0]) put_code(markdown->out, ranking->why_empty);
    else report_put_sum(markdown->out, ranking);
    fputs("**\n\n", markdown->out);
}

bool
report_table_markdown(FILE *out, const struct report_groups *groups, const struct report_look *look)
{
    struct report_ranking ranking;
    struct markdown markdown = {.out = out, .ranking = &ranking};
    bool room = report_ranking_make(&ranking, groups, look);
    const struct report_ranked *rest = room ? report_ranking_take_rest(&ranking) : NULL;

    if (room && !look->headless) put_summary(&markdown);
    if (room && look->title) fprintf(out, "%s\n\n", look->title);
    if (room && (ranking.count > 0 || rest)) put_header(&markdown);
    for (size_t i = 0; room && i < report_ranking_shown(&ranking); i++)
        room = put_row(&markdown, ranking.rows[i].row, ranking.rows[i].steady);
    if (room && rest) room = put_row(&markdown, rest->row, false);
    if (room && !look->brief && !ranking.why_empty[0]) put_rest(&markdown);
    report_ranking_free(&ranking);
    return room;
}
