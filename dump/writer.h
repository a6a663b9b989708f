#ifndef HEAPPROF_DUMP_WRITER_H
#define HEAPPROF_DUMP_WRITER_H
/* Writes the file of an object graph (format.h), from its first byte to its last.
 *
 *     start -> pairs of PROCESS -> { roots | pages of objects | moves }, in any order -> finish -> free
 *
 * Strings, stacks and layouts get their number when they are first named, and stand in the file before
 * what refers to them. Nothing is asked of malloc, no lock is taken, nothing is raised: all of it may run in the
 * child of a fork, or while the VM is stopped.
 *
 * What goes wrong is in error, the first of it. Everything after that does nothing, and returns 0. */
#include <zlib.h>

#include "base/strings.h"
#include "dump/format.h"

/* Most bytes of a text; what is longer is cut. */
#define HEAPPROF_DUMP_TEXT_MOST (1 << 20)

/* Most references in one record: an object's further ones are MORE. */
#define HEAPPROF_DUMP_REFERENCES_MOST (1 << 16)

/* Takes what comes next in the file. 0, or errno. */
typedef int heapprof_dump_write_i(void *data, const char *bytes, size_t size);

struct heapprof_dump_bytes {
    char  *bytes;
    size_t capacity;
    size_t used;
};

struct heapprof_dump_writer {
    struct heapprof_mem *mem;
    heapprof_dump_write_i *write_i;
    void    *data;
    int      error;                /* errno; 0: none yet */
    uint64_t file_bytes;           /* written so far */
    uint64_t objects, references, roots; /* so far */
    uint32_t string_count, stack_count, layout_count;
    struct heapprof_strings strings; /* short texts, each once */
    uint32_t *numbers;             /* of each of these in the file; 0: it has none yet */
    size_t    numbers_capacity;
    struct heapprof_dump_bytes blocks[HEAPPROF_DUMP_BLOCK_KINDS]; /* begun, by kind */
    enum heapprof_dump_block kind; /* of the records that are being written, of those that others do not refer to */
    struct heapprof_dump_bytes page; /* objects of the page */
    uintptr_t page_address;
    uint32_t  slot_bytes;
    uint32_t  page_objects;        /* in page */
    uint32_t  next_slot;           /* behind the last of them */
    uintptr_t object;              /* the last one */
    struct heapprof_dump_bytes text, packed;
    z_stream  zlib;
    bool      zlib_ready;
    struct heapprof_dump_bytes arena; /* zlib's */
};

struct heapprof_dump_name {
    enum heapprof_dump_label kind;
    uint32_t name;                 /* a string; 0: none */
};

struct heapprof_dump_layout {
    uint32_t  type;                /* a string, as class_name */
    uint32_t  class_name;
    uintptr_t class_address;       /* 0: it has none */
    enum heapprof_dump_tail tail;
    uint32_t  bits;                /* enum heapprof_dump_layout_bit */
    const struct heapprof_dump_name *labels;
    size_t    label_count;
};

struct heapprof_dump_object {
    uintptr_t address;
    uint32_t  layout;
    uint32_t  bits;                /* says which of these count */
    uint64_t  external_bytes;
    uint64_t  length;
    uint32_t  text;                /* a string */
    uint32_t  stack;
    uint64_t  weight;              /* in thousandths of an object */
    uint64_t  hash;
};

/* Begins the file. What the tables need is charged to mem, which must outlive them. */
void rb_heapprof_dump_start(struct heapprof_dump_writer *writer, struct heapprof_mem *mem,
                            heapprof_dump_write_i *write_i, void *data);

/* Ends the file by what has been counted, behind pairs of FOOTER that have been written. Returns error. */
int rb_heapprof_dump_finish(struct heapprof_dump_writer *writer);

/* Gives the memory back. */
void rb_heapprof_dump_free(struct heapprof_dump_writer *writer);

/* Of PROCESS or FOOTER. The value is a text, or a number. */
void rb_heapprof_dump_pair(struct heapprof_dump_writer *writer, enum heapprof_dump_block kind,
                           const char *key, const char *value);
void rb_heapprof_dump_pair_number(struct heapprof_dump_writer *writer, enum heapprof_dump_block kind,
                                  const char *key, uint64_t value);

/* The number of a text, 0 of an empty one. What is not UTF-8 is shown as rb_heapprof_utf8_copy does. */
uint32_t rb_heapprof_dump_string(struct heapprof_dump_writer *writer, const char *text, size_t length);

/* A new stack: one frame on the stack of its callers, 0 for none. */
uint32_t rb_heapprof_dump_stack(struct heapprof_dump_writer *writer, uint32_t callers, uint32_t method,
                                uint32_t file, uint32_t line);

/* A new layout. */
uint32_t rb_heapprof_dump_layout(struct heapprof_dump_writer *writer, const struct heapprof_dump_layout *layout);

void rb_heapprof_dump_root(struct heapprof_dump_writer *writer, struct heapprof_dump_name label,
                           uint32_t category, uintptr_t address);

void rb_heapprof_dump_move(struct heapprof_dump_writer *writer, uintptr_t before, uintptr_t now);

/* ---- objects: by page, by address, each with what its layout announces ---- */

void rb_heapprof_dump_page(struct heapprof_dump_writer *writer, uintptr_t address, uint32_t slot_bytes);
void rb_heapprof_dump_end_page(struct heapprof_dump_writer *writer);

/* Begins an object's record. References of the labels follow; then, if there is a tail, its count and references;
 * then, if there are OTHERS, their count, and each by _other and a reference. With MORE there are no labels. */
void rb_heapprof_dump_object(struct heapprof_dump_writer *writer, const struct heapprof_dump_object *object);

void rb_heapprof_dump_number(struct heapprof_dump_writer *writer, struct heapprof_dump_bytes *to, uint64_t number);

static inline void
rb_heapprof_dump_count(struct heapprof_dump_writer *writer, uint64_t count)
{
    rb_heapprof_dump_number(writer, &writer->page, count);
}

static inline void
rb_heapprof_dump_other(struct heapprof_dump_writer *writer, struct heapprof_dump_name label)
{
    rb_heapprof_dump_number(writer, &writer->page, label.kind);
    rb_heapprof_dump_number(writer, &writer->page, label.name);
}

static inline uint64_t
rb_heapprof_dump_zigzag(int64_t number)
{
    return ((uint64_t)number << 1) ^ (uint64_t)(number >> 63);
}

/* To another object. */
static inline void
rb_heapprof_dump_reference(struct heapprof_dump_writer *writer, uintptr_t address)
{
    int64_t distance = (int64_t)(address - writer->object) / 8;

    writer->references++;
    rb_heapprof_dump_number(writer, &writer->page, rb_heapprof_dump_zigzag(distance) << 1);
}

/* To none. */
static inline void
rb_heapprof_dump_immediate(struct heapprof_dump_writer *writer, enum heapprof_dump_immediate kind, uint64_t which)
{
    rb_heapprof_dump_number(writer, &writer->page, which << 4 | (uint64_t)kind << 1 | 1);
}

#endif
