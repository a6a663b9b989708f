#ifndef GRAPH_GRAPH_H
#define GRAPH_GRAPH_H
/* The objects of a dump and their references, in memory: a book with numbered pages, in which
 * each page lists the numbers of the pages it refers to.
 *
 *     number     0        1          2              count
 *                root     object     object   ...   object       in the order of the file: page by page
 *     first      |        |          |
 *     targets    .        2 7 7      5 ...            of object 1: targets[first[1] .. first[2])
 *
 * Number 0 stands for all roots; its references are in roots. The reference from an object to
 * its class is not in targets: the layout has it (graph_class). Weak references, and references
 * to values that are not objects, are left out. References to an address that has no object in
 * the file are counted and left out. */
#include "graph/names.h"
#include "graph/places.h"

/* The label of a reference in 32 bits: its kind, and a detail of that kind. */
enum {
    GRAPH_VALUE_OF_SYMBOL = HEAPPROF_DUMP_LABELS, /* the value of a Hash; detail: the string of
                                                     its Symbol key */
    GRAPH_VALUE_OF_INTEGER,                       /* the value of a Hash; detail: its Integer key */
    GRAPH_VALUE_OF_STRING                         /* detail: the text of its String key */
};
#define GRAPH_DETAIL_BITS 27
#define GRAPH_DETAIL_MOST ((UINT32_C(1) << GRAPH_DETAIL_BITS) - 1) /* stands for this value and
                                                                      all larger ones */

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

/* The detail of a label: a string, an index, or the number of a pair. */
static inline uint32_t
graph_label_detail(uint32_t label)
{
    return label & GRAPH_DETAIL_MOST;
}

/* True for the labels of the VM's own references. Such a reference may be no more than a cache or a
 * word of a stack. */
static inline bool
graph_kind_of_vm_p(uint32_t kind)
{
    return kind == HEAPPROF_DUMP_FIELD || kind == HEAPPROF_DUMP_STACK || kind == HEAPPROF_DUMP_ROOT;
}

/* The label without what differs from element to element: all indices are one label, and so are
 * all keys and all values. */
static inline uint32_t
graph_merged_label(uint32_t label)
{
    uint32_t kind = graph_label_kind(label);

    switch (kind) {
      case HEAPPROF_DUMP_INDEX: case HEAPPROF_DUMP_KEY: case HEAPPROF_DUMP_VALUE:
      case GRAPH_VALUE_OF_INTEGER:
        return graph_label(kind, 0);
      case GRAPH_VALUE_OF_STRING:
        return graph_label(HEAPPROF_DUMP_VALUE, 0);
      default:
        return label;
    }
}

/* A bit beside those of enum heapprof_dump_object_bit: graph_kind_of_vm_p is true for one of the
 * object's references at least. */
#define GRAPH_HAS_VM_LABELS (1u << 15)

struct graph_root {
    uint32_t label, name, category;
    uint32_t target;             /* object */
};

/* The label of this root as a reference from number 0. */
static inline uint32_t
graph_root_label(const struct graph_root *root)
{
    return graph_label(root->label, root->name ? root->name : root->category);
}

/* The text of an object: the name of a class, method or symbol, or the object's content.
 * Ordered by object. */
struct graph_text {
    uint32_t object, string;
};

/* The allocation stack of a sampled object, and how many objects the sample stands for, times
 * 1000; what the program was doing (dump/format.h: DOING), a string. Ordered by object. */
struct graph_sample {
    uint32_t object, stack, doing;
    uint64_t weight;
};

/* Which thread has locked a Mutex. Ordered by object. */
struct graph_owner {
    uint32_t object, owner;
};

struct graph_move {
    uint64_t from, to;
};

