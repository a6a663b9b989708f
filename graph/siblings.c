/* siblings.c - gathers patterns that differ only in their names, as one says "forty books" of a
 * shelf whose titles are too small to read.
 *
 * Levels of the tree are done from the top down. On each level, patterns below the same pattern
 * are sorted by class and kind of label. Small ones of one class and kind become one pattern if
 * they are many. What is below them meets on the next level, where equal labels become one. */
#ifndef _GNU_SOURCE
# define _GNU_SOURCE /* qsort_r */
#endif
#include <stdlib.h>
#include <string.h>

#include "graph/patterns.h"
#include "graph/words.h"

#define SIBLINGS_LEAST 8
#define PREFIX_MOST 64   /* characters; more are not shown, and a hostile name may have millions */
#define NAMED UINT32_MAX /* stands for all named classes, modules, threads and fibers */

struct gathering {
    const struct graph *graph;
    struct graph_patterns *patterns;
    struct graph_pattern *old;   /* the patterns before */
    uint64_t *retained;          /* by old pattern */
    uint32_t *numbers;           /* by old pattern: its new number */
    uint32_t *order;             /* old patterns by level */
    uint64_t  least;
};

static uint32_t
class_of(const struct gathering *gathering, uint32_t number)
{
    uint32_t class_number = gathering->old[number].class_number;

    return class_number >= gathering->graph->names.class_count ? NAMED : class_number;
}

/* The kind of a label that is one of many names that a program may have made; 0 if it is not. */
static uint32_t
kind_of(const struct gathering *gathering, uint32_t number)
{
    uint32_t label = gathering->old[number].label, kind = graph_label_kind(label);

    switch (kind) {
      case HEAPPROF_DUMP_CONSTANT:
      case HEAPPROF_DUMP_IVAR:
      case HEAPPROF_DUMP_CVAR:
      case HEAPPROF_DUMP_GLOBAL:
      case HEAPPROF_DUMP_LOCAL:
      case GRAPH_VALUE_OF_SYMBOL: return kind;
      case GRAPH_INDIRECT: return graph_label_detail(label) ? kind : 0;
      case HEAPPROF_DUMP_FIELD:
        return !strncmp(graph_label_name(gathering->graph, label), "method ", 7) ? kind : 0;
      default: return 0;
    }
}

static int
compare(uint32_t one, uint32_t other)
{
    return (one > other) - (one < other);
}

/* By what they are below, then by class, kind and label. */
static int
in_order(const void *a, const void *b, void *data)
{
    const struct gathering *gathering = data;
    uint32_t one = *(const uint32_t *)a, other = *(const uint32_t *)b;
    const struct graph_pattern *old = gathering->old;
    int order = compare(gathering->numbers[old[one].parent], gathering->numbers[old[other].parent]);

    if (!order) order = compare(class_of(gathering, one), class_of(gathering, other));
    if (!order) order = compare(kind_of(gathering, one), kind_of(gathering, other));
    if (!order) order = compare(old[one].label, old[other].label);
    if (!order) order = compare(old[one].class_number, old[other].class_number);
    return order ? order : compare(one, other);
}

static bool
same_pattern_p(const struct gathering *gathering, uint32_t one, uint32_t other)
{
    const struct graph_pattern *a = &gathering->old[one], *b = &gathering->old[other];

    return gathering->numbers[a->parent] == gathering->numbers[b->parent] && a->label == b->label &&
           a->class_number == b->class_number;
}

static bool
siblings_p(const struct gathering *gathering, uint32_t one, uint32_t other)
{
    const struct graph_pattern *old = gathering->old;

    return gathering->numbers[old[one].parent] == gathering->numbers[old[other].parent] &&
           class_of(gathering, one) == class_of(gathering, other) &&
           kind_of(gathering, one) == kind_of(gathering, other);
}

static void
add(struct gathering *gathering, uint32_t number, uint32_t into)
{
    const struct graph_pattern *old = &gathering->old[number];
    struct graph_pattern *sum = &gathering->patterns->all[into];

    gathering->numbers[number] = into;
    if (old->example < sum->example) sum->example = old->example;
    if (old->loop && !sum->loop) sum->loop = old->loop;
    sum->objects += old->objects;
    sum->bytes += old->bytes;
}

static uint32_t
begin(struct gathering *gathering, uint32_t number)
{
    struct graph_patterns *patterns = gathering->patterns;
    struct graph_pattern *sum = &patterns->all[patterns->count];

    *sum = gathering->old[number];
    sum->parent = gathering->numbers[sum->parent];
    sum->objects = sum->bytes = 0;
    return patterns->count++;
}

/* How many characters the names have in common, up to `most`. */
static uint32_t
common(const struct gathering *gathering, uint32_t one, uint32_t other, uint32_t most)
{
    const char *a = graph_label_name(gathering->graph, gathering->old[one].label);
    const char *b = graph_label_name(gathering->graph, gathering->old[other].label);
    uint32_t length = 0;

    while (length < most && a[length] && a[length] == b[length]) length++;
    return length;
}

