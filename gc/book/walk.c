/* walk.c - the one way over the heap: a reader with a bookmark. Compiled inside gc.c.
 *
 *     page 0   | slot | slot | ... | slot |      pages by address, empty ones too
 *     page 1   | slot |  --  | ... | slot |      slots that are used, without those that are dead
 *     ...                                        and not swept yet
 *
 * A long walk goes in slices, between which the program runs: objects are born and die, pages
 * come and go. So it does not count pages. Its bookmark is the address of the last one:
 *
 *     | slice: pages up to 0x7f..a0000 |  GC  | slice: from the first page behind that on |
 *
 *   I1  a slice is of whole pages: nothing runs between two objects of a page.
 *   I2  an object that is there from the beginning of a walk to its end, and does not move, is
 *       seen once.
 */
#include "gc/book/walk.h"
#include "os/clock.h"

/* The least and the most of a slice. A step, less than 0.1 ms, may come on top. */
#define SLICE_NS 400000
#define SLICE_MOST_NS 4000000

HEAPPROF_COLD static size_t
walk_page(const struct heap_page *page,
          void (*object_i)(VALUE object, size_t slot_bytes, void *data), void *data)
{
    rb_objspace_t *objspace = rb_gc_get_objspace();
    bool unswept = page->flags.before_sweep && is_lazy_sweeping(objspace);
    size_t slot_bytes = page->slot_size;
    size_t used = 0;

    heap_is_walked++;
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
    heap_is_walked--;
    return used;
}

HEAPPROF_COLD static const struct heap_page *
walk_page_after(uintptr_t address)
{
    rb_objspace_t *objspace = rb_gc_get_objspace();
    size_t low = 0, high = rb_darray_size(objspace->heap_pages.sorted), count = high;

    while (low < high) {
        size_t middle = (low + high) / 2;
        if ((uintptr_t)rb_darray_get(objspace->heap_pages.sorted, middle)->body <= address)
            low = middle + 1;
        else high = middle;
    }
    return low < count ? rb_darray_get(objspace->heap_pages.sorted, low) : NULL;
}

HEAPPROF_COLD static void
walk_pages(void (*page_i)(const struct heap_page *page, void *data), void *data)
{
    for (uintptr_t address = 0; ; ) {
        const struct heap_page *page = walk_page_after(address);
        if (!page) return;
        page_i(page, data);
        address = (uintptr_t)page->body;
    }
}

/* ---- in slices ---- */

HEAPPROF_COLD static int64_t
slice_ns(int64_t waited_ns)
{
    int64_t ns = waited_ns / 20;

    if (ns < SLICE_NS) return SLICE_NS;
    return ns < SLICE_MOST_NS ? ns : SLICE_MOST_NS;
}

HEAPPROF_COLD bool
rb_heapprof_gc_slice(bool (*step_i)(void *data), void *data, int64_t waited_ns)
{
    int64_t end_ns = rb_heapprof_clock_ns(CLOCK_MONOTONIC) + slice_ns(waited_ns);

    while (step_i(data)) {
        if (rb_heapprof_clock_ns(CLOCK_MONOTONIC) > end_ns) return true;
    }
    return false;
}
