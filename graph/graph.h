#ifndef GRAPH_GRAPH_H
#define GRAPH_GRAPH_H
/* The objects of a dump and their references, in memory.
 *
 *     number     0        1          2              count
 *                root     object     object   ...   object       in the order of the file: page by page
 *     first      |        |          |
 *     targets    .        2 7 7      5 ...                       references of object 1: targets[first[1] .. first[2])
 *
 * Number 0 is the root of all roots; what it refers to is in roots. That an object refers to its class is not among the
 * references: the layout has it (graph_class). References to what is no object, and weak ones, are left out.
 * References that lead to nothing in the file are counted and left out. */
#include "graph/names.h"
#include "graph/places.h"

/* Labels of a reference, in 32 bits: kind, and what there is to say. */
enum {
    GRAPH_VALUE_OF_SYMBOL = HEAPPROF_DUMP_LABELS, /* a Hash's value: the key's string */
    GRAPH_VALUE_OF_INTEGER                        /* the same: the key */
};
#define GRAPH_DETAIL_BITS 27
#define GRAPH_DETAIL_MOST ((UINT32_C(1) << GRAPH_DETAIL_BITS) - 1) /* this or more */

static inline uint32_t
graph_label(uint32_t kind, uint64_t detail)
{
    if (detail > GRAPH_DETAIL_MOST) detail = GRAPH_DETAIL_MOST;
    return kind << GRAPH_DETAIL_BITS | (uint32_t)detail;
}

static inline uint32_t
graph_label_kind(uint32_t label)
{
    return label >> GRAPH_DETAIL_BITS;
}

/* A string, an index, or the number of a pair. */
static inline uint32_t
graph_label_detail(uint32_t label)
{
    return label & GRAPH_DETAIL_MOST;
}

/* What is left of a label when indices, keys and values are all one. */
static inline uint32_t
graph_merged_label(uint32_t label)
{
    uint32_t kind = graph_label_kind(label);

    switch (kind) {
    case HEAPPROF_DUMP_INDEX: case HEAPPROF_DUMP_KEY: case HEAPPROF_DUMP_VALUE: case GRAPH_VALUE_OF_INTEGER:
        return graph_label(kind, 0);
    default:
        return label;
    }
}

struct graph_root {
    uint32_t label, name, category;
    uint32_t target;             /* object */
};

/* The label that it has as the reference from number 0. */
static inline uint32_t
graph_root_label(const struct graph_root *root)
{
    return graph_label(root->label, root->name ? root->name : root->category);
}

/* A text of an object: a class's, method's or symbol's name, or what it holds. Ordered by object. */
struct graph_text {
    uint32_t object, string;
};

/* An allocation stack, and how many objects this one stands for, times 1000. Ordered by object. */
struct graph_sample {
    uint32_t object, stack;
    uint64_t weight;
};

struct graph_move {
    uint64_t from, to;
};

struct graph {
    struct graph_space space;
    struct graph_names names;
    struct graph_places places;
    uint32_t  count;
    uint32_t *object_places;     /* these four by object */
    uint32_t *layouts;
    uint64_t *sizes;             /* bytes of the slot and outside */
    uint16_t *bits;              /* enum heapprof_dump_object_bit */
    uint32_t *first;             /* count + 2 */
    uint32_t *targets, *labels;  /* by reference */
    struct graph_root *roots;
    uint32_t  root_count;
    struct graph_text *texts;
    uint32_t  text_count;
    struct graph_sample *samples;
    uint32_t  sample_count;
    struct graph_move *moves;
    uint32_t  move_count;
    uint64_t  bytes;             /* of all objects */
    uint64_t  missing, weak;     /* references that are left out */
    uint32_t *layout_classes;    /* object that is the class of a layout's objects; 0: none */
    bool      complete;
    size_t object_places_capacity, layouts_capacity, sizes_capacity, bits_capacity, first_capacity, targets_capacity,
           labels_capacity, roots_capacity, texts_capacity, samples_capacity, moves_capacity, layout_classes_capacity;
};

/* Reads a dump into graph, which is to be freed either way; arrays of more than limit_bytes go to a file. error: why it
 * failed, or, if graph->complete is false, why it is incomplete. */
bool graph_load(struct graph *graph, heapprof_dump_more_i *more, void *data, size_t limit_bytes,
                char error[HEAPPROF_DUMP_ERROR_MAX]);
void graph_free(struct graph *graph);

/* How many references an object has, without that to its class. */
static inline uint32_t
graph_degree(const struct graph *graph, uint32_t object)
{
    return graph->first[object + 1] - graph->first[object];
}

/* The object that is its class; 0: it has none, or that is not in the dump. */
static inline uint32_t
graph_class(const struct graph *graph, uint32_t object)
{
    return graph->layout_classes[graph->layouts[object]];
}

/* What people call its class, among names.classes. */
static inline uint32_t
graph_class_number(const struct graph *graph, uint32_t object)
{
    return graph->names.layouts[graph->layouts[object]].class_number;
}

static inline uint64_t
graph_address(const struct graph *graph, uint32_t object)
{
    return graph_places_address(&graph->places, graph->object_places[object]);
}

/* MRI's name for what it is: "T_STRING". */
const char *graph_type(const struct graph *graph, uint32_t object);

/* String of a class's or module's name; 0: it is none, or has none that is a constant's. */
uint32_t graph_module_name(const struct graph *graph, uint32_t object);

/* String of its text, 0: none; the sample of it, NULL: it is none. */
uint32_t graph_text(const struct graph *graph, uint32_t object);
const struct graph_sample *graph_sample(const struct graph *graph, uint32_t object);

/* The object at that address; 0: none. */
uint32_t graph_find(const struct graph *graph, uint64_t address);

#endif
