/* reader.c - reads a Profile message, field by field, into a model.
 *
 *     more() --> source.c --> here: one inner message at a time --> model.c
 *
 * A few functions of our own (wire.h) read the encoding. upb does not, though writer.c writes with
 * it: upb wants a whole message in memory. It makes objects of the message, which take four to ten
 * times the bytes of a sample.
 *
 * Fields may come in any order, and more than once. Of a number the last one counts. Messages and
 * strings add up. Unknown fields are skipped. A known field with another type is an error, as it
 * is for pprof.
 *
 * fail writes an error's message, once. Then every function returns false.
 */
#include "pprof/reader.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "pprof/wire.h"

enum profile_field {
    SAMPLE_TYPE = 1, SAMPLE, MAPPING, LOCATION, FUNCTION, STRING, DROP_FRAMES, KEEP_FRAMES, TIME,
    DURATION, PERIOD_TYPE, PERIOD, COMMENT, DEFAULT_TYPE, DOC_URL, PROFILE_FIELDS
};
enum type_field {TYPE_TYPE = 1, TYPE_UNIT, TYPE_FIELDS};
enum sample_field {SAMPLE_LOCATION = 1, SAMPLE_VALUE, SAMPLE_LABEL, SAMPLE_FIELDS};
enum label_field {LABEL_KEY = 1, LABEL_STR, LABEL_NUM, LABEL_UNIT, LABEL_FIELDS};
enum mapping_field {
    MAPPING_ID = 1,
    MAPPING_START,
    MAPPING_LIMIT,
    MAPPING_OFFSET,
    MAPPING_FILENAME,
    MAPPING_BUILD_ID,
    MAPPING_FUNCTIONS,
    MAPPING_FILENAMES,
    MAPPING_LINE_NUMBERS,
    MAPPING_INLINE_FRAMES,
    MAPPING_FIELDS
};
enum location_field {
    LOCATION_ID = 1,
    LOCATION_MAPPING,
    LOCATION_ADDRESS,
    LOCATION_LINE,
    LOCATION_FOLDED,
    LOCATION_FIELDS
};
enum line_field {LINE_FUNCTION = 1, LINE_LINE, LINE_COLUMN, LINE_FIELDS};
enum function_field {
    FUNCTION_ID = 1, FUNCTION_NAME, FUNCTION_SYSTEM_NAME, FUNCTION_FILENAME, FUNCTION_START_LINE,
    FUNCTION_FIELDS
};

#define FIELDS_MOST 16

struct profile_reader {
    struct heapprof_source *source;
    struct heapprof_model  *model;
    uint64_t most;            /* bytes, unpacked, that a profile may have */
    uint64_t value_count;     /* values of each sample: as many as the first sample has */
    char    *error;
};

/* ---- errors ---- */

__attribute__((format(printf, 2, 3))) static bool
fail(struct profile_reader *reader, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(reader->error, HEAPPROF_READER_ERROR_MAX, format, arguments);
    va_end(arguments);
    return false;
}

static bool
fail_memory(struct profile_reader *reader)
{
    return fail(reader, "no memory for a profile of this size");
}

/* ---- inner messages ---- */

/* Reads the numbers of a message by their field. A field that is missing has 0. The fields in
 * the mask messages hold messages. */
static bool
numbers_of(struct profile_reader *reader, struct heapprof_wire wire, uint64_t numbers[FIELDS_MOST],
           unsigned fields, unsigned messages, const char *what, uint64_t which)
{
    struct heapprof_wire_field field;
    int status;

    memset(numbers, 0, FIELDS_MOST * sizeof(*numbers));
    while ((status = rb_heapprof_wire_next(&wire, &field)) > 0) {
        unsigned type;
        if (field.number >= fields) continue;
        type = messages >> field.number & 1 ? HEAPPROF_WIRE_BYTES : HEAPPROF_WIRE_VARINT;
        if (field.type != type) {
            return fail(reader, "%s %" PRIu64 ": field %" PRIu64 " is of wire type %u, not %u",
                        what, which, field.number, field.type, type);
        }
        if (type == HEAPPROF_WIRE_VARINT) numbers[field.number] = field.value;
    }
    return status == 0 || fail(reader, "%s %"PRIu64" is damaged", what, which);
}

