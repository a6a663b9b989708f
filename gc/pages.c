/* pages.c - what heap pages consist of, and what code their objects stand for. Compiled inside
 * gc.c.
 *
 *     64 KiB   | header | padding | slot | slot | ... | slot | padding |
 *                                   used, or free
 *
 * A page may lie partly in swap, and then its free slots are believed to be what is not in memory,
 * for nobody reads them. Empty pages that are kept for later are free slots as a whole.
 *
 * At a snapshot: no Ruby allocation, no GC. All ractors are stopped.
 */
#include "state.h"
#include "interpreter.h"
#include "mri.h"
#include "internal/imemo.h"
#include "os/resident.h"
#include "vm_core.h"

/* What an object has outside its slot. */
HEAPPROF_COLD static size_t
outside_bytes(VALUE object)
{
    return rb_obj_memsize_of(object) - rb_gc_obj_slot_size(object);
}

/* Symbols by name and by number, and the strings that are the same wherever they are written. */
HEAPPROF_COLD static uint64_t
symbol_bytes(void)
{
    const rb_symbols_t *symbols = &ruby_global_symbols;
    uint64_t bytes = rb_st_memsize(symbols->str_sym) + rb_st_memsize(GET_VM()->frozen_strings) +
                     outside_bytes(symbols->ids) + outside_bytes(symbols->dsymbol_fstr_hash);

    for (long i = 0; i < RARRAY_LEN(symbols->ids); i++) {
        VALUE entries = RARRAY_AREF(symbols->ids, i);
        if (!NIL_P(entries)) bytes += outside_bytes(entries);
    }
    return bytes;
}

HEAPPROF_COLD static void
add_object(struct heapprof_pages *pages, VALUE object)
{
    switch (RB_BUILTIN_TYPE(object)) {
      case T_IMEMO:
        if (imemo_type_p(object, imemo_iseq)) pages->code.iseqs += outside_bytes(object);
        break;
      case T_CLASS:
      case T_MODULE:
      case T_ICLASS:
        pages->code.method_tables += outside_bytes(object);
        break;
      case T_DATA:
        pages->fiber_stacks += rb_heapprof_rss_fiber(object);
        break;
      default:
        break;
    }
}

/* Whether the slot is in use by something that is not dead. */
HEAPPROF_COLD static bool
slot_used_p(rb_objspace_t *objspace, const struct heap_page *page, VALUE object)
{
    if (RB_BUILTIN_TYPE(object) == T_NONE) return false;
    return !(page->flags.before_sweep && is_lazy_sweeping(objspace) &&
             !MARKED_IN_BITMAP(page->mark_bits, object));
}

HEAPPROF_COLD static size_t
walk_slots(struct heapprof_pages *pages, const struct heap_page *page)
{
    rb_objspace_t *objspace = rb_gc_get_objspace();
    size_t used = 0;

    for (int i = 0; i < page->total_slots; i++) {
        VALUE object = page->start + (uintptr_t)i * page->slot_size;
        asan_unpoisoning_object(object) {
            if (slot_used_p(objspace, page, object)) {
                used++;
                add_object(pages, object);
            }
        }
    }
    return used;
}

/* Takes from *bytes what can be taken of *absent. */
HEAPPROF_COLD static void
leave_out(size_t *bytes, size_t *absent)
{
    size_t out = *absent < *bytes ? *absent : *bytes;

    *bytes -= out;
    *absent -= out;
}

HEAPPROF_COLD static void
add_page(struct heapprof_pages *pages, const struct heap_page *page)
{
    size_t slots = walk_slots(pages, page) * page->slot_size;
    size_t padding = page->total_slots ? HEAP_PAGE_SIZE - page->total_slots * page->slot_size : 0;
    size_t free_slots = HEAP_PAGE_SIZE - padding - slots;
    size_t absent = HEAP_PAGE_SIZE - rb_heapprof_resident_bytes((uintptr_t)page->body, HEAP_PAGE_SIZE);

    leave_out(&free_slots, &absent);
    leave_out(&slots, &absent);
    leave_out(&padding, &absent);
    pages->slots += slots;
    pages->free_slots += free_slots;
    pages->padding += padding;
    pages->descriptors += sizeof(struct heap_page);
}

HEAPPROF_COLD struct heapprof_pages
rb_heapprof_gc_pages(void)
{
    rb_objspace_t *objspace = rb_gc_get_objspace();
    struct heapprof_pages pages = {.code.symbols = symbol_bytes()};

    for (size_t i = 0; i < rb_darray_size(objspace->heap_pages.sorted); i++) {
        add_page(&pages, rb_darray_get(objspace->heap_pages.sorted, i));
    }
    return pages;
}