struct graph {
    struct graph_space space;
    struct graph_names names;
    struct graph_places places;
    uint32_t  count;
    uint32_t *object_places;     /* these four are indexed by object */
    uint32_t *layouts;
    uint64_t *sizes;             /* bytes in the slot and outside it */
    uint16_t *bits;              /* enum heapprof_dump_object_bit, GRAPH_HAS_VM_LABELS */
    uint32_t *lengths; /* bytes of a String, elements of an Array, pairs of a Hash, plus 1;
                          0 if the file does not say. These three are read if wanted */
    uint16_t *slots;             /* bytes in the slot, divided by 8 */
    uint64_t *hashes;            /* of the content; 0 if the file has none */
    uint32_t *first;             /* count + 2 elements */
    uint32_t *targets, *labels;  /* indexed by reference */
    struct graph_root *roots;
    uint32_t  root_count;
    struct graph_text *texts;
    uint32_t  text_count;
    struct graph_sample *samples;
    uint32_t  sample_count;
    struct graph_owner *owners;
    uint32_t  owner_count;
    struct graph_move *moves;
    uint32_t  move_count;
    uint64_t  bytes;             /* of all objects */
    uint64_t  missing, weak;     /* references that were left out */
    uint32_t *layout_classes;    /* the class of a layout's objects, as an object; 0 if it is not
                                    in the dump */
    bool      complete;
    size_t object_places_capacity, layouts_capacity, sizes_capacity, bits_capacity, first_capacity,
           lengths_capacity, slots_capacity, hashes_capacity,
           targets_capacity, labels_capacity, roots_capacity, texts_capacity, samples_capacity,
           owners_capacity, moves_capacity, layout_classes_capacity;
};

/* Reads a dump into graph. The caller frees graph either way. Arrays beyond limit_bytes go to a
 * file. error says why loading failed; or, if graph->complete is false, why the dump is
 * incomplete. */
bool graph_load(struct graph *graph, heapprof_dump_more_i *more, void *data, size_t limit_bytes,
                char error[HEAPPROF_DUMP_ERROR_MAX]);
void graph_free(struct graph *graph);

/* The same, and reads what else is wanted. LENGTHS: lengths and slots. HASHES: hashes. */
enum {GRAPH_LENGTHS = 1, GRAPH_HASHES = 2};
bool graph_load_wanted(struct graph *graph, unsigned wanted, heapprof_dump_more_i *more, void *data,
                       size_t limit_bytes, char error[HEAPPROF_DUMP_ERROR_MAX]);

/* How many references an object has, not counting the one to its class. */
static inline uint32_t
graph_degree(const struct graph *graph, uint32_t object)
{
    return graph->first[object + 1] - graph->first[object];
}

/* The class of an object, as an object; 0 if it has none or if the class is not in the dump. */
static inline uint32_t
graph_class(const struct graph *graph, uint32_t object)
{
    return graph->layout_classes[graph->layouts[object]];
}

/* What the object has in common with others: its class, its type. */
static inline const struct graph_layout *
graph_layout(const struct graph *graph, uint32_t object)
{
    return &graph->names.layouts[graph->layouts[object]];
}

/* The class of an object as people name it, an index in names.classes. */
static inline uint32_t
graph_class_number(const struct graph *graph, uint32_t object)
{
    return graph_layout(graph, object)->class_number;
}

static inline uint64_t
graph_address(const struct graph *graph, uint32_t object)
{
    return graph_places_address(&graph->places, graph->object_places[object]);
}

/* MRI's name of the object's type, such as "T_STRING". */
const char *graph_type(const struct graph *graph, uint32_t object);

/* The string with the name of a class or module. 0 if the object is neither, or if its name is
 * not that of a constant. */
uint32_t graph_module_name(const struct graph *graph, uint32_t object);

/* The string of the object's text, 0 if it has none; the object's sample, NULL if it was not
 * sampled. */
uint32_t graph_text(const struct graph *graph, uint32_t object);
const struct graph_sample *graph_sample(const struct graph *graph, uint32_t object);

/* The thread that has locked the Mutex; 0 if the dump does not say one. */
uint32_t graph_owner(const struct graph *graph, uint32_t mutex);

/* The object at that address; 0 if there is none. */
uint32_t graph_find(const struct graph *graph, uint64_t address);

#endif
