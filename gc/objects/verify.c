/* verify.c - the debug build's audit after each GC: flag bits and tables agree, and every table
 * is whole. While the tables of blocks are checked their lock is held. Does nothing unless
 * HEAPPROF_CHECK. Compiled inside gc.c. */
#include "gc/book/track.h"
#include "gc/book/walk.h"

HEAPPROF_COLD static bool
known_p(VALUE object)
{
    return rb_heapprof_address_table_find(&rb_heapprof.tables.live.addresses, object) ||
           rb_heapprof_address_table_find(&rb_heapprof.tables.identities.addresses, object);
}

HEAPPROF_COLD static void
verify_object_i(VALUE object, size_t slot_bytes, void *unused)
{
    if (RB_BUILTIN_TYPE(object) == T_MOVED) return;
    bool flagged = RB_FL_ANY_RAW(object, HEAPPROF_FLAG);

    if (flagged != known_p(object)) {
        rb_bug("heapprof: %s has%s the flag bit but is%s known", rb_obj_info(object),
               flagged ? "" : " not", flagged ? " not" : "");
    }
}

HEAPPROF_COLD static void
verify_chain(const struct heapprof_address_table *table, uint32_t entry,
             const struct heap_page *page)
{
    for (; entry; entry = rb_heapprof_address_table_next(table, entry)) {
        VALUE object = rb_heapprof_address_table_address(table, entry);
        if (GET_HEAP_PAGE(object) != page) {
            rb_bug("heapprof: %p is in the chain of another page", (void *)object);
        }
    }
}

HEAPPROF_COLD static void
verify_page_i(const struct heap_page *page, void *unused)
{
    const struct heapprof_tables *tables = &rb_heapprof.tables;

    walk_page(page, verify_object_i, NULL);
    verify_chain(&tables->live.addresses, page->heapprof.samples, page);
    verify_chain(&tables->identities.addresses, page->heapprof.identities, page);
}

/* They were born since the last marking, and nothing has swept or moved them. */
HEAPPROF_COLD static void
verify_young(void)
{
    const struct heapprof_address_table *live = &rb_heapprof.tables.live.addresses;

    for (uint32_t entry = live->young; entry; entry = rb_heapprof_address_table_next(live, entry)) {
        VALUE object = rb_heapprof_address_table_address(live, entry);
        if (RB_BUILTIN_TYPE(object) == T_NONE || RB_BUILTIN_TYPE(object) == T_MOVED ||
            GET_HEAP_PAGE(object)->flags.before_sweep) {
            rb_bug("heapprof: %p is young, and was swept or moved", (void *)object);
        }
    }
}

HEAPPROF_COLD static void
rb_heapprof_verify(rb_objspace_t *objspace)
{
    rb_heapprof_gc_lock_blocks();
    rb_heapprof_tables_check(&rb_heapprof.tables);
    rb_heapprof_gc_unlock_blocks();
    walk_pages(verify_page_i, NULL);
    verify_young();
}