/* Takes a string's number. finish looks it up. */
static bool
string_of(struct profile_reader *reader, uint64_t number, uint32_t *string, const char *what,
          uint64_t which)
{
    if (number >= HEAPPROF_NO_STRING) {
        return fail(reader, "%s %"PRIu64": there is no string %"PRIu64, what, which, number);
    }
    *string = (uint32_t)number;
    return true;
}

static bool
add_id(struct profile_reader *reader, struct heapprof_ids *ids, uint64_t id, const char *what)
{
    if (id == 0)
        return fail(reader, "%s %" PRIu64 " of the file has no id", what, (uint64_t)ids->count + 1);
    switch (rb_heapprof_ids_add(ids, &reader->model->mem, id)) {
      case HEAPPROF_IDS_ADDED: return true;
      case HEAPPROF_IDS_TWICE: return fail(reader, "%s %"PRIu64" is in the file twice", what, id);
      default: return fail_memory(reader);
    }
}

static bool
read_type(struct profile_reader *reader, struct heapprof_wire wire,
          struct heapprof_model_type *type, const char *what, uint64_t which)
{
    uint64_t numbers[FIELDS_MOST];

    return numbers_of(reader, wire, numbers, TYPE_FIELDS, 0, what, which) &&
           string_of(reader, numbers[TYPE_TYPE], &type->type, what, which) &&
           string_of(reader, numbers[TYPE_UNIT], &type->unit, what, which);
}

static bool
add_type(struct profile_reader *reader, struct heapprof_wire wire)
{
    struct heapprof_model_type *type = rb_heapprof_model_add_type(reader->model);

    if (!type) return fail_memory(reader);
    return read_type(reader, wire, type, "sample type", reader->model->type_count);
}

static bool
add_mapping(struct profile_reader *reader, struct heapprof_wire wire)
{
    struct heapprof_model *model = reader->model;
    struct heapprof_model_mapping *mapping;
    uint64_t numbers[FIELDS_MOST], id;

    if (!numbers_of(reader, wire, numbers, MAPPING_FIELDS, 0, "mapping",
                    (uint64_t)rb_heapprof_model_mappings(model) + 1)) return false;
    id = numbers[MAPPING_ID];
    if (!add_id(reader, &model->mapping_ids, id, "mapping")) return false;
    mapping = rb_heapprof_model_add_mapping(model);
    if (!mapping) return fail_memory(reader);
    *mapping = (struct heapprof_model_mapping){
        .start = numbers[MAPPING_START],
        .limit = numbers[MAPPING_LIMIT],
        .offset = numbers[MAPPING_OFFSET],
        .has_functions = numbers[MAPPING_FUNCTIONS],
        .has_filenames = numbers[MAPPING_FILENAMES],
        .has_line_numbers = numbers[MAPPING_LINE_NUMBERS],
        .has_inline_frames = numbers[MAPPING_INLINE_FRAMES],
    };
    return string_of(reader, numbers[MAPPING_FILENAME], &mapping->filename, "mapping", id) &&
           string_of(reader, numbers[MAPPING_BUILD_ID], &mapping->build_id, "mapping", id);
}

static bool
add_function(struct profile_reader *reader, struct heapprof_wire wire)
{
    struct heapprof_model *model = reader->model;
    struct heapprof_model_function *function;
    uint64_t numbers[FIELDS_MOST], id;

    if (!numbers_of(reader, wire, numbers, FUNCTION_FIELDS, 0, "function",
                    (uint64_t)rb_heapprof_model_functions(model) + 1)) return false;
    id = numbers[FUNCTION_ID];
    if (!add_id(reader, &model->function_ids, id, "function")) return false;
    function = rb_heapprof_model_add_function(model);
    if (!function) return fail_memory(reader);
    function->start_line = (int64_t)numbers[FUNCTION_START_LINE];
    return string_of(reader, numbers[FUNCTION_NAME], &function->name, "function", id) &&
           string_of(reader, numbers[FUNCTION_SYSTEM_NAME], &function->system_name, "function",
                     id) &&
           string_of(reader, numbers[FUNCTION_FILENAME], &function->filename, "function", id);
}

