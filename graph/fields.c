/* fields.c - the fields of an object, most of them as the file has them.
 *
 * The capacity of a collection is not in the file. It follows from the bytes that MRI asks for:
 *
 *     String   outside the slot: one byte for each byte, and one NUL
 *     Array    outside the slot: one word for each element
 *     Hash     outside the slot: three words for each pair, and an index that is smaller than
 *              that. The number of pairs is a power of two
 *     in the slot: what the head of the object leaves
 *
 * Bytes outside the slot are those of instance variables, too, if a collection has such. So its
 * capacity may be less than what is computed here. */
#include "graph/fields.h"

#include <string.h>

#define WORD 8
#define STRING_HEAD (3 * WORD)   /* flags, class, length */
#define ARRAY_HEAD (2 * WORD)    /* flags, class */
#define HASH_HEAD (4 * WORD)     /* flags, class, default, hints */
#define HASH_PAIR (3 * WORD)     /* hash, key, value */

static const struct {const char *name; enum graph_field_kind kind;} fields[GRAPH_FIELDS] = {
    [GRAPH_CLASS_FIELD] = {"class", GRAPH_FIELD_TEXT},
    [GRAPH_TYPE_FIELD] = {"type", GRAPH_FIELD_TEXT},
    [GRAPH_BYTES_FIELD] = {"bytes", GRAPH_FIELD_NUMBER},
    [GRAPH_RETAINED_FIELD] = {"retained", GRAPH_FIELD_NUMBER},
    [GRAPH_LENGTH_FIELD] = {"length", GRAPH_FIELD_NUMBER},
    [GRAPH_CAPACITY_FIELD] = {"capacity", GRAPH_FIELD_NUMBER},
    [GRAPH_FILL_FIELD] = {"fill", GRAPH_FIELD_NUMBER},
    [GRAPH_UNUSED_FIELD] = {"unused", GRAPH_FIELD_NUMBER},
    [GRAPH_REFS_FIELD] = {"refs", GRAPH_FIELD_NUMBER},
    [GRAPH_AGE_FIELD] = {"age", GRAPH_FIELD_NUMBER},
    [GRAPH_OLD_FIELD] = {"old", GRAPH_FIELD_FACT},
    [GRAPH_FROZEN_FIELD] = {"frozen", GRAPH_FIELD_FACT},
    [GRAPH_SHAREABLE_FIELD] = {"shareable", GRAPH_FIELD_FACT},
    [GRAPH_FINALIZER_FIELD] = {"finalizer", GRAPH_FIELD_FACT},
    [GRAPH_TEXT_FIELD] = {"text", GRAPH_FIELD_TEXT},
    [GRAPH_FILE_FIELD] = {"file", GRAPH_FIELD_TEXT},
    [GRAPH_LINE_FIELD] = {"line", GRAPH_FIELD_NUMBER},
    [GRAPH_METHOD_FIELD] = {"method", GRAPH_FIELD_TEXT},
};

const char graph_field_names[] =
    "class type bytes retained length capacity fill unused refs age old frozen "
    "shareable finalizer text file line method";

enum graph_field
graph_field_find(const char *name, size_t length)
{
    if (length == 4 && !strncmp(name, "size", 4)) return GRAPH_LENGTH_FIELD;
    for (size_t i = 0; i < GRAPH_FIELDS; i++) {
        if (strlen(fields[i].name) == length && !strncmp(fields[i].name, name, length))
            return (enum graph_field)i;
    }
    return GRAPH_FIELDS;
}

enum graph_field_kind
graph_field_kind(enum graph_field field)
{
    return fields[field].kind;
}

/* ---- collections ---- */

static uint64_t
slot_bytes(const struct graph *graph, uint32_t object)
{
    return (uint64_t)graph->slots[object] * WORD;
}

/* Room for how many elements is in the slot. */
static uint64_t
room_in_slot(uint64_t slot, enum graph_collection collection)
{
    uint64_t head = collection == GRAPH_STRING  ? STRING_HEAD + 1
                    : collection == GRAPH_ARRAY ? ARRAY_HEAD
                                                : HASH_HEAD;
    uint64_t room = slot > head ? slot - head : 0;

    return collection == GRAPH_STRING  ? room
           : collection == GRAPH_ARRAY ? room / WORD
                                       : room / (2 * WORD);
}

