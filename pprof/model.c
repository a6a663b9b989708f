/* model.c - arrays that grow, and samples end to end.
 *
 *  I1  A sample is the numbers (wire.h)  locations labels  id...  value...  (key str num unit)...
 *      The first two say how many ids and labels follow. There is a value for each type. Ids are
 *      the file's. They are looked up when the sample is walked, so samples may come before the
 *      things that they name.
 *  I2  After finish, every id and every string that a thing names is there.
 *
 * Numbers take as many bytes here as in a file. A file's tags and lengths take more bytes than the
 * two counts. So samples, most of a large profile, take no more memory than they take in the file.
 */
#include "pprof/model.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "pprof/wire.h"

/* ---- reading ---- */

const char *
rb_heapprof_model_string(const struct heapprof_model *model, uint32_t string, size_t *length)
{
    if (model->string_count == 0) { /* a file may have no strings */
        if (length) *length = 0;
        return "";
    }
    HEAPPROF_ASSERT(string < model->string_count);
    if (length) *length = model->string_starts[string + 1] - model->string_starts[string] - 1;
    return model->text + model->string_starts[string];
}

uint32_t
rb_heapprof_model_type(const struct heapprof_model *model, const char *name)
{
    uint32_t type = 0;

    while (type < model->type_count &&
           strcmp(rb_heapprof_model_string(model, model->types[type].type, NULL), name)) type++;
    return type;
}

uint32_t
rb_heapprof_model_default_type(const struct heapprof_model *model)
{
    const char *name = rb_heapprof_model_string(model, model->default_type, NULL);
    uint32_t type = name[0] ? rb_heapprof_model_type(model, name) : model->type_count;

    return type < model->type_count ? type : model->type_count - 1;
}

const char *
rb_heapprof_model_comment(const struct heapprof_model *model, const char *start)
{
    for (uint32_t i = 0; i < model->comment_count; i++) {
        const char *text = rb_heapprof_model_string(model, model->comments[i], NULL);
        if (!strncmp(text, start, strlen(start))) return text + strlen(start);
    }
    return NULL;
}

/* ---- the walk ---- */

bool
rb_heapprof_samples_begin(struct heapprof_samples *samples, const struct heapprof_model *model)
{
    *samples = (struct heapprof_samples){.model = model};
    samples->locations = malloc(((size_t)model->most_locations + 1) * sizeof(*samples->locations));
    samples->values = malloc(((size_t)model->type_count + 1) * sizeof(*samples->values));
    samples->labels = malloc(((size_t)model->most_labels + 1) * sizeof(*samples->labels));
    return samples->locations && samples->values && samples->labels;
}

void
rb_heapprof_samples_end(struct heapprof_samples *samples)
{
    free(samples->locations);
    free(samples->values);
    free(samples->labels);
}

/* Packed samples are our own, so their numbers end where they should. */
static uint64_t
number(struct heapprof_wire *wire)
{
    uint64_t value = 0;
    bool there = rb_heapprof_wire_varint(wire, &value);

    (void)there;
    HEAPPROF_ASSERT(there);
    return value;
}

static struct heapprof_wire
rest(const struct heapprof_samples *samples)
{
    const struct heapprof_model *model = samples->model;
    return (struct heapprof_wire){ model->samples + samples->at,
                                    model->samples + model->samples_bytes };
}

bool
rb_heapprof_samples_next(struct heapprof_samples *samples)
{
    const struct heapprof_model *model = samples->model;
    struct heapprof_wire wire;

    if (samples->at == model->samples_bytes) return false;
    wire = rest(samples);
    samples->number++;
    samples->location_count = (uint32_t)number(&wire);
    samples->label_count = (uint32_t)number(&wire);
    for (uint32_t i = 0; i < samples->location_count; i++) {
        samples->locations[i] = rb_heapprof_ids_find(&model->location_ids, number(&wire));
    }
    for (uint32_t i = 0; i < model->type_count; i++) samples->values[i] = (int64_t)number(&wire);
    for (uint32_t i = 0; i < samples->label_count; i++) {
        struct heapprof_model_label *label = &samples->labels[i];
        label->key = (uint32_t)number(&wire);
        label->str = (uint32_t)number(&wire);
        label->num = (int64_t)number(&wire);
        label->unit = (uint32_t)number(&wire);
    }
    samples->at = (size_t)(wire.at - model->samples);
    return true;
}

