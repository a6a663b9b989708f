/* baseline.c - which objects were there at the dump before: a stamp for each seat that was
 * empty once. Compiled inside gc.c.
 *
 * An address tells nothing: its object may have died since, and another may have its slot. But
 * between the death and the next birth lies a sweep, and before that a marking in which this
 * slot had no mark. So a dump begins a plane of bits for each heap page. Whenever marking has
 * ended, slots without a mark get their bit:
 *
 *     dump 1   alive   A B C .       .  free
 *     marked           1 0 1 0
 *     plane            0 1 0 1       -> in dump 2 whatever is in the slots of A and C is A and C
 *
 * A slot that was free at dump 1 may have no bit in dump 2. But then dump 1 has no object
 * there. moves.c follows what compaction moves. All this holds only in the process that dumped.
 *
 *   I1  a plane changes once for each GC, when marking has ended: later, new objects have no
 *       mark either.
 *   I2  a page that was freed has all bits: nothing on it was marked.
 */
#include "gc/graph/graph.h"
#include "gc/book/state.h"
#include "gc/book/walk.h"

#define GRAPH_PLANE_WORDS HEAP_PAGE_BITMAP_LIMIT

struct graph_planes {
    uintptr_t *bodies;         /* pages by address */
    size_t     bodies_capacity, count;
    bits_t    *all;            /* GRAPH_PLANE_WORDS for each page */
    size_t     all_capacity;
};

/* What is in the slot `to` now was in the slot `from` at the dump (moves.c). */
struct moved_object {
    uintptr_t from, to;
};

static struct {
    struct heapprof_mem mem;
    bool       armed;
    struct graph_planes planes;
    struct moved_object *moves;  /* from 1 on; void if the slot has a bit */
    size_t     moves_capacity, move_count;
    struct heapprof_index move_index; /* by `to` */
    size_t     gc_count;       /* the last GC that it has seen */
    size_t     compact_count;
    pid_t      pid;
} graph_baseline;

static void
graph_release_planes(struct graph_planes *planes)
{
    HEAPPROF_MEM_RELEASE(&graph_baseline.mem, planes->bodies, planes->bodies_capacity);
    HEAPPROF_MEM_RELEASE(&graph_baseline.mem, planes->all, planes->all_capacity);
    planes->count = 0;
}

/* Makes a plane without bits for each page. Returns false if memory is refused. */
static bool
graph_make_planes(struct graph_planes *planes)
{
    const rb_objspace_t *objspace = rb_gc_get_objspace();
    size_t count = rb_darray_size(objspace->heap_pages.sorted);

    if (!HEAPPROF_MEM_GROW(&graph_baseline.mem, planes->bodies, planes->bodies_capacity, count) ||
        !HEAPPROF_MEM_GROW(&graph_baseline.mem, planes->all, planes->all_capacity,
                           count * GRAPH_PLANE_WORDS)) {
        graph_release_planes(planes);
        return false;
    }
    for (size_t i = 0; i < count; i++) {
        planes->bodies[i] = (uintptr_t)rb_darray_get(objspace->heap_pages.sorted, i)->body;
    }
    planes->count = count;
    return true;
}

HEAPPROF_COLD static void
graph_forget_baseline(void)
{
    graph_release_planes(&graph_baseline.planes);
    HEAPPROF_MEM_RELEASE(&graph_baseline.mem, graph_baseline.moves, graph_baseline.moves_capacity);
    rb_heapprof_index_release(&graph_baseline.move_index, &graph_baseline.mem);
    graph_baseline.armed = false;
    graph_baseline.move_count = 0;
    want_clears(&clears_wanted.baseline, false);
}

HEAPPROF_COLD bool
rb_heapprof_gc_graph_begin_baseline(void)
{
    const rb_objspace_t *objspace = rb_gc_get_objspace();

    graph_forget_baseline();
    rb_heapprof_mem_init(&graph_baseline.mem, SIZE_MAX);
    if (!graph_make_planes(&graph_baseline.planes)) return false;
    graph_baseline.gc_count = objspace->profile.count;
    graph_baseline.compact_count = objspace->profile.compact_count;
    graph_baseline.pid = getpid();
    graph_baseline.armed = true;
    want_clears(&clears_wanted.baseline, true);
    return true;
}

/* True if a compaction has not been followed. */
HEAPPROF_COLD static bool
graph_moved_p(void)
{
    const rb_objspace_t *objspace = rb_gc_get_objspace();

    return graph_baseline.compact_count != objspace->profile.compact_count;
}

/* Planes and pages are both in the order of addresses. */
HEAPPROF_COLD static void
graph_marking_ended(void)
{
    const rb_objspace_t *objspace = rb_gc_get_objspace();
    const struct graph_planes *planes = &graph_baseline.planes;
    size_t pages = rb_darray_size(objspace->heap_pages.sorted);

    for (size_t i = 0, j = 0; i < planes->count && j < pages; ) {
        const struct heap_page *page = rb_darray_get(objspace->heap_pages.sorted, j);
        uintptr_t body = planes->bodies[i];
        if ((uintptr_t)page->body == body) {
            bits_t *plane = planes->all + i * GRAPH_PLANE_WORDS;
            for (size_t word = 0; word < GRAPH_PLANE_WORDS; word++)
                plane[word] |= ~page->mark_bits[word];
        }
        i += body <= (uintptr_t)page->body;
        j += body >= (uintptr_t)page->body;
    }
}

/* Caches are also cleared at other times than when marking has ended. */
HEAPPROF_COLD static void
graph_caches_cleared(void)
{
    rb_objspace_t *objspace = rb_gc_get_objspace();

    if (!graph_baseline.armed || gc_mode(objspace) != gc_mode_sweeping) return;
    if (graph_baseline.gc_count == objspace->profile.count) return;
    graph_baseline.gc_count = objspace->profile.count;
    graph_marking_ended();
}

HEAPPROF_COLD bool
rb_heapprof_gc_graph_baseline_p(void)
{
    return graph_baseline.armed && graph_baseline.pid == getpid() && !graph_moved_p();
}

/* Returns NULL if the page has no plane. */
static bits_t *
graph_plane(const void *body)
{
    const struct graph_planes *planes = &graph_baseline.planes;
    size_t low = 0, high = planes->count;

    while (low < high) {
        size_t middle = (low + high) / 2;
        if (planes->bodies[middle] < (uintptr_t)body) low = middle + 1;
        else high = middle;
    }
    if (low == planes->count || planes->bodies[low] != (uintptr_t)body) return NULL;
    return planes->all + low * GRAPH_PLANE_WORDS;
}

static bool
graph_survivor_p(const bits_t *plane, VALUE object)
{
    return plane && !MARKED_IN_BITMAP(plane, object);
}
