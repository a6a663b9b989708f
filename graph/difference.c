/* difference.c - puts each object of each dump into a row.
 *
 * 1. From each dump to the one before: which object is which. The objects of the last dump that go
 * back to the first one are the survivors.
 *
 * 2. From the last dump to the first, each from the root downwards: an object that is also in the
 * next dump is in the row it has there. Another one is in the row of its dominator, or, if that
 * is a survivor or the root, in the row of what that holds.
 *
 * 3. A class may have gained two thousand methods. Rows that differ only in a name, and are small,
 * become one. */
#ifndef _GNU_SOURCE
# define _GNU_SOURCE /* qsort_r */
#endif
#include "graph/difference.h"

#include <stdlib.h>
#include <string.h>

#include "graph/identity.h"
#include "graph/likeness.h"
#include "graph/words.h"

/* A row that changed by less is not worth telling. */
#define LEAST_BYTES 1024
#define LEAST_SHARE 1000 /* of what is alive in the last dump: 1/1000 */

struct dump_comparison {
    struct graph_difference *result;
    const struct graph_dump *dumps;
    size_t count;
    uint32_t
        *next[GRAPH_DUMPS_MOST]; /* by object: the same one in the next dump; 0 if it is gone */
    uint32_t *last[GRAPH_DUMPS_MOST]; /* by object: the same one in the last dump, if it is a
                                         survivor; otherwise 0 */
    uint32_t *rows[GRAPH_DUMPS_MOST]; /* by object: row + 1; 0 if it is not reached */
    uint32_t *class_names;       /* by class of the present dump: string + 1 */
    uint32_t *label_names;       /* by string of the present dump, for the names of labels: string
                                    + 1 */
    uint32_t *pattern_rows;      /* by pattern of the last dump: its row + 1; 0 if it has none
                                    yet */
};

static bool
alive_p(const struct graph_dump *dump, uint32_t object)
{
    return dump->dominators->dominators[object] != GRAPH_UNREACHED;
}

/* ---- which object is which ---- */

/* Returns for each object of the later dump the same one in the earlier; NULL if there is no
 * memory. */
static uint32_t *
find_before(struct dump_comparison *comparison, size_t later)
{
    const struct graph_dump *to = &comparison->dumps[later], *from = to - 1;
    uint32_t *before = calloc((size_t)to->graph->count + 1, sizeof(*before));

    if (!before) return NULL;
    if (comparison->result->inexact) {
        if (graph_pair_alike(before, from->graph, from->tree, to->graph, to->tree)) return before;
        free(before);
        return NULL;
    }
    graph_sort_moves(to->graph);
    for (uint32_t object = 1; object <= to->graph->count; object++) {
        before[object] = graph_before(from->graph, to->graph, object);
    }
    return before;
}

/* Notes who lives on from dump to dump. An object counts only while roots reach it. */
static bool
connect(struct dump_comparison *comparison, size_t later)
{
    const struct graph_dump *to = &comparison->dumps[later], *from = to - 1;
    uint32_t *before = find_before(comparison, later);

    for (uint32_t object = 1; before && object <= to->graph->count; object++) {
        uint32_t earlier = before[object];
        if (earlier && alive_p(to, object) && alive_p(from, earlier))
            comparison->next[later - 1][earlier] = object;
    }
    free(before);
    return before;
}

/* Follows the objects of the first dump to the last. */
static void
find_survivors(struct dump_comparison *comparison)
{
    uint32_t count = comparison->dumps[0].graph->count;
    size_t end = comparison->count - 1;

    for (uint32_t object = 1; object <= count; object++) {
        uint32_t at = object;
        for (size_t i = 0; at && i < end; i++) at = comparison->next[i][at];
        if (!at || !alive_p(&comparison->dumps[0], object)) continue;
        comparison->result->survived[at] = 1;
        for (size_t i = 0, now = object; i < end; i++) {
            comparison->last[i][now] = at;
            now = comparison->next[i][now];
        }
        comparison->last[end][at] = at;
    }
}

static bool
identify(struct dump_comparison *comparison)
{
    for (size_t i = 0; i < comparison->count; i++) {
        size_t count = (size_t)comparison->dumps[i].graph->count + 1;
        comparison->last[i] = calloc(count, sizeof(**comparison->last));
        comparison->next[i] = calloc(count, sizeof(**comparison->next));
        if (!comparison->last[i] || !comparison->next[i]) return false;
    }
    for (size_t i = 1; i < comparison->count; i++) if (!connect(comparison, i)) return false;
    find_survivors(comparison);
    return true;
}

/* ---- rows ---- */

static uint64_t
hash_of(const struct graph_growth *row)
{
    uint64_t hash = rb_heapprof_index_hash((uint64_t)row->holder << 32 | row->class_name);

    return rb_heapprof_index_hash(hash + ((uint64_t)row->name << 32 | row->kind));
}