/* ---- making one ---- */

struct heapprof_model *
rb_heapprof_model_new(void)
{
    struct heapprof_model *model = calloc(1, sizeof(*model));

    if (model) rb_heapprof_mem_init(&model->mem, SIZE_MAX);
    return model;
}

void
rb_heapprof_model_free(struct heapprof_model *model)
{
    if (!model) return;
    HEAPPROF_MEM_RELEASE(&model->mem, model->text, model->text_capacity);
    HEAPPROF_MEM_RELEASE(&model->mem, model->string_starts, model->string_capacity);
    HEAPPROF_MEM_RELEASE(&model->mem, model->types, model->type_capacity);
    HEAPPROF_MEM_RELEASE(&model->mem, model->mappings, model->mapping_capacity);
    HEAPPROF_MEM_RELEASE(&model->mem, model->locations, model->location_capacity);
    HEAPPROF_MEM_RELEASE(&model->mem, model->lines, model->line_capacity);
    HEAPPROF_MEM_RELEASE(&model->mem, model->functions, model->function_capacity);
    HEAPPROF_MEM_RELEASE(&model->mem, model->samples, model->samples_capacity);
    HEAPPROF_MEM_RELEASE(&model->mem, model->comments, model->comment_capacity);
    rb_heapprof_ids_free(&model->mapping_ids, &model->mem);
    rb_heapprof_ids_free(&model->location_ids, &model->mem);
    rb_heapprof_ids_free(&model->function_ids, &model->mem);
    free(model);
}

bool
rb_heapprof_model_append_text(struct heapprof_model *model, const char *text, size_t length)
{
    if (length > UINT32_MAX - 1 - model->text_bytes ||
        !HEAPPROF_MEM_GROW(&model->mem, model->text, model->text_capacity,
                           model->text_bytes + length + 1)) {
        return false;
    }
    memcpy(model->text + model->text_bytes, text, length);
    model->text_bytes += length;
    return true;
}

uint32_t
rb_heapprof_model_end_string(struct heapprof_model *model)
{
    if (!rb_heapprof_model_append_text(model, "", 1) ||
        !HEAPPROF_MEM_GROW(&model->mem, model->string_starts, model->string_capacity,
                           (size_t)model->string_count + 2)) return HEAPPROF_NO_STRING;
    model->string_starts[model->string_count + 1] = (uint32_t)model->text_bytes;
    return model->string_count++;
}

uint32_t
rb_heapprof_model_add_string(struct heapprof_model *model, const char *text, size_t length)
{
    if (!rb_heapprof_model_append_text(model, text, length)) return HEAPPROF_NO_STRING;
    return rb_heapprof_model_end_string(model);
}

struct heapprof_model_type *
rb_heapprof_model_add_type(struct heapprof_model *model)
{
    if (!HEAPPROF_MEM_GROW(&model->mem, model->types, model->type_capacity,
                           (size_t)model->type_count + 1)) return NULL;
    return &model->types[model->type_count++];
}

struct heapprof_model_mapping *
rb_heapprof_model_add_mapping(struct heapprof_model *model)
{
    uint32_t count = rb_heapprof_model_mappings(model);

    if (!HEAPPROF_MEM_GROW(&model->mem, model->mappings, model->mapping_capacity, count))
        return NULL;
    return &model->mappings[count - 1];
}

