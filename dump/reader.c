/* reader.c - reads block by block, and the records of each block.
 *
 *     more() --> head, packed --CRC, inflate--> block --records--> the visitor
 *
 * There are two kinds of faults. If a block is cut, or its CRC is wrong, the file ends there:
 * the writer or a transfer did not finish. If a record is impossible, the writer has an error
 * or somebody forged the file, and nothing in it is trusted.
 *
 * A cursor that runs out of bytes stays at its end, returns zeros and sets failed. So a record
 * is read without a check after each number, and failed is checked once at its end. A loop over
 * a count from the file ends when the cursor has failed. */
#include "base/array.h"
#include "dump/reader.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#define PACKED_MOST (HEAPPROF_DUMP_BLOCK_MOST + (64 << 10)) /* zlib may enlarge what it cannot
                                                               compress */
#define ADDRESS_MOST (UINT64_C(1) << 60)   /* after division by 8 */
#define BYTES_MOST (UINT64_C(1) << 48)     /* the largest object */
#define SLOT_BYTES_MOST (1 << 16)
#define SLOTS_MOST (1 << 20)               /* slots of a page */
#define NUMBER_MOST (UINT32_MAX - 1)       /* how many strings, stacks or layouts */
#define KNOWN_BITS ((HEAPPROF_DUMP_DOING << 1) - 1)

struct cursor {
    const unsigned char *at, *end;
    bool failed;
};

struct layout {
    uint32_t first_label, label_count; /* indices in labels */
    uint8_t  bits, tail;
};

struct reader {
    heapprof_dump_more_i *more;
    void           *more_data;
    const struct heapprof_dump_visitor *visitor;
    char           *error;
    enum heapprof_dump_result result;
    bool            ended;        /* true once result is known */
    unsigned char  *packed, *unpacked; /* of the present block */
    size_t          packed_capacity, unpacked_capacity;
    uint64_t        position;     /* bytes of the file read so far */
    uint64_t        block_at;     /* where the present block begins in the file */
    struct cursor   in;
    uint32_t        string_count, stack_count, layout_count;
    struct layout  *layouts;
    size_t          layout_capacity;
    struct heapprof_dump_read_label *labels;
    size_t          label_count, label_capacity;
    struct heapprof_dump_read_object object; /* the last object; a record with MORE continues it */
    uint64_t        next_index;   /* index of the next element or pair of its tail */
};

/* ---- the end ---- */

/* Ends the reading; only the first reason counts. Returns false, which callers return. */
static bool __attribute__((format(printf, 3, 4)))
end_as(struct reader *reader, enum heapprof_dump_result result, const char *format, ...)
{
    va_list arguments;

    if (reader->ended) return false;
    reader->ended = true;
    reader->result = result;
    va_start(arguments, format);
    vsnprintf(reader->error, HEAPPROF_DUMP_ERROR_MAX, format, arguments);
    va_end(arguments);
    return false;
}

#define WRONG(reader, format, ...) \
    end_as((reader), HEAPPROF_DUMP_WRONG, "block at byte %"PRIu64": " format, \
           (reader)->block_at, __VA_ARGS__)

static bool
no_memory(struct reader *reader)
{
    return end_as(reader, HEAPPROF_DUMP_STOPPED, "no memory");
}

#define TELL(reader, what, ...) \
    (!(reader)->visitor->what || (reader)->visitor->what((reader)->visitor->data, __VA_ARGS__) || \
     no_memory(reader))

/* ---- bytes of a block ---- */

static bool
more_p(const struct cursor *in)
{
    return in->at < in->end && !in->failed;
}

static uint64_t
long_number(struct cursor *in)
{
    uint64_t number = 0;

    for (unsigned shift = 0; shift < 64 && in->at < in->end; shift += 7) {
        unsigned char byte = *in->at++;
        if (shift == 63 && byte > 1) break;
        number |= (uint64_t)(byte & 127) << shift;
        if (byte < 128) return number;
    }
    in->failed = true;
    in->at = in->end;
    return 0;
}

