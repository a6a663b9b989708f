/* walk.c - the one way over the heap. Compiled inside gc.c.
 *
 *     page 0   | slot | slot | ... | slot |      pages by address, empty ones too
 *     page 1   | slot |  --  | ... | slot |      slots that are used; not what is dead and only
 *     ...                                        has not been swept yet
 *
 * Who walks sees only whole pages: nothing runs between two objects of one.
 */
#include "walk.h"

/* Whether the slot is in use by something that is not dead; unswept: the marks of its page say who
 * is. */
HEAPPROF_COLD static bool
slot_used_p(const struct heap_page *page, bool unswept, VALUE object)
{
    if (RB_BUILTIN_TYPE(object) == T_NONE) return false;
    return !unswept || MARKED_IN_BITMAP(page->mark_bits, object);
}

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
            if (slot_used_p(page, unswept, object)) {
                used++;
                object_i(object, slot_bytes, data);
            }
        }
    }
    return used;
}

HEAPPROF_COLD static void
walk_pages(void (*page_i)(const struct heap_page *page, void *data), void *data)
{
    rb_objspace_t *objspace = rb_gc_get_objspace();

    for (size_t i = 0; i < rb_darray_size(objspace->heap_pages.sorted); i++) {
        page_i(rb_darray_get(objspace->heap_pages.sorted, i), data);
    }
}
