/* table_json.c - writes rows in order, as JSON. */
#include "report/table_json.h"

#include <stdlib.h>

#include "report/ranking.h"
#include "report/rows.h"

static void
put_frame(void *data, const struct report_frame *frame, bool own)
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
put_values(struct report_json *json, const struct report_ranking *ranking, uint32_t row)
{
    const struct report_figures *now = report_figures_of(ranking->groups, row, ranking->last);

    double value = report_value_of(ranking, row);

    report_json_member_number(json, ranking->last > 0 ? "growth" : "value", value);
    report_json_member_number(json, "error", report_error_of(ranking, row));
    if (ranking->last > 0) {
        report_json_member_begin(json, "values", '[');
        for (uint32_t p = 0; p <= ranking->last; p++)
            report_json_number(json, report_figures_of(ranking->groups, row, p)->value);
        report_json_end(json, ']');
    }
    report_json_member_number(json, "objects", report_objects_of(ranking, row));
    if (row == 0) return;
    if (ranking->groups->cumulative) {
        report_json_member_number(json, "cumulative", report_cumulative_of(ranking, row));
    }
    report_json_member_number(json, "share", ranking->whole != 0 ? value / ranking->whole : 0);
    if (now->aged != 0) report_json_member_number(json, "age", now->age / now->aged);
    report_json_member_bool(json, "noise", report_noise_p(ranking, row));
    if (ranking->last > 1) {
        report_json_member_bool(json, "kept_growing", report_steady_p(ranking, row));
    }
}

/* Writes where the row is, if it is at one place. */
static void
put_place(struct report_json *json, const struct report_ranking *ranking, uint32_t row)
{
    struct report_place place;

    if (!report_row_place(ranking->groups, row, &place)) return;
    report_json_member_text(json, "file", place.file);
    if (place.line > 0) report_json_member_integer(json, "line", place.line);
}

static bool
put_row(struct report_json *json, const struct report_ranking *ranking, uint32_t row)
{
    char *title = report_row_title(ranking->groups, row);
    bool room = title != NULL;

    report_json_line(json);
    report_json_begin(json, '{');
    if (title) report_json_member_text(json, "what", title);
    free(title);
    put_values(json, ranking, row);
    report_json_member_bool(json, "vm", ranking->groups->rows[row].vm);
    put_place(json, ranking, row);
    if (ranking->groups->question.group == REPORT_SITE) {
        report_json_member_begin(json, "frames", '[');
        room = report_row_frames(ranking->groups, row, put_frame, json) && room;
        report_json_end(json, ']');
    }
    report_json_end(json, '}');
    return room;
}

static void
put_files(struct report_json *json, const struct report_ranking *ranking)
{
    const struct report_look *look = ranking->look;
    uint32_t files = look->files > 0 ? look->files : ranking->last + 1;

    report_json_member_begin(json, "files", '[');
    for (uint32_t file = 0; file < files; file++) report_json_text(json, look->names[file]);
    report_json_end(json, ']');
}

/* Writes how many rows are not shown, and what has to be known of those that are. */
static void
put_rest(struct report_json *json, const struct report_ranking *ranking)
{
    const char *remarks[REPORT_REMARKS_MOST];
    size_t count = report_remarks(ranking, remarks), more;
    double value = report_rest(ranking, &more);

    report_json_member_begin(json, "rest", '{');
    report_json_member_unsigned(json, "rows", more);
    report_json_member_unsigned(json, "too_small", ranking->small_count);
    report_json_member_number(json, ranking->last > 0 ? "growth" : "value", value);
    report_json_end(json, '}');
    report_json_member_begin(json, "remarks", '[');
    for (size_t i = 0; i < count; i++) report_json_text(json, remarks[i]);
    report_json_end(json, ']');
}

static bool
put_rows(struct report_json *json, const struct report_ranking *ranking,
         const struct report_ranked *rest)
{
    bool room = true;

    report_json_member_begin(json, "rows", '[');
    for (size_t i = 0; room && i < report_ranking_shown(ranking); i++)
        room = put_row(json, ranking, ranking->rows[i].row);
    if (rest && room) room = put_row(json, ranking, rest->row);
    report_json_end(json, ']');
    return room;
}

bool
report_table_json_members(struct report_json *json, const struct report_groups *groups,
                          const struct report_look *look)
{
    struct report_ranking ranking;
    bool room = report_ranking_make(&ranking, groups, look);
    const struct report_ranked *rest = room ? report_ranking_take_rest(&ranking) : NULL;

    if (room && !look->headless) {
        put_files(json, &ranking);
        report_json_member_text(json, "type", ranking.type);
        report_json_member_text(json, "unit", ranking.unit);
        report_json_member_begin(json, "total", '{');
        put_values(json, &ranking, 0);
        report_json_end(json, '}');
    }
    if (room) room = put_rows(json, &ranking, rest);
    if (room && ranking.why_empty[0]) report_json_member_text(json, "why_empty", ranking.why_empty);
    if (room && !look->brief) put_rest(json, &ranking);
    report_ranking_free(&ranking);
    return room;
}

bool
report_table_json(FILE *out, const struct report_groups *groups, const struct report_look *look)
{
    struct report_json json = {.out = out};
    bool room;

    report_json_begin(&json, '{');
    room = report_table_json_members(&json, groups, look);
    report_json_end(&json, '}');
    putc('\n', out);
    return room;
}
