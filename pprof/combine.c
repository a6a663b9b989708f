/* combine.c - makes one model of several.
 *
 *     a model's strings, functions, mappings, locations --by digest--> numbers in the result
 *     a sample --digest of these numbers--> sum: values, and where its stack and labels are packed
 *
 * The things in the result are numbered from 1, in the order in which they are first used. The
 * number of a thing is its id. So the result has no thing that no sample uses. Numbers are content:
 * two things are alike if they are made of the same numbers.
 *
 *  I1  The n-th digest of functions is that of the result's function with the id n. The same holds
 *      for mappings and locations. The n-th digest of strings is that of string n.
 *  I2  Sum n has its values at [n * types]. Its packed stack and labels are at keys[sums[n]]
 *      (model.c, I1, without values).
 *
 * A variance (doc/design/estimator.md) adds up under either sign.
 */
#include "pprof/combine.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pprof/digest.h"
#include "pprof/wire.h"

struct combining {
    struct heapprof_model *result;
    struct heapprof_mem mem;           /* the account that the fields below are from */
    struct heapprof_digests strings, functions, mappings, locations, samples;
    unsigned char *keys;               /* the stacks and labels of the sums, packed */
    size_t    keys_capacity, keys_bytes;
    size_t   *sums;                    /* by number: where the sum's key begins */
    size_t    sum_capacity;
    int64_t  *values;
    size_t    value_capacity;
    bool      refused;                 /* a string had no room */
    char     *error;
};

/* One model that is being added. The arrays have the numbers in the result; 0: the result does
 * not have the thing yet. */
struct combine_adding {
    struct combining *combining;
    const struct heapprof_model *model;
    int       sign;
    uint32_t *strings, *functions, *mappings, *locations;
    uint32_t *types;                   /* by the result's type: the model's type */
};

/* ---- things ---- */

static uint32_t
refuse(struct combine_adding *adding)
{
    adding->combining->refused = true;
    return UINT32_MAX;
}

/* Returns the number of a string in the result. Returns UINT32_MAX if there is no memory. */
static uint32_t
string(struct combine_adding *adding, uint32_t which)
{
    struct combining *combining = adding->combining;
    struct heapprof_digest digest = rb_heapprof_digest_begin();
    uint32_t before = combining->strings.count, number;
    const char *text;
    size_t length;

    if (which == 0) return 0;
    if (adding->strings[which]) return adding->strings[which];
    text = rb_heapprof_model_string(adding->model, which, &length);
    if (length == 0) return 0;
    rb_heapprof_digest_bytes(&digest, text, length);
    number = rb_heapprof_digests_number(&combining->strings, digest);
    if (number == 0) return refuse(adding);
    if (combining->strings.count > before &&
        rb_heapprof_model_add_string(combining->result, text, length) == HEAPPROF_NO_STRING)
        return refuse(adding);
    return adding->strings[which] = number;
}

static void
digest_numbers(struct heapprof_digest *digest, const uint64_t *numbers, size_t count)
{
    *digest = rb_heapprof_digest_begin();
    for (size_t i = 0; i < count; i++) rb_heapprof_digest_number(digest, numbers[i]);
}

/* Returns the number of the thing that has that digest. *added says whether the thing is new; a
 * new thing has been given its id. Returns 0 if there is no memory. */
static uint32_t
thing(struct combining *combining, struct heapprof_digests *digests, struct heapprof_ids *ids,
      struct heapprof_digest digest, bool *added)
{
    uint32_t before = digests->count, number = rb_heapprof_digests_number(digests, digest);

    *added = number != 0 && digests->count > before;
    if (*added && rb_heapprof_ids_add(ids, &combining->result->mem, number) != HEAPPROF_IDS_ADDED)
        return 0;
    return number;
}

