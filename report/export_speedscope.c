/* export_speedscope.c - writes speedscope's JSON. The functions are shared frames. Each type is a
 * profile, whose samples have a weight each. A stack begins with the outermost frame.
 *
 * Frames are the functions by their places. Behind them come the locations that have no function,
 * then the tables of the VM, each the only frame of its memory. */
#include "report/export.h"

#include <string.h>

#include "report/json.h"
#include "report/names.h"
#include "report/stack.h"

/* The tables of the VM, by the labels that name them. */
struct vm_tables {
    struct heapprof_mem mem;
    struct heapprof_ids ids; /* strings */
};

static uint32_t
table_label(const struct heapprof_samples *samples)
{
    return report_vm_table(samples) ? report_find_label(samples, "owner")->str : 0;
}

/* Writes a frame for each table of the VM. Returns false if there is no memory. */
static bool
put_tables(struct report_json *json, const struct heapprof_model *model, struct vm_tables *tables)
{
    struct heapprof_samples samples;
    bool room = rb_heapprof_samples_begin(&samples, model);

    while (room && rb_heapprof_samples_next(&samples)) {
        uint32_t label = table_label(&samples);
        if (!label || rb_heapprof_ids_find(&tables->ids, label) != HEAPPROF_NO_PLACE) continue;
        room = rb_heapprof_ids_add(&tables->ids, &tables->mem, label) == HEAPPROF_IDS_ADDED;
        report_json_line(json);
        report_json_begin(json, '{');
        report_json_member_text(json, "name", rb_heapprof_model_string(model, label, NULL));
        report_json_end(json, '}');
    }
    rb_heapprof_samples_end(&samples);
    return room;
}

static bool
put_frames(struct report_json *json, const struct heapprof_model *model, struct vm_tables *tables)
{
    uint32_t functions = rb_heapprof_model_functions(model);
    char address[32];
    bool room;

    report_json_member_begin(json, "shared", '{');
    report_json_member_begin(json, "frames", '[');
    for (uint32_t i = 0; i < functions; i++) {
        const struct heapprof_model_function *function = &model->functions[i];
        report_json_line(json);
        report_json_begin(json, '{');
        const char *file = rb_heapprof_model_string(model, function->filename, NULL);
        const char *name = rb_heapprof_model_string(model, function->name, NULL);
        report_json_member_text(json, "name", report_function_name(name, file, model));
        report_json_member_text(json, "file", file);
        report_json_end(json, '}');
    }
    for (uint32_t i = 0; i < rb_heapprof_model_locations(model); i++) {
        report_json_line(json);
        report_json_begin(json, '{');
        report_json_member_text(json, "name",
                                report_frame_name(model, i, NULL, address, sizeof(address)));
        report_json_end(json, '}');
    }
    room = put_tables(json, model, tables);
    report_json_end(json, ']');
    report_json_end(json, '}');
    return room;
}

static void
put_stack(struct report_json *json, const struct heapprof_samples *samples,
          const struct vm_tables *tables)
{
    const struct heapprof_model *model = samples->model;
    uint32_t functions = rb_heapprof_model_functions(model), label = table_label(samples);

    report_json_begin(json, '[');
    if (label) {
        report_json_unsigned(json, (uint64_t)functions + rb_heapprof_model_locations(model) +
                                   rb_heapprof_ids_find(&tables->ids, label));
    }
    for (uint32_t i = label ? 0 : samples->location_count; i-- > 0;) {
        const struct heapprof_model_location *location = &model->locations[samples->locations[i]];
        uint32_t line = location[1].first_line;
        if (line == location->first_line)
            report_json_unsigned(json, (uint64_t)functions + samples->locations[i]);
        while (line-- > location->first_line) {
            uint64_t function = model->lines[line].function;
            bool named = function != HEAPPROF_NO_PLACE;
            report_json_unsigned(json,
                                 named ? function : (uint64_t)functions + samples->locations[i]);
        }
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
put_samples(struct report_json *json, const struct heapprof_model *model,
            const struct vm_tables *tables, uint32_t type, double *sum)
{
    struct heapprof_samples samples;
    bool room = rb_heapprof_samples_begin(&samples, model);

    report_json_begin(json, '[');
    while (room && rb_heapprof_samples_next(&samples)) {
        if (samples.values[type] <= 0) continue;
        if (!sum) put_stack(json, &samples, tables);
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
put_profile(struct report_json *json, const struct heapprof_model *model,
            const struct vm_tables *tables, uint32_t type)
{
    double sum = 0;
    bool room;

    report_json_line(json);
    report_json_begin(json, '{');
    report_json_member_text(json, "type", "sampled");
    report_json_member_text(json, "name",
                            rb_heapprof_model_string(model, model->types[type].type, NULL));
    report_json_member_text(json, "unit", unit_of(model, type));
    report_json_key(json, "samples");
    room = put_samples(json, model, tables, type, NULL);
    report_json_key(json, "weights");
    room = put_samples(json, model, tables, type, &sum) && room;
    report_json_member_number(json, "startValue", 0);
    report_json_member_number(json, "endValue", sum);
    report_json_end(json, '}');
    return room;
}

bool
report_export_speedscope(FILE *out, const struct heapprof_model *model, uint32_t type)
{
    struct report_json json = {.out = out};
    struct vm_tables tables = {.ids = {0}};
    bool room;

    rb_heapprof_mem_init(&tables.mem, SIZE_MAX);

    report_json_begin(&json, '{');
    report_json_member_text(&json, "$schema", "https://www.speedscope.app/file-format-schema.json");
    report_json_member_text(&json, "exporter", "heapprof");
    report_json_member_unsigned(&json, "activeProfileIndex", type);
    room = put_frames(&json, model, &tables);
    report_json_member_begin(&json, "profiles", '[');
    for (uint32_t i = 0; room && i < model->type_count; i++)
        room = put_profile(&json, model, &tables, i);
    report_json_end(&json, ']');
    report_json_end(&json, '}');
    putc('\n', out);
    rb_heapprof_ids_free(&tables.ids, &tables.mem);
    return room;
}
