/* pages.c - what heap pages consist of, and what code their objects stand for: the floor plan
 * of a page. Compiled inside gc.c.
 *
 *     64 KiB   | header | padding | slot | slot | ... | slot | padding |
 *                                   used, or free
 *
 * A page may lie partly in swap. Then its free slots are taken to be what is not in memory, for
 * nobody reads them. Empty pages that are kept for later count as free slots.
 *
 * For a snapshot: no Ruby allocation, no GC. All ractors are stopped.
 */
#include "gc/book/state.h"
#include "gc/interpreter.h"
#include "gc/book/mri.h"
#include "gc/book/walk.h"
#include "internal/imemo.h"
#include "os/resident.h"
#include "vm_core.h"

/* The bytes that an object has outside its slot. */
HEAPPROF_COLD static size_t
outside_bytes(VALUE object)
{
    return rb_obj_memsize_of(object) - rb_gc_obj_slot_size(object);
}

/* Tables of symbols by name and by number, and of interned strings. */
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
add_object_i(VALUE object, size_t slot_bytes, void *data)
{
    struct heapprof_pages *pages = data;

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
        pages->fiber_stacks += rb_heapprof_fiber_resident_bytes(object);
        break;
      default:
        break;
    }
}

/* Takes *absent off *bytes, as far as it goes; *absent keeps the rest. */
HEAPPROF_COLD static void
leave_out(size_t *bytes, size_t *absent)
{
    size_t out = *absent < *bytes ? *absent : *bytes;

    *bytes -= out;
    *absent -= out;
}

HEAPPROF_COLD static void
add_page(const struct heap_page *page, struct heapprof_pages *pages)
{
    size_t slots = walk_page(page, add_object_i, pages) * page->slot_size;
    size_t padding = page->total_slots ? HEAP_PAGE_SIZE - page->total_slots * page->slot_size : 0;
    size_t free_slots = HEAP_PAGE_SIZE - padding - slots;
    size_t absent =
        HEAP_PAGE_SIZE - rb_heapprof_resident_bytes((uintptr_t)page->body, HEAP_PAGE_SIZE);

    leave_out(&free_slots, &absent);
    leave_out(&slots, &absent);
    leave_out(&padding, &absent);
    pages->slots += slots;
    pages->free_slots += free_slots;
    pages->padding += padding;
    pages->descriptors += sizeof(struct heap_page);
}

HEAPPROF_COLD static bool
add_next_page_i(void *data)
{
    struct heapprof_pages *pages = data;
    const struct heap_page *page = walk_page_after(pages->walked);

    if (!page) return false;
    add_page(page, pages);
    pages->walked = (uintptr_t)page->body;
    return true;
}

HEAPPROF_COLD bool
rb_heapprof_gc_pages_slice(struct heapprof_pages *pages)
{
    if (pages->walked == 0) pages->code.symbols = symbol_bytes();
    return rb_heapprof_gc_slice(add_next_page_i, pages, pages->waited_ns);
}
