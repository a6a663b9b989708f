/* likeness.c - gives the patterns of both dumps common numbers, by the names on the way down, and
 * pairs the objects of each number. */
#include "graph/likeness.h"

#include <stdlib.h>
#include <string.h>

#include "base/strings.h"

struct common_place {
    uint32_t parent, name;
};

struct likeness {
    struct heapprof_mem mem;
    struct heapprof_strings strings;
    struct common_place *places; /* [0] belongs to the root */
    size_t   capacity;
    uint32_t count;
    struct heapprof_index index;
};

static uint64_t
hash_of(uint32_t parent, uint32_t name)
{
    return rb_heapprof_index_hash((uint64_t)parent << 32 | name);
}

static uint64_t
hash_place(const void *owner, uint32_t number)
{
    const struct likeness *likeness = owner;

    return hash_of(likeness->places[number].parent, likeness->places[number].name);
}

/* Returns the number of the place; 0 if there is no memory. */
static uint32_t
find_or_add(struct likeness *likeness, uint32_t parent, uint32_t name)
{
    uint64_t hash = hash_of(parent, name);
    uint32_t number;

    for (uint64_t probe = hash; (number = rb_heapprof_index_at(&likeness->index, probe)) != 0;
         probe++) {
        if (likeness->places[number].parent == parent && likeness->places[number].name == name)
            return number;
    }
    if (!HEAPPROF_MEM_GROW(&likeness->mem, likeness->places, likeness->capacity,
                           (size_t)likeness->count + 1) ||
        !rb_heapprof_index_reserve(&likeness->index, &likeness->mem, likeness->count, hash_place,
                                   likeness))
        return 0;
    likeness->places[likeness->count] = (struct common_place){parent, name};
    rb_heapprof_index_insert(&likeness->index, hash, likeness->count);
    return likeness->count++;
}

/* Returns the common number of a string of the dump; UINT32_MAX if there is no memory. */
static uint32_t
common_string(struct likeness *likeness, const struct graph *graph, uint32_t string,
              uint32_t *known)
{
    const char *text = graph_string(&graph->names, string);

    if (!known[string])
        known[string] = rb_heapprof_strings_intern(&likeness->strings, text, strlen(text)) + 1;
    return known[string] - 1;
}

/* What the objects of a pattern are: a thread or fiber by place, or a module by name, or else the
 * name of the class. Returns its common string; UINT32_MAX if there is no memory. */
static uint32_t
common_class(struct likeness *likeness, const struct graph *graph,
             const struct graph_patterns *patterns, const struct graph_pattern *pattern,
             uint32_t *known)
{
    const struct graph_names *names = &graph->names;
    const char *place = graph_pattern_place(graph, patterns, pattern);
    uint32_t number = pattern->class_number;

    if (place) return rb_heapprof_strings_intern(&likeness->strings, place, strlen(place));
    return common_string(likeness, graph,
                         number < names->class_count ? names->classes[number].name
                                                     : number - names->class_count,
                         known);
}

/* The place of a pattern is below that of its parent, three steps down: what kind of label it
 * has, which name is in it, and which class. */
static uint32_t
place_of(struct likeness *likeness, const struct graph *graph,
         const struct graph_patterns *patterns, const struct graph_pattern *pattern,
         uint32_t parent, uint32_t *known)
{
    bool named = pattern->class_number >= graph->names.class_count;
    uint32_t label = common_string(likeness, graph, graph_label_detail(pattern->label), known);
    uint32_t class_name = common_class(likeness, graph, patterns, pattern, known);
    uint32_t place = find_or_add(likeness, parent, graph_label_kind(pattern->label) << 1 | named);

    if (label == UINT32_MAX || class_name == UINT32_MAX) return 0;
    if (place) place = find_or_add(likeness, place, label);
    return place ? find_or_add(likeness, place, class_name) : 0;
}

/* Returns the common number of each pattern, to be freed; NULL if there is no memory. */
static uint32_t *
number_patterns(struct likeness *likeness, const struct graph *graph,
                const struct graph_patterns *patterns)
{
    uint32_t *numbers = calloc(patterns->count, sizeof(*numbers));
    uint32_t *known =
        calloc(graph->names.string_count, sizeof(*known)); /* by string: its common number + 1 */
    bool room = numbers && known;

    for (uint32_t i = 1; room && i < patterns->count; i++) {
        numbers[i] = place_of(likeness, graph, patterns, &patterns->all[i],
                              numbers[patterns->all[i].parent], known);
        room = numbers[i];
    }
    free(known);
    if (room) return numbers;
    free(numbers);
    return NULL;
}

/* Pairs the objects. first[n] is where the objects of number n begin in `sorted`. */
static bool
pair(uint32_t *before, const struct likeness *likeness, const struct graph *earlier,
     const uint32_t *earlier_numbers, const struct graph_patterns *earlier_patterns,
     const struct graph *later, const uint32_t *later_numbers,
     const struct graph_patterns *later_patterns)
{
    uint32_t *first = calloc((size_t)likeness->count + 2, sizeof(*first));
    uint32_t *sorted = calloc((size_t)earlier->count + 1, sizeof(*sorted));
    uint32_t *taken = calloc(likeness->count, sizeof(*taken));
    bool room = first && sorted && taken;

    for (uint32_t i = 1; room && i <= earlier->count; i++)
        first[earlier_numbers[earlier_patterns->of[i]] + 2]++;
    for (uint32_t i = 0; room && i < likeness->count; i++) first[i + 2] += first[i + 1];
    for (uint32_t i = 1; room && i <= earlier->count; i++) {
        sorted[first[earlier_numbers[earlier_patterns->of[i]] + 1]++] = i;
    }
    for (uint32_t i = 1; room && i <= later->count; i++) {
        uint32_t number = later_numbers[later_patterns->of[i]];
        if (number && first[number] + taken[number] < first[number + 1])
            before[i] = sorted[first[number] + taken[number]++];
    }
    free(first);
    free(sorted);
    free(taken);
    return room;
}

bool
graph_pair_alike(uint32_t *before, struct graph *earlier, const struct graph_tree *earlier_tree,
                 struct graph *later, const struct graph_tree *later_tree)
{
    struct likeness likeness = {.count = 1};
    struct graph_patterns earlier_patterns = {0}, later_patterns = {0};
    uint32_t *earlier_numbers = NULL, *later_numbers = NULL;
    bool room;

    rb_heapprof_mem_init(&likeness.mem, SIZE_MAX);
    rb_heapprof_strings_init(&likeness.strings, &likeness.mem);
    room = HEAPPROF_MEM_GROW(&likeness.mem, likeness.places, likeness.capacity, 1) &&
           graph_patterns_make(&earlier_patterns, earlier, earlier_tree) &&
           graph_patterns_make(&later_patterns, later, later_tree) &&
           (earlier_numbers = number_patterns(&likeness, earlier, &earlier_patterns)) &&
           (later_numbers = number_patterns(&likeness, later, &later_patterns)) &&
           pair(before, &likeness, earlier, earlier_numbers, &earlier_patterns, later,
                later_numbers, &later_patterns);
    free(earlier_numbers);
    free(later_numbers);
    if (earlier_patterns.space) graph_patterns_free(&earlier_patterns);
    if (later_patterns.space) graph_patterns_free(&later_patterns);
    HEAPPROF_MEM_RELEASE(&likeness.mem, likeness.places, likeness.capacity);
    rb_heapprof_index_release(&likeness.index, &likeness.mem);
    rb_heapprof_strings_free(&likeness.strings);
    return room;
}