struct heapprof_model_location *
rb_heapprof_model_add_location(struct heapprof_model *model)
{
    uint32_t count = rb_heapprof_model_locations(model);

    if (!HEAPPROF_MEM_GROW(&model->mem, model->locations, model->location_capacity,
                           (size_t)count + 1)) {
        return NULL;
    }
    model->locations[count].first_line = model->locations[count - 1].first_line = model->line_count;
    return &model->locations[count - 1];
}

struct heapprof_model_line *
rb_heapprof_model_add_line(struct heapprof_model *model)
{
    if (model->line_count == UINT32_MAX ||
        !HEAPPROF_MEM_GROW(&model->mem, model->lines, model->line_capacity,
                           (size_t)model->line_count + 1)) return NULL;
    model->locations[rb_heapprof_model_locations(model)].first_line = model->line_count + 1;
    return &model->lines[model->line_count++];
}

struct heapprof_model_function *
rb_heapprof_model_add_function(struct heapprof_model *model)
{
    uint32_t count = rb_heapprof_model_functions(model);

    if (!HEAPPROF_MEM_GROW(&model->mem, model->functions, model->function_capacity, count))
        return NULL;
    return &model->functions[count - 1];
}

bool
rb_heapprof_model_add_comment(struct heapprof_model *model, uint32_t comment)
{
    if (model->comment_count == UINT32_MAX ||
        !HEAPPROF_MEM_GROW(&model->mem, model->comments, model->comment_capacity,
                           (size_t)model->comment_count + 1)) return false;
    model->comments[model->comment_count++] = comment;
    return true;
}

bool
rb_heapprof_model_add_number(struct heapprof_model *model, uint64_t value)
{
    unsigned char *end;

    if (!HEAPPROF_MEM_GROW(&model->mem, model->samples, model->samples_capacity,
                           model->samples_bytes + HEAPPROF_VARINT_MAX)) return false;
    end = rb_heapprof_wire_put(model->samples + model->samples_bytes, value);
    model->samples_bytes = (size_t)(end - model->samples);
    return true;
}

bool
rb_heapprof_model_begin_sample(struct heapprof_model *model, uint32_t locations, uint32_t labels)
{
    if (locations > model->most_locations) model->most_locations = locations;
    if (labels > model->most_labels) model->most_labels = labels;
    model->sample_count++;
    return rb_heapprof_model_add_number(model, locations) &&
           rb_heapprof_model_add_number(model, labels);
}

/* ---- finish ---- */

/* Where a message about the model goes. */
struct checking {
    struct heapprof_model *model;
    char  *message;
    size_t size;
};

static bool
string_there(const struct checking *checking, const char *what, uint64_t which, uint64_t string)
{
    uint32_t count = checking->model->string_count;

    if (string < count || string == 0) return true;
    snprintf(checking->message, checking->size,
             "%s %" PRIu64 ": there is no string %" PRIu64 ", only %" PRIu32, what, which, string,
             count);
    return false;
}

static bool
check_types(const struct checking *checking)
{
    const struct heapprof_model *model = checking->model;

    for (uint32_t i = 0; i < model->type_count; i++) {
        if (!string_there(checking, "sample type", i + 1, model->types[i].type) ||
            !string_there(checking, "sample type", i + 1, model->types[i].unit)) return false;
    }
    for (uint32_t i = 0; i < model->comment_count; i++) {
        if (!string_there(checking, "comment", i + 1, model->comments[i])) return false;
    }
    return string_there(checking, "period type", 1, model->period_type.type) &&
           string_there(checking, "period type", 1, model->period_type.unit) &&
           string_there(checking, "default sample type", 1, model->default_type) &&
           string_there(checking, "drop_frames", 1, model->drop_frames) &&
           string_there(checking, "keep_frames", 1, model->keep_frames) &&
           string_there(checking, "doc_url", 1, model->doc_url);
}

