/* writer.c - writes a Profile message in parts.
 *
 * A Profile consists of repeated fields. protobuf defines that messages laid end to end are one
 * message, whose repeated fields follow each other. So as soon as a part holds PART_ITEMS things,
 * it is encoded and appended to the output, and its arena is thrown away. Memory is the output and
 * one part, whatever the size of the profile:
 *
 *     [ strings types mapping | functions ... | locations ... | samples ... | comments ]
 *       part                    part                            part
 *
 * Once a request for memory is refused, the writer has failed. Then nothing is added, and functions
 * that return a message return NULL. All functions do nothing for a message that is NULL.
 *
 * This is the only file that sees upb. It is linked with upb into one object, whose other symbols
 * are local (scripts/plain.mk).
 */
#include "pprof/writer.h"

#include "base/array.h"
#include "base/aside.h"
#include "base/utf8.h"
#include "pprof/messages.h"

#define PART_ITEMS 16384

struct heapprof_writer {
    struct messages messages;
    upb_Arena   *arena;           /* arena of the present part */
    upb_Message *profile;         /* the present part */
    upb_Message *sample;          /* begun and not ended yet */
    size_t       part_items;
    uint32_t     strings_written; /* index of the next string */
    char        *bytes;           /* the parts so far, encoded; from malloc */
    size_t       size;
    size_t       capacity;
    bool         failed;
};

/* ---- fields ---- */

static void *
place(struct heapprof_writer *writer, upb_Message *message, enum field field)
{
    return (char *)message + writer->messages.offset_of[field];
}

static upb_Message *
new_message(struct heapprof_writer *writer, const upb_MiniTable *table)
{
    upb_Message *message = writer->failed ? NULL : _upb_Message_New(table, writer->arena);

    if (!message) writer->failed = true;
    return message;
}

static void
set(struct heapprof_writer *writer, upb_Message *message, enum field field, uint64_t number)
{
    if (message) memcpy(place(writer, message, field), &number, sizeof(number));
}

static void
set_true(struct heapprof_writer *writer, upb_Message *message, enum field field)
{
    if (message) memcpy(place(writer, message, field), &(bool){true}, sizeof(bool));
}

static upb_Message *
set_message(struct heapprof_writer *writer, upb_Message *message, enum field field)
{
    upb_Message *child = new_message(writer, writer->messages.element_of[field]);

    if (child) memcpy(place(writer, message, field), &child, sizeof(child));
    return child;
}

/* The element's size is 1 << size_log2. */
static void
append(struct heapprof_writer *writer, upb_Message *message, enum field field,
       const void *element, int size_log2)
{
    size_t offset = writer->messages.offset_of[field];

    if (writer->failed) return;
    writer->failed =
        !_upb_Array_Append_accessor2(message, offset, size_log2, element, writer->arena);
    writer->part_items++;
}

static void
append_number(struct heapprof_writer *writer, upb_Message *message, enum field field,
              uint64_t number)
{
    append(writer, message, field, &number, 3);
}

static upb_Message *
append_message(struct heapprof_writer *writer, upb_Message *message, enum field field)
{
    upb_Message *child = new_message(writer, writer->messages.element_of[field]);

    append(writer, message, field, &child, sizeof(child) == 8 ? 3 : 2);
    return child;
}

/* ---- parts ---- */

static void
begin_part(struct heapprof_writer *writer)
{
    writer->part_items = 0;
    writer->arena = new_arena();
    if (!writer->arena) writer->failed = true;
    writer->profile = new_message(writer, writer->messages.tables[Profile]);
}

static bool
reserve_bytes(struct heapprof_writer *writer, size_t more)
{
    return more < SIZE_MAX - writer->size && /* one more: an empty message has a block, too */
           HEAPPROF_ARRAY_GROW(writer->bytes, writer->capacity, writer->size + more + 1);
}

static void
end_part(struct heapprof_writer *writer)
{
    const upb_MiniTable *table = writer->messages.tables[Profile];
    size_t size = 0;
    char *part = writer->failed ? NULL
                                : upb_Encode(writer->profile, table, 0, writer->arena, &size);

    if (part && reserve_bytes(writer, size)) {
        memcpy(writer->bytes + writer->size, part, size);
        writer->size += size;
    }
    else {
        writer->failed = true;
    }
    if (writer->arena) upb_Arena_Free(writer->arena);
}

/* Called between messages of the profile, when no message is half built. */
static void
next_part_if_full(struct heapprof_writer *writer)
{
    if (writer->part_items < PART_ITEMS) return;
    end_part(writer);
    begin_part(writer);
}

/* ---- what a profile is about ---- */

uint32_t
rb_heapprof_writer_string(struct heapprof_writer *writer, const char *text, size_t length)
{
    char *copy = writer->failed ? NULL
                                : upb_Arena_Malloc(writer->arena, HEAPPROF_UTF8_MAX(length) + 1);

    if (!copy) {
        writer->failed = true;
        return 0;
    }
    upb_StringView view = {.data = copy, .size = rb_heapprof_utf8_copy(copy, text, length)};
    append(writer, writer->profile, Profile_string_table, &view, sizeof(view) == 16 ? 4 : 3);
    return writer->strings_written++;
}

void
rb_heapprof_writer_texts(struct heapprof_writer *writer, const char *const *texts, uint32_t end)
{
    for (uint32_t i = 1; i < end; i++)
        rb_heapprof_writer_string(writer, texts[i], strlen(texts[i]));
}

