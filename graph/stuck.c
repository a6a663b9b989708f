/* stuck.c - gathers what is stuck or held into rows, and finds what each row keeps.
 *
 * All that goes on marks what it reaches, without what is held. Then each row gives its color to
 * what its waiters lead to. What has one color would be free without that row; what has two
 * belongs to several rows. An object takes at most three colors, one after the other: a row's, then
 * OF_STUCK, then OF_HELD. */
#ifndef _GNU_SOURCE
# define _GNU_SOURCE /* qsort_r */
#endif
#include "graph/stuck.h"

#include <stdlib.h>
#include <string.h>

#include "graph/fates.h"
#include "graph/words.h"

/* Colors of objects: 0 for none, the number of a row from 1 on, and these. */
#define OF_STUCK (UINT32_MAX - 1) /* several rows that are stuck */
#define OF_HELD UINT32_MAX        /* several rows, one of them held */

struct stuck_search {
    struct graph *graph;
    struct graph_stuck *stuck;
    const struct graph_waiters *waiters;
    struct graph_space *space;
    struct graph_fates fates;
    uint32_t *order;             /* waiters that are stuck or held, by row */
    uint32_t  order_count;
    uint32_t *colors;            /* by object */
    size_t    order_capacity, colors_capacity;
};

#define GROW(search, array, count) \
    GRAPH_SPACE_GROW((search)->space, (search)->array, (search)->array##_capacity, (size_t)(count))

/* ---- rows ---- */

/* Where a thread or fiber was started. */
static const char *
start_of(const struct stuck_search *search, const struct graph_waiter *waiter, size_t *length)
{
    const struct graph *graph = search->graph;
    const char *text = graph_string(&graph->names, graph_text(graph, waiter->object));

    *length = graph_place_length(text);
    return text;
}

static int
compare_numbers(uint32_t one, uint32_t other)
{
    return (one > other) - (one < other);
}

/* The order of rows, before they have bytes. Returns 0 for two waiters of one row. */
static int
compare_rows(const struct stuck_search *search, uint32_t one, uint32_t other)
{
    const struct graph *graph = search->graph;
    const struct graph_waiter *a = &search->waiters->all[one], *b = &search->waiters->all[other];
    size_t a_length, b_length;
    const char *a_start = start_of(search, a, &a_length), *b_start = start_of(search, b, &b_length);
    int order = search->fates.of[one] - search->fates.of[other];

    if (!order) order = a->fiber - b->fiber;
    if (!order) order = a->awaits - b->awaits;
    if (!order) order = compare_numbers(a->where, b->where);
    if (!order) order = compare_numbers(a->own, b->own);
    if (!order) order = compare_numbers(a->awaited ? graph_class_number(graph, a->awaited) : 0,
                                        b->awaited ? graph_class_number(graph, b->awaited) : 0);
    if (!order) order = (a_length > b_length) - (a_length < b_length);
    return order ? order : memcmp(a_start, b_start, a_length);
}

static int
compare_order(const void *one, const void *other, void *search)
{
    uint32_t a = *(const uint32_t *)one, b = *(const uint32_t *)other;
    int order = compare_rows(search, a, b);

    return order ? order : compare_numbers(a, b);
}

/* A fiber that neither something running nor a scheduler leads to is garbage, or part of what a
 * stuck thread keeps. The VM has each thread. */
static bool
row_p(const struct stuck_search *search, uint32_t waiter)
{
    const struct graph_waiter *it = &search->waiters->all[waiter];

    if (search->fates.of[waiter] == GRAPH_WOKEN) return false;
    return !it->fiber || (search->fates.marks[it->object] & GRAPH_REACHED);
}

static void
count_waiter(struct graph_stuck *stuck, const struct graph_waiter *waiter, bool held)
{
    if (held) (*(waiter->fiber ? &stuck->held_fibers : &stuck->held_threads))++;
    else (*(waiter->fiber ? &stuck->fibers : &stuck->threads))++;
}

static bool
make_rows(struct stuck_search *search)
{
    struct graph_stuck *stuck = search->stuck;

    if (!GROW(search, order, search->waiters->count)) return false;
    for (uint32_t i = 0; i < search->waiters->count; i++) {
        if (row_p(search, i)) search->order[search->order_count++] = i;
    }
    qsort_r(search->order, search->order_count, sizeof(*search->order), compare_order, search);
    for (uint32_t i = 0; i < search->order_count; i++) {
        const struct graph_waiter *waiter = &search->waiters->all[search->order[i]];
        bool held = search->fates.of[search->order[i]] == GRAPH_HELD;
        if (i == 0 || compare_rows(search, search->order[i - 1], search->order[i])) {
            if (!GRAPH_SPACE_GROW(search->space, stuck->rows, stuck->rows_capacity,
                                  (size_t)stuck->row_count + 1)) return false;
            stuck->rows[stuck->row_count++] =
                (struct graph_stuck_row){.example = *waiter, .held = held};
        }
        stuck->rows[stuck->row_count - 1].count++;
        count_waiter(stuck, waiter, held);
    }
    return true;
}

/* ---- what they keep ---- */

static bool
held_p(const struct stuck_search *search, uint32_t color)
{
    return color == OF_HELD || (color != OF_STUCK && search->stuck->rows[color - 1].held);
}

/* Gives a color to an object that nothing running leads to. */
static void
paint(struct stuck_search *search, uint32_t object, uint32_t color)
{
    uint32_t before = search->colors[object];

    if (search->fates.marks[object] & (GRAPH_REACHED | GRAPH_CLOSED)) return;
    if (before == color || before == OF_HELD) return;
    if (before) color = held_p(search, before) || held_p(search, color) ? OF_HELD : OF_STUCK;
    if (before == color) return;
    search->colors[object] = color;
    graph_fates_push(&search->fates, object);
}

static void
paint_from(struct stuck_search *search, uint32_t from, uint32_t color)
{
    const struct graph *graph = search->graph;
    uint32_t class_object = graph_class(graph, from);

    for (uint32_t i = graph->first[from]; i < graph->first[from + 1]; i++) {
        if (!graph_no_way_p(&search->fates, from, graph->targets[i], graph->labels[i])) {
            paint(search, graph->targets[i], color);
        }
    }
    if (class_object) paint(search, class_object, color);
}

static void
add_bytes(struct stuck_search *search, uint32_t object, uint32_t color)
{
    struct graph_stuck *stuck = search->stuck;
    uint64_t bytes = search->graph->sizes[object];

    if (color != OF_HELD && !held_p(search, color)) stuck->bytes += bytes;
    if (color != OF_HELD && color != OF_STUCK) stuck->rows[color - 1].bytes += bytes;
}

static bool
find_bytes(struct stuck_search *search)
{
    const struct graph_waiters *waiters = search->waiters;
    uint32_t row = 0;

    if (!GROW(search, colors, (size_t)search->graph->count + 1)) return false;
    graph_fates_mark_woken(&search->fates);
    for (uint32_t i = 0; i < search->order_count; i++) {
        const struct graph_waiter *waiter = &waiters->all[search->order[i]];
        if (i == 0 || compare_rows(search, search->order[i - 1], search->order[i])) row++;
        paint_from(search, waiter->object, row);
        add_bytes(search, waiter->object, row);
        if (waiter->stack == waiter->object) continue;
        paint_from(search, waiter->stack, row);
        add_bytes(search, waiter->stack, row);
    }
    while (search->fates.pending_count > 0) {
        uint32_t object = graph_fates_pop(&search->fates);
        paint_from(search, object, search->colors[object]);
    }
    for (uint32_t object = 1; object <= search->graph->count; object++) {
        if (search->colors[object]) add_bytes(search, object, search->colors[object]);
    }
    return true;
}

/* ---- all ---- */

static int
compare_kept(const void *one, const void *other)
{
    const struct graph_stuck_row *a = one, *b = other;

    if (a->held != b->held) return a->held - b->held;
    if (a->bytes != b->bytes) return a->bytes < b->bytes ? 1 : -1;
    return compare_numbers(a->example.object, b->example.object);
}

bool
graph_stuck_find(struct graph_stuck *stuck, struct graph *graph)
{
    struct stuck_search search = {.graph = graph, .space = &graph->space, .stuck = stuck,
                                  .waiters = &stuck->waiters};
    bool room;

    *stuck = (struct graph_stuck){.waiters = {.space = &graph->space}};
    if (!graph_waiters_find(&stuck->waiters, graph)) return false;
    if (stuck->waiters.count == 0) return true;
    room = graph_fates_find(&search.fates, graph, &stuck->waiters) && make_rows(&search) &&
           (!search.order_count || find_bytes(&search));
    if (room && stuck->row_count) {
        qsort(stuck->rows, stuck->row_count, sizeof(*stuck->rows), compare_kept);
    }
    graph_fates_free(&search.fates);
    GRAPH_SPACE_RELEASE(search.space, search.order, search.order_capacity);
    GRAPH_SPACE_RELEASE(search.space, search.colors, search.colors_capacity);
    return room;
}

void
graph_stuck_free(struct graph_stuck *stuck)
{
    graph_waiters_free(&stuck->waiters);
    GRAPH_SPACE_RELEASE(stuck->waiters.space, stuck->rows, stuck->rows_capacity);
}