static inline uint64_t
read_number(struct cursor *in)
{
    return in->at < in->end && *in->at < 128 ? *in->at++ : long_number(in);
}

static inline int64_t
unzigzag(uint64_t number)
{
    return (int64_t)(number >> 1) ^ -(int64_t)(number & 1);
}

static uint64_t
fixed(const unsigned char *bytes, int width)
{
    uint64_t number = 0;

    while (width-- > 0) number = number << 8 | bytes[width];
    return number;
}

static uint64_t
read_hash(struct cursor *in)
{
    if (in->end - in->at < 8) {
        in->failed = true;
        in->at = in->end;
        return 0;
    }
    in->at += 8;
    return fixed(in->at - 8, 8);
}

static struct heapprof_dump_text
read_text(struct cursor *in)
{
    uint64_t length = read_number(in);

    if (length > (uint64_t)(in->end - in->at)) {
        in->failed = true;
        in->at = in->end;
        length = 0;
    }
    in->at += length;
    return (struct heapprof_dump_text){(const char *)in->at - length, (size_t)length};
}

/* ---- numbers of what is defined before ---- */

/* Reads a number. The file is WRONG if it is larger than most. */
static uint32_t
read_bounded(struct reader *reader, uint64_t most, const char *what)
{
    uint64_t number = read_number(&reader->in);

    if (number <= most) return (uint32_t)number;
    WRONG(reader, "%s %"PRIu64" is not defined", what, number);
    return 0;
}

static uint32_t
read_string(struct reader *reader)
{
    return read_bounded(reader, reader->string_count, "string");
}

static uint32_t
read_label(struct reader *reader)
{
    return read_bounded(reader, HEAPPROF_DUMP_LABELS - 1, "label");
}

/* The file has addresses divided by 8. */
static uint64_t
read_address(struct reader *reader)
{
    uint64_t number = read_number(&reader->in);

    if (number < ADDRESS_MOST) return number * 8;
    WRONG(reader, "%"PRIu64" is not an address", number);
    return 0;
}

/* True if the record is correct. If the cursor has failed, sets the error. */
static bool
whole_p(struct reader *reader, const char *what)
{
    if (reader->in.failed) WRONG(reader, "%s ends behind the block", what);
    return !reader->ended;
}

static bool
count_one(struct reader *reader, uint32_t *count, const char *what)
{
    if (*count == NUMBER_MOST) return WRONG(reader, "too many %s", what);
    ++*count;
    return true;
}

/* ---- records ---- */

static bool
read_fact(struct reader *reader, bool footer)
{
    struct heapprof_dump_text key = read_text(&reader->in), value = read_text(&reader->in);

    return whole_p(reader, "a text") && TELL(reader, fact, footer, key, value);
}

static bool
read_process(struct reader *reader)
{
    return read_fact(reader, false);
}

static bool
read_footer(struct reader *reader)
{
    return read_fact(reader, true);
}

static bool
read_string_record(struct reader *reader)
{
    struct heapprof_dump_text text = read_text(&reader->in);

    return whole_p(reader, "a text") && count_one(reader, &reader->string_count, "strings") &&
           TELL(reader, string, reader->string_count, text);
}

static bool
read_stack(struct reader *reader)
{
    struct heapprof_dump_stack stack;
    uint64_t line;

    stack.caller = read_bounded(reader, reader->stack_count, "stack");
    stack.method = read_string(reader);
    stack.file = read_string(reader);
    line = read_number(&reader->in);
    stack.line = line < UINT32_MAX ? (uint32_t)line : UINT32_MAX;
    return whole_p(reader, "a stack") && count_one(reader, &reader->stack_count, "stacks") &&
           TELL(reader, stack, reader->stack_count, &stack);
}

