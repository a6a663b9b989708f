#ifndef HEAPPROF_PPROF_WRITER_H
#define HEAPPROF_PPROF_WRITER_H
/* Writes a Profile message in parts.
 *
 * A Profile consists of repeated fields, and protobuf defines that messages laid end to
 * end are one message whose repeated fields follow each other. So as soon as a part holds
 * PART_ITEMS things it is encoded, appended to the output, and its arena is thrown away.
 * Memory is the output and one part, whatever the size of the profile:
 *
 *     [ strings types mapping | functions ... | locations ... | samples ... | comments ]
 *       part                    part                            part
 *
 * Once a request for memory is refused the writer has failed: nothing is added any more,
 * functions that return a message return NULL, and all take a NULL message for nothing to
 * do. So a caller need only look at failed in its loops and at the end.
 *
 * Private to pprof.c, as pprof_messages.h is.
 */
#include "pprof/pprof_messages.h"
#include "base/utf8.h"

#define PART_ITEMS 16384

struct writer {
    struct messages messages;
    upb_Arena   *arena;           /* of the present part */
    upb_Message *profile;         /* the present part */
    size_t       part_items;
    uint32_t     strings_written; /* index of the next string */
    char        *bytes;           /* the parts so far, encoded; from malloc */
    size_t       size;
    size_t       capacity;
    bool         failed;
};

/* ---- fields ---- */

static void *
place(struct writer *writer, upb_Message *message, enum field field)
{
    return (char *)message + writer->messages.offset_of[field];
}

static upb_Message *
new_message(struct writer *writer, const upb_MiniTable *table)
{
    upb_Message *message = writer->failed ? NULL : _upb_Message_New(table, writer->arena);

    if (!message) writer->failed = true;
    return message;
}

static void
set(struct writer *writer, upb_Message *message, enum field field, uint64_t number)
{
    if (message) memcpy(place(writer, message, field), &number, sizeof(number));
}

static void
set_true(struct writer *writer, upb_Message *message, enum field field)
{
    if (message) memcpy(place(writer, message, field), &(bool){true}, sizeof(bool));
}

static upb_Message *
set_message(struct writer *writer, upb_Message *message, enum field field)
{
    upb_Message *child = new_message(writer, writer->messages.element_of[field]);

    if (child) memcpy(place(writer, message, field), &child, sizeof(child));
    return child;
}

/* The element's size is 1 << size_log2. */
static void
append(struct writer *writer, upb_Message *message, enum field field,
       const void *element, int size_log2)
{
    size_t offset = writer->messages.offset_of[field];

    if (writer->failed) return;
    writer->failed =
        !_upb_Array_Append_accessor2(message, offset, size_log2, element, writer->arena);
    writer->part_items++;
}

static void
append_number(struct writer *writer, upb_Message *message, enum field field, uint64_t number)
{
    append(writer, message, field, &number, 3);
}

static upb_Message *
append_message(struct writer *writer, upb_Message *message, enum field field)
{
    upb_Message *child = new_message(writer, writer->messages.element_of[field]);

    append(writer, message, field, &child, sizeof(child) == 8 ? 3 : 2);
    return child;
}

/* Adds a string to the string table and returns its index. */
static uint32_t
append_string(struct writer *writer, const char *text, size_t length)
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

/* ---- parts ---- */

static void
begin_part(struct writer *writer)
{
    writer->part_items = 0;
    writer->arena = upb_Arena_New();
    if (!writer->arena) writer->failed = true;
    writer->profile = new_message(writer, writer->messages.tables[Profile]);
}

static bool
reserve_bytes(struct writer *writer, size_t more)
{
    size_t capacity = writer->capacity ? writer->capacity : 4096;

    while (capacity - writer->size < more) capacity *= 2;
    if (capacity == writer->capacity) return true;

    char *bytes = realloc(writer->bytes, capacity);
    if (!bytes) return false;
    writer->bytes = bytes;
    writer->capacity = capacity;
    return true;
}

static void
end_part(struct writer *writer)
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

/* Called between messages of the profile, when nothing is half built. */
static void
next_part_if_full(struct writer *writer)
{
    if (writer->part_items < PART_ITEMS) return;
    end_part(writer);
    begin_part(writer);
}

/* ---- lifecycle ---- */

static void
writer_begin(struct writer *writer)
{
    *writer = (struct writer){0};
    writer->failed = !messages_load(&writer->messages);
    begin_part(writer);
}

/* The output, its length in *size; NULL when the writer has failed. */
static char *
writer_end(struct writer *writer, size_t *size)
{
    end_part(writer);
    messages_free(&writer->messages);
    if (writer->failed) {
        free(writer->bytes);
        return NULL;
    }
    *size = writer->size;
    return writer->bytes;
}

#endif
