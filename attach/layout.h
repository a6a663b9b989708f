#ifndef ATTACH_LAYOUT_H
#define ATTACH_LAYOUT_H
/* What a target's descriptor (base/descriptor.h) says, read once and checked. Its users need no
 * further check: a field is inside its type, and a type has at most ATTACH_LAYOUT_TYPE_MOST bytes.
 *
 *     static const struct attach_want wants[] = {
 *         ATTACH_WANT_TYPE(struct vm_places, thread, "rb_thread_t"),
 *         ATTACH_WANT_NUMBER(struct vm_places, thread_ec, "rb_thread_t.ec"),
 *         ...
 *     };
 *     attach_layout_fill(layout, wants, count, &places, error)
 *     attach_target_read(target, address, copy, places.thread)
 *     uint64_t ec = attach_field_get(&places.thread_ec, copy);
 */
#include "attach/target.h"
#include "base/descriptor.h"

#include <string.h>

#define ATTACH_LAYOUT_TYPE_MOST    65536 /* bytes */
#define ATTACH_LAYOUT_ENTRIES_MOST 4096  /* of all parts together */
#define ATTACH_LAYOUT_PARTS_MOST   16

struct attach_layout;

struct attach_field {
    uint32_t offset;      /* in bytes; in bits if the form is BITS */
    uint32_t size;        /* in the same unit */
    uint32_t type_size;   /* bytes of a copy of the structure that has the field */
    uint32_t form;        /* enum heapprof_descriptor_form */
};

struct attach_global {
    uint64_t address;
    uint32_t size;
    uint32_t form;
};

/* Reads the descriptor at that address, and its parts. Returns NULL if something is wrong with it;
 * error says what. The result is a copy, which outlives the target. */
struct attach_layout *attach_layout_read(struct attach_target *target, uint64_t descriptor,
                                         char error[ATTACH_TARGET_ERROR_MAX]);
void attach_layout_free(struct attach_layout *layout); /* NULL is allowed */

/* ---- by name; each returns false if the descriptor has no such entry ---- */

bool attach_layout_type(const struct attach_layout *layout, const char *name, uint32_t *bytes);
bool attach_layout_field(const struct attach_layout *layout, const char *name,
                         struct attach_field *field);
bool attach_layout_global(const struct attach_layout *layout, const char *name,
                          struct attach_global *global);
bool attach_layout_constant(const struct attach_layout *layout, const char *name, int64_t *value);
bool attach_layout_contract(const struct attach_layout *layout, const char *name, int64_t *number);

/* The names of an enumeration, by number. names[n] is the name of the constant n that begins with
 * prefix; NULL if no constant has this number. The constant called except is left out; except may
 * be NULL. The texts belong to the layout. Returns false if a number is not below count, or if two
 * names have the same number; error then says which. */
bool attach_layout_names(const struct attach_layout *layout, const char *prefix, const char *except,
                         const char **names, size_t count, char error[ATTACH_TARGET_ERROR_MAX]);

/* ---- many at once ---- */

enum attach_want_kind {
    ATTACH_WANTED_TYPE,     /* uint32_t: bytes */
    ATTACH_WANTED_NUMBER,   /* struct attach_field of any form except BYTES: for attach_field_get */
    ATTACH_WANTED_BYTES,    /* struct attach_field of the form BYTES, with at least so many bytes */
    ATTACH_WANTED_GLOBAL,   /* struct attach_global, with at least so many bytes */
    ATTACH_WANTED_CONSTANT, /* int64_t */
    ATTACH_WANTED_CONTRACT  /* int64_t, which must equal least: the one number that the reader knows
                             */
};

struct attach_want {
    const char *name;
    enum attach_want_kind kind;
    uint32_t    least;
    size_t      at;           /* in the structure to fill */
};

#define ATTACH_WANT_TYPE(type, member, name) \
    {(name), ATTACH_WANTED_TYPE, 0, offsetof(type, member)}
#define ATTACH_WANT_NUMBER(type, member, name) \
    {(name), ATTACH_WANTED_NUMBER, 0, offsetof(type, member)}
#define ATTACH_WANT_BYTES(type, member, name, least) \
    {(name), ATTACH_WANTED_BYTES, (least), offsetof(type, member)}
#define ATTACH_WANT_GLOBAL(type, member, name, least) \
    {(name), ATTACH_WANTED_GLOBAL, (least), offsetof(type, member)}
#define ATTACH_WANT_CONSTANT(type, member, name) \
    {(name), ATTACH_WANTED_CONSTANT, 0, offsetof(type, member)}
#define ATTACH_WANT_CONTRACT(type, member, name, known) \
    {(name), ATTACH_WANTED_CONTRACT, (known), offsetof(type, member)}

/* Fills a structure in by a table of names. Returns false if an entry is missing or of another
 * form; error names the first one. */
bool attach_layout_fill(const struct attach_layout *layout, const struct attach_want *wants,
                        size_t count, void *to, char error[ATTACH_TARGET_ERROR_MAX]);

/* ---- values ---- */

/* The number in a copy of the structure, which has at least field->type_size bytes. If the form is
 * SIGNED, the caller casts it to int64_t. If the form is BYTES, it is 0: the bytes begin at copy +
 * field->offset. */
static inline uint64_t
attach_field_get(const struct attach_field *field, const void *copy)
{
    uint64_t value = 0;
    bool bits = field->form == HEAPPROF_DESCRIPTOR_BITS;
    uint32_t first = bits ? field->offset / 8 : field->offset;
    uint32_t shift = bits ? field->offset % 8 : 0;
    uint32_t size = bits ? field->size : field->size * 8;
    uint32_t bytes = (shift + size + 7) / 8;

    if (field->form == HEAPPROF_DESCRIPTOR_BYTES || field->form == HEAPPROF_DESCRIPTOR_NONE)
        return 0;
    memcpy(&value, (const char *)copy + first, bytes);
    value >>= shift;
    if (size == 64) return value;
    if (field->form == HEAPPROF_DESCRIPTOR_SIGNED && (value >> (size - 1) & 1))
        return value | UINT64_MAX << size;
    return value & ((UINT64_C(1) << size) - 1);
}

/* Reads the number from the structure at that address of the target. Returns false if it is BYTES
 * or cannot be read. */
bool attach_field_read(struct attach_target *target, const struct attach_field *field,
                       uint64_t address, uint64_t *value);

/* Reads the present number of a global. Returns false if it is BYTES or cannot be read. */
bool attach_global_read(struct attach_target *target, const struct attach_global *global,
                        uint64_t *value);

#endif