static bool
read_layout_labels(struct reader *reader, struct layout *layout)
{
    uint64_t count = read_number(&reader->in);

    if (count > HEAPPROF_DUMP_LABELS_MOST - reader->label_count)
        return WRONG(reader, "%" PRIu64 " labels", count);
    layout->first_label = (uint32_t)reader->label_count;
    layout->label_count = (uint32_t)count;
    for (; count > 0 && !reader->in.failed && !reader->ended; count--) {
        if (!HEAPPROF_ARRAY_GROW(reader->labels, reader->label_capacity, reader->label_count + 1))
            return no_memory(reader);
        uint32_t label = read_label(reader);
        reader->labels[reader->label_count++] =
            (struct heapprof_dump_read_label){ label, read_string(reader) };
    }
    return true;
}

static bool
read_layout(struct reader *reader)
{
    struct heapprof_dump_read_layout layout = {0};
    struct layout *own;

    if (!HEAPPROF_ARRAY_GROW(reader->layouts, reader->layout_capacity, reader->layout_count + 1))
        return no_memory(reader);
    own = &reader->layouts[reader->layout_count];
    layout.type = read_string(reader);
    layout.class_address = read_address(reader);
    layout.class_name = read_string(reader);
    layout.bits = own->bits = (uint8_t)read_bounded(reader, HEAPPROF_DUMP_OTHERS, "a layout's bit");
    layout.tail = own->tail = (uint8_t)read_bounded(reader, HEAPPROF_DUMP_PAIRED, "tail");
    if (!read_layout_labels(reader, own) || !whole_p(reader, "a layout")) return false;
    layout.label_count = own->label_count;
    layout.labels = layout.label_count ? &reader->labels[own->first_label] : NULL;
    return count_one(reader, &reader->layout_count, "layouts") &&
           TELL(reader, layout, reader->layout_count - 1, &layout);
}

static bool
read_root(struct reader *reader)
{
    struct heapprof_dump_root root;

    root.label = read_label(reader);
    root.name = read_string(reader);
    root.category = read_string(reader);
    root.address = read_address(reader);
    return whole_p(reader, "a root") && TELL(reader, root, &root);
}

static bool
read_move(struct reader *reader)
{
    uint64_t from = read_address(reader), to = read_address(reader);

    return whole_p(reader, "a move") && TELL(reader, move, from, to);
}

/* ---- objects ---- */

static bool
check_immediate(struct reader *reader, const struct heapprof_dump_value *value)
{
    switch (value->immediate) {
      case HEAPPROF_DUMP_SPECIAL:
        return value->bits <= 4 || WRONG(reader, "%"PRIu64" is not a special value", value->bits);
      case HEAPPROF_DUMP_INTEGER:
        return true;
      case HEAPPROF_DUMP_SYMBOL:
      case HEAPPROF_DUMP_FLOAT:
        return value->bits <= reader->string_count ||
               WRONG(reader, "string %"PRIu64" is not defined", value->bits);
      case HEAPPROF_DUMP_HIDDEN:
        return value->bits <= 2 || WRONG(reader, "%"PRIu64" is not a hidden value", value->bits);
      default:
        return WRONG(reader, "%u is not a kind of reference", value->immediate);
    }
}

static inline bool
read_value(struct reader *reader, struct heapprof_dump_value *value)
{
    uint64_t number = read_number(&reader->in);

    value->object = !(number & 1);
    if (value->object) {
        uint64_t address = reader->object.address / 8 + (uint64_t)unzigzag(number >> 1);
        value->bits = address * 8;
        return (address > 0 && address < ADDRESS_MOST) ||
               WRONG(reader, "%"PRIu64" is not a reference", number);
    }
    value->immediate = number >> 1 & 7;
    value->bits = number >> 4;
    return check_immediate(reader, value);
}

static inline bool
read_reference(struct reader *reader, struct heapprof_dump_reference *reference)
{
    return read_value(reader, &reference->to) && !reader->in.failed &&
           TELL(reader, reference, reference);
}

static bool
read_labelled(struct reader *reader, const struct layout *layout)
{
    struct heapprof_dump_reference reference = {0};

    for (uint32_t i = 0; i < layout->label_count; i++) {
        const struct heapprof_dump_read_label *label = &reader->labels[layout->first_label + i];
        reference.label = label->label;
        reference.name = label->name;
        if (!read_reference(reader, &reference)) return false;
    }
    return true;
}

