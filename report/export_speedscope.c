/* export_speedscope.c - writes speedscope's JSON. The functions are shared frames. Each type is a profile, whose samples
 * have a weight each. A stack begins with the outermost frame.
 *
 * Frames are the functions by their places. Behind them come the locations that have no function. */
#include "report/export.h"

#include <string.h>

#include "report/json.h"
#include "report/stack.h"

static void
put_frames(struct report_json *json, const struct heapprof_model *model)
{
    uint32_t functions = rb_heapprof_model_functions(model);
    char address[32];

    report_json_member_begin(json, "shared", '{');
    report_json_member_begin(json, "frames", '[');
    for (uint32_t i = 0; i < functions; i++) {
        const struct heapprof_model_function *function = &model->functions[i];
        report_json_line(json);
        report_json_begin(json, '{');
        report_json_member_text(json, "name", rb_heapprof_model_string(model, function->name, NULL));
        report_json_member_text(json, "file", rb_heapprof_model_string(model, function->filename, NULL));
        report_json_end(json, '}');
    }
    for (uint32_t i = 0; i < rb_heapprof_model_locations(model); i++) {
        report_json_line(json);
        report_json_begin(json, '{');
        report_json_member_text(json, "name", report_frame_name(model, i, NULL, address, sizeof(address)));
        report_json_end(json, '}');
    }
    report_json_end(json, ']');
    report_json_end(json, '}');
}

static void
put_stack(struct report_json *json, const struct heapprof_samples *samples)
{
    const struct heapprof_model *model = samples->model;
    uint32_t functions = rb_heapprof_model_functions(model);

    report_json_begin(json, '[');
    for (uint32_t i = samples->location_count; i-- > 0;) {
        const struct heapprof_model_location *location = &model->locations[samples->locations[i]];
        uint32_t line = location[1].first_line;
        if (line == location->first_line) report_json_unsigned(json, (uint64_t)functions + samples->locations[i]);
        while (line-- > location->first_line) {
            uint64_t function = model->lines[line].function;
            bool named = function != HEAPPROF_NO_PLACE;
            report_json_unsigned(json, named ? function : (uint64_t)functions + samples->locations[i]);
        }
    }
    report_json_end(json, ']');
}

static const char *
unit_of(const struct heapprof_model *model, uint32_t type)
{
    static const char *const known[] = {"bytes", "nanoseconds", "microseconds", "milliseconds", "seconds"};
    const char *unit = rb_heapprof_model_string(model, model->types[type].unit, NULL);

    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
        if (!strcmp(known[i], unit)) return unit;
    }
    return "none";
}

/* Writes the stacks of the samples that have a value, or writes the values and sets *sum to their sum. */
static bool
put_samples(struct report_json *json, const struct heapprof_model *model, uint32_t type, double *sum)
{
    struct heapprof_samples samples;
    bool room = rb_heapprof_samples_begin(&samples, model);

    report_json_begin(json, '[');
    while (room && rb_heapprof_samples_next(&samples)) {
        if (samples.values[type] <= 0) continue;
        if (!sum) put_stack(json, &samples);
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
put_profile(struct report_json *json, const struct heapprof_model *model, uint32_t type)
{
    double sum = 0;
    bool room;

    report_json_line(json);
    report_json_begin(json, '{');
    report_json_member_text(json, "type", "sampled");
    report_json_member_text(json, "name", rb_heapprof_model_string(model, model->types[type].type, NULL));
    report_json_member_text(json, "unit", unit_of(model, type));
    report_json_key(json, "samples");
    room = put_samples(json, model, type, NULL);
    report_json_key(json, "weights");
    room = put_samples(json, model, type, &sum) && room;
    report_json_member_number(json, "startValue", 0);
    report_json_member_number(json, "endValue", sum);
    report_json_end(json, '}');
    return room;
}

bool
report_export_speedscope(FILE *out, const struct heapprof_model *model, uint32_t type)
{
    struct report_json json = {.out = out};
    bool room = true;

    report_json_begin(&json, '{');
    report_json_member_text(&json, "$schema", "https://www.speedscope.app/file-format-schema.json");
    report_json_member_text(&json, "exporter", "heapprof");
    report_json_member_unsigned(&json, "activeProfileIndex", type);
    put_frames(&json, model);
    report_json_member_begin(&json, "profiles", '[');
    for (uint32_t i = 0; room && i < model->type_count; i++) room = put_profile(&json, model, i);
    report_json_end(&json, ']');
    report_json_end(&json, '}');
    putc('\n', out);
    return room;
}