static uint64_t
hash_row(const void *owner, uint32_t number)
{
    return hash_of(&((const struct graph_difference *)owner)->all[number - 1]);
}

/* Returns row + 1; 0 if there is no memory. */
static uint32_t
find_or_add(struct graph_difference *difference, struct graph_growth key)
{
    uint64_t hash = hash_of(&key);
    uint32_t number;

    for (uint64_t probe = hash; (number = rb_heapprof_index_at(&difference->index, probe)) != 0;
         probe++) {
        const struct graph_growth *row = &difference->all[number - 1];
        if (row->holder == key.holder && row->kind == key.kind &&
            row->class_name == key.class_name && row->name == key.name)
            return number;
    }
    if (!HEAPPROF_MEM_GROW(&difference->mem, difference->all, difference->capacity,
                           (size_t)difference->count + 1) ||
        !rb_heapprof_index_reserve(&difference->index, &difference->mem, difference->count,
                                   hash_row, difference))
        return 0;
    difference->all[difference->count++] = key;
    rb_heapprof_index_insert(&difference->index, hash, difference->count);
    return difference->count;
}

/* Returns string + 1; 0 if there is no memory. */
static uint32_t
intern(struct dump_comparison *comparison, const char *name)
{
    uint32_t string =
        rb_heapprof_strings_intern(&comparison->result->strings, name, strlen(name));

    return string == UINT32_MAX ? 0 : string + 1;
}

/* Returns string + 1; 0 if there is no memory. */
static uint32_t
class_name_of(struct dump_comparison *comparison, const struct graph *graph, uint32_t object)
{
    uint32_t *known = &comparison->class_names[graph_class_number(graph, object)];
    char started[GRAPH_STARTED_BYTES];

    if (graph_started(started, graph, object)) return intern(comparison, started);
    if (!*known) *known = intern(comparison, graph_class_name(graph, object));
    return *known;
}

/* Returns string + 1; 0 if there is no memory. */
static uint32_t
label_name_of(struct dump_comparison *comparison, const struct graph *graph, uint32_t label)
{
    uint32_t merged = graph_merged_label(label),
             *known = &comparison->label_names[graph_label_detail(merged)];

    if (!*known) *known = intern(comparison, graph_label_name(graph, merged));
    return *known;
}

/* The row of a pattern of survivors and of what they hold. Returns row + 1; 0 if there is no
 * memory. */
static inline uint32_t
row_of_pattern(struct dump_comparison *comparison, uint32_t pattern)
{
    uint32_t *row = &comparison->pattern_rows[pattern];

    if (!*row) *row = find_or_add(comparison->result, (struct graph_growth){ .holder = pattern });
    return *row;
}

/* The row of what a survivor of the last dump holds, or a root (0): of an object that the label
 * leads to. Returns row + 1; 0 if there is no memory. */
static uint32_t
row_of_held(struct dump_comparison *comparison, uint32_t holder, const struct graph *graph,
            uint32_t object, uint32_t label)
{
    const struct graph *last = comparison->dumps[comparison->count - 1].graph;
    uint32_t pattern = holder ? comparison->result->patterns.of[holder] : 0;
    struct graph_growth key = { .holder = pattern, .structure = true };

    if (holder && !graph_layout(last, holder)->structure) {
        return row_of_pattern(comparison, pattern);
    }
    key.kind = graph_label_kind(label) + 1;
    key.class_name = class_name_of(comparison, graph, object);
    key.name = label_name_of(comparison, graph, label);
    return key.class_name && key.name ? find_or_add(comparison->result, key) : 0;
}

/* Returns row + 1 of an object that roots reach; 0 if there is no memory. */
static uint32_t
row_of(struct dump_comparison *comparison, size_t dump, uint32_t object)
{
    const struct graph_dump *in = &comparison->dumps[dump];
    uint32_t survivor = comparison->last[dump][object], next = comparison->next[dump][object],
             dominator;

    if (survivor) return row_of_pattern(comparison, comparison->result->patterns.of[survivor]);
    if (next) return comparison->rows[dump + 1][next];
    dominator = in->dominators->dominators[object];
    if (dominator && !comparison->last[dump][dominator]) return comparison->rows[dump][dominator];
    return row_of_held(comparison, comparison->last[dump][dominator], in->graph, object,
                       in->tree->labels[object]);
}

/* ---- what is in them ---- */

static void
add_survivor(const struct dump_comparison *comparison, struct graph_growth *row, uint32_t object,
             uint64_t bytes)
{
    const struct graph *last = comparison->dumps[comparison->count - 1].graph;
    uint32_t now = comparison->last[0][object];
    int64_t grown = (int64_t)(last->sizes[now] - bytes);

    row->grown += grown;
    row->grown_survivors += grown > 0;
    if (row->survivor && row->survivor_grown >= grown) return;
    row->survivor = now;
    row->survivor_grown = grown;
}

