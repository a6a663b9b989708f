/* writer.c - writes the file of an object graph, block by block. Records wait in a few baskets,
 * one for each kind; a full basket is compressed and written.
 *
 *     strings   ->  STRINGS  --.
 *     stacks    ->  STACKS   --+--> compressed, to write_i
 *     layouts   ->  LAYOUTS  --|
 *     the rest  ->  one of the other kinds at a time
 *        ^
 *     objects of one page: their count stands before them and is known at the end of the page
 *
 * I1  A block is written after the blocks that it refers to: flush writes those first.
 *
 * I2  No record is longer than RECORD_MOST. A block is written before it could be longer than
 * HEAPPROF_DUMP_BLOCK_MOST.
 *
 * I3  error is the first failure. After it nothing is written.
 *
 * Only short texts are stored once. Long texts are rarely equal, and the writer would have to
 * keep them. */
#include "dump/writer.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/check.h"
#include "base/utf8.h"

#define BLOCK_BYTES (1 << 20)  /* a block of this size is written */
#define RECORD_MOST (HEAPPROF_DUMP_BLOCK_MOST - BLOCK_BYTES)
#define KEPT_TEXT 256
#define NUMBER_BYTES 10        /* of the longest LEB128 */
#define ARENA_BYTES (512 << 10) /* deflate needs 268 KB with these settings */
#define ZLIB_LEVEL 1

/* ---- bytes ---- */

static void
fail(struct heapprof_dump_writer *writer, int error)
{
    if (writer->error == 0) writer->error = error;
}

/* Makes room for count more bytes. */
static bool
reserve(struct heapprof_dump_writer *writer, struct heapprof_dump_bytes *to, size_t count)
{
    if (writer->error != 0) return false;
    if (HEAPPROF_MEM_GROW(writer->mem, to->bytes, to->capacity, to->used + count)) return true;
    fail(writer, ENOMEM);
    return false;
}

static void
put(struct heapprof_dump_writer *writer, struct heapprof_dump_bytes *to, const char *bytes,
    size_t size)
{
    if (!reserve(writer, to, size)) return;
    memcpy(to->bytes + to->used, bytes, size);
    to->used += size;
}

void
rb_heapprof_dump_number(struct heapprof_dump_writer *writer, struct heapprof_dump_bytes *to,
                        uint64_t number)
{
    if (!reserve(writer, to, NUMBER_BYTES)) return;
    for (; number >= 0x80; number >>= 7) to->bytes[to->used++] = (char)(number | 0x80);
    to->bytes[to->used++] = (char)number;
}

static void
put_text(struct heapprof_dump_writer *writer, struct heapprof_dump_bytes *to, const char *text,
         size_t length)
{
    rb_heapprof_dump_number(writer, to, length);
    put(writer, to, text, length);
}

static void
put_little(char *to, uint64_t number, int bytes)
{
    for (int i = 0; i < bytes; i++) to[i] = (char)(number >> 8 * i);
}

/* ---- blocks ---- */

/* zlib allocates at deflateInit, frees at deflateEnd, and does neither in between. */
static voidpf
zlib_alloc(voidpf opaque, uInt items, uInt size)
{
    struct heapprof_dump_bytes *arena = opaque;
    size_t bytes = ((size_t)items * size + 15) & ~(size_t)15;
    void *block = arena->bytes + arena->used;

    if (bytes > arena->capacity - arena->used) return Z_NULL;
    arena->used += bytes;
    return block;
}

static void
zlib_free(voidpf opaque, voidpf block)
{
    (void)opaque;
    (void)block;
}

static void
start_zlib(struct heapprof_dump_writer *writer)
{
    if (!reserve(writer, &writer->arena, ARENA_BYTES)) return;
    writer->zlib = (z_stream){.zalloc = zlib_alloc, .zfree = zlib_free, .opaque = &writer->arena};
    writer->zlib_ready = deflateInit(&writer->zlib, ZLIB_LEVEL) == Z_OK;
    if (!writer->zlib_ready) fail(writer, ENOMEM);
}

/* Compresses the block into packed. Returns false if it did not become shorter. */
static bool
pack(struct heapprof_dump_writer *writer, const struct heapprof_dump_bytes *block)
{
    z_stream *zlib = &writer->zlib;

    writer->packed.used = 0;
    if (!reserve(writer, &writer->packed, block->used)) return false;
    deflateReset(zlib);
    zlib->next_in = (Bytef *)block->bytes;
    zlib->avail_in = (uInt)block->used;
    zlib->next_out = (Bytef *)writer->packed.bytes;
    zlib->avail_out = (uInt)block->used;
    if (deflate(zlib, Z_FINISH) != Z_STREAM_END) return false;
    writer->packed.used = zlib->total_out;
    return true;
}

