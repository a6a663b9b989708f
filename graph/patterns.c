/* patterns.c - makes the patterns in the order of the tree: the object before on the path
 * always has its pattern already. */
#include "graph/patterns.h"

#include <stdlib.h>
#include <string.h>

#include "graph/largest.h"
#include "graph/terms.h"
#include "graph/words.h"

static uint64_t
hash_of(uint32_t parent, uint32_t label, uint32_t class_number)
{
    return rb_heapprof_index_hash(rb_heapprof_index_hash((uint64_t)parent << 32 | label) +
                                  class_number);
}

static uint64_t
hash_pattern(const void *owner, uint32_t number)
{
    const struct graph_patterns *patterns = owner;
    const struct graph_pattern *pattern = &patterns->all[number];

    return hash_of(pattern->parent, pattern->label, pattern->class_number);
}

/* True if the merged label is that of an element, a key or a value. */
static bool
of_collection_p(uint32_t label)
{
    switch (graph_label_kind(label)) {
      case HEAPPROF_DUMP_INDEX:
      case HEAPPROF_DUMP_KEY:
      case HEAPPROF_DUMP_VALUE:
      case GRAPH_VALUE_OF_INTEGER: return true;
      default: return false;
    }
}

static bool
alike_p(const struct graph_pattern *one, const struct graph_pattern *other)
{
    return one->label == other->label && one->class_number == other->class_number;
}

/* Returns the pattern of the last few above that such a step belongs to; 0 if there is none. An
 * Array in any Hash is nothing special: a step from a collection, and not right above, repeats
 * one only if the step before it repeats, too. */
static uint32_t
find_period(struct graph_patterns *patterns, uint32_t parent, uint32_t label, uint32_t class_number)
{
    uint32_t above = parent;

    for (int i = 0; above && i < GRAPH_PERIOD_MOST; i++, above = patterns->all[above].parent) {
        struct graph_pattern *pattern = &patterns->all[above];
        if (pattern->label != label || pattern->class_number != class_number) continue;
        if (i > 0 && of_collection_p(label) &&
            !alike_p(&patterns->all[parent], &patterns->all[pattern->parent])) continue;
        if (!pattern->loop) pattern->loop = parent;
        return above;
    }
    return 0;
}

/* Returns the number of the pattern; 0 if there is no memory. */
static uint32_t
find_or_add(struct graph_patterns *patterns, uint32_t parent, uint32_t label, uint32_t class_number,
            uint32_t example)
{
    uint64_t hash = hash_of(parent, label, class_number);
    uint32_t number = find_period(patterns, parent, label, class_number);

    if (number) return number;
    for (uint64_t probe = hash; (number = rb_heapprof_index_at(&patterns->index, probe)) != 0;
         probe++) {
        const struct graph_pattern *pattern = &patterns->all[number];
        if (pattern->parent == parent && pattern->label == label &&
            pattern->class_number == class_number) return number;
    }
    if (!GRAPH_SPACE_GROW(patterns->space, patterns->all, patterns->all_capacity,
                          (size_t)patterns->count + 1) ||
        !rb_heapprof_index_reserve(&patterns->index, &patterns->index_mem, patterns->count,
                                   hash_pattern,
                                   patterns)) return 0;
    patterns->all[patterns->count] = (struct graph_pattern){.parent = parent, .label = label,
                                                            .class_number = class_number,
                                                            .example = example};
    rb_heapprof_index_insert(&patterns->index, hash, patterns->count);
    return patterns->count++;
}

/* ---- steps that were looked up lately ---- */

/* Objects side by side take the same few steps again and again. */
#define RECENT_STEPS 256 /* a power of two */

struct recent_step {
    uint32_t parent, label, class_number;
    uint32_t number;             /* pattern; 0: nothing is here */
};

/* Like find_or_add. `recent` has RECENT_STEPS elements. */
static inline uint32_t
find_step(struct graph_patterns *patterns, struct recent_step *recent, struct recent_step step,
          uint32_t example)
{
    uint32_t label = step.label ^ step.label >> GRAPH_DETAIL_BITS;
    uint32_t mixed = (step.parent * 31 + step.class_number) * 31 + label;
    struct recent_step *known = &recent[(mixed ^ mixed >> 8) % RECENT_STEPS];

    if (known->number && known->parent == step.parent && known->label == step.label &&
        known->class_number == step.class_number) return known->number;
    step.number = find_or_add(patterns, step.parent, step.label, step.class_number, example);
    *known = step;
    return step.number;
}

/* Returns the number of an object's class in a pattern (class_number); UINT32_MAX if there is no
 * memory. */
static uint32_t
pattern_class(struct graph_patterns *patterns, const struct graph *graph, uint32_t object)
{
    const struct graph_names *names = &graph->names;
    const struct graph_layout *layout = graph_layout(graph, object);
    uint32_t name = layout->module ? graph_module_name(graph, object) : 0, place;
    char started[GRAPH_STARTED_BYTES];

    if (name) return names->class_count + name;
    if (!graph_started(started, graph, object)) return layout->class_number;
    place = rb_heapprof_strings_intern(&patterns->places, started, strlen(started));
    return place == UINT32_MAX ? place : names->class_count + names->string_count + place;
}

