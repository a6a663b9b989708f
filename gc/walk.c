/* walk.c - the one way over the heap. Compiled inside gc.c.
 *
 *     page 0   | slot | slot | ... | slot |      pages by address, empty ones too
 *     page 1   | slot |  --  | ... | slot |      slots that are used; not what is dead and only
 *     ...                                        has not been swept yet
 *
 * A long walk goes in slices, between which the program runs. What a slice has found stays right
 * until a GC lets objects die or move, or pages come and go and the others get new numbers:
 *
 *     stamp 7      | slice |  ...  | slice |  GC  | slice |
 *                                          stamp is 8: what was found before may be wrong
 *
 *   I1  a slice is of whole pages: nothing runs between two objects of one.
 *   I2  the stamp adds up counts that only grow: it is never again what it was.
 */
#include "walk.h"
#include <time.h>

#define SLICE_NS 500000

HEAPPROF_COLD static size_t
walk_page(const struct heap_page *page,
          void (*object_i)(VALUE object, size_t slot_bytes, void *data), void *data)
{
    rb_objspace_t *objspace = rb_gc_get_objspace();
    bool unswept = page->flags.before_sweep && is_lazy_sweeping(objspace);
    size_t slot_bytes = page->slot_size;
    size_t used = 0;

    for (int i = 0; i < page->total_slots; i++) {
        VALUE object = page->start + (uintptr_t)i * slot_bytes;
        asan_unpoisoning_object(object) {
            bool dead = unswept && !MARKED_IN_BITMAP(page->mark_bits, object);
            if (!dead && RB_BUILTIN_TYPE(object) != T_NONE) {
                used++;
                object_i(object, slot_bytes, data);
            }
        }
    }
    return used;
}

HEAPPROF_COLD static size_t
walk_page_count(void)
{
    return rb_darray_size(((rb_objspace_t *)rb_gc_get_objspace())->heap_pages.sorted);
}

HEAPPROF_COLD static const struct heap_page *
walk_page_at(size_t number)
{
    return rb_darray_get(((rb_objspace_t *)rb_gc_get_objspace())->heap_pages.sorted, number);
}

HEAPPROF_COLD static void
walk_pages(void (*page_i)(const struct heap_page *page, void *data), void *data)
{
    for (size_t i = 0; i < walk_page_count(); i++) page_i(walk_page_at(i), data);
}

/* ---- in slices ---- */

HEAPPROF_COLD static int64_t
clock_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

HEAPPROF_COLD bool
rb_heapprof_gc_slice(bool (*step_i)(void *data), void *data)
{
    int64_t end_ns = clock_ns() + SLICE_NS;

    while (step_i(data)) {
        if (clock_ns() > end_ns) return true;
    }
    return false;
}

HEAPPROF_COLD static uint64_t
heap_stamp(void)
{
    rb_objspace_t *objspace = rb_gc_get_objspace();
    return objspace->profile.count + objspace->heap_pages.allocated_pages +
           objspace->heap_pages.freed_pages;
}

HEAPPROF_COLD static void
walk_begin(struct heapprof_walk *walk)
{
    *walk = (struct heapprof_walk){ .stamp = heap_stamp() };
}

HEAPPROF_COLD bool
rb_heapprof_gc_walk_valid_p(const struct heapprof_walk *walk)
{
    return walk->stamp == heap_stamp();
}