static bool
add_line(struct profile_reader *reader, struct heapprof_wire wire, uint64_t location)
{
    struct heapprof_model_line *line = rb_heapprof_model_add_line(reader->model);
    uint64_t numbers[FIELDS_MOST];

    if (!line) return fail_memory(reader);
    if (!numbers_of(reader, wire, numbers, LINE_FIELDS, 0, "a line of location", location))
        return false;
    *line = (struct heapprof_model_line){numbers[LINE_FUNCTION], (int64_t)numbers[LINE_LINE],
                                         (int64_t)numbers[LINE_COLUMN]};
    return true;
}

static bool
add_location(struct profile_reader *reader, struct heapprof_wire wire)
{
    struct heapprof_model *model = reader->model;
    struct heapprof_model_location *location;
    struct heapprof_wire_field field;
    uint64_t numbers[FIELDS_MOST], id;

    if (!numbers_of(reader, wire, numbers, LOCATION_FIELDS, 1u << LOCATION_LINE, "location",
                    (uint64_t)rb_heapprof_model_locations(model) + 1)) return false;
    id = numbers[LOCATION_ID];
    if (!add_id(reader, &model->location_ids, id, "location")) return false;
    location = rb_heapprof_model_add_location(model);
    if (!location) return fail_memory(reader);
    location->mapping = numbers[LOCATION_MAPPING];
    location->address = numbers[LOCATION_ADDRESS];
    location->folded = numbers[LOCATION_FOLDED];
    while (rb_heapprof_wire_next(&wire, &field) > 0) {
        if (field.number == LOCATION_LINE && !add_line(reader, field.bytes, id)) return false;
    }
    return true;
}

/* ---- samples ---- */

/* Numbers are repeated one by one, or packed. */
static bool
count_numbers(const struct heapprof_wire_field *field, uint64_t *count)
{
    struct heapprof_wire packed = field->bytes;
    uint64_t value;

    if (field->type == HEAPPROF_WIRE_VARINT) {
        ++*count;
        return true;
    }
    if (field->type != HEAPPROF_WIRE_BYTES) return false;
    for (; packed.at < packed.end; ++*count) {
        if (!rb_heapprof_wire_varint(&packed, &value)) return false;
    }
    return true;
}

/* Counts locations, values and labels by their fields. */
static bool
count_sample(struct profile_reader *reader, struct heapprof_wire wire,
             uint64_t counts[SAMPLE_FIELDS], uint64_t which)
{
    struct heapprof_wire_field field;
    int status;

    memset(counts, 0, SAMPLE_FIELDS * sizeof(*counts));
    while ((status = rb_heapprof_wire_next(&wire, &field)) > 0) {
        if (field.number >= SAMPLE_FIELDS) continue;
        if (field.number == SAMPLE_LABEL && field.type == HEAPPROF_WIRE_BYTES)
            counts[SAMPLE_LABEL]++;
        else if (field.number == SAMPLE_LABEL || !count_numbers(&field, &counts[field.number])) {
            return fail(reader, "sample %" PRIu64 ": field %" PRIu64 " is damaged", which,
                        field.number);
        }
    }
    return status == 0 || fail(reader, "sample %"PRIu64" is damaged", which);
}

