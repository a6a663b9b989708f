/* patterns.c - in the order of the tree, so that where an object comes from has its pattern before. */
#include "graph/patterns.h"

#include "graph/words.h"

static uint64_t
hash_of(uint32_t parent, uint32_t label, uint32_t class_number)
{
    return rb_heapprof_index_hash(rb_heapprof_index_hash((uint64_t)parent << 32 | label) + class_number);
}

static uint64_t
hash_pattern(const void *owner, uint32_t number)
{
    const struct heapprof_graph_patterns *patterns = owner;
    const struct heapprof_graph_pattern *pattern = &patterns->all[number];

    return hash_of(pattern->parent, pattern->label, pattern->class_number);
}

/* Its number; 0: no memory. */
static uint32_t
find_or_add(struct heapprof_graph_patterns *patterns, uint32_t parent, uint32_t label, uint32_t class_number,
            uint32_t example)
{
    const struct heapprof_graph_pattern *above = &patterns->all[parent];
    uint64_t hash = hash_of(parent, label, class_number);
    uint32_t number;

    if (parent && above->label == label && above->class_number == class_number) return parent;
    for (uint64_t probe = hash; (number = rb_heapprof_index_at(&patterns->index, probe)) != 0; probe++) {
        const struct heapprof_graph_pattern *pattern = &patterns->all[number];
        if (pattern->parent == parent && pattern->label == label &&
            pattern->class_number == class_number) return number;
    }
    if (!HEAPPROF_SPACE_GROW(patterns->space, patterns->all, patterns->all_capacity, (size_t)patterns->count + 1) ||
        !rb_heapprof_index_reserve(&patterns->index, &patterns->index_mem, patterns->count, hash_pattern,
                                   patterns)) return 0;
    patterns->all[patterns->count] = (struct heapprof_graph_pattern){parent, label, class_number, example, 0, 0};
    rb_heapprof_index_insert(&patterns->index, hash, patterns->count);
    return patterns->count++;
}

static uint32_t
class_of(const struct heapprof_graph *graph, uint32_t object)
{
    uint32_t name = rb_heapprof_graph_module_name(graph, object);

    return name ? graph->names.class_count + name : rb_heapprof_graph_class_number(graph, object);
}

bool
rb_heapprof_graph_patterns_make(struct heapprof_graph_patterns *patterns, struct heapprof_graph *graph,
                                const struct heapprof_graph_tree *tree)
{
    *patterns = (struct heapprof_graph_patterns){.space = &graph->space, .count = 1};
    rb_heapprof_mem_init(&patterns->index_mem, SIZE_MAX);
    if (!HEAPPROF_SPACE_GROW(patterns->space, patterns->all, patterns->all_capacity, 1) ||
        !HEAPPROF_SPACE_GROW(patterns->space, patterns->of, patterns->of_capacity,
                             (size_t)graph->count + 1)) return false;
    for (uint32_t at = 0; at < tree->count; at++) {
        uint32_t object = tree->order[at], parent = patterns->of[tree->from[object]];
        uint32_t label = rb_heapprof_graph_merged_label(tree->labels[object]);
        uint32_t number = find_or_add(patterns, parent, label, class_of(graph, object), object);
        if (!number) return false;
        patterns->of[object] = number;
        patterns->all[number].objects++;
        patterns->all[number].bytes += graph->sizes[object];
    }
    return true;
}

void
rb_heapprof_graph_patterns_free(struct heapprof_graph_patterns *patterns)
{
    HEAPPROF_SPACE_RELEASE(patterns->space, patterns->all, patterns->all_capacity);
    HEAPPROF_SPACE_RELEASE(patterns->space, patterns->of, patterns->of_capacity);
    rb_heapprof_index_release(&patterns->index, &patterns->index_mem);
}

void
rb_heapprof_graph_put_pattern(FILE *out, const struct heapprof_graph *graph,
                              const struct heapprof_graph_pattern *pattern)
{
    bool named = rb_heapprof_graph_module_name(graph, pattern->example) != 0;

    if (named) rb_heapprof_graph_put_object(out, graph, pattern->example);
    else fputs(rb_heapprof_graph_class_name(graph, pattern->example), out);
}

void
rb_heapprof_graph_put_step(FILE *out, const struct heapprof_graph *graph, const struct heapprof_graph_pattern *pattern)
{
    rb_heapprof_graph_put_label(out, graph, pattern->label, pattern->objects > 1);
    fputs(": ", out);
    if (pattern->objects == 1) rb_heapprof_graph_put_object(out, graph, pattern->example);
    else rb_heapprof_graph_put_pattern(out, graph, pattern);
}

void
rb_heapprof_graph_patterns_retained(const struct heapprof_graph_patterns *patterns, uint64_t *retained)
{
    for (uint32_t i = patterns->count; i-- > 1;) {
        retained[i] += patterns->all[i].bytes;
        retained[patterns->all[i].parent] += retained[i];
    }
}