/* If a survivor or a root holds a new object directly, the row shows it. */
static void
add_new(const struct dump_comparison *comparison, struct graph_growth *row, uint32_t object)
{
    size_t end = comparison->count - 1;
    const struct graph_dump *last = &comparison->dumps[end];
    uint32_t dominator = last->dominators->dominators[object];
    uint64_t retained = last->dominators->retained[object];

    row->new_objects++;
    row->new_bytes += last->graph->sizes[object];
    if (dominator && !comparison->last[end][dominator]) return;
    row->fresh_count++;
    if (retained <= row->fresh_retained) return;
    row->fresh = object;
    row->fresh_retained = retained;
}

static bool
add_object(struct dump_comparison *comparison, size_t dump, uint32_t object)
{
    const struct graph *graph = comparison->dumps[dump].graph;
    uint32_t number = comparison->rows[dump][object] = row_of(comparison, dump, object);
    uint64_t bytes = graph->sizes[object];
    struct graph_growth *row;

    if (!number) return false;
    row = &comparison->result->all[number - 1];
    row->bytes[dump] += bytes;
    if (dump == 0 && comparison->last[0][object]) add_survivor(comparison, row, object, bytes);
    else if (dump == 0) {
        row->freed_objects++;
        row->freed_bytes += bytes;
    }
    else if (dump == comparison->count - 1 && !comparison->last[dump][object])
        add_new(comparison, row, object);
    return true;
}

static bool
add_dump(struct dump_comparison *comparison, size_t dump)
{
    const struct graph_dump *in = &comparison->dumps[dump];
    const struct graph_names *names = &in->graph->names;
    bool room;

    comparison->rows[dump] = calloc((size_t)in->graph->count + 1, sizeof(**comparison->rows));
    comparison->class_names =
        calloc((size_t)names->class_count + 1, sizeof(*comparison->class_names));
    comparison->label_names =
        calloc((size_t)names->string_count + 1, sizeof(*comparison->label_names));
    room = comparison->rows[dump] && comparison->class_names && comparison->label_names;
    for (uint32_t at = 0; room && at < in->tree->count; at++)
        room = add_object(comparison, dump, in->tree->order[at]);
    comparison->result->alive[dump] = in->dominators->retained[0];
    free(comparison->class_names);
    free(comparison->label_names);
    return room;
}

/* ---- rows that differ only in a name ---- */

#define NAMES_MOST 8 /* of one kind and class below one holder that have a row each */

static int
by_group(const void *a, const void *b, void *data)
{
    const struct graph_difference *difference = data;
    uint32_t numbers[2] = { *(const uint32_t *)a, *(const uint32_t *)b };
    const struct graph_growth *one = &difference->all[numbers[0]],
                              *other = &difference->all[numbers[1]];

    if (one->holder != other->holder) return one->holder < other->holder ? -1 : 1;
    if (one->kind != other->kind) return one->kind < other->kind ? -1 : 1;
    if (one->class_name != other->class_name) return one->class_name < other->class_name ? -1 : 1;
    return numbers[0] < numbers[1] ? -1 : 1;
}

static bool
same_group_p(const struct graph_growth *one, const struct graph_growth *other)
{
    return one->structure && one->holder == other->holder && one->kind == other->kind &&
           one->class_name == other->class_name;
}

static uint64_t
change(const struct graph_difference *difference, uint32_t row)
{
    int64_t bytes = graph_growth_bytes(difference, row);

    return (uint64_t)(bytes < 0 ? -bytes : bytes);
}

/* Adds a row to another one, and empties it. */
static void
add_row(struct graph_growth *to, struct graph_growth *row)
{
    for (size_t i = 0; i < GRAPH_DUMPS_MOST; i++) to->bytes[i] += row->bytes[i];
    to->new_objects += row->new_objects;
    to->new_bytes += row->new_bytes;
    to->freed_objects += row->freed_objects;
    to->freed_bytes += row->freed_bytes;
    to->fresh_count += row->fresh_count;
    if (row->fresh_retained > to->fresh_retained) {
        to->fresh = row->fresh;
        to->fresh_retained = row->fresh_retained;
    }
    *row = (struct graph_growth){ 0 };
}