static bool
add_numbers(struct profile_reader *reader, struct heapprof_wire wire, uint64_t which)
{
    struct heapprof_wire_field field;
    uint64_t value;

    while (rb_heapprof_wire_next(&wire, &field) > 0) {
        if (field.number != which) continue;
        if (field.type == HEAPPROF_WIRE_VARINT) {
            if (!rb_heapprof_model_add_number(reader->model, field.value))
                return fail_memory(reader);
            continue;
        }
        while (rb_heapprof_wire_varint(&field.bytes, &value)) {
            if (!rb_heapprof_model_add_number(reader->model, value)) return fail_memory(reader);
        }
    }
    return true;
}

static bool
add_label(struct profile_reader *reader, struct heapprof_wire wire, uint64_t sample)
{
    uint64_t numbers[FIELDS_MOST];
    uint32_t string;

    if (!numbers_of(reader, wire, numbers, LABEL_FIELDS, 0, "a label of sample", sample) ||
        !string_of(reader, numbers[LABEL_KEY], &string, "sample", sample) ||
        !string_of(reader, numbers[LABEL_STR], &string, "sample", sample) ||
        !string_of(reader, numbers[LABEL_UNIT], &string, "sample", sample)) return false;
    for (int field = LABEL_KEY; field < LABEL_FIELDS; field++) {
        if (!rb_heapprof_model_add_number(reader->model, numbers[field]))
            return fail_memory(reader);
    }
    return true;
}

static bool
add_labels(struct profile_reader *reader, struct heapprof_wire wire, uint64_t sample)
{
    struct heapprof_wire_field field;

    while (rb_heapprof_wire_next(&wire, &field) > 0) {
        if (field.number == SAMPLE_LABEL && !add_label(reader, field.bytes, sample)) return false;
    }
    return true;
}

static bool
add_sample(struct profile_reader *reader, struct heapprof_wire wire)
{
    struct heapprof_model *model = reader->model;
    uint64_t which = model->sample_count + 1, counts[SAMPLE_FIELDS];

    if (!count_sample(reader, wire, counts, which)) return false;
    if (which == 1) reader->value_count = counts[SAMPLE_VALUE];
    if (counts[SAMPLE_VALUE] != reader->value_count) {
        return fail(reader, "sample %"PRIu64" has %"PRIu64" values, the first %"PRIu64, which,
                    counts[SAMPLE_VALUE], reader->value_count);
    }
    if (!rb_heapprof_model_begin_sample(model, (uint32_t)counts[SAMPLE_LOCATION],
                                        (uint32_t)counts[SAMPLE_LABEL])) {
        return fail_memory(reader);
    }
    return add_numbers(reader, wire, SAMPLE_LOCATION) && add_numbers(reader, wire, SAMPLE_VALUE) &&
           add_labels(reader, wire, which);
}

/* ---- the profile ---- */

static bool
add_comment(struct profile_reader *reader, uint64_t number)
{
    uint32_t string = 0;

    if (!string_of(reader, number, &string, "comment", (uint64_t)reader->model->comment_count + 1))
        return false;
    return rb_heapprof_model_add_comment(reader->model, string) || fail_memory(reader);
}

static bool
add_comments(struct profile_reader *reader, struct heapprof_wire packed)
{
    uint64_t number;

    while (packed.at < packed.end) {
        if (!rb_heapprof_wire_varint(&packed, &number))
            return fail(reader, "the comments are damaged");
        if (!add_comment(reader, number)) return false;
    }
    return true;
}

static bool
add_message(struct profile_reader *reader, unsigned field, struct heapprof_wire wire)
{
    switch (field) {
      case SAMPLE_TYPE: return add_type(reader, wire);
      case SAMPLE: return add_sample(reader, wire);
      case MAPPING: return add_mapping(reader, wire);
      case LOCATION: return add_location(reader, wire);
      case FUNCTION: return add_function(reader, wire);
      case PERIOD_TYPE:
        return read_type(reader, wire, &reader->model->period_type, "period type", 1);
      default: return add_comments(reader, wire);
    }
}