static bool
read_elements(struct reader *reader, uint64_t count)
{
    struct heapprof_dump_reference reference = {.label = HEAPPROF_DUMP_INDEX};

    for (; count > 0; count--) {
        reference.index = reader->next_index++;
        if (!read_reference(reader, &reference)) return false;
    }
    return true;
}

static bool
read_pairs(struct reader *reader, uint64_t count)
{
    struct heapprof_dump_reference key = { .label = HEAPPROF_DUMP_KEY },
                                   value = { .label = HEAPPROF_DUMP_VALUE };

    for (; count > 0; count--) {
        key.index = value.index = reader->next_index++;
        if (!read_reference(reader, &key)) return false;
        value.key = key.to;
        if (!read_reference(reader, &value)) return false;
    }
    return true;
}

static bool
read_others(struct reader *reader)
{
    struct heapprof_dump_reference reference = {0};
    uint64_t count = read_number(&reader->in);

    for (; count > 0; count--) {
        reference.label = read_label(reader);
        reference.name = read_string(reader);
        if (reader->ended || !read_reference(reader, &reference)) return false;
    }
    return true;
}

static bool
read_references(struct reader *reader, const struct layout *layout, bool continues)
{
    if (!continues && !read_labelled(reader, layout)) return false;
    if (layout->tail == HEAPPROF_DUMP_INDEXED && !read_elements(reader, read_number(&reader->in)))
        return false;
    if (layout->tail == HEAPPROF_DUMP_PAIRED && !read_pairs(reader, read_number(&reader->in)))
        return false;
    return !(layout->bits & HEAPPROF_DUMP_OTHERS) || read_others(reader);
}

static uint64_t
read_bytes(struct reader *reader)
{
    uint64_t bytes = read_number(&reader->in);

    if (bytes > BYTES_MOST) WRONG(reader, "an object of %"PRIu64" bytes", bytes);
    return bytes;
}

static void
read_fields(struct reader *reader, struct heapprof_dump_read_object *object)
{
    object->external = object->bits & HEAPPROF_DUMP_EXTERNAL ? read_bytes(reader) : 0;
    object->length = object->bits & HEAPPROF_DUMP_LENGTH ? read_bytes(reader) : 0;
    object->text = object->bits & HEAPPROF_DUMP_TEXT ? read_string(reader) : 0;
    object->stack = 0;
    object->weight = 0;
    if (object->bits & HEAPPROF_DUMP_SAMPLED) {
        object->stack = read_bounded(reader, reader->stack_count, "stack");
        object->weight = read_number(&reader->in);
    }
    object->doing = object->bits & HEAPPROF_DUMP_DOING ? read_string(reader) : 0;
    object->hash = object->bits & HEAPPROF_DUMP_HASHED ? read_hash(&reader->in) : 0;
}

/* Reads a record with MORE: it must have the layout and the slot of the object before. */
static bool
continue_object(struct reader *reader, uint64_t address, uint32_t layout)
{
    const struct heapprof_dump_read_object *object = &reader->object;

    if (address != object->address || layout != object->layout) {
        return WRONG(reader, "what goes on at %#"PRIx64" has not begun", address);
    }
    read_references(reader, &reader->layouts[layout], true);
    return whole_p(reader, "an object");
}

/* next is the slot after the object before. Returns the slot of this object, or SLOTS_MOST if
 * the record is wrong. */
