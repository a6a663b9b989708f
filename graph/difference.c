/* difference.c - lays the patterns of several dumps over each other like transparent sheets:
 * patterns with the same names become one change, with a count for each dump. */
#include "graph/difference.h"

#include <stdlib.h>

#include "graph/identity.h"
#include "graph/words.h"

/* ---- one tree of all dumps ---- */

static uint64_t
hash_of(uint32_t parent, uint32_t name)
{
    return rb_heapprof_index_hash((uint64_t)parent << 32 | name);
}

static uint64_t
hash_change(const void *owner, uint32_t number)
{
    const struct graph_difference *difference = owner;

    return hash_of(difference->all[number].parent, difference->all[number].name);
}

/* Returns the number of the change; 0 if there is no memory. */
static uint32_t
find_or_add(struct graph_difference *difference, uint32_t parent, uint32_t name)
{
    uint64_t hash = hash_of(parent, name);
    uint32_t number;

    for (uint64_t probe = hash; (number = rb_heapprof_index_at(&difference->index, probe)) != 0; probe++) {
        if (difference->all[number].parent == parent &&
            difference->all[number].name == name) return number;
    }
    if (!HEAPPROF_MEM_GROW(&difference->mem, difference->all, difference->capacity,
                           (size_t)difference->count + 1) ||
        !rb_heapprof_index_reserve(&difference->index, &difference->mem, difference->count,
                                   hash_change,
                                   difference)) return 0;
    difference->all[difference->count] = (struct graph_change){.parent = parent, .name = name};
    rb_heapprof_index_insert(&difference->index, hash, difference->count);
    return difference->count++;
}

/* The name of a pattern, "@items: Hash", without what differs from dump to dump. Returns
 * UINT32_MAX if there is no memory. */
static uint32_t
name_of(struct graph_difference *difference, const struct graph *graph,
        const struct graph_pattern *pattern)
{
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    uint32_t name = UINT32_MAX;

    if (!out) return name;
    graph_put_label(out, graph, pattern->label, true);
    fputs(": ", out);
    graph_put_pattern(out, graph, pattern);
    if (fclose(out) == 0) name = rb_heapprof_strings_intern(&difference->strings, text, size);
    free(text);
    return name;
}

/* Adds the patterns of a dump. numbers receives the change of each pattern. */
static bool
add_patterns(struct graph_difference *difference, const struct graph_dump *dump,
             size_t place, uint32_t *numbers)
{
    const struct graph_patterns *patterns = &dump->patterns;
    uint64_t *retained = calloc(patterns->count, sizeof(*retained));

    if (!retained) return false;
    graph_patterns_retained(patterns, retained);
    for (uint32_t i = 1; i < patterns->count; i++) {
        uint32_t name = name_of(difference, dump->graph, &patterns->all[i]);
        numbers[i] = name == UINT32_MAX ? 0 : find_or_add(difference, numbers[patterns->all[i].parent], name);
        if (!numbers[i]) break;
        difference->all[numbers[i]].objects[place] += patterns->all[i].objects;
        difference->all[numbers[i]].retained[place] += retained[i];
        if (place == difference->dump_count - 1) difference->all[numbers[i]].example = patterns->all[i].example;
    }
    difference->all[0].retained[place] = retained[0];
    free(retained);
    return patterns->count < 2 || numbers[patterns->count - 1] != 0;
}

/* ---- which objects are new ---- */

static void
count_fresh(struct graph_difference *difference, const struct graph_dump *dumps,
            const uint32_t *numbers)
{
    const struct graph_dump *last = &dumps[difference->dump_count - 1], *middle = last - 1;

    graph_sort_moves(last->graph);
    graph_sort_moves(middle->graph);
    for (uint32_t object = 1; object <= last->graph->count; object++) {
        uint32_t pattern = last->patterns.of[object], earlier;
        struct graph_change *change = &difference->all[numbers[pattern]];
        if (!pattern) continue;
        earlier = graph_before(middle->graph, last->graph, object);
        if (!earlier && !change->fresh++) change->example = object;
        if (earlier && difference->dump_count > 2) change->kept += !graph_before(dumps[0].graph, middle->graph, earlier);
    }
}

static const char *
why_inexact(const struct graph_dump *dumps, size_t count)
{
    const char *why = NULL;

    for (size_t i = 1; !why && i < count; i++) why = graph_inexact(dumps[i - 1].graph, dumps[i].graph);
    return why;
}

/* ---- the difference ---- */

static bool
add_dumps(struct graph_difference *difference, const struct graph_dump *dumps)
{
    bool room = true;

    for (size_t i = 0; room && i < difference->dump_count; i++) {
        uint32_t *numbers = calloc(dumps[i].patterns.count, sizeof(*numbers));
        room = numbers && add_patterns(difference, &dumps[i], i, numbers);
        if (room && i == difference->dump_count - 1 &&
            !difference->inexact) count_fresh(difference, dumps, numbers);
        free(numbers);
    }
    return room;
}

bool
graph_difference_make(struct graph_difference *difference,
                      const struct graph_dump *dumps, size_t count)
{
    *difference = (struct graph_difference){.dump_count = count, .count = 1, .inexact = why_inexact(dumps, count)};
    rb_heapprof_mem_init(&difference->mem, SIZE_MAX);
    rb_heapprof_strings_init(&difference->strings, &difference->mem);
    return HEAPPROF_MEM_GROW(&difference->mem, difference->all, difference->capacity, 1) &&
           add_dumps(difference, dumps);
}

void
graph_difference_free(struct graph_difference *difference)
{
    HEAPPROF_MEM_RELEASE(&difference->mem, difference->all, difference->capacity);
    rb_heapprof_index_release(&difference->index, &difference->mem);
    rb_heapprof_strings_free(&difference->strings);
}

static bool
more_p(const struct graph_difference *difference, uint32_t change)
{
    return difference->all[change].objects[difference->dump_count - 1] > difference->all[change].objects[0];
}

bool
graph_grown_p(const struct graph_difference *difference, uint32_t change)
{
    if (!more_p(difference, change)) return false;
    while ((change = difference->all[change].parent) != 0) if (more_p(difference, change)) return false;
    return true;
}