static uint32_t
function(struct combine_adding *adding, uint64_t place)
{
    struct combining *combining = adding->combining;
    const struct heapprof_model_function *from;
    struct heapprof_model_function copy, *function;
    struct heapprof_digest digest;
    bool added;

    if (adding->functions[place]) return adding->functions[place];
    from = &adding->model->functions[place];
    copy = (struct heapprof_model_function){ string(adding, from->name),
                                              string(adding, from->system_name),
                                              string(adding, from->filename), from->start_line };
    if (copy.name == UINT32_MAX || copy.system_name == UINT32_MAX || copy.filename == UINT32_MAX)
        return 0;
    digest_numbers(
        &digest,
        (uint64_t[]) { copy.name, copy.system_name, copy.filename, (uint64_t)copy.start_line }, 4);
    adding->functions[place] =
        thing(combining, &combining->functions, &combining->result->function_ids, digest, &added);
    if (!added) return adding->functions[place];
    function = rb_heapprof_model_add_function(combining->result);
    if (!function) return 0;
    *function = copy;
    return adding->functions[place];
}

static uint32_t
mapping(struct combine_adding *adding, uint64_t place)
{
    struct combining *combining = adding->combining;
    struct heapprof_model_mapping copy, *mapping;
    struct heapprof_digest digest;
    bool added;

    if (adding->mappings[place]) return adding->mappings[place];
    copy = adding->model->mappings[place];
    copy.filename = string(adding, copy.filename);
    copy.build_id = string(adding, copy.build_id);
    if (copy.filename == UINT32_MAX || copy.build_id == UINT32_MAX) return 0;
    digest_numbers(&digest, (uint64_t[]){copy.limit - copy.start, copy.offset, copy.build_id != 0,
                                         copy.build_id ? copy.build_id : copy.filename}, 4);
    adding->mappings[place] =
        thing(combining, &combining->mappings, &combining->result->mapping_ids, digest, &added);
    if (!added) return adding->mappings[place];
    mapping = rb_heapprof_model_add_mapping(combining->result);
    if (!mapping) return 0;
    *mapping = copy;
    return adding->mappings[place];
}

/* Digests the content of the location's lines, in their order. Returns false if there is no
 * memory. */
static bool
digest_lines(struct combine_adding *adding, const struct heapprof_model_location *from,
             struct heapprof_digest *digest)
{
    for (uint32_t l = from->first_line; l < from[1].first_line; l++) {
        const struct heapprof_model_line *line = &adding->model->lines[l];
        uint32_t number =
            line->function == HEAPPROF_NO_PLACE ? 0 : function(adding, line->function);
        if (number == 0 && line->function != HEAPPROF_NO_PLACE) return false;
        rb_heapprof_digest_number(digest, number);
        rb_heapprof_digest_number(digest, (uint64_t)line->line);
        rb_heapprof_digest_number(digest, (uint64_t)line->column);
    }
    return true;
}

/* Adds to the result the location whose number was just given. */
static bool
fill_location(struct combine_adding *adding, const struct heapprof_model_location *from,
              uint32_t mapping_id)
{
    struct heapprof_model *result = adding->combining->result;
    struct heapprof_model_location *location = rb_heapprof_model_add_location(result);

    if (!location) return false;
    location->mapping = mapping_id;
    location->address = from->address;
    location->folded = from->folded;
    for (uint32_t l = from->first_line; l < from[1].first_line; l++) {
        struct heapprof_model_line *line = rb_heapprof_model_add_line(result);
        if (!line) return false;
        *line = adding->model->lines[l];
        line->function =
            line->function == HEAPPROF_NO_PLACE ? 0 : adding->functions[line->function];
    }
    return true;
}

static uint32_t
location(struct combine_adding *adding, uint32_t place)
{
    struct combining *combining = adding->combining;
    const struct heapprof_model_location *from = &adding->model->locations[place];
    uint64_t address = from->address;
    struct heapprof_digest digest;
    uint32_t mapping_id = 0, number;
    bool added;

    if (adding->locations[place]) return adding->locations[place];
    if (from->mapping != HEAPPROF_NO_PLACE) {
        mapping_id = mapping(adding, from->mapping);
        if (mapping_id == 0) return 0;
        address -= adding->model->mappings[from->mapping].start;
    }
    digest_numbers(&digest, (uint64_t[]){mapping_id, address, from->folded}, 3);
    if (!digest_lines(adding, from, &digest)) return 0;
    number =
        thing(combining, &combining->locations, &combining->result->location_ids, digest, &added);
    if (added && !fill_location(adding, from, mapping_id)) return 0;
    return adding->locations[place] = number;
}

/* ---- sums ---- */

