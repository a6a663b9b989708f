#ifndef HEAPPROF_LAYOUT_H
#define HEAPPROF_LAYOUT_H
/* What a target's descriptor (base/descriptor.h) says, read once and checked, so that who uses it needs
 * no further check: a field is inside its type, and a type has at most HEAPPROF_LAYOUT_TYPE_MOST bytes.
 *
 *     static const struct heapprof_want wants[] = {
 *         HEAPPROF_WANT_TYPE(struct vm_places, thread, "rb_thread_t"),
 *         HEAPPROF_WANT_NUMBER(struct vm_places, thread_ec, "rb_thread_t.ec"),
 *         ...
 *     };
 *     rb_heapprof_layout_fill(layout, wants, count, &places, error)
 *     rb_heapprof_target_read(target, address, copy, places.thread)
 *     uint64_t ec = rb_heapprof_field_get(&places.thread_ec, copy);
 */
#include "attach/target.h"
#include "base/descriptor.h"

#include <string.h>

#define HEAPPROF_LAYOUT_TYPE_MOST    65536 /* bytes */
#define HEAPPROF_LAYOUT_ENTRIES_MOST 4096  /* of all parts together */
#define HEAPPROF_LAYOUT_PARTS_MOST   16

struct heapprof_layout;

struct heapprof_field {
    uint32_t offset;      /* in bytes; of BITS in bits */
    uint32_t size;        /* the same */
    uint32_t type_size;   /* bytes that a copy of what it is a field of has */
    uint32_t form;        /* enum heapprof_descriptor_form */
};

struct heapprof_global {
    uint64_t address;
    uint32_t size;
    uint32_t form;
};

/* Reads the descriptor at that address, and its parts. NULL: error says what is wrong with it. It is a copy,
 * which outlives the target. */
struct heapprof_layout *rb_heapprof_layout_read(struct heapprof_target *target, uint64_t descriptor,
                                                char error[HEAPPROF_TARGET_ERROR_MAX]);
void rb_heapprof_layout_free(struct heapprof_layout *layout); /* NULL is allowed */

/* ---- by name; false: the target says nothing of it ---- */

bool rb_heapprof_layout_type(const struct heapprof_layout *layout, const char *name, uint32_t *bytes);
bool rb_heapprof_layout_field(const struct heapprof_layout *layout, const char *name, struct heapprof_field *field);
bool rb_heapprof_layout_global(const struct heapprof_layout *layout, const char *name, struct heapprof_global *global);
bool rb_heapprof_layout_constant(const struct heapprof_layout *layout, const char *name, int64_t *value);
bool rb_heapprof_layout_contract(const struct heapprof_layout *layout, const char *name, int64_t *number);

/* ---- many at once ---- */

enum heapprof_want_kind {
    HEAPPROF_WANTED_TYPE,     /* uint32_t: bytes */
    HEAPPROF_WANTED_NUMBER,   /* struct heapprof_field that is no BYTES: for rb_heapprof_field_get */
    HEAPPROF_WANTED_BYTES,    /* struct heapprof_field that is BYTES, of least bytes or more */
    HEAPPROF_WANTED_GLOBAL,   /* struct heapprof_global, of least bytes or more */
    HEAPPROF_WANTED_CONSTANT, /* int64_t */
    HEAPPROF_WANTED_CONTRACT  /* int64_t, which must be least: the one number that is known */
};

struct heapprof_want {
    const char *name;
    enum heapprof_want_kind kind;
    uint32_t    least;
    size_t      at;           /* in the structure to fill */
};

#define HEAPPROF_WANT_TYPE(type, member, name)            {(name), HEAPPROF_WANTED_TYPE, 0, offsetof(type, member)}
#define HEAPPROF_WANT_NUMBER(type, member, name)          {(name), HEAPPROF_WANTED_NUMBER, 0, offsetof(type, member)}
#define HEAPPROF_WANT_BYTES(type, member, name, least)    {(name), HEAPPROF_WANTED_BYTES, (least), offsetof(type, member)}
#define HEAPPROF_WANT_GLOBAL(type, member, name, least)   {(name), HEAPPROF_WANTED_GLOBAL, (least), offsetof(type, member)}
#define HEAPPROF_WANT_CONSTANT(type, member, name)        {(name), HEAPPROF_WANTED_CONSTANT, 0, offsetof(type, member)}
#define HEAPPROF_WANT_CONTRACT(type, member, name, known) {(name), HEAPPROF_WANTED_CONTRACT, (known), offsetof(type, member)}

/* Fills a structure in by a table of names. False: error names the first that is missing or of another form. */
bool rb_heapprof_layout_fill(const struct heapprof_layout *layout, const struct heapprof_want *wants, size_t count,
                             void *to, char error[HEAPPROF_TARGET_ERROR_MAX]);

/* ---- values ---- */

/* The number that is in a copy of the structure, of field->type_size bytes or more. SIGNED: with its sign, to be
 * taken as int64_t. BYTES: 0; they begin at copy + field->offset. */
static inline uint64_t
rb_heapprof_field_get(const struct heapprof_field *field, const void *copy)
{
    uint64_t value = 0;
    bool bits = field->form == HEAPPROF_DESCRIPTOR_BITS;
    uint32_t first = bits ? field->offset / 8 : field->offset;
    uint32_t shift = bits ? field->offset % 8 : 0;
    uint32_t size = bits ? field->size : field->size * 8;
    uint32_t bytes = (shift + size + 7) / 8;

    if (field->form == HEAPPROF_DESCRIPTOR_BYTES || field->form == HEAPPROF_DESCRIPTOR_NONE) return 0;
    memcpy(&value, (const char *)copy + first, bytes);
    value >>= shift;
    if (size == 64) return value;
    if (field->form == HEAPPROF_DESCRIPTOR_SIGNED && (value >> (size - 1) & 1)) return value | UINT64_MAX << size;
    return value & ((UINT64_C(1) << size) - 1);
}

/* The number itself out of the target, where a structure is at that address. */
bool rb_heapprof_field_read(struct heapprof_target *target, const struct heapprof_field *field, uint64_t address,
                            uint64_t *value);

/* The number that a global has now. False: it is BYTES, or cannot be read. */
bool rb_heapprof_global_read(struct heapprof_target *target, const struct heapprof_global *global, uint64_t *value);

#endif