static uint64_t
read_object(struct reader *reader, uint64_t page, uint32_t slot_bytes, uint64_t next, bool first)
{
    uint64_t passed = read_number(&reader->in), slot = next + passed;
    uint32_t layout = read_bounded(reader, reader->layout_count ? reader->layout_count - 1 : 0,
                                   "layout");
    uint64_t bits = read_number(&reader->in);
    struct heapprof_dump_read_object *object = &reader->object;

    if (bits & HEAPPROF_DUMP_MORE && !first) slot--;
    if (!whole_p(reader, "an object")) return SLOTS_MOST;
    if (passed >= SLOTS_MOST || slot >= SLOTS_MOST || bits > KNOWN_BITS ||
        reader->layout_count == 0) {
        WRONG(reader, "slot %"PRIu64", bits %#"PRIx64" are no object's", slot, bits);
        return SLOTS_MOST;
    }
    if (bits & HEAPPROF_DUMP_MORE) {
        return continue_object(reader, page + slot * slot_bytes, layout) ? slot : SLOTS_MOST;
    }
    object->address = page + slot * slot_bytes;
    object->page = page;
    object->slot_bytes = slot_bytes;
    object->layout = layout;
    object->bits = (uint32_t)bits;
    read_fields(reader, object);
    reader->next_index = 0;
    if (!whole_p(reader, "an object") || !TELL(reader, object, object)) return SLOTS_MOST;
    read_references(reader, &reader->layouts[layout], false);
    return whole_p(reader, "an object") ? slot : SLOTS_MOST;
}

static bool
read_page(struct reader *reader)
{
    uint64_t page = read_address(reader), bytes = read_number(&reader->in),
             count = read_number(&reader->in);
    uint64_t next = 0;

    if (!whole_p(reader, "a page")) return false;
    if (page == 0 || bytes == 0 || bytes % 8 || bytes > SLOT_BYTES_MOST) {
        return WRONG(reader, "page %#"PRIx64" of slots of %"PRIu64" bytes", page, bytes);
    }
    if (!TELL(reader, page, page, (uint32_t)bytes, count)) return false;
    for (uint64_t i = 0; i < count; i++) {
        uint64_t slot = read_object(reader, page, (uint32_t)bytes, next, i == 0);
        if (slot == SLOTS_MOST) return false;
        next = slot + 1;
    }
    return true;
}

/* ---- blocks ---- */

typedef bool read_record_i(struct reader *reader);

static read_record_i *const records[HEAPPROF_DUMP_BLOCK_KINDS] = {
    [HEAPPROF_DUMP_PROCESS] = read_process, [HEAPPROF_DUMP_STRINGS] = read_string_record,
    [HEAPPROF_DUMP_STACKS] = read_stack,    [HEAPPROF_DUMP_LAYOUTS] = read_layout,
    [HEAPPROF_DUMP_ROOTS] = read_root,      [HEAPPROF_DUMP_OBJECTS] = read_page,
    [HEAPPROF_DUMP_MOVES] = read_move,      [HEAPPROF_DUMP_FOOTER] = read_footer,
};

/* Returns how many of size bytes were read; fewer if the file has ended. */
static size_t
take(struct reader *reader, unsigned char *buffer, size_t size)
{
    size_t got = 0;

    while (got < size) {
        ptrdiff_t count = reader->more(reader->more_data, buffer + got, size - got);
        if (count < 0 && errno == EINTR) continue;
        if (count < 0) end_as(reader, HEAPPROF_DUMP_WRONG, "cannot be read: %s", strerror(errno));
        if (count <= 0) break;
        got += (size_t)count;
    }
    reader->position += got;
    return got;
}

static bool
read_magic(struct reader *reader)
{
    unsigned char head[HEAPPROF_DUMP_MAGIC_BYTES + 4];
    size_t got = take(reader, head, sizeof(head));
    uint32_t version =
        got == sizeof(head) ? (uint32_t)fixed(head + HEAPPROF_DUMP_MAGIC_BYTES, 4) : 0;

    if (got == 0) end_as(reader, HEAPPROF_DUMP_WRONG, "is empty");
    else if (got < sizeof(head) || memcmp(head, HEAPPROF_DUMP_MAGIC, HEAPPROF_DUMP_MAGIC_BYTES)) {
        end_as(reader, HEAPPROF_DUMP_WRONG, "is not an object graph");
    }
    else if (version != HEAPPROF_DUMP_VERSION) {
        end_as(reader, HEAPPROF_DUMP_WRONG,
               "is of version %" PRIu32 ", and this heapprof reads version %d", version,
               HEAPPROF_DUMP_VERSION);
    }
    return !reader->ended;
}