static void
set_value_type(struct heapprof_writer *writer, upb_Message *value_type, uint32_t type,
               uint32_t unit)
{
    set(writer, value_type, ValueType_type, type);
    set(writer, value_type, ValueType_unit, unit);
}

void
rb_heapprof_writer_sample_type(struct heapprof_writer *writer, uint32_t type, uint32_t unit)
{
    upb_Message *value_type = append_message(writer, writer->profile, Profile_sample_type);
    set_value_type(writer, value_type, type, unit);
}

void
rb_heapprof_writer_default_sample_type(struct heapprof_writer *writer, uint32_t type)
{
    set(writer, writer->profile, Profile_default_sample_type, type);
}

void
rb_heapprof_writer_period(struct heapprof_writer *writer, uint32_t type, uint32_t unit,
                          uint64_t period)
{
    upb_Message *period_type = set_message(writer, writer->profile, Profile_period_type);

    set_value_type(writer, period_type, type, unit);
    set(writer, writer->profile, Profile_period, period);
}

void
rb_heapprof_writer_time(struct heapprof_writer *writer, int64_t time_ns, int64_t duration_ns)
{
    set(writer, writer->profile, Profile_time_nanos, (uint64_t)time_ns);
    set(writer, writer->profile, Profile_duration_nanos, (uint64_t)duration_ns);
}

void
rb_heapprof_writer_mapping(struct heapprof_writer *writer, uint32_t id, uint32_t filename,
                           uint32_t build_id)
{
    upb_Message *mapping = append_message(writer, writer->profile, Profile_mapping);

    set(writer, mapping, Mapping_id, id);
    set(writer, mapping, Mapping_filename, filename);
    set(writer, mapping, Mapping_build_id, build_id);
    /* pprof has nothing left to look up in the binary. */
    set_true(writer, mapping, Mapping_has_functions);
    set_true(writer, mapping, Mapping_has_filenames);
    set_true(writer, mapping, Mapping_has_line_numbers);
}

void
rb_heapprof_writer_comment(struct heapprof_writer *writer, uint32_t comment)
{
    append_number(writer, writer->profile, Profile_comment, comment);
}

/* ---- what it holds ---- */

void
rb_heapprof_writer_function(struct heapprof_writer *writer, uint32_t id, uint32_t name,
                            uint32_t filename, uint32_t start_line)
{
    upb_Message *function = append_message(writer, writer->profile, Profile_function);

    set(writer, function, Function_id, id);
    set(writer, function, Function_name, name);
    set(writer, function, Function_filename, filename);
    set(writer, function, Function_start_line, start_line);
    next_part_if_full(writer);
}

void
rb_heapprof_writer_location(struct heapprof_writer *writer, uint32_t id, uint32_t mapping,
                            uint32_t function, uint32_t number)
{
    upb_Message *location = append_message(writer, writer->profile, Profile_location);
    upb_Message *line = append_message(writer, location, Location_line);

    set(writer, location, Location_id, id);
    set(writer, location, Location_mapping_id, mapping);
    set(writer, line, Line_function_id, function);
    set(writer, line, Line_line, number);
    next_part_if_full(writer);
}

void
rb_heapprof_writer_begin_sample(struct heapprof_writer *writer)
{
    writer->sample = append_message(writer, writer->profile, Profile_sample);
}

void
rb_heapprof_writer_sample_location(struct heapprof_writer *writer, uint32_t location)
{
    append_number(writer, writer->sample, Sample_location_id, location);
}

void
rb_heapprof_writer_sample_value(struct heapprof_writer *writer, int64_t value)
{
    append_number(writer, writer->sample, Sample_value, (uint64_t)value);
}

void
rb_heapprof_writer_label(struct heapprof_writer *writer, uint32_t key, uint32_t string)
{
    upb_Message *label = append_message(writer, writer->sample, Sample_label);

    set(writer, label, Label_key, key);
    set(writer, label, Label_str, string);
}

void
rb_heapprof_writer_number_label(struct heapprof_writer *writer, uint32_t key, int64_t number,
                                uint32_t unit)
{
    upb_Message *label = append_message(writer, writer->sample, Sample_label);

    set(writer, label, Label_key, key);
    set(writer, label, Label_num, (uint64_t)number);
    set(writer, label, Label_num_unit, unit);
}

void
rb_heapprof_writer_end_sample(struct heapprof_writer *writer)
{
    writer->sample = NULL;
    next_part_if_full(writer);
}

bool
rb_heapprof_writer_failed_p(const struct heapprof_writer *writer)
{
    return writer->failed;
}

/* ---- life ---- */

struct heapprof_writer *
rb_heapprof_writer_open(void)
{
    struct heapprof_writer *writer = rb_heapprof_aside_zeroed(1, sizeof(*writer));

    if (!writer) return NULL;
    writer->failed = !messages_load(&writer->messages);
    begin_part(writer);
    rb_heapprof_writer_string(writer, "", 0);
    return writer;
}

char *
rb_heapprof_writer_close(struct heapprof_writer *writer, size_t *size)
{
    char *bytes = NULL;

    end_part(writer);
    messages_free(&writer->messages);
    if (writer->failed) {
        rb_heapprof_aside_free(writer->bytes);
    }
    else {
        bytes = writer->bytes;
        *size = writer->size;
    }
    rb_heapprof_aside_free(writer);
    return bytes;
}