/* Makes one row of the small ones among these. into: by row, the one that it is in. */
static void
gather_group(struct graph_difference *difference, const uint32_t *group, size_t count,
             uint32_t *into)
{
    uint64_t sum = 0, least;
    uint32_t first = UINT32_MAX;

    for (size_t i = 0; i < count; i++) sum += change(difference, group[i]);
    least = sum / NAMES_MOST;
    if (least < (uint64_t)difference->least) least = (uint64_t)difference->least;
    for (size_t i = 0; i < count; i++) {
        struct graph_growth *row = &difference->all[group[i]];
        if (change(difference, group[i]) >= least) continue;
        if (first == UINT32_MAX) first = group[i];
        into[group[i]] = first;
        difference->all[first].names++;
        if (first != group[i]) add_row(&difference->all[first], row);
    }
}

static bool
gather(struct graph_difference *difference, uint32_t *rows, uint32_t objects)
{
    uint32_t *order = calloc((size_t)difference->count + 1, sizeof(*order));
    uint32_t *into = calloc((size_t)difference->count + 1, sizeof(*into));
    bool room = order && into;

    for (uint32_t i = 0; room && i < difference->count; i++) order[i] = into[i] = i;
    if (room) qsort_r(order, difference->count, sizeof(*order), by_group, difference);
    for (size_t at = 0, end; room && at < difference->count; at = end) {
        const struct graph_growth *row = &difference->all[order[at]];
        for (end = at + 1;
             end < difference->count && same_group_p(row, &difference->all[order[end]]); end++);
        if (end > at + 1) gather_group(difference, order + at, end - at, into);
    }
    for (uint32_t i = 1; room && i <= objects; i++) if (rows[i]) rows[i] = into[rows[i] - 1] + 1;
    free(order);
    free(into);
    return room;
}

static const char *
why_inexact(const struct graph_dump *dumps, size_t count)
{
    const char *why = NULL;

    for (size_t i = 1; !why && i < count; i++)
        why = graph_inexact(dumps[i - 1].graph, dumps[i].graph);
    return why;
}

static bool
compare(struct dump_comparison *comparison)
{
    size_t end = comparison->count - 1;
    const struct graph_dump *last = &comparison->dumps[end];
    struct graph_patterns *patterns = &comparison->result->patterns;
    bool room = graph_patterns_make(patterns, last->graph, last->tree) && identify(comparison);

    if (room) comparison->pattern_rows = calloc(patterns->count, sizeof(*comparison->pattern_rows));
    room = comparison->pattern_rows;
    for (size_t i = comparison->count; room && i-- > 0;) room = add_dump(comparison, i);
    if (!room) return false;
    comparison->result->least = (int64_t)(comparison->result->alive[end] / LEAST_SHARE);
    if (comparison->result->least < LEAST_BYTES) comparison->result->least = LEAST_BYTES;
    return gather(comparison->result, comparison->rows[end], last->graph->count);
}

bool
graph_difference_make(struct graph_difference *difference, const struct graph_dump *dumps,
                      size_t count)
{
    struct dump_comparison comparison = {.result = difference, .dumps = dumps, .count = count};
    bool room;

    *difference =
        (struct graph_difference){ .dump_count = count, .inexact = why_inexact(dumps, count) };
    rb_heapprof_mem_init(&difference->mem, SIZE_MAX);
    rb_heapprof_strings_init(&difference->strings, &difference->mem);
    difference->survived = calloc((size_t)dumps[count - 1].graph->count + 1, 1);
    room = difference->survived && compare(&comparison);
    difference->rows = comparison.rows[count - 1];
    difference->last = comparison.last[0];
    free(comparison.pattern_rows);
    for (size_t i = 0; i < count; i++) {
        free(comparison.next[i]);
        if (i > 0) free(comparison.last[i]);
        if (i < count - 1) free(comparison.rows[i]);
    }
    return room;
}

void
graph_difference_free(struct graph_difference *difference)
{
    HEAPPROF_MEM_RELEASE(&difference->mem, difference->all, difference->capacity);
    rb_heapprof_index_release(&difference->index, &difference->mem);
    rb_heapprof_strings_free(&difference->strings);
    if (difference->patterns.space) graph_patterns_free(&difference->patterns);
    free(difference->rows);
    free(difference->survived);
    free(difference->last);
}

/* ---- questions ---- */

int64_t
graph_growth_bytes(const struct graph_difference *difference, uint32_t row)
{
    const uint64_t *bytes = difference->all[row].bytes;

    return (int64_t)(bytes[difference->dump_count - 1] - bytes[0]);
}

int64_t
graph_growth_later(const struct graph_difference *difference, uint32_t row)
{
    const uint64_t *bytes = difference->all[row].bytes;
    size_t last = difference->dump_count - 1;

    return (int64_t)(bytes[last] - bytes[last - 1]);
}

bool
graph_growth_each_time_p(const struct graph_difference *difference, uint32_t row)
{
    const uint64_t *bytes = difference->all[row].bytes;

    for (size_t i = 1; i < difference->dump_count; i++) if (bytes[i] <= bytes[i - 1]) return false;
    return true;
}
