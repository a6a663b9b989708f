/* graph_baseline.c - which objects were there at the dump before. Compiled inside gc.c, before newobj.c.
 *
 * An address tells nothing: what stands there may have died since, and another be in its slot. But between the two deaths
 * and births lies a sweep, and before that a marking without this slot. So a dump begins a plane of bits for each heap page, and
 * whenever marking has ended, slots without a mark get theirs:
 *
 *     dump 1   alive   A B C .       .  free
 *     marked           1 0 1 0
 *     plane            0 1 0 1       -> in dump 2 whatever is in the slots of A and C is A and C
 *
 * A slot that was free at dump 1 may have no bit in dump 2; but then dump 1 has no object there. An object that compaction
 * moves takes none along: afterwards nothing is said (moved_p). So it is in another process than the one that dumped.
 *
 *   I1  a plane is changed once for each GC, when its marking has ended: later, what has been born since has no mark.
 *   I2  a page that was freed has all bits: nothing on it was marked.
 */
#include "graph.h"
#include "state.h"
#include "walk.h"

#define GRAPH_PLANE_WORDS HEAP_PAGE_BITMAP_LIMIT

static struct {
    struct heapprof_mem mem;
    bool       armed;
    uintptr_t *bodies;         /* pages by address */
    size_t     bodies_capacity, count;
    bits_t    *planes;         /* GRAPH_PLANE_WORDS for each of these */
    size_t     planes_capacity;
    size_t     gc_count;       /* of the last GC that it knows of */
    size_t     compact_count;
    pid_t      pid;
} graph_baseline;

HEAPPROF_COLD static void
graph_forget_baseline(void)
{
    HEAPPROF_MEM_RELEASE(&graph_baseline.mem, graph_baseline.bodies, graph_baseline.bodies_capacity);
    HEAPPROF_MEM_RELEASE(&graph_baseline.mem, graph_baseline.planes, graph_baseline.planes_capacity);
    graph_baseline.armed = false;
    graph_baseline.count = 0;
    rb_heapprof_clears = rb_heapprof_on;
}

HEAPPROF_COLD bool
rb_heapprof_gc_graph_begin_baseline(void)
{
    rb_objspace_t *objspace = rb_gc_get_objspace();
    size_t count = rb_darray_size(objspace->heap_pages.sorted);

    graph_forget_baseline();
    rb_heapprof_mem_init(&graph_baseline.mem, SIZE_MAX);
    if (!HEAPPROF_MEM_GROW(&graph_baseline.mem, graph_baseline.bodies, graph_baseline.bodies_capacity, count) ||
        !HEAPPROF_MEM_GROW(&graph_baseline.mem, graph_baseline.planes, graph_baseline.planes_capacity,
                           count * GRAPH_PLANE_WORDS)) {
        graph_forget_baseline();
        return false;
    }
    for (size_t i = 0; i < count; i++) {
        graph_baseline.bodies[i] = (uintptr_t)rb_darray_get(objspace->heap_pages.sorted, i)->body;
    }
    graph_baseline.count = count;
    graph_baseline.gc_count = objspace->profile.count;
    graph_baseline.compact_count = objspace->profile.compact_count;
    graph_baseline.pid = getpid();
    graph_baseline.armed = rb_heapprof_clears = true;
    return true;
}

HEAPPROF_COLD static bool
graph_moved_p(void)
{
    const rb_objspace_t *objspace = rb_gc_get_objspace();

    return graph_baseline.compact_count != objspace->profile.compact_count;
}

/* Both are in the order of addresses. */
HEAPPROF_COLD static void
graph_marking_ended(void)
{
    const rb_objspace_t *objspace = rb_gc_get_objspace();
    size_t pages = rb_darray_size(objspace->heap_pages.sorted);

    for (size_t i = 0, j = 0; i < graph_baseline.count && j < pages; ) {
        const struct heap_page *page = rb_darray_get(objspace->heap_pages.sorted, j);
        uintptr_t body = graph_baseline.bodies[i];
        if ((uintptr_t)page->body == body) {
            bits_t *plane = graph_baseline.planes + i * GRAPH_PLANE_WORDS;
            for (size_t word = 0; word < GRAPH_PLANE_WORDS; word++) plane[word] |= ~page->mark_bits[word];
        }
        i += body <= (uintptr_t)page->body;
        j += body >= (uintptr_t)page->body;
    }
}

/* Caches are cleared when marking has ended, and at other times. */
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

/* NULL: none, or nothing can be said. */
static const bits_t *
graph_plane(const struct heap_page *page)
{
    size_t low = 0, high = graph_baseline.count;

    while (low < high) {
        size_t middle = (low + high) / 2;
        if (graph_baseline.bodies[middle] < (uintptr_t)page->body) low = middle + 1;
        else high = middle;
    }
    if (low == graph_baseline.count || graph_baseline.bodies[low] != (uintptr_t)page->body) return NULL;
    return graph_baseline.planes + low * GRAPH_PLANE_WORDS;
}

static bool
graph_survivor_p(const bits_t *plane, VALUE object)
{
    return plane && !MARKED_IN_BITMAP(plane, object);
}