static bool
set_number(struct profile_reader *reader, unsigned field, uint64_t number)
{
    struct heapprof_model *model = reader->model;

    switch (field) {
      case TIME: model->time_ns = (int64_t)number; return true;
      case DURATION: model->duration_ns = (int64_t)number; return true;
      case PERIOD: model->period = (int64_t)number; return true;
      case COMMENT: return add_comment(reader, number);
      case DROP_FRAMES: return string_of(reader, number, &model->drop_frames, "drop_frames", 1);
      case KEEP_FRAMES: return string_of(reader, number, &model->keep_frames, "keep_frames", 1);
      case DEFAULT_TYPE:
        return string_of(reader, number, &model->default_type, "default sample type", 1);
      default: return string_of(reader, number, &model->doc_url, "doc_url", 1);
    }
}

/* ---- the outermost message, which is not in memory ---- */

/* The source has ended before the profile has. */
static bool
fail_short(struct profile_reader *reader)
{
    const char *error = rb_heapprof_source_error(reader->source);

    if (error) return fail(reader, "%s", error);
    return fail(reader, "is cut short, or not a profile: ends within a field, at byte %"PRIu64,
                rb_heapprof_source_position(reader->source));
}

static bool
fail_format(struct profile_reader *reader)
{
    return fail(reader, "is not a profile in pprof's format: no field begins at byte %"PRIu64,
                rb_heapprof_source_position(reader->source));
}

static bool
read_varint(struct profile_reader *reader, uint64_t *value)
{
    struct heapprof_wire wire;
    const unsigned char *bytes;
    size_t size = rb_heapprof_source_need(reader->source, HEAPPROF_VARINT_MAX, &bytes);

    wire = (struct heapprof_wire){bytes, bytes + size};
    if (!rb_heapprof_wire_varint(&wire, value)) {
        return size < HEAPPROF_VARINT_MAX ? fail_short(reader) : fail_format(reader);
    }
    rb_heapprof_source_skip(reader->source, (size_t)(wire.at - bytes));
    return true;
}

/* Finds the next of the length bytes that are left, as many as there are at the moment. Returns
 * how many. Returns 0 if the file is too short; then the message is written. */
static size_t
some_of(struct profile_reader *reader, uint64_t length, const unsigned char **bytes)
{
    size_t size = rb_heapprof_source_need(reader->source, 1, bytes);

    if (size == 0) fail_short(reader);
    return size < length ? size : (size_t)length;
}

static bool
pass_over(struct profile_reader *reader, uint64_t length)
{
    while (length > 0) {
        const unsigned char *bytes;
        size_t size = some_of(reader, length, &bytes);
        if (size == 0) return false;
        rb_heapprof_source_skip(reader->source, size);
        length -= size;
    }
    return true;
}

static bool
read_string(struct profile_reader *reader, uint64_t length)
{
    if (reader->model->string_count == 0 && length > 0)
        return fail(reader, "string 0 is not the empty one");
    while (length > 0) {
        const unsigned char *bytes;
        size_t size = some_of(reader, length, &bytes);
        if (size == 0) return false;
        if (!rb_heapprof_model_append_text(reader->model, (const char *)bytes, size))
            return fail_memory(reader);
        rb_heapprof_source_skip(reader->source, size);
        length -= size;
    }
    return rb_heapprof_model_end_string(reader->model) != HEAPPROF_NO_STRING || fail_memory(reader);
}

static bool
read_message(struct profile_reader *reader, unsigned field, uint64_t length)
{
    const unsigned char *bytes;
    bool added;

    if (rb_heapprof_source_need(reader->source, (size_t)length, &bytes) < length)
        return fail_short(reader);
    added = add_message(reader, field, (struct heapprof_wire){bytes, bytes + length});
    rb_heapprof_source_skip(reader->source, (size_t)length);
    return added;
}

static bool
read_bytes(struct profile_reader *reader, uint64_t field)
{
    uint64_t length;

    if (!read_varint(reader, &length)) return false;
    if (length > reader->most) return fail_short(reader);
    if (field == STRING) return read_string(reader, length);
    if (field == SAMPLE_TYPE || field == PERIOD_TYPE || field == COMMENT ||
        (field >= SAMPLE && field <= FUNCTION))
        return read_message(reader, (unsigned)field, length);
    return pass_over(reader, length);
}

