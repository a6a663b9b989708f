/* layout.c - a descriptor, checked and in the order of its names.
 *
 *   I1  Entries are in the order of kind and name, and each is there once.
 *   I2  Each field is inside its type, which has at most ATTACH_LAYOUT_TYPE_MOST bytes. A number
 *       has 1, 2, 4 or 8 bytes and is aligned. Bits are within 8 bytes.
 *   I3  Each global was in readable memory when the descriptor was read.
 *   I4  Parts and entries are bounded. A part that was read is not read again, so no part can lead
 *       to itself. */
#include "attach/layout.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#define NAME_BYTES (sizeof(((struct heapprof_descriptor_entry *)0)->name))
#define HEADER_MOST 4096
#define STRIDE_MOST 256
#define GLOBAL_MOST (UINT32_C(1) << 24)

struct attach_layout {
    struct heapprof_mem mem;
    struct heapprof_descriptor_entry *entries;
    size_t   count, capacity;
    uint64_t parts[ATTACH_LAYOUT_PARTS_MOST]; /* descriptors, those that are read and those that are
                                                 to be */
    size_t   part_count;
    char     name[sizeof(((struct attach_target *)0)->name)];
};

/* What reading needs: a source, a result, and a place for the error. */
struct layout_reading {
    struct attach_layout *layout;
    struct attach_target *target;
    char *error;
};

/* ---- finding ---- */

static int
compare_entries(const void *a, const void *b)
{
    const struct heapprof_descriptor_entry *left = a, *right = b;

    if (left->kind != right->kind) return left->kind < right->kind ? -1 : 1;
    return strcmp(left->name, right->name);
}

static const struct heapprof_descriptor_entry *
find(const struct attach_layout *layout, enum heapprof_descriptor_kind kind, const char *name,
     size_t bytes)
{
    struct heapprof_descriptor_entry key = { .kind = (uint16_t)kind };

    if (layout->count == 0 || bytes >= sizeof(key.name)) return NULL;
    memcpy(key.name, name, bytes);
    return bsearch(&key, layout->entries, layout->count, sizeof(key), compare_entries);
}

/* The type that a field is of: up to its first dot. */
static const struct heapprof_descriptor_entry *
type_of(const struct attach_layout *layout, const char *field)
{
    return find(layout, HEAPPROF_DESCRIPTOR_TYPE, field, strcspn(field, "."));
}

/* ---- checks; a sentence, or NULL: it is right ---- */

static const char *
wrong_name(const char *name)
{
    if (name[0] == '\0') return "has no name";
    for (size_t i = 0; i < NAME_BYTES; i++) {
        if (name[i] == '\0') return NULL;
        if (name[i] < ' ' || name[i] > '~') break;
    }
    return "has a name that is not text";
}

static const char *
wrong_number(uint32_t size, uint64_t offset)
{
    if (size != 1 && size != 2 && size != 4 && size != 8) return "is a number of a strange size";
    return offset % size ? "is not aligned" : NULL;
}

static const char *
wrong_bits(uint32_t size, uint64_t offset)
{
    if (size == 0 || size > 64 || offset % 8 + size > 64) return "has a strange number of bits";
    return NULL;
}

static const char *
wrong_form(const struct heapprof_descriptor_entry *entry, uint64_t at)
{
    switch (entry->form) {
      case HEAPPROF_DESCRIPTOR_UNSIGNED:
      case HEAPPROF_DESCRIPTOR_SIGNED: return wrong_number(entry->size, at);
      case HEAPPROF_DESCRIPTOR_POINTER:
        return entry->size == 8 ? wrong_number(entry->size, at) : "is a pointer of a strange size";
      case HEAPPROF_DESCRIPTOR_BITS: return wrong_bits(entry->size, at);
      case HEAPPROF_DESCRIPTOR_BYTES: return NULL;
    }
    return "is of a form that is not known";
}

static const char *
wrong_field(const struct attach_layout *layout, const struct heapprof_descriptor_entry *entry)
{
    const struct heapprof_descriptor_entry *type = type_of(layout, entry->name);
    uint64_t offset = (uint64_t)entry->as.number;
    uint64_t unit = entry->form == HEAPPROF_DESCRIPTOR_BITS ? 8 : 1;

    if (!type) return "is a field of an unknown type";
    if (offset > type->size * unit || entry->size > type->size * unit - offset)
        return "is not inside its type";
    return wrong_form(entry, offset);
}

