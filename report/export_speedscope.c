/* export_speedscope.c - writes speedscope's JSON. A function at a line is a shared frame. Each type
 * is a profile, whose samples have a weight each. A stack begins with the outermost frame.
 * If samples say when they began, each thread is a profile: a chart, with one axis for all.
 *
 * First come the frames that have a function, by their numbers. Behind them come the locations
 * that have no function, then the tables of the VM, each the only frame of its memory. */
#include "report/export.h"

#include <stdlib.h>
#include <string.h>

#include "report/json.h"
#include "report/names.h"
#include "report/stack.h"
#include "report/tuples.h"

struct frames {
    const struct heapprof_model *model;
    bool defined;                /* report_definitions_p of it */
    struct heapprof_mem mem;
    struct report_tuples named;  /* a function's place, a line or 0 */
    struct heapprof_ids unnamed; /* locations that have a line without one, or no line, by their
                                    numbers, and 1 more */
    struct heapprof_ids tables;  /* of the VM, by the strings that name them */
};

static uint32_t
table_label(const struct heapprof_samples *samples)
{
    return report_vm_table(samples) ? report_find_label(samples, "owner")->str : 0;
}

/* Writes a frame for each table of the VM. Returns false if there is no memory. */
static bool
put_tables(struct report_json *json, struct frames *frames)
{
    const struct heapprof_model *model = frames->model;
    struct heapprof_samples samples;
    bool room = rb_heapprof_samples_begin(&samples, model);

    while (room && rb_heapprof_samples_next(&samples)) {
        uint32_t label = table_label(&samples);
        if (!label || rb_heapprof_ids_find(&frames->tables, label) != HEAPPROF_NO_PLACE) continue;
        room = rb_heapprof_ids_add(&frames->tables, &frames->mem, label) == HEAPPROF_IDS_ADDED;
        report_json_line(json);
        report_json_begin(json, '{');
        report_json_member_text(json, "name", rb_heapprof_model_string(model, label, NULL));
        report_json_end(json, '}');
    }
    rb_heapprof_samples_end(&samples);
    return room;
}

/* A C function has the line of its caller, which does not tell its frames apart. */
static void
make_tuple(const struct frames *frames, const struct heapprof_model_line *line, uint32_t tuple[2])
{
    const struct heapprof_model_function *function = &frames->model->functions[line->function];
    bool native = frames->defined && report_native_p(frames->model, function);

    tuple[0] = (uint32_t)line->function;
    tuple[1] = native || line->line < 0 || line->line > UINT32_MAX ? 0 : (uint32_t)line->line;
}

static bool
find_line(struct frames *frames, uint32_t location, const struct heapprof_model_line *line)
{
    uint32_t tuple[2];

    if (!line || line->function == HEAPPROF_NO_PLACE)
        return rb_heapprof_ids_add(&frames->unnamed, &frames->mem, (uint64_t)location + 1) !=
               HEAPPROF_IDS_NO_MEMORY;
    make_tuple(frames, line, tuple);
    return report_tuples_add(&frames->named, tuple);
}

static bool
find_frames(struct frames *frames)
{
    const struct heapprof_model *model = frames->model;
    bool room = true;

    for (uint32_t i = 0; room && i < rb_heapprof_model_locations(model); i++) {
        uint32_t line = model->locations[i].first_line, end = model->locations[i + 1].first_line;
        if (line == end) room = find_line(frames, i, NULL);
        while (room && line < end) room = find_line(frames, i, &model->lines[line++]);
    }
    return room;
}

static void
put_named_frame(struct report_json *json, const struct frames *frames, uint32_t number)
{
    const struct heapprof_model *model = frames->model;
    const uint32_t *tuple = report_tuples_get(&frames->named, number);
    const struct heapprof_model_function *function = &model->functions[tuple[0]];
    const char *file = rb_heapprof_model_string(model, function->filename, NULL);
    const char *name = rb_heapprof_model_string(model, function->name, NULL);

    report_json_line(json);
    report_json_begin(json, '{');
    report_json_member_text(json, "name", report_function_name(name, file, model));
    report_json_member_text(json, "file", file);
    if (tuple[1]) report_json_member_unsigned(json, "line", tuple[1]);
    report_json_end(json, '}');
}