static bool
check_mappings(const struct checking *checking)
{
    const struct heapprof_model *model = checking->model;

    for (uint32_t i = 0; i < rb_heapprof_model_mappings(model); i++) {
        uint64_t id = rb_heapprof_ids_at(&model->mapping_ids, i);
        if (!string_there(checking, "mapping", id, model->mappings[i].filename) ||
            !string_there(checking, "mapping", id, model->mappings[i].build_id)) return false;
    }
    return true;
}

static bool
check_functions(const struct checking *checking)
{
    const struct heapprof_model *model = checking->model;

    for (uint32_t i = 0; i < rb_heapprof_model_functions(model); i++) {
        const struct heapprof_model_function *function = &model->functions[i];
        uint64_t id = rb_heapprof_ids_at(&model->function_ids, i);
        if (!string_there(checking, "function", id, function->name) ||
            !string_there(checking, "function", id, function->system_name) ||
            !string_there(checking, "function", id, function->filename)) return false;
    }
    return true;
}

/* A location may name a mapping that is not in the file. Then the location has no mapping, as
 * for pprof. A mapping only says where to look for names, and is often left out. A missing
 * function is an error: the frame would have no name. */
static bool
resolve_locations(const struct checking *checking)
{
    struct heapprof_model *model = checking->model;

    for (uint32_t i = 0; i < rb_heapprof_model_locations(model); i++) {
        struct heapprof_model_location *location = &model->locations[i];
        location->mapping = rb_heapprof_ids_find(&model->mapping_ids, location->mapping);
        for (uint32_t l = location->first_line; l < location[1].first_line; l++) {
            uint64_t id = model->lines[l].function;
            model->lines[l].function = rb_heapprof_ids_find(&model->function_ids, id);
            if (id == 0 || model->lines[l].function != HEAPPROF_NO_PLACE) continue;
            snprintf(checking->message, checking->size,
                     "location %"PRIu64": function %"PRIu64" is not in the file",
                     rb_heapprof_ids_at(&model->location_ids, i), id);
            return false;
        }
    }
    return true;
}

static bool
check_locations(const struct checking *checking, uint64_t sample, struct heapprof_wire *wire,
                uint64_t count)
{
    while (count-- > 0) {
        uint64_t id = number(wire);
        if (rb_heapprof_ids_find(&checking->model->location_ids, id) != HEAPPROF_NO_PLACE) continue;
        snprintf(checking->message, checking->size,
                 "sample %"PRIu64": location %"PRIu64" is not in the file", sample, id);
        return false;
    }
    return true;
}

static bool
check_labels(const struct checking *checking, uint64_t sample, struct heapprof_wire *wire,
             uint64_t count)
{
    while (count-- > 0) {
        uint64_t key = number(wire), str = number(wire), unit;
        number(wire);
        unit = number(wire);
        if (!string_there(checking, "sample", sample, key) ||
            !string_there(checking, "sample", sample, str) ||
            !string_there(checking, "sample", sample, unit))
            return false;
    }
    return true;
}

static bool
check_samples(const struct checking *checking)
{
    const struct heapprof_model *model = checking->model;
    struct heapprof_wire wire;

    if (model->samples_bytes == 0) return true;
    wire = (struct heapprof_wire){model->samples, model->samples + model->samples_bytes};
    for (uint64_t sample = 1; wire.at < wire.end; sample++) {
        uint64_t locations = number(&wire), labels = number(&wire);
        if (!check_locations(checking, sample, &wire, locations)) return false;
        for (uint32_t i = 0; i < model->type_count; i++) number(&wire);
        if (!check_labels(checking, sample, &wire, labels)) return false;
    }
    return true;
}

bool
rb_heapprof_model_finish(struct heapprof_model *model, char *message, size_t message_size)
{
    struct checking checking = {model, message, message_size};

    return check_types(&checking) && check_mappings(&checking) && check_functions(&checking) &&
           resolve_locations(&checking) && check_samples(&checking);
}
