#ifndef HEAPPROF_DUMP_WRITER_H
#define HEAPPROF_DUMP_WRITER_H
/* Writes the file of an object graph (format.h), from the first byte to the last.
 *
 *     start -> pairs of PROCESS -> { roots | pages of objects | moves } in any order -> finish -> free
 *
 * Strings, stacks and layouts get their number at the first call that adds them. They stand in
 * the file before the records that refer to them. No function calls malloc, takes a lock or
 * raises: all may run in the child of a fork, or while the VM is stopped.
 *
 * The first failure is kept in error. After it, every function does nothing and returns 0. */
#include <zlib.h>

#include "base/strings.h"
#include "dump/format.h"

/* The most bytes of a text. The writer cuts longer ones. */
#define HEAPPROF_DUMP_TEXT_MOST (1 << 20)

/* The most references in one record. Further references of an object go into a record with the
 * bit MORE. */
#define HEAPPROF_DUMP_REFERENCES_MOST (1 << 16)

/* Receives the next bytes of the file. Returns 0, or an errno. */
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
    int      error;                /* errno; 0 if nothing has failed */
    uint64_t file_bytes;           /* bytes written so far */
    uint64_t objects, references, roots; /* how many so far */
    uint32_t string_count, stack_count, layout_count;
    struct heapprof_strings strings; /* the short texts, each once */
    uint32_t *numbers;             /* by short text: its number in the file; 0 if it has none yet */
    size_t    numbers_capacity;
    struct heapprof_dump_bytes blocks[HEAPPROF_DUMP_BLOCK_KINDS]; /* by kind: the block that is
                                                                     being filled */
    enum heapprof_dump_block kind; /* the kind that is being written, of the kinds that no other
                                      refers to */
    struct heapprof_dump_bytes page; /* the objects of the present page */
    uintptr_t page_address;
    uint32_t  slot_bytes;
    uint32_t  page_objects;        /* how many objects are in page */
    uint32_t  next_slot;           /* the slot after the last of them */
    uintptr_t object;              /* address of the last object */
    struct heapprof_dump_bytes text, packed;
    z_stream  zlib;
    bool      zlib_ready;
    struct heapprof_dump_bytes arena; /* memory for zlib */
};

struct heapprof_dump_name {
    enum heapprof_dump_label kind;
    uint32_t name;                 /* a string; 0 if there is none */
};

struct heapprof_dump_layout {
    uint32_t  type;                /* a string, like class_name */
    uint32_t  class_name;
    uintptr_t class_address;       /* 0 if it has no class */
    enum heapprof_dump_tail tail;
    uint32_t  bits;                /* enum heapprof_dump_layout_bit */
    const struct heapprof_dump_name *labels;
    size_t    label_count;
};

struct heapprof_dump_object {
    uintptr_t address;
    uint32_t  layout;
    uint32_t  bits;                /* says which of the fields below are valid */
    uint64_t  external_bytes;
    uint64_t  length;
    uint32_t  text;                /* string */
    uint32_t  stack;
    uint64_t  weight;              /* how many objects it stands for, times 1000 */
    uint32_t  doing;               /* string */
    uint64_t  hash;
};

/* Begins the file. The writer charges its memory to mem, which must outlive it. */
void rb_heapprof_dump_start(struct heapprof_dump_writer *writer, struct heapprof_mem *mem,
                            heapprof_dump_write_i *write_i, void *data);

/* Ends the file: adds the counts to FOOTER, after the pairs that the caller has written there.
 * Returns error. */
int rb_heapprof_dump_finish(struct heapprof_dump_writer *writer);

/* Frees the writer's memory. */
void rb_heapprof_dump_free(struct heapprof_dump_writer *writer);

/* Writes a pair of PROCESS or FOOTER. The value is a text or a number. */
void rb_heapprof_dump_pair(struct heapprof_dump_writer *writer, enum heapprof_dump_block kind,
                           const char *key, const char *value);
void rb_heapprof_dump_pair_number(struct heapprof_dump_writer *writer,
                                  enum heapprof_dump_block kind,
                                  const char *key, uint64_t value);

/* Returns the number of a text; 0 for an empty one. Bytes that are not UTF-8 are shown as
 * rb_heapprof_utf8_copy shows them. */
uint32_t rb_heapprof_dump_string(struct heapprof_dump_writer *writer, const char *text,
                                 size_t length);

/* Adds a stack: one frame on top of the stack `callers`, 0 if it has no caller. Returns its
 * number. */
uint32_t rb_heapprof_dump_stack(struct heapprof_dump_writer *writer, uint32_t callers,
                                uint32_t method,
                                uint32_t file, uint32_t line);

/* Adds a layout. Returns its number. */
uint32_t rb_heapprof_dump_layout(struct heapprof_dump_writer *writer,
                                 const struct heapprof_dump_layout *layout);

void rb_heapprof_dump_root(struct heapprof_dump_writer *writer, struct heapprof_dump_name label,
                           uint32_t category, uintptr_t address);

void rb_heapprof_dump_move(struct heapprof_dump_writer *writer, uintptr_t before, uintptr_t now);

/* ---- objects: page by page, by address, each with the references its layout announces ---- */

void rb_heapprof_dump_page(struct heapprof_dump_writer *writer, uintptr_t address,
                           uint32_t slot_bytes);
void rb_heapprof_dump_end_page(struct heapprof_dump_writer *writer);

/* Begins the record of an object. The caller then writes, in this order: the references of the
 * layout's labels; if the layout has a tail, its count and references; if it has OTHERS, their
 * count, and for each rb_heapprof_dump_other and a reference. A record with MORE has no
 * references for labels. */
void rb_heapprof_dump_object(struct heapprof_dump_writer *writer,
                             const struct heapprof_dump_object *object);

void rb_heapprof_dump_number(struct heapprof_dump_writer *writer, struct heapprof_dump_bytes *to,
                             uint64_t number);

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

/* A reference to another object. */
static inline void
rb_heapprof_dump_reference(struct heapprof_dump_writer *writer, uintptr_t address)
{
    int64_t distance = (int64_t)(address - writer->object) / 8;

    writer->references++;
    rb_heapprof_dump_number(writer, &writer->page, rb_heapprof_dump_zigzag(distance) << 1);
}

/* A value that is not an object. */
static inline void
rb_heapprof_dump_immediate(struct heapprof_dump_writer *writer, enum heapprof_dump_immediate kind,
                           uint64_t which)
{
    rb_heapprof_dump_number(writer, &writer->page, which << 4 | (uint64_t)kind << 1 | 1);
}

#endif
