/* moves.c - an object that compaction moves is still the same object: mail is forwarded.
 * Compiled inside gc.c.
 *
 * When all have moved, each slot that was left still says where its object went (T_MOVED). An
 * object that was there at the dump takes along the slot where it was at that time:
 *
 *     dump 1         A in a
 *     compaction     a -> b     bits: a 1, b 0     moves: b was a
 *     another one    b -> c     bits: b 1, c 0     moves: c was a    (b was a: void, b has a bit)
 *     dump 2         A in c: SURVIVOR, and MOVES says a -> c
 *
 *   I1  marking has ended: slots that were free, and those of dead objects, have their bits.
 *   I2  nothing moves to a slot that was left in the same compaction, nor twice.
 */
#include "gc/graph/graph.h"
#include "gc/book/state.h"

static uint64_t
graph_move_hash_i(const void *unused, uint32_t number)
{
    return rb_heapprof_index_hash(graph_baseline.moves[number].to);
}

static struct moved_object *
graph_find_move(uintptr_t to)
{
    uint32_t number;

    for (uint64_t probe = rb_heapprof_index_hash(to);
         (number = rb_heapprof_index_at(&graph_baseline.move_index, probe)) != 0; probe++) {
        if (graph_baseline.moves[number].to == to) return &graph_baseline.moves[number];
    }
    return NULL;
}

/* Returns NULL if memory is refused. */
static struct moved_object *
graph_new_move(uintptr_t to)
{
    size_t count = graph_baseline.move_count;

    if (!HEAPPROF_MEM_GROW(&graph_baseline.mem, graph_baseline.moves, graph_baseline.moves_capacity,
                           count + 2) ||
        !rb_heapprof_index_reserve(&graph_baseline.move_index, &graph_baseline.mem, count,
                                   graph_move_hash_i, NULL)) {
        return NULL;
    }
    graph_baseline.moves[count + 1].to = to;
    rb_heapprof_index_insert(&graph_baseline.move_index, rb_heapprof_index_hash(to),
                             (uint32_t)(count + 1));
    graph_baseline.move_count++;
    return &graph_baseline.moves[count + 1];
}

/* Returns false if memory is refused. */
HEAPPROF_COLD static bool
graph_follow(VALUE from, bits_t *plane)
{
    VALUE to = rb_gc_location(from);
    const struct moved_object *before = graph_find_move(from);
    uintptr_t origin = before ? before->from : from;
    struct moved_object *move = graph_find_move(to);

    if (!move) move = graph_new_move(to);
    if (!move) return false;
    move->from = origin;
    MARK_IN_BITMAP(plane, from);
    CLEAR_IN_BITMAP(graph_plane(GET_PAGE_BODY(to)), to);
    return true;
}

HEAPPROF_COLD static bool
graph_follow_page(const struct heap_page *page)
{
    bits_t *plane = graph_plane(page->body);
    bool followed = true;

    for (int i = 0; followed && i < page->total_slots; i++) {
        VALUE slot = page->start + (uintptr_t)i * page->slot_size;
        asan_unpoisoning_object(slot) {
            if (RB_BUILTIN_TYPE(slot) == T_MOVED && graph_survivor_p(plane, slot))
                followed = graph_follow(slot, plane);
        }
    }
    return followed;
}

/* Pages that are new since the dump get all bits: their objects were born later. Returns false
 * if memory is refused. */
HEAPPROF_COLD static bool
graph_renew_planes(void)
{
    struct graph_planes renewed = {0};

    if (!graph_make_planes(&renewed)) return false;
    for (size_t i = 0; i < renewed.count; i++) {
        const bits_t *plane = graph_plane((void *)renewed.bodies[i]);
        bits_t *copy = renewed.all + i * GRAPH_PLANE_WORDS;
        if (plane) memcpy(copy, plane, GRAPH_PLANE_WORDS * sizeof(*copy));
        else memset(copy, 0xff, GRAPH_PLANE_WORDS * sizeof(*copy));
    }
    graph_release_planes(&graph_baseline.planes);
    graph_baseline.planes = renewed;
    return true;
}

HEAPPROF_COLD void
rb_heapprof_gc_graph_follow_moves(void)
{
    rb_objspace_t *objspace = rb_gc_get_objspace();

    if (!graph_baseline.armed || graph_moved_p() || !graph_renew_planes()) return;
    for (size_t i = 0; i < rb_darray_size(objspace->heap_pages.sorted); i++) {
        if (!graph_follow_page(rb_darray_get(objspace->heap_pages.sorted, i))) return;
    }
    graph_baseline.compact_count++; /* as the collector does next */
}

static void
graph_write_moves(struct heapprof_graph *graph)
{
    for (size_t i = 1; graph->baseline && i <= graph_baseline.move_count; i++) {
        const struct moved_object *move = &graph_baseline.moves[i];
        if (!graph_survivor_p(graph_plane(GET_PAGE_BODY(move->to)), move->to) ||
            move->from == move->to)
            continue;
        rb_heapprof_dump_move(&graph->writer, move->from, move->to);
    }
}
