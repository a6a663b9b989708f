/* save.c - writes a model as a Profile message. Inner messages go one by one through deflate to
 * the caller's take function.
 *
 * Ids are places + 1. The same model makes the same bytes. writer.c does something else: it writes
 * a profile of ours while the profile is made, for ruby, in one block of memory. This file needs
 * the memory of one sample. The fields' numbers are in pprof's profile.proto. Ours (pprof.proto)
 * has a part of that.
 */
#include "pprof/save.h"

#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "pprof/wire.h"

#define PACKED_BYTES 65536
#define WINDOW_BITS_GZIP (15 + 16)
#define MEM_LEVEL_DEFAULT 8

struct saving {
    heapprof_take_i *take;
    void          *data;
    z_stream       stream;
    unsigned char  packed[PACKED_BYTES];
    struct heapprof_mem mem;
    unsigned char *message;           /* the inner message that is being written */
    size_t         capacity, size;
    unsigned char *inner;             /* a message inside that message */
    size_t         inner_capacity, inner_size;
    enum heapprof_save_result result;
};

/* ---- out ---- */

static void
deflate_bytes(struct saving *saving, const void *bytes, size_t size, int flush)
{
    z_stream *stream = &saving->stream;

    if (saving->result != HEAPPROF_SAVED) return;
    stream->next_in = (z_const Bytef *)bytes;
    stream->avail_in = (uInt)size; /* of a message or of a string: below 4 GiB */
    do {
        size_t ready;
        stream->next_out = saving->packed;
        stream->avail_out = PACKED_BYTES;
        deflate(stream, flush);
        ready = PACKED_BYTES - stream->avail_out;
        if (ready > 0 && !saving->take(saving->data, saving->packed, ready))
            saving->result = HEAPPROF_SAVE_REFUSED;
    } while (stream->avail_out == 0 && saving->result == HEAPPROF_SAVED);
}

static void
put_number_out(struct saving *saving, unsigned field, uint64_t number)
{
    unsigned char bytes[2 * HEAPPROF_VARINT_MAX], *end;

    if (number == 0) return;
    end = rb_heapprof_wire_put(bytes, field << 3);
    end = rb_heapprof_wire_put(end, number);
    deflate_bytes(saving, bytes, (size_t)(end - bytes), Z_NO_FLUSH);
}

static void
put_bytes_out(struct saving *saving, unsigned field, const void *text, size_t size)
{
    unsigned char bytes[2 * HEAPPROF_VARINT_MAX], *end;

    end = rb_heapprof_wire_put(bytes, field << 3 | HEAPPROF_WIRE_BYTES);
    end = rb_heapprof_wire_put(end, size);
    deflate_bytes(saving, bytes, (size_t)(end - bytes), Z_NO_FLUSH);
    if (size) deflate_bytes(saving, text, size, Z_NO_FLUSH);
}

/* ---- inner messages ---- */

static unsigned char *
room(struct saving *saving, size_t size)
{
    if (!HEAPPROF_MEM_GROW(&saving->mem, saving->message, saving->capacity, saving->size + size)) {
        saving->result = HEAPPROF_SAVE_NO_MEMORY;
        return NULL;
    }
    return saving->message + saving->size;
}

/* Puts a number into the inner message. 0 is not written, because a number that is missing is 0. */
static void
put(struct saving *saving, unsigned field, uint64_t number)
{
    unsigned char *at;

    if (number == 0 || !(at = room(saving, 2 * HEAPPROF_VARINT_MAX))) return;
    at = rb_heapprof_wire_put(at, field << 3);
    saving->size = (size_t)(rb_heapprof_wire_put(at, number) - saving->message);
}

static void
put_inner_number(struct saving *saving, uint64_t number)
{
    if (!HEAPPROF_MEM_GROW(&saving->mem, saving->inner, saving->inner_capacity,
                           saving->inner_size + HEAPPROF_VARINT_MAX)) {
        saving->result = HEAPPROF_SAVE_NO_MEMORY;
        return;
    }
    saving->inner_size =
        (size_t)(rb_heapprof_wire_put(saving->inner + saving->inner_size, number) - saving->inner);
}

/* Puts a field of a message that is inside the inner message. */
static void
put_inner(struct saving *saving, unsigned field, uint64_t number)
{
    if (number == 0) return;
    put_inner_number(saving, field << 3);
    put_inner_number(saving, number);
}

/* Makes a field of the bytes in inner. */
static void
end_inner(struct saving *saving, unsigned field)
{
    unsigned char *at = room(saving, 2 * HEAPPROF_VARINT_MAX + saving->inner_size);

    if (at) {
        at = rb_heapprof_wire_put(at, field << 3 | HEAPPROF_WIRE_BYTES);
        at = rb_heapprof_wire_put(at, saving->inner_size);
        if (saving->inner_size) memcpy(at, saving->inner, saving->inner_size);
        saving->size = (size_t)(at - saving->message) + saving->inner_size;
    }
    saving->inner_size = 0;
}

static void
end_message(struct saving *saving, unsigned field)
{
    put_bytes_out(saving, field, saving->message, saving->size);
    saving->size = 0;
}

/* ---- the profile ---- */

static void
put_type(struct saving *saving, unsigned field, struct heapprof_model_type type)
{
    put(saving, 1, type.type);
    put(saving, 2, type.unit);
    end_message(saving, field);
}