struct head {
    unsigned kind, encoding;
    size_t   bytes, packed_bytes;
    uint32_t crc;
};

static bool
incomplete(struct reader *reader, const char *why)
{
    return end_as(reader, HEAPPROF_DUMP_INCOMPLETE, "is incomplete: the block at byte %"PRIu64" %s",
                  reader->block_at, why);
}

/* Most files have no block of the largest size. */
static bool
make_room(struct reader *reader, size_t packed_bytes, size_t bytes)
{
    return (HEAPPROF_ARRAY_GROW(reader->packed, reader->packed_capacity, packed_bytes) &&
            HEAPPROF_ARRAY_GROW(reader->unpacked, reader->unpacked_capacity, bytes)) ||
           no_memory(reader);
}

/* Reads the head of the next block, and its packed bytes. */
static bool
take_block(struct reader *reader, struct head *head)
{
    unsigned char bytes[HEAPPROF_DUMP_HEAD_BYTES];
    size_t got;

    reader->block_at = reader->position;
    got = take(reader, bytes, sizeof(bytes));
    if (got < sizeof(bytes)) return incomplete(reader, got ? "is cut short" : "is missing");
    *head = (struct head){ bytes[0], bytes[1], (size_t)fixed(bytes + 4, 4),
                            (size_t)fixed(bytes + 8, 4), (uint32_t)fixed(bytes + 12, 4) };
    if (head->bytes > HEAPPROF_DUMP_BLOCK_MOST || head->packed_bytes > PACKED_MOST ||
        (head->encoding == HEAPPROF_DUMP_RAW && head->packed_bytes != head->bytes)) {
        return incomplete(reader, "is damaged");
    }
    if (!make_room(reader, head->packed_bytes, head->bytes)) return false;
    if (take(reader, reader->packed, head->packed_bytes) < head->packed_bytes)
        incomplete(reader, "is cut short");
    else if (crc32(0, reader->packed, (uInt)head->packed_bytes) != head->crc)
        incomplete(reader, "is damaged");
    return !reader->ended;
}

static bool
unpack(struct reader *reader, const struct head *head)
{
    uLongf size = head->bytes;

    reader->in = (struct cursor){reader->packed, reader->packed + head->packed_bytes, false};
    if (head->encoding == HEAPPROF_DUMP_RAW) return true;
    if (head->encoding != HEAPPROF_DUMP_ZLIB)
        return WRONG(reader, "encoding %u is not known", head->encoding);
    if (uncompress(reader->unpacked, &size, reader->packed, head->packed_bytes) != Z_OK ||
        size != head->bytes) {
        return WRONG(reader, "cannot be unpacked to %zu bytes", head->bytes);
    }
    reader->in = (struct cursor){reader->unpacked, reader->unpacked + size, false};
    return true;
}

static bool
read_block(struct reader *reader)
{
    struct head head = {0};

    if (!take_block(reader, &head)) return false;
    if (head.kind >= HEAPPROF_DUMP_BLOCK_KINDS || !records[head.kind]) return true;
    if (!unpack(reader, &head)) return false;
    while (more_p(&reader->in)) {
        if (!records[head.kind](reader)) return false;
    }
    if (head.kind == HEAPPROF_DUMP_FOOTER) end_as(reader, HEAPPROF_DUMP_COMPLETE, "%s", "");
    return !reader->ended;
}

enum heapprof_dump_result
rb_heapprof_dump_read(heapprof_dump_more_i *more, void *more_data,
                      const struct heapprof_dump_visitor *visitor,
                      char error[HEAPPROF_DUMP_ERROR_MAX])
{
    enum { first_bytes = 4096 };
    struct reader reader = {.more = more, .more_data = more_data, .visitor = visitor,
                            .error = error};

    error[0] = '\0';
    if (make_room(&reader, first_bytes, first_bytes) && read_magic(&reader)) {
        while (read_block(&reader)) continue;
    }
    free(reader.packed);
    free(reader.unpacked);
    free(reader.layouts);
    free(reader.labels);
    return reader.result;
}