static const char *
wrong_global(struct attach_target *target, const struct heapprof_descriptor_entry *entry)
{
    if (entry->form == HEAPPROF_DESCRIPTOR_BITS) return "is of a form that is not known";
    if (entry->size > GLOBAL_MOST) return "is too large";
    if (!attach_target_mapped_p(target, (uint64_t)entry->as.number, entry->size))
        return "is not in memory";
    return wrong_form(entry, (uint64_t)entry->as.number);
}

static const char *
wrong_entry(const struct layout_reading *reading, const struct heapprof_descriptor_entry *entry)
{
    switch (entry->kind) {
      case HEAPPROF_DESCRIPTOR_TYPE:
        return entry->size == 0 || entry->size > ATTACH_LAYOUT_TYPE_MOST ? "has a strange size"
                                                                         : NULL;
      case HEAPPROF_DESCRIPTOR_FIELD: return wrong_field(reading->layout, entry);
      case HEAPPROF_DESCRIPTOR_GLOBAL: return wrong_global(reading->target, entry);
    }
    return NULL;
}

static const char *
wrong_header(const struct heapprof_descriptor *header)
{
    if (memcmp(header->magic, HEAPPROF_DESCRIPTOR_MAGIC, sizeof(header->magic)) != 0)
        return "it has gone";
    if (header->format != HEAPPROF_DESCRIPTOR_FORMAT)
        return "it is of a format that this heapprof does not know";
    if (header->pointer_size != 8) return "its pointers do not have 64 bits";
    if (header->header_size < sizeof(*header) || header->header_size > HEADER_MOST) {
        return "its header has a strange size";
    }
    if (header->entry_size < sizeof(struct heapprof_descriptor_entry) ||
        header->entry_size > STRIDE_MOST) {
        return "its entries have a strange size";
    }
    if (header->entry_count > ATTACH_LAYOUT_ENTRIES_MOST) return "it has too many entries";
    return NULL;
}

/* ---- reading ---- */

static bool
fail(const struct layout_reading *reading, const char *what)
{
    attach_target_say(reading->target, reading->error, "its descriptor cannot be used: %s", what);
    return false;
}

/* The target has written the name, so it is checked first. */
static bool
fail_entry(const struct layout_reading *reading, const struct heapprof_descriptor_entry *entry,
           const char *what)
{
    const char *name = wrong_name(entry->name) ? "an entry" : entry->name;
    attach_target_say(reading->target, reading->error, "its descriptor cannot be used: %s %s", name,
                      what);
    return false;
}

/* I4 */
static bool
add_part(const struct layout_reading *reading, uint64_t address)
{
    struct attach_layout *layout = reading->layout;

    for (size_t i = 0; i < layout->part_count; i++) {
        if (layout->parts[i] == address) return true;
    }
    if (layout->part_count == ATTACH_LAYOUT_PARTS_MOST)
        return fail(reading, "it has too many parts");
    layout->parts[layout->part_count++] = address;
    return true;
}

static bool
add_entry(const struct layout_reading *reading, const struct heapprof_descriptor_entry *entry)
{
    struct attach_layout *layout = reading->layout;
    const char *wrong = wrong_name(entry->name);

    if (wrong) return fail_entry(reading, entry, wrong);
    if (entry->kind == HEAPPROF_DESCRIPTOR_PART)
        return add_part(reading, (uint64_t)entry->as.number);
    if (layout->count == ATTACH_LAYOUT_ENTRIES_MOST)
        return fail(reading, "it has too many entries");
    if (!HEAPPROF_MEM_GROW(&layout->mem, layout->entries, layout->capacity, layout->count + 1)) {
        return fail(reading, "no memory");
    }
    layout->entries[layout->count++] = *entry;
    return true;
}

static bool
read_part(const struct layout_reading *reading, uint64_t address)
{
    struct heapprof_descriptor header;
    struct heapprof_descriptor_entry entry;

    if (!attach_target_read(reading->target, address, &header, sizeof(header))) {
        return fail(reading, "it cannot be read");
    }
    const char *wrong = wrong_header(&header);
    if (wrong) return fail(reading, wrong);
    for (uint64_t i = 0; i < header.entry_count; i++) {
        uint64_t at = address + header.header_size + i * header.entry_size;
        if (!attach_target_read(reading->target, at, &entry, sizeof(entry))) {
            return fail(reading, "it cannot be read");
        }
        if (!add_entry(reading, &entry)) return false;
    }
    return true;
}