static void
put_sample(struct saving *saving, const struct heapprof_samples *samples)
{
    for (uint32_t i = 0; i < samples->location_count; i++) {
        put_inner_number(saving, (uint64_t)samples->locations[i] + 1);
    }
    if (samples->location_count) end_inner(saving, 1);
    for (uint32_t i = 0; i < samples->model->type_count; i++)
        put_inner_number(saving, (uint64_t)samples->values[i]);
    end_inner(saving, 2);
    for (uint32_t i = 0; i < samples->label_count; i++) {
        const struct heapprof_model_label *label = &samples->labels[i];
        put_inner(saving, 1, label->key);
        put_inner(saving, 2, label->str);
        put_inner(saving, 3, (uint64_t)label->num);
        put_inner(saving, 4, label->unit);
        end_inner(saving, 3);
    }
    end_message(saving, 2);
}

static void
put_samples(struct saving *saving, const struct heapprof_model *model)
{
    struct heapprof_samples samples;

    if (!rb_heapprof_samples_begin(&samples, model)) saving->result = HEAPPROF_SAVE_NO_MEMORY;
    while (saving->result == HEAPPROF_SAVED && rb_heapprof_samples_next(&samples))
        put_sample(saving, &samples);
    rb_heapprof_samples_end(&samples);
}

static void
put_mappings(struct saving *saving, const struct heapprof_model *model)
{
    for (uint32_t i = 0; i < rb_heapprof_model_mappings(model); i++) {
        const struct heapprof_model_mapping *mapping = &model->mappings[i];
        const uint64_t numbers[] = {
            (uint64_t)i + 1,
            mapping->start,
            mapping->limit,
            mapping->offset,
            mapping->filename,
            mapping->build_id,
            mapping->has_functions,
            mapping->has_filenames,
            mapping->has_line_numbers,
            mapping->has_inline_frames,
        };
        for (unsigned field = 0; field < 10; field++) put(saving, field + 1, numbers[field]);
        end_message(saving, 3);
    }
}

/* Returns the id of a place. */
static uint64_t
id(uint64_t place)
{
    return place == HEAPPROF_NO_PLACE ? 0 : place + 1;
}

static void
put_locations(struct saving *saving, const struct heapprof_model *model)
{
    for (uint32_t i = 0; i < rb_heapprof_model_locations(model); i++) {
        const struct heapprof_model_location *location = &model->locations[i];
        put(saving, 1, (uint64_t)i + 1);
        put(saving, 2, id(location->mapping));
        put(saving, 3, location->address);
        for (uint32_t l = location->first_line; l < location[1].first_line; l++) {
            put_inner(saving, 1, id(model->lines[l].function));
            put_inner(saving, 2, (uint64_t)model->lines[l].line);
            put_inner(saving, 3, (uint64_t)model->lines[l].column);
            end_inner(saving, 4);
        }
        put(saving, 5, location->folded);
        end_message(saving, 4);
    }
}

static void
put_functions(struct saving *saving, const struct heapprof_model *model)
{
    for (uint32_t i = 0; i < rb_heapprof_model_functions(model); i++) {
        const struct heapprof_model_function *function = &model->functions[i];
        put(saving, 1, (uint64_t)i + 1);
        put(saving, 2, function->name);
        put(saving, 3, function->system_name);
        put(saving, 4, function->filename);
        put(saving, 5, (uint64_t)function->start_line);
        end_message(saving, 5);
    }
}

static void
put_facts(struct saving *saving, const struct heapprof_model *model)
{
    put_number_out(saving, 7, model->drop_frames);
    put_number_out(saving, 8, model->keep_frames);
    put_number_out(saving, 9, (uint64_t)model->time_ns);
    put_number_out(saving, 10, (uint64_t)model->duration_ns);
    put_type(saving, 11, model->period_type);
    put_number_out(saving, 12, (uint64_t)model->period);
    for (uint32_t i = 0; i < model->comment_count; i++)
        put_inner_number(saving, model->comments[i]);
    if (model->comment_count) put_bytes_out(saving, 13, saving->inner, saving->inner_size);
    put_number_out(saving, 14, model->default_type);
    put_number_out(saving, 15, model->doc_url);
}

static void
put_all(struct saving *saving, const struct heapprof_model *model)
{
    for (uint32_t i = 0; i < model->type_count; i++) put_type(saving, 1, model->types[i]);
    put_samples(saving, model);
    put_mappings(saving, model);
    put_locations(saving, model);
    put_functions(saving, model);
    if (model->string_count == 0) put_bytes_out(saving, 6, "", 0);
    for (uint32_t i = 0; i < model->string_count; i++) {
        size_t length;
        const char *text = rb_heapprof_model_string(model, i, &length);
        put_bytes_out(saving, 6, text, length);
    }
    put_facts(saving, model);
}

enum heapprof_save_result
rb_heapprof_save(const struct heapprof_model *model, heapprof_take_i *take, void *data)
{
    struct saving *saving = calloc(1, sizeof(*saving));
    enum heapprof_save_result result = HEAPPROF_SAVE_NO_MEMORY;

    if (!saving) return result;
    saving->take = take;
    saving->data = data;
    rb_heapprof_mem_init(&saving->mem, SIZE_MAX);
    if (deflateInit2(&saving->stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, WINDOW_BITS_GZIP,
                     MEM_LEVEL_DEFAULT, Z_DEFAULT_STRATEGY) == Z_OK) {
        put_all(saving, model);
        deflate_bytes(saving, NULL, 0, Z_FINISH);
        deflateEnd(&saving->stream);
        result = saving->result;
    }
    HEAPPROF_MEM_RELEASE(&saving->mem, saving->message, saving->capacity);
    HEAPPROF_MEM_RELEASE(&saving->mem, saving->inner, saving->inner_capacity);
    free(saving);
    return result;
}