bool
graph_patterns_make(struct graph_patterns *patterns, struct graph *graph,
                    const struct graph_tree *tree)
{
    struct recent_step recent[RECENT_STEPS] = {0};

    *patterns = (struct graph_patterns){.space = &graph->space, .count = 1};
    rb_heapprof_mem_init(&patterns->index_mem, SIZE_MAX);
    rb_heapprof_strings_init(&patterns->places, &patterns->index_mem);
    if (!GRAPH_SPACE_GROW(patterns->space, patterns->all, patterns->all_capacity, 1) ||
        !GRAPH_SPACE_GROW(patterns->space, patterns->of, patterns->of_capacity,
                          (size_t)graph->count + 1)) return false;
    for (uint32_t at = 0; at < tree->count; at++) {
        uint32_t object = tree->order[at], label = tree->labels[object];
        uint32_t number = patterns->of[tree->from[object]];
        if (!number || !graph_shared_p(graph, label)) {
            struct recent_step step = {number, graph_merged_label(label),
                                       pattern_class(patterns, graph, object), 0};
            if (step.class_number == UINT32_MAX) return false;
            number = find_step(patterns, recent, step, object);
            if (!number) return false;
            patterns->all[number].objects++;
        }
        patterns->of[object] = number;
        patterns->all[number].bytes += graph->sizes[object];
    }
    rb_heapprof_index_release(&patterns->index, &patterns->index_mem);
    return true;
}

void
graph_patterns_free(struct graph_patterns *patterns)
{
    GRAPH_SPACE_RELEASE(patterns->space, patterns->all, patterns->all_capacity);
    GRAPH_SPACE_RELEASE(patterns->space, patterns->of, patterns->of_capacity);
    rb_heapprof_index_release(&patterns->index, &patterns->index_mem);
    rb_heapprof_strings_free(&patterns->places);
}

const char *
graph_pattern_place(const struct graph *graph, const struct graph_patterns *patterns,
                    const struct graph_pattern *pattern)
{
    uint32_t places = graph->names.class_count + graph->names.string_count;

    return pattern->class_number < places
               ? NULL
               : rb_heapprof_strings_get(&patterns->places, pattern->class_number - places, NULL);
}

void
graph_put_pattern_class(FILE *out, const struct graph *graph, const struct graph_patterns *patterns,
                        const struct graph_pattern *pattern)
{
    const char *place = graph_pattern_place(graph, patterns, pattern);

    if (pattern->siblings > 1 || pattern->class_number < graph->names.class_count) {
        const char *class_name = graph_class_name(graph, pattern->example),
                   *term = graph_term(class_name);
        fputs(term ? term : class_name, out);
    }
    else if (place) fputs(place, out);
    else graph_put_object(out, graph, pattern->example);
}

/* Goes up from the last step of the period, so the steps are collected first. */
void
graph_put_period(FILE *out, const struct graph *graph, const struct graph_patterns *patterns,
                 uint32_t first)
{
    uint32_t steps[GRAPH_PERIOD_MOST];
    int count = 0;

    for (uint32_t at = patterns->all[first].loop; at && count < GRAPH_PERIOD_MOST;
         at = patterns->all[at].parent) {
        steps[count++] = at;
        if (at == first) break;
    }
    while (count-- > 0) {
        graph_put_pattern_class(out, graph, patterns, &patterns->all[steps[count]]);
        if (count) fputs(" -> ", out);
    }
}

void
graph_put_pattern(FILE *out, const struct graph *graph, const struct graph_patterns *patterns,
                  uint32_t number)
{
    const struct graph_pattern *pattern = &patterns->all[number];

    if (!pattern->loop || pattern->objects < 2) {
        graph_put_pattern_class(out, graph, patterns, pattern);
        return;
    }
    fputs("list of ", out);
    graph_put_period(out, graph, patterns, number);
}

void
graph_put_pattern_label(FILE *out, const struct graph *graph, const struct graph_pattern *pattern)
{
    if (pattern->siblings < 2) graph_put_label(out, graph, pattern->label, pattern->objects > 1);
    else graph_put_siblings(out, graph, pattern->label, pattern->siblings, pattern->prefix);
}

void
graph_put_step(FILE *out, const struct graph *graph, const struct graph_patterns *patterns,
               uint32_t number)
{
    const struct graph_pattern *pattern = &patterns->all[number];

    graph_put_pattern_label(out, graph, pattern);
    fputs(": ", out);
    if (pattern->objects == 1) graph_put_object(out, graph, pattern->example);
    else graph_put_pattern(out, graph, patterns, number);
}

void
graph_patterns_retained(const struct graph_patterns *patterns, uint64_t *retained)
{
    for (uint32_t i = patterns->count; i-- > 1;) {
        retained[i] += patterns->all[i].bytes;
        retained[patterns->all[i].parent] += retained[i];
    }
}

/* ---- from the top down ---- */

bool
graph_branches_make(struct graph_branches *branches, const struct graph_patterns *patterns)
{
    const struct graph_pattern *all = patterns->all;
    uint32_t count = patterns->count, *first;

    branches->retained = calloc(count, sizeof(*branches->retained));
    branches->children = calloc(count, sizeof(*branches->children));
    branches->first = first = calloc((size_t)count + 2, sizeof(*branches->first));
    if (!branches->retained || !branches->children || !first) return false;
    graph_patterns_retained(patterns, branches->retained);
    for (uint32_t i = 1; i < count; i++) first[all[i].parent + 2]++;
    for (uint32_t i = 0; i < count; i++) first[i + 2] += first[i + 1];
    for (uint32_t i = 1; i < count; i++) branches->children[first[all[i].parent + 1]++] = i;
    for (uint32_t i = 0; i < count; i++) {
        graph_largest_sort(branches->children + first[i], first[i + 1] - first[i],
                           branches->retained);
    }
    return true;
}

void
graph_branches_free(struct graph_branches *branches)
{
    free(branches->retained);
    free(branches->children);
    free(branches->first);
}
