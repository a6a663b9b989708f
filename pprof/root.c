/* root.c - puts the value of a label at the root of each stack.
 *
 *     Array#map <- Cart#load            endpoint "/cart"      +  <- /cart
 *     Rack#call                         no endpoint           +  <- (none)
 *
 * The model is finished: things name each other by their places. Only samples have ids, so each
 * new location gets one that the file does not use.
 */
#include "pprof/root.h"

#include <inttypes.h>
#include <stdio.h>

#include "pprof/digest.h"

#define VALUE_MAX 64 /* of a number with its unit */

struct rooting {
    struct heapprof_model *model;
    const char *key;
    struct heapprof_digests values;
    uint64_t *locations;         /* by the number of a value: the id of its location */
    size_t    location_capacity;
    uint64_t  location_id, function_id; /* those that are tried next */
};

/* The label that counts. NULL if the sample has none. */
static const struct heapprof_model_label *
find_label(const struct rooting *rooting, const struct heapprof_samples *samples)
{
    for (uint32_t i = 0; i < samples->label_count; i++) {
        const char *key =
            rb_heapprof_model_string(samples->model, samples->labels[i].key, NULL);
        if (!strcmp(key, rooting->key)) return &samples->labels[i];
    }
    return NULL;
}

/* The string with the value. Returns HEAPPROF_NO_STRING if there is no memory. */
static uint32_t
value_string(struct heapprof_model *model, const struct heapprof_model_label *label)
{
    char text[VALUE_MAX];

    if (!label) return rb_heapprof_model_add_string(model, "(none)", 6);
    if (label->str) return label->str;
    int length = snprintf(text, sizeof(text), "%" PRId64 " %.32s", label->num,
                          rb_heapprof_model_string(model, label->unit, NULL));
    if (!label->unit) length--;
    return rb_heapprof_model_add_string(model, text, (size_t)length);
}

/* Gives the next place an id that is not used yet. *id is tried first. */
static bool
add_id(struct heapprof_ids *ids, struct heapprof_mem *mem, uint64_t *id)
{
    enum heapprof_ids_result result;

    if (!ids->all) *id = (uint64_t)ids->count + 1;
    while ((result = rb_heapprof_ids_add(ids, mem, *id)) == HEAPPROF_IDS_TWICE) --*id;
    return result == HEAPPROF_IDS_ADDED;
}

/* A function with that name, at a location and a line of its own. */
static bool
add_root(struct rooting *rooting, uint32_t name)
{
    struct heapprof_model *model = rooting->model;
    struct heapprof_model_function *function;
    struct heapprof_model_location *location;
    struct heapprof_model_line *line;

    if (!add_id(&model->function_ids, &model->mem, &rooting->function_id) ||
        !(function = rb_heapprof_model_add_function(model)) ||
        !add_id(&model->location_ids, &model->mem, &rooting->location_id) ||
        !(location = rb_heapprof_model_add_location(model)) ||
        !(line = rb_heapprof_model_add_line(model))) return false;
    *function = (struct heapprof_model_function){.name = name, .system_name = name};
    location->address = 0;
    location->mapping = HEAPPROF_NO_PLACE;
    location->folded = false;
    *line = (struct heapprof_model_line){
        .function = rb_heapprof_model_functions(model) - 1
    };
    return true;
}

/* The number of the sample's value. Returns 0 if there is no memory. */
static uint32_t
value_number(struct rooting *rooting, const struct heapprof_model_label *label)
{
    struct heapprof_digest digest = rb_heapprof_digest_begin();
    struct heapprof_model_label none = {0};
    const struct heapprof_model_label *value = label ? label : &none;
    size_t length;
    const char *text = rb_heapprof_model_string(rooting->model, value->str, &length);

    rb_heapprof_digest_number(&digest, label != NULL);
    rb_heapprof_digest_bytes(&digest, text, length);
    rb_heapprof_digest_number(&digest, (uint64_t)value->num);
    rb_heapprof_digest_number(&digest, value->unit);
    return rb_heapprof_digests_number(&rooting->values, digest);
}

static bool
find_roots(struct rooting *rooting)
{
    struct heapprof_samples samples;
    bool room = rb_heapprof_samples_begin(&samples, rooting->model);

    while (room && rb_heapprof_samples_next(&samples)) {
        const struct heapprof_model_label *label = find_label(rooting, &samples);
        uint32_t before = rooting->values.count, number = value_number(rooting, label);
        room = number != 0;
        if (!room || rooting->values.count == before) continue;
        uint32_t name = value_string(rooting->model, label);
        room = name != HEAPPROF_NO_STRING && add_root(rooting, name) &&
               HEAPPROF_MEM_GROW(rooting->values.mem, rooting->locations,
                                 rooting->location_capacity, (size_t)number + 1);
        if (room) rooting->locations[number] = rooting->location_id;
    }
    rb_heapprof_samples_end(&samples);
    return room;
}

static bool
copy_sample(struct rooting *rooting, const struct heapprof_samples *samples, uint64_t root)
{
    struct heapprof_model *model = rooting->model;
    bool room = rb_heapprof_model_begin_sample(model, samples->location_count + 1,
                                               samples->label_count);

    for (uint32_t i = 0; room && i < samples->location_count; i++) {
        uint64_t id = rb_heapprof_ids_at(&model->location_ids, samples->locations[i]);
        room = rb_heapprof_model_add_number(model, id);
    }
    room = room && rb_heapprof_model_add_number(model, root);
    for (uint32_t i = 0; room && i < model->type_count; i++)
        room = rb_heapprof_model_add_number(model, (uint64_t)samples->values[i]);
    for (uint32_t i = 0; room && i < samples->label_count; i++) {
        const struct heapprof_model_label *label = &samples->labels[i];
        room = rb_heapprof_model_add_number(model, label->key) &&
               rb_heapprof_model_add_number(model, label->str) &&
               rb_heapprof_model_add_number(model, (uint64_t)label->num) &&
               rb_heapprof_model_add_number(model, label->unit);
    }
    return room;
}

/* Packs all samples anew: `before` keeps them as they were, while the model gets them. */
static bool
root_samples(struct rooting *rooting)
{
    struct heapprof_model *model = rooting->model, before = *model;
    struct heapprof_samples samples;
    bool room = rb_heapprof_samples_begin(&samples, &before);

    model->samples = NULL;
    model->samples_capacity = model->samples_bytes = 0;
    model->sample_count = 0;
    while (room && rb_heapprof_samples_next(&samples)) {
        uint32_t number = value_number(rooting, find_label(rooting, &samples));
        room = number && copy_sample(rooting, &samples, rooting->locations[number]);
    }
    rb_heapprof_samples_end(&samples);
    HEAPPROF_MEM_RELEASE(&model->mem, before.samples, before.samples_capacity);
    return room;
}

bool
rb_heapprof_model_root(struct heapprof_model *model, const char *key)
{
    struct heapprof_mem mem;
    struct rooting rooting = {.model = model, .key = key, .values.mem = &mem,
                              .location_id = UINT64_MAX, .function_id = UINT64_MAX};

    rb_heapprof_mem_init(&mem, SIZE_MAX);
    bool room = model->string_count > 0 || rb_heapprof_model_add_string(model, "", 0) == 0;
    room = room && find_roots(&rooting) && root_samples(&rooting);
    rb_heapprof_digests_free(&rooting.values);
    HEAPPROF_MEM_RELEASE(&mem, rooting.locations, rooting.location_capacity);
    return room;
}