static bool
put_frames(struct report_json *json, struct frames *frames)
{
    char address[32];
    bool room = find_frames(frames);

    report_json_member_begin(json, "shared", '{');
    report_json_member_begin(json, "frames", '[');
    for (uint32_t i = 1; i <= frames->named.count; i++) put_named_frame(json, frames, i);
    for (uint32_t i = 0; i < frames->unnamed.count; i++) {
        uint32_t location = (uint32_t)rb_heapprof_ids_at(&frames->unnamed, i) - 1;
        report_json_line(json);
        report_json_begin(json, '{');
        report_json_member_text(json, "name",
                                report_frame_name(frames->model, location, NULL, address,
                                                  sizeof(address)));
        report_json_end(json, '}');
    }
    room = room && put_tables(json, frames);
    report_json_end(json, ']');
    report_json_end(json, '}');
    return room;
}

static uint64_t
unnamed_frame(const struct frames *frames, uint32_t location)
{
    return (uint64_t)frames->named.count +
           rb_heapprof_ids_find(&frames->unnamed, (uint64_t)location + 1);
}

static uint64_t
table_frame(const struct frames *frames, uint32_t label)
{
    return (uint64_t)frames->named.count + frames->unnamed.count +
           rb_heapprof_ids_find(&frames->tables, label);
}

static uint64_t
line_frame(const struct frames *frames, const struct heapprof_model_line *line, uint32_t location)
{
    uint32_t tuple[2];

    if (line->function == HEAPPROF_NO_PLACE) return unnamed_frame(frames, location);
    make_tuple(frames, line, tuple);
    return report_tuples_find(&frames->named, tuple) - 1;
}

static void
put_stack(struct report_json *json, const struct heapprof_samples *samples,
          const struct frames *frames)
{
    const struct heapprof_model *model = samples->model;
    uint32_t label = table_label(samples);

    report_json_begin(json, '[');
    if (label) report_json_unsigned(json, table_frame(frames, label));
    for (uint32_t i = label ? 0 : samples->location_count; i-- > 0;) {
        uint32_t place = samples->locations[i];
        const struct heapprof_model_location *location = &model->locations[place];
        uint32_t line = location[1].first_line;
        if (line == location->first_line) report_json_unsigned(json, unnamed_frame(frames, place));
        while (line-- > location->first_line)
            report_json_unsigned(json, line_frame(frames, &model->lines[line], place));
    }
    report_json_end(json, ']');
}

static const char *
unit_of(const struct heapprof_model *model, uint32_t type)
{
    static const char *const known[] = { "bytes", "nanoseconds", "microseconds", "milliseconds",
                                         "seconds" };
    const char *unit = rb_heapprof_model_string(model, model->types[type].unit, NULL);

    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
        if (!strcmp(known[i], unit)) return unit;
    }
    return "none";
}

/* Writes the stacks of the samples that have a value, or writes the values and sets *sum to their
 * sum. */
static bool
put_samples(struct report_json *json, const struct frames *frames, uint32_t type, double *sum)
{
    struct heapprof_samples samples;
    bool room = rb_heapprof_samples_begin(&samples, frames->model);

    report_json_begin(json, '[');
    while (room && rb_heapprof_samples_next(&samples)) {
        if (samples.values[type] <= 0) continue;
        if (!sum) put_stack(json, &samples, frames);
        else {
            report_json_integer(json, samples.values[type]);
            *sum += (double)samples.values[type];
        }
    }
    report_json_end(json, ']');
    rb_heapprof_samples_end(&samples);
    return room;
}