static void
send(struct heapprof_dump_writer *writer, const char *bytes, size_t size)
{
    if (writer->error != 0) return;
    int error = writer->write_i(writer->data, bytes, size);
    if (error != 0) fail(writer, error);
    writer->file_bytes += size;
}

static void
write_block(struct heapprof_dump_writer *writer, enum heapprof_dump_block kind)
{
    struct heapprof_dump_bytes *block = &writer->blocks[kind];
    char head[HEAPPROF_DUMP_HEAD_BYTES] = {(char)kind, HEAPPROF_DUMP_ZLIB};

    if (writer->error != 0 || block->used == 0) return;
    HEAPPROF_ASSERT(block->used <= HEAPPROF_DUMP_BLOCK_MOST);
    const struct heapprof_dump_bytes *bytes = &writer->packed;
    if (!pack(writer, block)) {
        bytes = block;
        head[1] = HEAPPROF_DUMP_RAW;
    }
    put_little(head + 4, block->used, 4);
    put_little(head + 8, bytes->used, 4);
    put_little(head + 12, crc32(0, (const Bytef *)bytes->bytes, (uInt)bytes->used), 4);
    send(writer, head, sizeof(head));
    send(writer, bytes->bytes, bytes->used);
    block->used = 0;
}

/* Writes the block of that kind, after the blocks it may refer to. */
static void
flush(struct heapprof_dump_writer *writer, enum heapprof_dump_block kind)
{
    write_block(writer, HEAPPROF_DUMP_STRINGS);
    if (kind == HEAPPROF_DUMP_STRINGS) return;
    if (kind == HEAPPROF_DUMP_OBJECTS) {
        write_block(writer, HEAPPROF_DUMP_STACKS);
        write_block(writer, HEAPPROF_DUMP_LAYOUTS);
    }
    write_block(writer, kind);
}

/* Called after each record. */
static void
end_record(struct heapprof_dump_writer *writer, enum heapprof_dump_block kind)
{
    if (writer->blocks[kind].used >= BLOCK_BYTES) flush(writer, kind);
}

/* Begins records of a kind that no other refers to. Returns its block. */
static struct heapprof_dump_bytes *
records(struct heapprof_dump_writer *writer, enum heapprof_dump_block kind)
{
    if (kind != writer->kind) flush(writer, writer->kind);
    writer->kind = kind;
    return &writer->blocks[kind];
}

/* ---- strings, stacks, layouts ---- */

/* Returns the length of a text after cutting: at most HEAPPROF_DUMP_TEXT_MOST, and never half a
 * character. The text may be longer than what the caller gave, because escapes replace invalid
 * bytes. */
static size_t
cut(const char *text, size_t length)
{
    if (length <= HEAPPROF_DUMP_TEXT_MOST) return length;
    length = HEAPPROF_DUMP_TEXT_MOST;
    while ((text[length] & 0xC0) == 0x80) length--;
    return length;
}

static uint32_t
new_string(struct heapprof_dump_writer *writer, const char *text, size_t length)
{
    put_text(writer, &writer->blocks[HEAPPROF_DUMP_STRINGS], text, length);
    end_record(writer, HEAPPROF_DUMP_STRINGS);
    return ++writer->string_count;
}

static uint32_t
known_string(struct heapprof_dump_writer *writer, const char *text, size_t length)
{
    uint32_t known = rb_heapprof_strings_intern(&writer->strings, text, length);

    if (known == UINT32_MAX ||
        !HEAPPROF_MEM_GROW(writer->mem, writer->numbers, writer->numbers_capacity,
                           (size_t)known + 1)) {
        fail(writer, ENOMEM);
        return 0;
    }
    if (!writer->numbers[known]) writer->numbers[known] = new_string(writer, text, length);
    return writer->numbers[known];
}

uint32_t
rb_heapprof_dump_string(struct heapprof_dump_writer *writer, const char *text, size_t length)
{
    if (length == 0) return 0;
    if (length > HEAPPROF_DUMP_TEXT_MOST) length = HEAPPROF_DUMP_TEXT_MOST;
    writer->text.used = 0;
    if (!reserve(writer, &writer->text, HEAPPROF_UTF8_MAX(length))) return 0;
    length = cut(writer->text.bytes, rb_heapprof_utf8_copy(writer->text.bytes, text, length));
    if (length > KEPT_TEXT) return new_string(writer, writer->text.bytes, length);
    return known_string(writer, writer->text.bytes, length);
}

