/* load.c - builds a graph from what the reader of a dump says.
 *
 * Objects come in the order of their numbers, each followed by its references. So first,
 * targets and labels are written from front to back. A target is at first a place, because its
 * object may come later in the file. After the last object, places become numbers, and
 * references to nothing are squeezed out. */
#include "graph/graph.h"

#include <stdio.h>
#include <string.h>

#define FACTS_MOST (1u << 16)

struct load {
    struct graph *graph;
    unsigned wanted;
    uint32_t reference_count;
    size_t object_room, reference_room; /* in the arrays by object, and by reference */
    const char *wrong;           /* why loading cannot continue; NULL means no memory */
};

#define GROW(graph, array, count) \
    GRAPH_SPACE_GROW(&(graph)->space, (graph)->array, (graph)->array##_capacity, (size_t)(count))

static bool
on_fact(void *data, bool footer, struct heapprof_dump_text key, struct heapprof_dump_text value)
{
    struct load *load = data;

    if (load->graph->names.fact_count == FACTS_MOST) {
        load->wrong = "has more than 65,536 facts of the process";
        return false;
    }
    return graph_names_fact(&load->graph->names, footer, key, value);
}

static bool
on_string(void *data, uint32_t number, struct heapprof_dump_text text)
{
    struct load *load = data;

    (void)number;
    return graph_names_string(&load->graph->names, text);
}

static bool
on_stack(void *data, uint32_t number, const struct heapprof_dump_stack *stack)
{
    struct load *load = data;

    (void)number;
    return graph_names_stack(&load->graph->names, stack);
}

static bool
on_layout(void *data, uint32_t number, const struct heapprof_dump_read_layout *layout)
{
    struct load *load = data;

    (void)number;
    return graph_names_layout(&load->graph->names, layout);
}

/* Returns the place of an address; GRAPH_NO_PLACE_AT if there is none. */
static inline uint32_t
place_of(struct load *load, uint64_t address)
{
    uint32_t place = graph_places_at(&load->graph->places, address);

    if (place == GRAPH_NO_PLACE_AT && load->graph->places.chunk_count == GRAPH_CHUNKS_MOST) {
        load->wrong = "names addresses in more than 524,287 pages of 64 kB";
    }
    return place;
}

static bool
on_root(void *data, const struct heapprof_dump_root *root)
{
    struct load *load = data;
    struct graph *graph = load->graph;
    uint32_t place = place_of(load, root->address);

    if (place == GRAPH_NO_PLACE_AT || !GROW(graph, roots, graph->root_count + 1)) return false;
    graph->roots[graph->root_count++] =
        (struct graph_root){ root->label, root->name, root->category, place };
    return true;
}

static bool
on_move(void *data, uint64_t from, uint64_t to)
{
    struct load *load = data;
    struct graph *graph = load->graph;

    if (!GROW(graph, moves, graph->move_count + 1)) return false;
    graph->moves[graph->move_count++] = (struct graph_move){from, to};
    return true;
}

static bool
add_text(struct graph *graph, uint32_t string)
{
    if (!GROW(graph, texts, graph->text_count + 1)) return false;
    graph->texts[graph->text_count++] = (struct graph_text){graph->count, string};
    return true;
}

static bool
add_sample(struct graph *graph, const struct heapprof_dump_read_object *object)
{
    if (!GROW(graph, samples, graph->sample_count + 1)) return false;
    graph->samples[graph->sample_count++] =
        (struct graph_sample){graph->count, object->stack, object->doing, object->weight};
    return true;
}

/* Makes room for so many elements in an array. Sets room to the capacity, if that is less. */
#define GROW_TOGETHER(graph, array, count, room) \
    (GROW(graph, array, count) && (*(room) = smaller(*(room), (graph)->array##_capacity)))

static size_t
smaller(size_t one, size_t other)
{
    return one < other ? one : other;
}

/* Makes room for that many objects in all arrays by object. */
static bool
grow_objects(struct load *load, size_t count)
{
    struct graph *graph = load->graph;
    size_t room = SIZE_MAX;
    bool lengths = load->wanted & GRAPH_LENGTHS, hashes = load->wanted & GRAPH_HASHES;

    if (!GROW_TOGETHER(graph, object_places, count, &room) ||
        !GROW_TOGETHER(graph, layouts, count, &room) ||
        !GROW_TOGETHER(graph, sizes, count, &room) || !GROW_TOGETHER(graph, bits, count, &room) ||
        !GROW_TOGETHER(graph, first, count, &room) ||
        (lengths && !GROW_TOGETHER(graph, lengths, count, &room)) ||
        (lengths && !GROW_TOGETHER(graph, slots, count, &room)) ||
        (hashes && !GROW_TOGETHER(graph, hashes, count, &room))) return false;
    load->object_room = room;
    return true;
}

/* Makes room for one more object, and for the extra element at the end of first. */
static inline bool
reserve_object(struct load *load)
{
    size_t count = (size_t)load->graph->count + 3;

    return count <= load->object_room || grow_objects(load, count);
}

static bool
grow_references(struct load *load)
{
    size_t count = (size_t)load->reference_count + 1, room = SIZE_MAX;

    if (!GROW_TOGETHER(load->graph, targets, count, &room) ||
        !GROW_TOGETHER(load->graph, labels, count, &room)) return false;
    load->reference_room = room;
    return true;
}

static inline bool
reserve_reference(struct load *load)
{
    return load->reference_count < load->reference_room || grow_references(load);
}

/* Elements are counted when they come. */
static uint32_t
length_of(const struct graph *graph, const struct heapprof_dump_read_object *object)
{
    const struct graph_layout *layout = &graph->names.layouts[object->layout];

    if (!layout->collection) return 0;
    if (object->bits & HEAPPROF_DUMP_LENGTH) {
        return object->length < UINT32_MAX - 1 ? (uint32_t)object->length + 1 : UINT32_MAX;
    }
    return layout->counted;
}

static void
note_wanted(struct load *load, const struct heapprof_dump_read_object *object)
{
    struct graph *graph = load->graph;

    if (load->wanted & GRAPH_LENGTHS) {
        graph->lengths[graph->count] = length_of(graph, object);
        graph->slots[graph->count] = (uint16_t)(object->slot_bytes / 8);
    }
    if (load->wanted & GRAPH_HASHES) graph->hashes[graph->count] = object->hash;
}

static bool
on_object(void *data, const struct heapprof_dump_read_object *object)
{
    struct load *load = data;
    struct graph *graph = load->graph;
    uint32_t place = place_of(load, object->address), number;
    enum graph_places_added added;

    if (place == GRAPH_NO_PLACE_AT || !reserve_object(load)) return false;
    added = graph_places_add(&graph->places, place);
    if (added != GRAPH_PLACED) {
        if (added == GRAPH_PLACE_TWICE)
            load->wrong = "has objects that are not in the order of their pages";
        return false;
    }
    number = ++graph->count;
    graph->object_places[number] = place;
    graph->layouts[number] = object->layout;
    graph->sizes[number] = object->slot_bytes + object->external;
    graph->bits[number] = (uint16_t)object->bits;
    graph->first[number] = load->reference_count;
    graph->bytes += graph->sizes[number];
    note_wanted(load, object);
    return (!object->text || add_text(graph, object->text)) &&
           (!object->stack || add_sample(graph, object));
}

static uint32_t
label_of(const struct heapprof_dump_reference *reference)
{
    const struct heapprof_dump_value *key = &reference->key;

    if (reference->label == HEAPPROF_DUMP_VALUE && !key->object &&
        key->immediate == HEAPPROF_DUMP_SYMBOL) {
        return graph_label(GRAPH_VALUE_OF_SYMBOL, key->bits);
    }
    if (reference->label == HEAPPROF_DUMP_VALUE && !key->object &&
        key->immediate == HEAPPROF_DUMP_INTEGER &&
        !(key->bits & 1) && key->bits / 2 < GRAPH_DETAIL_MOST) {
        return graph_label(GRAPH_VALUE_OF_INTEGER, key->bits / 2);
    }
    return graph_label(reference->label, reference->name ? reference->name : reference->index);
}

/* The owner of a Mutex is a weak reference: at first a place, as targets are. */
static bool
add_owner(struct load *load, const struct heapprof_dump_reference *reference)
{
    struct graph *graph = load->graph;
    uint32_t place;

    if (strcmp(graph_string(&graph->names, reference->name), "owner")) return true;
    place = place_of(load, reference->to.bits);
    if (place == GRAPH_NO_PLACE_AT || !GROW(graph, owners, graph->owner_count + 1)) return false;
    graph->owners[graph->owner_count++] = (struct graph_owner){graph->count, place};
    return true;
}

static bool
on_reference(void *data, const struct heapprof_dump_reference *reference)
{
    struct load *load = data;
    struct graph *graph = load->graph;
    uint32_t place;

    if (!reference->to.object) return true;
    if (reference->label == HEAPPROF_DUMP_WEAK) {
        graph->weak++;
        return add_owner(load, reference);
    }
    if (load->reference_count == UINT32_MAX) {
        load->wrong = "has more than 4,294,967,295 references";
        return false;
    }
    place = place_of(load, reference->to.bits);
    if (place == GRAPH_NO_PLACE_AT || !reserve_reference(load)) return false;
    if (graph_kind_of_vm_p(reference->label)) graph->bits[graph->count] |= GRAPH_HAS_VM_LABELS;
    graph->targets[load->reference_count] = place;
    graph->labels[load->reference_count++] = label_of(reference);
    return true;
}

/* Counts also what is no object. */
static bool
on_counted_reference(void *data, const struct heapprof_dump_reference *reference)
{
    struct graph *graph = ((struct load *)data)->graph;
    uint32_t *length = &graph->lengths[graph->count];
    bool element = reference->label == HEAPPROF_DUMP_INDEX || reference->label == HEAPPROF_DUMP_KEY;

    if (element && *length && reference->index < UINT32_MAX - 1 && *length < reference->index + 2) {
        *length = (uint32_t)reference->index + 2;
    }
    return on_reference(data, reference);
}

/* ---- after the last object ---- */

static void
number_references(struct load *load)
{
    struct graph *graph = load->graph;
    uint32_t kept = 0, at = 0;

    graph->first[graph->count + 1] = load->reference_count;
    for (uint32_t object = 1; object <= graph->count; object++) {
        uint32_t end = graph->first[object + 1];
        graph->first[object] = kept;
        for (; at < end; at++) {
            uint32_t target = graph_places_object(&graph->places, graph->targets[at]);
            if (!target) continue;
            graph->targets[kept] = target;
            graph->labels[kept++] = graph->labels[at];
        }
    }
    graph->first[graph->count + 1] = kept;
    graph->missing += load->reference_count - kept;
}

static void
number_roots(struct graph *graph)
{
    uint32_t kept = 0;

    for (uint32_t i = 0; i < graph->root_count; i++) {
        struct graph_root root = graph->roots[i];
        root.target = graph_places_object(&graph->places, root.target);
        if (root.target) graph->roots[kept++] = root;
    }
    graph->missing += graph->root_count - kept;
    graph->root_count = kept;
}

static void
number_owners(struct graph *graph)
{
    for (uint32_t i = 0; i < graph->owner_count; i++) {
        graph->owners[i].owner = graph_places_object(&graph->places, graph->owners[i].owner);
    }
}

static bool
find_classes(struct graph *graph)
{
    const struct graph_names *names = &graph->names;

    if (!GROW(graph, layout_classes, names->layout_count)) return false;
    for (uint32_t i = 0; i < names->layout_count; i++) {
        graph->layout_classes[i] = graph_find(graph, names->layouts[i].class_address);
    }
    return true;
}

static bool
finish(struct load *load)
{
    if (!reserve_object(load)) return false;
    number_references(load);
    number_roots(load->graph);
    number_owners(load->graph);
    graph_names_finish(&load->graph->names);
    return find_classes(load->graph);
}

bool
graph_load_wanted(struct graph *graph, unsigned wanted, heapprof_dump_more_i *more, void *data,
                  size_t limit_bytes, char error[HEAPPROF_DUMP_ERROR_MAX])
{
    struct load load = {.graph = graph, .wanted = wanted};
    struct heapprof_dump_visitor visitor = {
        .data = &load,
        .fact = on_fact,
        .string = on_string,
        .stack = on_stack,
        .layout = on_layout,
        .root = on_root,
        .object = on_object,
        .move = on_move,
        .reference = wanted & GRAPH_LENGTHS ? on_counted_reference : on_reference,
    };
    enum heapprof_dump_result result = HEAPPROF_DUMP_STOPPED;

    memset(graph, 0, sizeof(*graph));
    graph_space_init(&graph->space, limit_bytes);
    graph_places_init(&graph->places, &graph->space);
    snprintf(error, HEAPPROF_DUMP_ERROR_MAX, "no memory");
    if (!graph_names_init(&graph->names, &graph->space)) return false;
    result = rb_heapprof_dump_read(more, data, &visitor, error);
    graph->complete = result == HEAPPROF_DUMP_COMPLETE;
    if (load.wrong) snprintf(error, HEAPPROF_DUMP_ERROR_MAX, "%s", load.wrong);
    if (result == HEAPPROF_DUMP_WRONG || result == HEAPPROF_DUMP_STOPPED) return false;
    if (finish(&load)) return true;
    snprintf(error, HEAPPROF_DUMP_ERROR_MAX, "no memory");
    return false;
}

bool
graph_load(struct graph *graph, heapprof_dump_more_i *more, void *data, size_t limit_bytes,
           char error[HEAPPROF_DUMP_ERROR_MAX])
{
    return graph_load_wanted(graph, 0, more, data, limit_bytes, error);
}
