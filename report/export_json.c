/* export_json.c - writes a whole model as JSON:
 *
 *     {"sample_types": [{"type": "inuse_space", "unit": "bytes"}, ...], "default_sample_type": "inuse_space",
 *      "time_ns": 0, "duration_ns": 0, "period_type": {"type": "space", "unit": "bytes"}, "period": 524288,
 *      "comments": ["interval: 524288 bytes", ...],
 *      "mappings": [{"start": 0, "limit": 0, "offset": 0, "file": "", "build_id": ""}, ...],
 *      "functions": [{"name": "Cart#load", "file": "/srv/cart.rb", "start_line": 12}, ...],
 *      "locations": [{"lines": [[function, line], ...], "mapping": 0, "address": 0}, ...],
 *      "samples": [{"locations": [...], "values": [...], "labels": [["class", "String"], ["gc_age", 4, "gcs"]]}, ...]}
 *
 * A location's lines begin with the innermost one. An unknown function or mapping is null. A
 * label's value is a string, or a number with its unit if it has one. A key may come more than
 * once. Each element of an array is a line, for grep and diff.
 */
#include "report/export.h"

#include "report/json.h"

static void
put_named(struct report_json *json, const char *key, const struct heapprof_model *model,
          uint32_t string)
{
    report_json_key(json, key);
    report_json_model_string(json, model, string);
}

static void
put_place(struct report_json *json, uint64_t place)
{
    if (place == HEAPPROF_NO_PLACE) report_json_null(json);
    else report_json_unsigned(json, place);
}

static void
put_type(struct report_json *json, const struct heapprof_model *model,
         struct heapprof_model_type type)
{
    report_json_begin(json, '{');
    put_named(json, "type", model, type.type);
    put_named(json, "unit", model, type.unit);
    report_json_end(json, '}');
}

static void
put_facts(struct report_json *json, const struct heapprof_model *model)
{
    report_json_member_begin(json, "sample_types", '[');
    for (uint32_t i = 0; i < model->type_count; i++) put_type(json, model, model->types[i]);
    report_json_end(json, ']');
    put_named(json, "default_sample_type", model,
              model->types[rb_heapprof_model_default_type(model)].type);
    report_json_line(json);
    report_json_member_integer(json, "time_ns", model->time_ns);
    report_json_member_integer(json, "duration_ns", model->duration_ns);
    report_json_key(json, "period_type");
    put_type(json, model, model->period_type);
    report_json_member_integer(json, "period", model->period);
    report_json_member_begin(json, "comments", '[');
    for (uint32_t i = 0; i < model->comment_count; i++)
        report_json_model_string(json, model, model->comments[i]);
    report_json_end(json, ']');
}

/* Begins an array. Each of its elements will be on a line of its own. */
static void
begin_things(struct report_json *json, const char *key)
{
    report_json_line(json);
    report_json_member_begin(json, key, '[');
}

static void
put_mappings(struct report_json *json, const struct heapprof_model *model)
{
    begin_things(json, "mappings");
    for (uint32_t i = 0; i < rb_heapprof_model_mappings(model); i++) {
        const struct heapprof_model_mapping *mapping = &model->mappings[i];
        report_json_line(json);
        report_json_begin(json, '{');
        report_json_member_unsigned(json, "start", mapping->start);
        report_json_member_unsigned(json, "limit", mapping->limit);
        report_json_member_unsigned(json, "offset", mapping->offset);
        put_named(json, "file", model, mapping->filename);
        put_named(json, "build_id", model, mapping->build_id);
        report_json_end(json, '}');
    }
    report_json_end(json, ']');
}

static void
put_functions(struct report_json *json, const struct heapprof_model *model)
{
    begin_things(json, "functions");
    for (uint32_t i = 0; i < rb_heapprof_model_functions(model); i++) {
        const struct heapprof_model_function *function = &model->functions[i];
        report_json_line(json);
        report_json_begin(json, '{');
        put_named(json, "name", model, function->name);
        put_named(json, "file", model, function->filename);
        report_json_member_integer(json, "start_line", function->start_line);
        report_json_end(json, '}');
    }
    report_json_end(json, ']');
}

static void
put_locations(struct report_json *json, const struct heapprof_model *model)
{
    begin_things(json, "locations");
    for (uint32_t i = 0; i < rb_heapprof_model_locations(model); i++) {
        const struct heapprof_model_location *location = &model->locations[i];
        report_json_line(json);
        report_json_begin(json, '{');
        report_json_member_begin(json, "lines", '[');
        for (uint32_t l = location->first_line; l < location[1].first_line; l++) {
            report_json_begin(json, '[');
            put_place(json, model->lines[l].function);
            report_json_integer(json, model->lines[l].line);
            report_json_end(json, ']');
        }
        report_json_end(json, ']');
        report_json_key(json, "mapping");
        put_place(json, location->mapping);
        report_json_member_unsigned(json, "address", location->address);
        report_json_end(json, '}');
    }
    report_json_end(json, ']');
}

static void
put_labels(struct report_json *json, const struct heapprof_samples *samples)
{
    const struct heapprof_model *model = samples->model;

    report_json_begin(json, '[');
    for (uint32_t i = 0; i < samples->label_count; i++) {
        const struct heapprof_model_label *label = &samples->labels[i];
        report_json_begin(json, '[');
        report_json_model_string(json, model, label->key);
        if (label->str) report_json_model_string(json, model, label->str);
        else report_json_integer(json, label->num);
        if (!label->str && label->unit) report_json_model_string(json, model, label->unit);
        report_json_end(json, ']');
    }
    report_json_end(json, ']');
}

static void
put_sample(struct report_json *json, const struct heapprof_samples *samples)
{
    report_json_begin(json, '{');
    report_json_member_begin(json, "locations", '[');
    for (uint32_t i = 0; i < samples->location_count; i++)
        report_json_unsigned(json, samples->locations[i]);
    report_json_end(json, ']');
    report_json_member_begin(json, "values", '[');
    for (uint32_t i = 0; i < samples->model->type_count; i++)
        report_json_integer(json, samples->values[i]);
    report_json_end(json, ']');
    report_json_key(json, "labels");
    put_labels(json, samples);
    report_json_end(json, '}');
}

static bool
put_samples(struct report_json *json, const struct heapprof_model *model)
{
    struct heapprof_samples samples;
    bool room = rb_heapprof_samples_begin(&samples, model);

    begin_things(json, "samples");
    while (room && rb_heapprof_samples_next(&samples)) {
        report_json_line(json);
        put_sample(json, &samples);
    }
    report_json_end(json, ']');
    rb_heapprof_samples_end(&samples);
    return room;
}

bool
report_export_json(FILE *out, const struct heapprof_model *model, uint32_t type)
{
    struct report_json json = {.out = out};
    bool done;

    (void)type; /* all types are written */
    report_json_begin(&json, '{');
    put_facts(&json, model);
    put_mappings(&json, model);
    put_functions(&json, model);
    put_locations(&json, model);
    done = put_samples(&json, model);
    report_json_end(&json, '}');
    putc('\n', out);
    return done;
}