uint32_t
rb_heapprof_dump_stack(struct heapprof_dump_writer *writer, uint32_t callers, uint32_t method,
                       uint32_t file,
                       uint32_t line)
{
    struct heapprof_dump_bytes *to = &writer->blocks[HEAPPROF_DUMP_STACKS];
    const uint32_t numbers[] = {callers, method, file, line};

    for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers); i++)
        rb_heapprof_dump_number(writer, to, numbers[i]);
    end_record(writer, HEAPPROF_DUMP_STACKS);
    return ++writer->stack_count;
}

uint32_t
rb_heapprof_dump_layout(struct heapprof_dump_writer *writer,
                        const struct heapprof_dump_layout *layout)
{
    struct heapprof_dump_bytes *to = &writer->blocks[HEAPPROF_DUMP_LAYOUTS];
    const uint64_t numbers[] = {layout->type, layout->class_address / 8, layout->class_name,
                                layout->bits,
                                layout->tail, layout->label_count};

    for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers); i++)
        rb_heapprof_dump_number(writer, to, numbers[i]);
    for (size_t i = 0; i < layout->label_count; i++) {
        rb_heapprof_dump_number(writer, to, layout->labels[i].kind);
        rb_heapprof_dump_number(writer, to, layout->labels[i].name);
    }
    end_record(writer, HEAPPROF_DUMP_LAYOUTS);
    return writer->layout_count++;
}

/* ---- records ---- */

void
rb_heapprof_dump_pair(struct heapprof_dump_writer *writer, enum heapprof_dump_block kind,
                      const char *key,
                      const char *value)
{
    struct heapprof_dump_bytes *to = records(writer, kind);
    size_t length = strlen(value);

    writer->text.used = 0;
    if (!reserve(writer, &writer->text, HEAPPROF_UTF8_MAX(length))) return;
    length = cut(writer->text.bytes, rb_heapprof_utf8_copy(writer->text.bytes, value, length));
    put_text(writer, to, key, strlen(key));
    put_text(writer, to, writer->text.bytes, length);
    end_record(writer, kind);
}

void
rb_heapprof_dump_pair_number(struct heapprof_dump_writer *writer, enum heapprof_dump_block kind,
                             const char *key,
                             uint64_t value)
{
    char text[24];

    snprintf(text, sizeof(text), "%llu", (unsigned long long)value);
    rb_heapprof_dump_pair(writer, kind, key, text);
}

void
rb_heapprof_dump_root(struct heapprof_dump_writer *writer, struct heapprof_dump_name label,
                      uint32_t category,
                      uintptr_t address)
{
    struct heapprof_dump_bytes *to = records(writer, HEAPPROF_DUMP_ROOTS);
    const uint64_t numbers[] = {label.kind, label.name, category, address / 8};

    for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers); i++)
        rb_heapprof_dump_number(writer, to, numbers[i]);
    writer->roots++;
    end_record(writer, HEAPPROF_DUMP_ROOTS);
}

void
rb_heapprof_dump_move(struct heapprof_dump_writer *writer, uintptr_t before, uintptr_t now)
{
    struct heapprof_dump_bytes *to = records(writer, HEAPPROF_DUMP_MOVES);

    rb_heapprof_dump_number(writer, to, before / 8);
    rb_heapprof_dump_number(writer, to, now / 8);
    end_record(writer, HEAPPROF_DUMP_MOVES);
}

/* ---- objects ---- */

void
rb_heapprof_dump_page(struct heapprof_dump_writer *writer, uintptr_t address, uint32_t slot_bytes)
{
    writer->page.used = 0;
    writer->page_objects = 0;
    writer->next_slot = 0;
    writer->page_address = address;
    writer->slot_bytes = slot_bytes;
}

void
rb_heapprof_dump_end_page(struct heapprof_dump_writer *writer)
{
    struct heapprof_dump_bytes *to = records(writer, HEAPPROF_DUMP_OBJECTS);

    if (writer->page_objects == 0) return;
    if (to->used + writer->page.used + 3 * NUMBER_BYTES > HEAPPROF_DUMP_BLOCK_MOST) {
        flush(writer, HEAPPROF_DUMP_OBJECTS);
    }
    rb_heapprof_dump_number(writer, to, writer->page_address / 8);
    rb_heapprof_dump_number(writer, to, writer->slot_bytes);
    rb_heapprof_dump_number(writer, to, writer->page_objects);
    put(writer, to, writer->page.bytes, writer->page.used);
    rb_heapprof_dump_page(writer, writer->page_address, writer->slot_bytes);
    end_record(writer, HEAPPROF_DUMP_OBJECTS);
}