/* Returns whether a field that we know may have that type. Comments may have two types. */
static bool
known_type_p(uint64_t field, unsigned type)
{
    if (field == COMMENT) return type == HEAPPROF_WIRE_VARINT || type == HEAPPROF_WIRE_BYTES;
    if (field <= STRING || field == PERIOD_TYPE) return type == HEAPPROF_WIRE_BYTES;
    return field >= PROFILE_FIELDS || type == HEAPPROF_WIRE_VARINT;
}

static bool
read_field(struct profile_reader *reader)
{
    uint64_t tag, field, number;

    if (!read_varint(reader, &tag)) return false;
    field = tag >> 3;
    if (field == 0 || !known_type_p(field, tag & 7)) return fail_format(reader);
    switch (tag & 7) {
      case HEAPPROF_WIRE_VARINT:
        if (!read_varint(reader, &number)) return false;
        return field >= PROFILE_FIELDS || set_number(reader, (unsigned)field, number);
      case HEAPPROF_WIRE_BYTES: return read_bytes(reader, field);
      case HEAPPROF_WIRE_64: return pass_over(reader, 8);
      case HEAPPROF_WIRE_32: return pass_over(reader, 4);
      default: return fail_format(reader);
    }
}

static bool
read_all(struct profile_reader *reader)
{
    const unsigned char *bytes;
    const char *error;

    while (rb_heapprof_source_need(reader->source, 1, &bytes) > 0) {
        if (rb_heapprof_source_position(reader->source) > reader->most) {
            return fail(reader, "is larger than %"PRIu64" bytes, unpacked", reader->most);
        }
        if (!read_field(reader)) return false;
    }
    error = rb_heapprof_source_error(reader->source);
    return !error || fail(reader, "%s", error);
}

static bool
finish(struct profile_reader *reader)
{
    struct heapprof_model *model = reader->model;

    if (model->type_count == 0) return fail(reader, "is not a profile: it has no sample types");
    if (model->sample_count > 0 && reader->value_count != model->type_count) {
        return fail(reader, "sample 1 has %"PRIu64" values, but there are %"PRIu32" sample types",
                    reader->value_count, model->type_count);
    }
    return rb_heapprof_model_finish(model, reader->error, HEAPPROF_READER_ERROR_MAX);
}

struct heapprof_model *
rb_heapprof_reader_read(heapprof_more_i *more, void *data, uint64_t most,
                        char error[HEAPPROF_READER_ERROR_MAX])
{
    struct profile_reader reader = { .most =
                                         most < HEAPPROF_READER_MOST ? most : HEAPPROF_READER_MOST,
                                     .error = error };
    bool done;

    reader.source = rb_heapprof_source_open(more, data);
    reader.model = rb_heapprof_model_new();
    done =
        reader.source && reader.model ? read_all(&reader) && finish(&reader) : fail_memory(&reader);
    rb_heapprof_source_close(reader.source);
    if (done) return reader.model;
    rb_heapprof_model_free(reader.model);
    return NULL;
}

/* ---- bytes in memory ---- */

static ptrdiff_t
more_bytes(void *data, void *buffer, size_t size)
{
    struct heapprof_wire *left = data;

    if (size > (size_t)(left->end - left->at)) size = (size_t)(left->end - left->at);
    memcpy(buffer, left->at, size);
    left->at += size;
    return (ptrdiff_t)size;
}

struct heapprof_model *
rb_heapprof_reader_read_bytes(const void *bytes, size_t size, char error[HEAPPROF_READER_ERROR_MAX])
{
    struct heapprof_wire left = {bytes, (const unsigned char *)bytes + size};

    return rb_heapprof_reader_read(more_bytes, &left, HEAPPROF_READER_MOST, error);
}