static bool
put_profile(struct report_json *json, const struct frames *frames, uint32_t type)
{
    const struct heapprof_model *model = frames->model;
    double sum = 0;
    bool room;

    report_json_line(json);
    report_json_begin(json, '{');
    report_json_member_text(json, "type", "sampled");
    report_json_member_text(json, "name",
                            rb_heapprof_model_string(model, model->types[type].type, NULL));
    report_json_member_text(json, "unit", unit_of(model, type));
    report_json_key(json, "samples");
    room = put_samples(json, frames, type, NULL);
    report_json_key(json, "weights");
    room = put_samples(json, frames, type, &sum) && room;
    report_json_member_number(json, "startValue", 0);
    report_json_member_number(json, "endValue", sum);
    report_json_end(json, '}');
    return room;
}

/* ---- a chart ---- */

/* A sample that says when it began: the label "start" has the nanoseconds. */
struct chart_piece {
    uint32_t thread;     /* its place in chart->threads */
    uint32_t name;       /* of the thread: a string */
    int64_t  start, end;
    size_t   at;         /* in the model's samples */
};

struct chart {
    struct heapprof_ids threads; /* by the strings that name them, and 1 more */
    struct chart_piece *pieces;
    uint64_t count;
    int64_t  end;        /* of the axis */
};

static const struct heapprof_model_label *
start_label(const struct heapprof_samples *samples)
{
    return report_find_label(samples, "start");
}

static bool
chart_p(const struct heapprof_model *model)
{
    struct heapprof_samples samples;
    bool chart = rb_heapprof_samples_begin(&samples, model) &&
                 rb_heapprof_samples_next(&samples) && start_label(&samples);

    rb_heapprof_samples_end(&samples);
    return chart;
}

/* By thread, then by time. */
static int
compare_pieces(const void *one, const void *other)
{
    const struct chart_piece *a = one, *b = other;

    if (a->thread != b->thread) return a->thread < b->thread ? -1 : 1;
    if (a->start != b->start) return a->start < b->start ? -1 : 1;
    return a->at < b->at ? -1 : a->at > b->at;
}

/* Adds a sample. Returns false without memory. A time that cannot be is left out. */
static bool
add_piece(struct chart *chart, struct frames *frames, const struct heapprof_samples *samples,
          size_t at, uint32_t type)
{
    const struct heapprof_model_label *start = start_label(samples),
                                      *thread = report_find_label(samples, "thread");
    uint32_t name = thread ? thread->str : 0;
    int64_t value = samples->values[type];

    if (!start || start->num < 0 || value <= 0 || value > INT64_MAX - start->num) return true;
    if (rb_heapprof_ids_add(&chart->threads, &frames->mem, (uint64_t)name + 1) ==
        HEAPPROF_IDS_NO_MEMORY)
        return false;
    chart->pieces[chart->count++] = (struct chart_piece){
        .thread = rb_heapprof_ids_find(&chart->threads, (uint64_t)name + 1), .name = name,
        .start = start->num, .end = start->num + value, .at = at
    };
    if (start->num + value > chart->end) chart->end = start->num + value;
    return true;
}

static bool
find_pieces(struct chart *chart, struct frames *frames, uint32_t type)
{
    struct heapprof_samples samples;
    bool room = rb_heapprof_samples_begin(&samples, frames->model);

    chart->pieces = malloc(((size_t)frames->model->sample_count + 1) * sizeof(*chart->pieces));
    room = room && chart->pieces;
    for (size_t at = 0; room && rb_heapprof_samples_next(&samples); at = samples.at)
        room = add_piece(chart, frames, &samples, at, type);
    rb_heapprof_samples_end(&samples);
    if (room) qsort(chart->pieces, chart->count, sizeof(*chart->pieces), compare_pieces);
    return room;
}

/* Writes the stack of a piece, or of a gap (NULL), or how long it is. */
static void
put_piece(struct report_json *json, const struct frames *frames, struct heapprof_samples *samples,
          const struct chart_piece *piece, bool weights, int64_t length)
{
    if (length <= 0) return;
    if (weights) report_json_integer(json, length);
    else if (piece) {
        samples->at = piece->at;
        rb_heapprof_samples_next(samples);
        put_stack(json, samples, frames);
    }
    else {
        report_json_begin(json, '[');
        report_json_end(json, ']');
    }
}