/* Makes room for a key of so many numbers. Returns where the key begins. */
static unsigned char *
key_room(struct combining *combining, size_t numbers)
{
    if (!HEAPPROF_MEM_GROW(&combining->mem, combining->keys, combining->keys_capacity,
                           combining->keys_bytes + numbers * HEAPPROF_VARINT_MAX)) return NULL;
    return combining->keys + combining->keys_bytes;
}

/* Packs the sample's stack and labels behind the keys that are kept. Returns their end, or NULL
 * if there is no memory. */
static unsigned char *
pack_key(struct combine_adding *adding, const struct heapprof_samples *samples)
{
    size_t numbers = 2 + (size_t)samples->location_count + 4 * (size_t)samples->label_count;
    unsigned char *at = key_room(adding->combining, numbers);

    if (!at) return NULL;
    at = rb_heapprof_wire_put(at, samples->location_count);
    at = rb_heapprof_wire_put(at, samples->label_count);
    for (uint32_t i = 0; i < samples->location_count; i++) {
        uint32_t number = location(adding, samples->locations[i]);
        if (number == 0) return NULL;
        at = rb_heapprof_wire_put(at, number);
    }
    for (uint32_t i = 0; i < samples->label_count; i++) {
        const struct heapprof_model_label *label = &samples->labels[i];
        uint32_t key = string(adding, label->key), str = string(adding, label->str);
        uint32_t unit = string(adding, label->unit);
        if (key == UINT32_MAX || str == UINT32_MAX || unit == UINT32_MAX) return NULL;
        at = rb_heapprof_wire_put(at, key);
        at = rb_heapprof_wire_put(at, str);
        at = rb_heapprof_wire_put(at, (uint64_t)label->num);
        at = rb_heapprof_wire_put(at, unit);
    }
    return at;
}

/* Returns the sum that a sample belongs to. Returns 0 if there is no memory. */
static uint32_t
sum_of(struct combine_adding *adding, const struct heapprof_samples *samples)
{
    struct combining *combining = adding->combining;
    struct heapprof_digest digest = rb_heapprof_digest_begin();
    uint32_t before = combining->samples.count, number;
    unsigned char *end = pack_key(adding, samples);
    size_t begin = combining->keys_bytes, types = combining->result->type_count;

    if (!end) return 0;
    rb_heapprof_digest_bytes(&digest, combining->keys + begin,
                             (size_t)(end - combining->keys) - begin);
    number = rb_heapprof_digests_number(&combining->samples, digest);
    if (number == 0 || combining->samples.count == before) return number;
    if (!HEAPPROF_MEM_GROW(&combining->mem, combining->sums, combining->sum_capacity,
                           (size_t)number + 1) ||
        !HEAPPROF_MEM_GROW(&combining->mem, combining->values, combining->value_capacity,
                           ((size_t)number + 1) * types))
        return 0;
    combining->sums[number] = begin;
    combining->keys_bytes = (size_t)(end - combining->keys);
    return number;
}

/* Adds. The result stops at the ends of the range. */
static int64_t
plus(int64_t sum, int64_t value)
{
    int64_t result;

    if (!__builtin_add_overflow(sum, value, &result)) return result;
    return value > 0 ? INT64_MAX : INT64_MIN;
}

static int64_t
minus(int64_t value)
{
    return value == INT64_MIN ? INT64_MAX : -value;
}

static bool
variance_p(const struct heapprof_model *model, uint32_t type)
{
    const char *name = rb_heapprof_model_string(model, model->types[type].type, NULL);
    size_t length = strlen(name);

    return length > 9 && !strcmp(name + length - 9, "_variance");
}

static bool
add_samples(struct combine_adding *adding)
{
    struct combining *combining = adding->combining;
    uint32_t types = combining->result->type_count;
    struct heapprof_samples samples;
    bool room = rb_heapprof_samples_begin(&samples, adding->model);

    while (room && rb_heapprof_samples_next(&samples)) {
        uint32_t sum = sum_of(adding, &samples);
        room = sum != 0;
        for (uint32_t type = 0; room && type < types; type++) {
            int64_t value = samples.values[adding->types[type]];
            int64_t *all = &combining->values[(size_t)sum * types + type];
            bool negative = adding->sign < 0 && !variance_p(combining->result, type);
            *all = plus(*all, negative ? minus(value) : value);
        }
    }
    rb_heapprof_samples_end(&samples);
    return room;
}