static void
put_hash(struct heapprof_dump_writer *writer, uint64_t hash)
{
    char bytes[8];

    put_little(bytes, hash, sizeof(bytes));
    put(writer, &writer->page, bytes, sizeof(bytes));
}

void
rb_heapprof_dump_object(struct heapprof_dump_writer *writer,
                        const struct heapprof_dump_object *object)
{
    struct heapprof_dump_bytes *to = &writer->page;
    bool more = object->bits & HEAPPROF_DUMP_MORE;

    if (to->used >= BLOCK_BYTES) rb_heapprof_dump_end_page(writer);
    uint32_t slot = (uint32_t)((object->address - writer->page_address) / writer->slot_bytes);
    rb_heapprof_dump_number(writer, to,
                            more && writer->page_objects ? 0 : slot - writer->next_slot);
    rb_heapprof_dump_number(writer, to, object->layout);
    rb_heapprof_dump_number(writer, to, object->bits);
    if (object->bits & HEAPPROF_DUMP_EXTERNAL)
        rb_heapprof_dump_number(writer, to, object->external_bytes);
    if (object->bits & HEAPPROF_DUMP_LENGTH) rb_heapprof_dump_number(writer, to, object->length);
    if (object->bits & HEAPPROF_DUMP_TEXT) rb_heapprof_dump_number(writer, to, object->text);
    if (object->bits & HEAPPROF_DUMP_SAMPLED) {
        rb_heapprof_dump_number(writer, to, object->stack);
        rb_heapprof_dump_number(writer, to, object->weight);
    }
    if (object->bits & HEAPPROF_DUMP_DOING) rb_heapprof_dump_number(writer, to, object->doing);
    if (object->bits & HEAPPROF_DUMP_HASHED) put_hash(writer, object->hash);
    writer->object = object->address;
    writer->next_slot = slot + 1;
    writer->page_objects++;
    if (!more) writer->objects++;
}

/* ---- life ---- */

void
rb_heapprof_dump_start(struct heapprof_dump_writer *writer, struct heapprof_mem *mem,
                       heapprof_dump_write_i *write_i, void *data)
{
    char head[HEAPPROF_DUMP_MAGIC_BYTES + 4];

    *writer = (struct heapprof_dump_writer){.mem = mem, .write_i = write_i, .data = data,
                                            .kind = HEAPPROF_DUMP_PROCESS};
    rb_heapprof_strings_init(&writer->strings, mem);
    start_zlib(writer);
    memcpy(head, HEAPPROF_DUMP_MAGIC, HEAPPROF_DUMP_MAGIC_BYTES);
    put_little(head + HEAPPROF_DUMP_MAGIC_BYTES, HEAPPROF_DUMP_VERSION, 4);
    send(writer, head, sizeof(head));
}

int
rb_heapprof_dump_finish(struct heapprof_dump_writer *writer)
{
    const enum heapprof_dump_block footer = HEAPPROF_DUMP_FOOTER;

    rb_heapprof_dump_pair_number(writer, footer, "objects", writer->objects);
    rb_heapprof_dump_pair_number(writer, footer, "references", writer->references);
    rb_heapprof_dump_pair_number(writer, footer, "roots", writer->roots);
    rb_heapprof_dump_pair_number(writer, footer, "strings", writer->string_count);
    rb_heapprof_dump_pair_number(writer, footer, "stacks", writer->stack_count);
    rb_heapprof_dump_pair_number(writer, footer, "layouts", writer->layout_count);
    flush(writer, footer);
    return writer->error;
}

static void
release(struct heapprof_dump_writer *writer, struct heapprof_dump_bytes *bytes)
{
    HEAPPROF_MEM_RELEASE(writer->mem, bytes->bytes, bytes->capacity);
}

void
rb_heapprof_dump_free(struct heapprof_dump_writer *writer)
{
    if (writer->zlib_ready) deflateEnd(&writer->zlib);
    for (int i = 0; i < HEAPPROF_DUMP_BLOCK_KINDS; i++) release(writer, &writer->blocks[i]);
    release(writer, &writer->page);
    release(writer, &writer->text);
    release(writer, &writer->packed);
    release(writer, &writer->arena);
    HEAPPROF_MEM_RELEASE(writer->mem, writer->numbers, writer->numbers_capacity);
    rb_heapprof_strings_free(&writer->strings);
}