/* Writes the pieces of a thread, from the beginning of the axis to its end. Where the thread was
 * not there, or was not seen, the stack has no frames. */
static bool
put_line(struct report_json *json, const struct frames *frames, const struct chart *chart,
         uint64_t first, bool weights)
{
    struct heapprof_samples samples;
    bool room = rb_heapprof_samples_begin(&samples, frames->model);
    uint32_t thread = chart->pieces[first].thread;
    int64_t now = 0;

    report_json_begin(json, '[');
    for (uint64_t i = first; room && i < chart->count && chart->pieces[i].thread == thread; i++) {
        const struct chart_piece *piece = &chart->pieces[i];
        int64_t start = piece->start > now ? piece->start : now;
        put_piece(json, frames, &samples, NULL, weights, start - now);
        put_piece(json, frames, &samples, piece, weights, piece->end - start);
        if (piece->end > now) now = piece->end;
    }
    put_piece(json, frames, &samples, NULL, weights, chart->end - now);
    report_json_end(json, ']');
    rb_heapprof_samples_end(&samples);
    return room;
}

static bool
put_thread(struct report_json *json, const struct frames *frames, const struct chart *chart,
           uint64_t first, uint32_t type)
{
    const struct heapprof_model *model = frames->model;
    uint32_t name = chart->pieces[first].name;

    report_json_line(json);
    report_json_begin(json, '{');
    report_json_member_text(json, "type", "sampled");
    report_json_member_text(json, "name", rb_heapprof_model_string(model, name, NULL));
    report_json_member_text(json, "unit", unit_of(model, type));
    report_json_key(json, "samples");
    bool room = put_line(json, frames, chart, first, false);
    report_json_key(json, "weights");
    room = put_line(json, frames, chart, first, true) && room;
    report_json_member_number(json, "startValue", 0);
    report_json_member_number(json, "endValue", (double)chart->end);
    report_json_end(json, '}');
    return room;
}

static bool
put_chart(struct report_json *json, struct frames *frames, uint32_t type)
{
    struct chart chart = { .end = frames->model->duration_ns };
    bool room = find_pieces(&chart, frames, type);

    for (uint64_t i = 0; room && i < chart.count; i++) {
        if (i == 0 || chart.pieces[i].thread != chart.pieces[i - 1].thread)
            room = put_thread(json, frames, &chart, i, type);
    }
    free(chart.pieces);
    rb_heapprof_ids_free(&chart.threads, &frames->mem);
    return room;
}

/* ---- the file ---- */

bool
report_export_speedscope(FILE *out, const struct heapprof_model *model, uint32_t type)
{
    struct report_json json = {.out = out};
    struct frames frames = {.model = model, .defined = report_definitions_p(model)};

    rb_heapprof_mem_init(&frames.mem, SIZE_MAX);
    report_tuples_init(&frames.named, &frames.mem, 2);
    report_json_begin(&json, '{');
    report_json_member_text(&json, "$schema", "https://www.speedscope.app/file-format-schema.json");
    report_json_member_text(&json, "exporter", "heapprof");
    bool chart = chart_p(model);
    report_json_member_unsigned(&json, "activeProfileIndex", chart ? 0 : type);
    bool room = put_frames(&json, &frames);
    report_json_member_begin(&json, "profiles", '[');
    if (chart) room = room && put_chart(&json, &frames, type);
    for (uint32_t i = 0; room && !chart && i < model->type_count; i++)
        room = put_profile(&json, &frames, i);
    report_json_end(&json, ']');
    report_json_end(&json, '}');
    putc('\n', out);
    rb_heapprof_ids_free(&frames.unnamed, &frames.mem);
    rb_heapprof_ids_free(&frames.tables, &frames.mem);
    report_tuples_free(&frames.named);
    return room;
}