/* Room for how many elements is in that many bytes outside of it. */
static uint64_t
room_outside(uint64_t bytes, enum graph_collection collection)
{
    uint64_t pairs = 1;

    if (collection == GRAPH_STRING) return bytes - 1;
    if (collection == GRAPH_ARRAY) return bytes / WORD;
    while (2 * pairs * HASH_PAIR <= bytes) pairs *= 2;
    return pairs;
}

struct room {
    uint64_t length, capacity;
    uint64_t unused;             /* bytes outside the slot */
};

/* Returns false if the object is no collection, or has its content in another one. */
static bool
find_room(const struct graph *graph, uint32_t object, struct room *room)
{
    const struct graph_layout *layout = graph_layout(graph, object);
    enum graph_collection collection = (enum graph_collection)layout->collection;
    uint64_t slot = slot_bytes(graph, object), outside = graph->sizes[object] - slot;
    bool in_slot;

    if (!collection || layout->shared || !graph->lengths[object]) return false;
    room->length = graph->lengths[object] - 1;
    room->capacity = outside ? room_outside(outside, collection) : 0;
    in_slot = !outside || room->capacity < room->length;
    if (in_slot) room->capacity = room_in_slot(slot, collection);
    if (room->capacity < room->length) room->capacity = room->length;
    room->unused =
        in_slot ? 0
                : (room->capacity - room->length) * (collection == GRAPH_STRING  ? 1
                                                     : collection == GRAPH_ARRAY ? WORD
                                                                                 : HASH_PAIR);
    return true;
}

static bool
room_field(const struct graph *graph, uint32_t object, enum graph_field field, double *value)
{
    struct room room;

    if (!find_room(graph, object, &room)) return false;
    if (field == GRAPH_CAPACITY_FIELD) *value = (double)room.capacity;
    else if (field == GRAPH_UNUSED_FIELD) *value = (double)room.unused;
    else *value = room.capacity ? 100 * (double)room.length / (double)room.capacity : 100;
    return true;
}

/* ---- all fields ---- */

/* The line that has allocated the object; NULL if the object was not sampled. */
static const struct heapprof_dump_stack *
site_of(const struct graph *graph, uint32_t object)
{
    const struct graph_sample *sample = graph_sample(graph, object);

    return sample ? &graph->names.stacks[graph_site(&graph->names, sample->stack)] : NULL;
}

bool
graph_field_number(const struct graph *graph, const struct graph_dominators *dominators,
                   uint32_t object, enum graph_field field, double *value)
{
    const struct heapprof_dump_stack *site;
    uint32_t bits = graph->bits[object], age = bits & HEAPPROF_DUMP_AGE;

    switch (field) {
      case GRAPH_BYTES_FIELD: *value = (double)graph->sizes[object]; return true;
      case GRAPH_RETAINED_FIELD: *value = (double)dominators->retained[object]; return true;
      case GRAPH_REFS_FIELD: *value = graph_degree(graph, object); return true;
      case GRAPH_AGE_FIELD: *value = age; return true;
      case GRAPH_OLD_FIELD: *value = age == HEAPPROF_DUMP_AGE; return true;
      case GRAPH_FROZEN_FIELD: *value = (bits & HEAPPROF_DUMP_FROZEN) != 0; return true;
      case GRAPH_SHAREABLE_FIELD: *value = (bits & HEAPPROF_DUMP_SHAREABLE) != 0; return true;
      case GRAPH_FINALIZER_FIELD: *value = (bits & HEAPPROF_DUMP_FINALIZER) != 0; return true;
      case GRAPH_LENGTH_FIELD:
        if (graph->lengths[object]) *value = graph->lengths[object] - 1;
        return graph->lengths[object] != 0;
      case GRAPH_LINE_FIELD:
        site = site_of(graph, object);
        if (site) *value = site->line;
        return site;
      default:
        return room_field(graph, object, field, value);
    }
}

bool
graph_field_text(const struct graph *graph, uint32_t object, enum graph_field field,
                 const char **value)
{
    const struct graph_names *names = &graph->names;
    const struct graph_layout *layout = graph_layout(graph, object);
    const struct heapprof_dump_stack *site = NULL;
    uint32_t string = 0;

    switch (field) {
      case GRAPH_CLASS_FIELD: string = names->classes[layout->class_number].name; break;
      case GRAPH_TYPE_FIELD: string = layout->type; break;
      case GRAPH_TEXT_FIELD: string = graph_text(graph, object); break;
      default:
        site = site_of(graph, object);
        if (site) string = field == GRAPH_FILE_FIELD ? site->file : site->method;
    }
    *value = graph_string(names, string);
    return string != 0;
}