/* Bytes of all patterns that become one with this one; sets end behind the last of them. */
static uint64_t
retained_by(const struct gathering *gathering, const uint32_t *level, uint32_t at, uint32_t count,
            uint32_t *end)
{
    uint64_t retained = 0;

    for (*end = at; *end < count && same_pattern_p(gathering, level[at], level[*end]); (*end)++) {
        retained += gathering->retained[level[*end]];
    }
    return retained;
}

/* How many small patterns are among siblings. */
static uint32_t
count_small(const struct gathering *gathering, const uint32_t *level, uint32_t at, uint32_t end)
{
    uint32_t small = 0, next;

    if (!kind_of(gathering, level[at])) return 0;
    for (; at < end; at = next)
        small += retained_by(gathering, level, at, end, &next) < gathering->least;
    return small;
}

static void
gather_siblings(struct gathering *gathering, const uint32_t *level, uint32_t at, uint32_t end)
{
    uint32_t small = count_small(gathering, level, at, end), sum = 0, first = 0, next;

    for (; at < end; at = next) {
        bool is_small = retained_by(gathering, level, at, end, &next) < gathering->least;
        uint32_t into;
        if (small >= SIBLINGS_LEAST && is_small) {
            struct graph_pattern *pattern;
            if (!sum) sum = begin(gathering, first = level[at]);
            pattern = &gathering->patterns->all[sum];
            pattern->siblings = small;
            pattern->prefix = common(gathering, first, level[at],
                                     first == level[at] ? PREFIX_MOST : pattern->prefix);
            into = sum;
        }
        else into = begin(gathering, level[at]);
        for (uint32_t i = at; i < next; i++) add(gathering, level[i], into);
    }
}

static void
gather_level(struct gathering *gathering, uint32_t *level, uint32_t count)
{
    uint32_t end;

    qsort_r(level, count, sizeof(*level), in_order, gathering);
    for (uint32_t at = 0; at < count; at = end) {
        for (end = at; end < count && siblings_p(gathering, level[at], level[end]); end++);
        gather_siblings(gathering, level, at, end);
    }
}

/* Puts the old patterns in the order of their depths. Returns the number of levels below the
 * root, with the first pattern of each in `levels`; 0 if there is no memory. */
static uint32_t
find_levels(struct gathering *gathering, uint32_t count, uint32_t **levels)
{
    uint32_t *depths = calloc(count, sizeof(*depths)), deepest = 0;

    for (uint32_t i = 1; depths && i < count; i++) {
        depths[i] = depths[gathering->old[i].parent] + 1;
        if (depths[i] > deepest) deepest = depths[i];
    }
    *levels = depths ? calloc((size_t)deepest + 3, sizeof(**levels)) : NULL;
    if (*levels) {
        for (uint32_t i = 1; i < count; i++) (*levels)[depths[i] + 2]++;
        for (uint32_t i = 0; i < deepest; i++) (*levels)[i + 3] += (*levels)[i + 2];
        for (uint32_t i = 1; i < count; i++) gathering->order[(*levels)[depths[i] + 1]++] = i;
    }
    free(depths);
    return *levels ? deepest : 0;
}

static bool
gather(struct gathering *gathering, uint32_t count)
{
    uint32_t *levels, deepest = find_levels(gathering, count, &levels);

    for (uint32_t i = 1; i <= deepest; i++) {
        gather_level(gathering, gathering->order + levels[i], levels[i + 1] - levels[i]);
    }
    free(levels);
    for (uint32_t i = 1; i < gathering->patterns->count; i++) {
        struct graph_pattern *pattern = &gathering->patterns->all[i];
        pattern->loop = gathering->numbers[pattern->loop];
    }
    return deepest > 0;
}

bool
graph_patterns_gather(struct graph_patterns *patterns, struct graph *graph, uint64_t least)
{
    uint32_t count = patterns->count;
    struct gathering gathering = {.graph = graph, .patterns = patterns, .least = least,
                                  .old = calloc(count, sizeof(*gathering.old)),
                                  .retained = calloc(count, sizeof(*gathering.retained)),
                                  .numbers = calloc(count, sizeof(*gathering.numbers)),
                                  .order = calloc(count, sizeof(*gathering.order))};
    bool room = gathering.old && gathering.retained && gathering.numbers && gathering.order;

    if (room && count > 1) {
        graph_patterns_retained(patterns, gathering.retained);
        memcpy(gathering.old, patterns->all, count * sizeof(*gathering.old));
        patterns->count = 1;
        room = gather(&gathering, count);
        for (uint32_t i = 1; room && i <= graph->count; i++)
            patterns->of[i] = gathering.numbers[patterns->of[i]];
    }
    free(gathering.old);
    free(gathering.retained);
    free(gathering.numbers);
    free(gathering.order);
    return room;
}