static bool
same_p(const struct heapprof_descriptor_entry *a, const struct heapprof_descriptor_entry *b)
{
    return a->form == b->form && a->size == b->size && a->as.number == b->as.number;
}

/* I1: parts may say the same of a type. */
static bool
order_entries(const struct layout_reading *reading)
{
    struct attach_layout *layout = reading->layout;
    size_t kept = 0;

    if (layout->count)
        qsort(layout->entries, layout->count, sizeof(*layout->entries), compare_entries);
    for (size_t i = 0; i < layout->count; i++) {
        const struct heapprof_descriptor_entry *entry = &layout->entries[i];
        if (kept && compare_entries(&layout->entries[kept - 1], entry) == 0) {
            if (!same_p(&layout->entries[kept - 1], entry))
                return fail_entry(reading, entry, "is there twice");
            continue;
        }
        layout->entries[kept++] = *entry;
    }
    layout->count = kept;
    return true;
}

static bool
read_all(const struct layout_reading *reading, uint64_t descriptor)
{
    struct attach_layout *layout = reading->layout;

    if (!add_part(reading, descriptor)) return false;
    for (size_t i = 0; i < layout->part_count; i++) {
        if (!read_part(reading, layout->parts[i])) return false;
    }
    if (!order_entries(reading)) return false;
    for (size_t i = 0; i < layout->count; i++) {
        const char *wrong = wrong_entry(reading, &layout->entries[i]);
        if (wrong) return fail_entry(reading, &layout->entries[i], wrong);
    }
    return true;
}

struct attach_layout *
attach_layout_read(struct attach_target *target, uint64_t descriptor,
                   char error[ATTACH_TARGET_ERROR_MAX])
{
    struct attach_layout *layout = calloc(1, sizeof(*layout));
    struct layout_reading reading = { layout, target, error };

    if (!layout) {
        attach_target_say(target, error, "no memory");
        return NULL;
    }
    rb_heapprof_mem_init(&layout->mem, SIZE_MAX);
    memcpy(layout->name, target->name, sizeof(layout->name));
    if (read_all(&reading, descriptor)) return layout;
    attach_layout_free(layout);
    return NULL;
}

void
attach_layout_free(struct attach_layout *layout)
{
    if (!layout) return;
    HEAPPROF_MEM_RELEASE(&layout->mem, layout->entries, layout->capacity);
    free(layout);
}

/* ---- by name ---- */

/* False, and error says so. */
static bool
fail_name(const struct attach_layout *layout, const char *name, const char *what,
          char error[ATTACH_TARGET_ERROR_MAX])
{
    snprintf(error, ATTACH_TARGET_ERROR_MAX, "%s: its descriptor cannot be used: %s %s",
             layout->name, name, what);
    return false;
}

bool
attach_layout_type(const struct attach_layout *layout, const char *name, uint32_t *bytes)
{
    const struct heapprof_descriptor_entry *entry =
        find(layout, HEAPPROF_DESCRIPTOR_TYPE, name, strlen(name));

    if (entry) *bytes = entry->size;
    return entry;
}

bool
attach_layout_field(const struct attach_layout *layout, const char *name,
                    struct attach_field *field)
{
    const struct heapprof_descriptor_entry *entry =
        find(layout, HEAPPROF_DESCRIPTOR_FIELD, name, strlen(name));

    if (!entry) return false;
    *field = (struct attach_field){
        .offset = (uint32_t)entry->as.number, .size = entry->size, .form = entry->form,
        .type_size = type_of(layout, name)->size
    };
    return true;
}

bool
attach_layout_global(const struct attach_layout *layout, const char *name,
                     struct attach_global *global)
{
    const struct heapprof_descriptor_entry *entry =
        find(layout, HEAPPROF_DESCRIPTOR_GLOBAL, name, strlen(name));

    if (!entry) return false;
    *global = (struct attach_global){ (uint64_t)entry->as.number, entry->size, entry->form };
    return true;
}

static bool
number_of(const struct attach_layout *layout, enum heapprof_descriptor_kind kind, const char *name,
          int64_t *number)
{
    const struct heapprof_descriptor_entry *entry = find(layout, kind, name, strlen(name));

    if (entry) *number = entry->as.number;
    return entry;
}

bool
attach_layout_constant(const struct attach_layout *layout, const char *name, int64_t *value)
{
    return number_of(layout, HEAPPROF_DESCRIPTOR_CONSTANT, name, value);
}