/* ---- a model ---- */

/* Returns the model's type that has the name and unit of a type of the other model. Returns
 * type_count if the model has no such type. */
static uint32_t
find_type(const struct heapprof_model *model, const struct heapprof_model *other, uint32_t which)
{
    const char *name = rb_heapprof_model_string(other, other->types[which].type, NULL);
    const char *unit = rb_heapprof_model_string(other, other->types[which].unit, NULL);

    for (uint32_t type = 0; type < model->type_count; type++) {
        if (!strcmp(rb_heapprof_model_string(model, model->types[type].type, NULL), name) &&
            !strcmp(rb_heapprof_model_string(model, model->types[type].unit, NULL), unit))
            return type;
    }
    return model->type_count;
}

/* Returns whether model has all types of the other model. If it has not, the message says so. */
static bool
types_there(const struct heapprof_model *model, const char *name,
            const struct heapprof_model *other, const char *other_name, char *error)
{
    for (uint32_t type = 0; type < other->type_count; type++) {
        if (find_type(model, other, type) < model->type_count) continue;
        snprintf(error, HEAPPROF_COMBINE_ERROR_MAX,
                 "%.80s has no sample type %.32s in %.16s, which %.80s has", name,
                 rb_heapprof_model_string(other, other->types[type].type, NULL),
                 rb_heapprof_model_string(other, other->types[type].unit, NULL), other_name);
        return false;
    }
    return true;
}

static bool
no_memory(char *error)
{
    snprintf(error, HEAPPROF_COMBINE_ERROR_MAX, "no memory");
    return false;
}

static bool
begin_result(struct combine_adding *adding)
{
    const struct heapprof_model *model = adding->model;
    struct heapprof_model *result = adding->combining->result;

    for (uint32_t i = 0; i < model->type_count; i++) {
        struct heapprof_model_type *type = rb_heapprof_model_add_type(result);
        if (!type) return false;
        type->type = string(adding, model->types[i].type);
        type->unit = string(adding, model->types[i].unit);
    }
    result->period_type.type = string(adding, model->period_type.type);
    result->period_type.unit = string(adding, model->period_type.unit);
    result->period = model->period;
    result->default_type = string(adding, model->default_type);
    result->drop_frames = string(adding, model->drop_frames);
    result->keep_frames = string(adding, model->keep_frames);
    result->doc_url = string(adding, model->doc_url);
    return !adding->combining->refused;
}

static bool
comment_there(const struct heapprof_model *model, uint32_t comment)
{
    for (uint32_t i = 0; i < model->comment_count; i++) {
        if (model->comments[i] == comment) return true;
    }
    return false;
}

#define COMMENTS_MOST 1000 /* of the result: each comment is compared with all the rest */

static bool
add_facts(struct combine_adding *adding)
{
    const struct heapprof_model *model = adding->model;
    struct heapprof_model *result = adding->combining->result;

    if (model->time_ns != 0 && (result->time_ns == 0 || model->time_ns < result->time_ns)) {
        result->time_ns = model->time_ns;
    }
    result->duration_ns = plus(result->duration_ns, model->duration_ns);
    if (model->period > result->period) result->period = model->period;
    for (uint32_t i = 0; i < model->comment_count && result->comment_count < COMMENTS_MOST; i++) {
        uint32_t comment = string(adding, model->comments[i]);
        if (comment == UINT32_MAX) return false;
        if (!comment_there(result, comment) && !rb_heapprof_model_add_comment(result, comment))
            return false;
    }
    return true;
}