bool
attach_layout_contract(const struct attach_layout *layout, const char *name, int64_t *number)
{
    return number_of(layout, HEAPPROF_DESCRIPTOR_CONTRACT, name, number);
}

bool
attach_layout_names(const struct attach_layout *layout, const char *prefix, const char *except,
                    const char **names, size_t count, char error[ATTACH_TARGET_ERROR_MAX])
{
    for (size_t i = 0; i < count; i++) names[i] = NULL;
    for (size_t i = 0; i < layout->count; i++) {
        const struct heapprof_descriptor_entry *entry = &layout->entries[i];
        uint64_t number = (uint64_t)entry->as.number;
        if (entry->kind != HEAPPROF_DESCRIPTOR_CONSTANT ||
            strncmp(entry->name, prefix, strlen(prefix)) != 0)
            continue;
        if (except && strcmp(entry->name, except) == 0) continue;
        const char *wrong = number >= count ? "has a number that is too large" :
                            names[number] ? "has the number of another name" : NULL;
        if (wrong) return fail_name(layout, entry->name, wrong, error);
        names[number] = entry->name;
    }
    return true;
}

/* ---- many at once ---- */

static bool
fill_field(const struct attach_layout *layout, const struct attach_want *want,
           struct attach_field *field, const char **wrong)
{
    bool bytes = want->kind == ATTACH_WANTED_BYTES;

    if (!attach_layout_field(layout, want->name, field)) return false;
    if ((field->form == HEAPPROF_DESCRIPTOR_BYTES) != bytes)
        *wrong = bytes ? "is a number" : "is not a number";
    else if (field->size < want->least) *wrong = "is too small";
    return true;
}

static bool
fill_global(const struct attach_layout *layout, const struct attach_want *want,
            struct attach_global *global, const char **wrong)
{
    if (!attach_layout_global(layout, want->name, global)) return false;
    if (global->size < want->least) *wrong = "is too small";
    return true;
}

static bool
fill_contract(const struct attach_layout *layout, const struct attach_want *want, int64_t *number,
              const char **wrong)
{
    if (!attach_layout_contract(layout, want->name, number)) return false;
    if (*number != want->least)
        *wrong = "is a contract of a number that this heapprof does not know";
    return true;
}

/* Returns false if it is not there. */
static bool
fill_one(const struct attach_layout *layout, const struct attach_want *want, void *to,
         const char **wrong)
{
    switch (want->kind) {
      case ATTACH_WANTED_TYPE: return attach_layout_type(layout, want->name, to);
      case ATTACH_WANTED_NUMBER:
      case ATTACH_WANTED_BYTES: return fill_field(layout, want, to, wrong);
      case ATTACH_WANTED_GLOBAL: return fill_global(layout, want, to, wrong);
      case ATTACH_WANTED_CONSTANT: return attach_layout_constant(layout, want->name, to);
      case ATTACH_WANTED_CONTRACT: return fill_contract(layout, want, to, wrong);
    }
    return false;
}

bool
attach_layout_fill(const struct attach_layout *layout, const struct attach_want *wants,
                   size_t count, void *to, char error[ATTACH_TARGET_ERROR_MAX])
{
    for (size_t i = 0; i < count; i++) {
        const char *wrong = NULL;
        if (!fill_one(layout, &wants[i], (char *)to + wants[i].at, &wrong)) wrong = "is not in it";
        if (!wrong) continue;
        return fail_name(layout, wants[i].name, wrong, error);
    }
    return true;
}

/* ---- values ---- */

bool
attach_field_read(struct attach_target *target, const struct attach_field *field, uint64_t address,
                  uint64_t *value)
{
    bool bits = field->form == HEAPPROF_DESCRIPTOR_BITS;
    uint32_t first = bits ? field->offset / 8 : field->offset;
    uint32_t bytes = bits ? (field->offset % 8 + field->size + 7) / 8 : field->size;
    struct attach_field there = *field;
    char copy[8];

    if (field->form == HEAPPROF_DESCRIPTOR_BYTES || bytes > sizeof(copy) ||
        first > UINT64_MAX - address)
        return false;
    if (!attach_target_read(target, address + first, copy, bytes)) return false;
    there.offset = bits ? field->offset % 8 : 0;
    *value = attach_field_get(&there, copy);
    return true;
}

bool
attach_global_read(struct attach_target *target, const struct attach_global *global,
                   uint64_t *value)
{
    struct attach_field field = { .size = global->size, .form = global->form };
    return attach_field_read(target, &field, global->address, value);
}