static bool
add_model(struct combining *combining, const struct heapprof_model *model, int sign)
{
    struct combine_adding adding = {.combining = combining, .model = model, .sign = sign};
    bool room;

    adding.strings = calloc((size_t)model->string_count + 1, sizeof(uint32_t));
    adding.functions = calloc((size_t)rb_heapprof_model_functions(model) + 1, sizeof(uint32_t));
    adding.mappings = calloc((size_t)rb_heapprof_model_mappings(model) + 1, sizeof(uint32_t));
    adding.locations = calloc((size_t)rb_heapprof_model_locations(model) + 1, sizeof(uint32_t));
    adding.types = calloc((size_t)model->type_count + 1, sizeof(uint32_t));
    room = adding.strings && adding.functions && adding.mappings && adding.locations &&
           adding.types && (combining->result->type_count > 0 || begin_result(&adding));
    for (uint32_t type = 0; room && type < combining->result->type_count; type++) {
        adding.types[type] = find_type(model, combining->result, type);
    }
    room = room && add_facts(&adding) && add_samples(&adding);
    free(adding.strings);
    free(adding.functions);
    free(adding.mappings);
    free(adding.locations);
    free(adding.types);
    return room;
}

/* ---- the result ---- */

static bool
nothing_p(const int64_t *values, uint32_t types)
{
    for (uint32_t type = 0; type < types; type++) {
        if (values[type]) return false;
    }
    return true;
}

static bool
copy_numbers(struct heapprof_model *result, struct heapprof_wire *key, uint64_t count)
{
    uint64_t number;

    while (count-- > 0) {
        if (!rb_heapprof_wire_varint(key, &number) || !rb_heapprof_model_add_number(result, number))
            return false;
    }
    return true;
}

static bool
add_sum(struct combining *combining, uint32_t number)
{
    struct heapprof_model *result = combining->result;
    const int64_t *values = &combining->values[(size_t)number * result->type_count];
    struct heapprof_wire key = { combining->keys + combining->sums[number],
                                 combining->keys + combining->keys_bytes };
    uint64_t locations, labels;

    if (nothing_p(values, result->type_count)) return true;
    if (!rb_heapprof_wire_varint(&key, &locations) || !rb_heapprof_wire_varint(&key, &labels) ||
        !rb_heapprof_model_begin_sample(result, (uint32_t)locations, (uint32_t)labels) ||
        !copy_numbers(result, &key, locations)) return false;
    for (uint32_t type = 0; type < result->type_count; type++) {
        if (!rb_heapprof_model_add_number(result, (uint64_t)values[type])) return false;
    }
    return copy_numbers(result, &key, labels * 4);
}

static bool
finish(struct combining *combining)
{
    for (uint32_t number = 1; number <= combining->samples.count; number++) {
        if (!add_sum(combining, number)) return no_memory(combining->error);
    }
    return rb_heapprof_model_finish(combining->result, combining->error,
                                    HEAPPROF_COMBINE_ERROR_MAX);
}

static void
give_back(struct combining *combining)
{
    struct heapprof_mem *mem = &combining->mem;

    rb_heapprof_digests_free(&combining->strings);
    rb_heapprof_digests_free(&combining->functions);
    rb_heapprof_digests_free(&combining->mappings);
    rb_heapprof_digests_free(&combining->locations);
    rb_heapprof_digests_free(&combining->samples);
    HEAPPROF_MEM_RELEASE(mem, combining->keys, combining->keys_capacity);
    HEAPPROF_MEM_RELEASE(mem, combining->sums, combining->sum_capacity);
    HEAPPROF_MEM_RELEASE(mem, combining->values, combining->value_capacity);
}

struct heapprof_model *
rb_heapprof_combine(const struct heapprof_model *const *models, const int *signs,
                    const char *const *names, size_t count, char error[HEAPPROF_COMBINE_ERROR_MAX])
{
    struct combining combining = {.error = error, .result = rb_heapprof_model_new()};
    bool done = combining.result && rb_heapprof_model_add_string(combining.result, "", 0) == 0;

    rb_heapprof_mem_init(&combining.mem, SIZE_MAX);
    combining.strings.mem = combining.functions.mem = combining.mappings.mem =
        combining.locations.mem = combining.samples.mem = &combining.mem;
    if (!done) no_memory(error);
    for (size_t i = 0; done && i < count; i++) {
        done = types_there(models[i], names[i], models[0], names[0], error) &&
               types_there(models[0], names[0], models[i], names[i], error) &&
               (add_model(&combining, models[i], signs[i]) || no_memory(error));
    }
    done = done && finish(&combining);
    give_back(&combining);
    if (done) return combining.result;
    rb_heapprof_model_free(combining.result);
    return NULL;
}
