/* mismatch.c - with memcheck: a block is given to another allocator than the one it came from, as
 * a coat at the wrong cloakroom. Compiled inside gc.c.
 *
 *     xfree(p) --> rb_gc_impl_free --> gate: a piece of the C library's?  --> a mismatch
 *     free(p)  --> rb_heapprof_all_free:     a piece of xmalloc's?        --> a mismatch
 *
 * MRI mixes its own as it likes: it asks the C library for tables of the collector, and frees a
 * block of xmalloc with free (rb_threadptr_root_fiber_release). So one end has to be an
 * extension's or a library's. If only MRI seems to free, a free function of theirs may have
 * jumped to free. That counts if they have asked themselves, too. If only MRI seems to ask as
 * well, as for an allocation function that has jumped to TypedData_Make_Struct, it counts if the
 * block is the struct of an object of theirs: while objects are freed, the heap is walked for it.
 *
 * MRI's allocator may be the C library's with a count, or with a header before each block: then
 * the first is a wrong count, and the second a crash. The first gate takes the block out of the
 * tables, so what xfree then gives to free is not known there.
 *
 * The code that frees is unwound: that is slow, but a mismatch is rare. In a GC, and when MRI
 * frees all at the end, it has no Ruby stack. A thread without the GVL could not enter it, so
 * what it frees is not reported. Neither is a block that other code may have freed and got again
 * unseen: its size is another. If blocks are missing, the same size says nothing: then no block
 * is reported.
 */
#include "os/interpose.h"

#if HEAPPROF_CAN_INTERPOSE
# include <malloc.h>
# include "gc/book/walk.h"

/* ---- the object whose struct is freed ---- */

struct struct_owner {
    void     *data;
    uintptr_t code; /* a function of its type that is not MRI's; 0: not found */
};

HEAPPROF_COLD static void
note_owner(struct struct_owner *owner, const uintptr_t *codes, size_t count)
{
    for (size_t i = 0; i < count && !owner->code; i++) {
        if (foreign_code_p(codes[i])) owner->code = codes[i];
    }
}

/* A type without functions of its own is in its library, too. */
HEAPPROF_COLD static void
find_owner_i(VALUE object, size_t slot_bytes, void *data)
{
    struct struct_owner *owner = data;

    if (RB_BUILTIN_TYPE(object) == T_ZOMBIE) {
        if (rb_heapprof_gate_held_p(GET_HEAP_PAGE(object), object)) return; /* dead, covered */
        uintptr_t code = (uintptr_t)RZOMBIE(object)->dfree;
        if (RZOMBIE(object)->data == owner->data) note_owner(owner, &code, 1);
    }
    else if (RB_BUILTIN_TYPE(object) != T_DATA) return;
    else if (!RTYPEDDATA_P(object)) {
        uintptr_t codes[] = {(uintptr_t)RDATA(object)->dfree, (uintptr_t)RDATA(object)->dmark};
        if (RDATA(object)->data == owner->data) note_owner(owner, codes, numberof(codes));
    }
    else if (!RTYPEDDATA_EMBEDDED_P(object) && RTYPEDDATA(object)->data == owner->data) {
        const rb_data_type_t *type = RTYPEDDATA_TYPE(object);
        uintptr_t codes[] = {(uintptr_t)type->function.dfree, (uintptr_t)type->function.dmark,
                             (uintptr_t)type->function.dsize, (uintptr_t)type};
        note_owner(owner, codes, numberof(codes));
    }
}

HEAPPROF_COLD static void
find_owner_on_page_i(const struct heap_page *page, void *owner)
{
    walk_page(page, find_owner_i, owner);
}

/* In a GC, by their finalizers, and at the end of the process. */
HEAPPROF_COLD static bool
objects_are_freed_p(void)
{
    rb_objspace_t *objspace = rb_gc_get_objspace();

    return during_gc || finalizing || rb_heapprof.run.ending;
}

HEAPPROF_COLD static uintptr_t
owner_of_struct(void *mem)
{
    struct struct_owner owner = { .data = mem };
    unsigned int lev;

    if (!objects_are_freed_p()) return 0; /* MRI mixes its own for each eval */
    if (!may_sample_all_p() || !try_vm_lock(&lev)) return 0;
    walk_pages(find_owner_on_page_i, &owner);
    rb_gc_vm_unlock_no_barrier(lev);
    return owner.code;
}

/* ---- both ends ---- */

/* The C function that called free or xfree; and its callers, if it is not of MRI: in a GC, those
 * of MRI's only made the GC happen. */
HEAPPROF_COLD static struct asking
freeing_code(const struct addresses *addresses)
{
    struct asking freeing = { .caller = find_caller(addresses, 0) };
    rb_objspace_t *objspace = rb_gc_get_objspace();

    if (during_gc && rb_heapprof_callers_core_p(&rb_heapprof.tables.callers, freeing.caller))
        return freeing;
    return asking_by_unwinding(addresses, 0);
}

HEAPPROF_COLD static struct heapprof_mismatch_end
asked_end(uint32_t number)
{
    struct heapprof_mismatch_end end = { .stack = 0 };

    if (number == HEAPPROF_SITE_WAITING) return end;
    const struct heapprof_site *site = rb_heapprof_sites_get(&rb_heapprof.tables.sites, number);
    end.stack = site->stack;
    end.c_path = path_with_caller(site->c_path, rb_heapprof_site_identity(site));
    return end;
}

/* owner: code of the type of the object whose struct it is; or 0 */
HEAPPROF_COLD static struct heapprof_mismatch_end
freed_end(const struct addresses *addresses, uintptr_t owner)
{
    struct asking freeing = owner ? (struct asking){ .caller = owner + 1 }
                                  : freeing_code(addresses);
    uint32_t stack = rb_heapprof.run.ending ? 0 : asking_stack();

    return (struct heapprof_mismatch_end){
        .stack = stack == HEAPPROF_NO_STACK ? 0 : stack,
        .c_path = path_with_caller(c_path_of(&freeing), identity_of_caller(freeing.caller)),
    };
}

HEAPPROF_COLD static void
note_mismatch(const struct heapprof_piece *piece, uintptr_t owner)
{
    struct heapprof_mismatch one = {
        .of_ruby = piece->allocator != HEAPPROF_OF_LIBC, .bytes = piece->held_bytes
    };
    struct addresses addresses;
    unsigned int lev;

    if (!may_sample_all_p() || !try_vm_lock(&lev)) return;
    bool own_work = rb_heapprof_gc_begin_own_work();
    addresses = take_addresses();
    begin_change();
    one.asked = asked_end(piece->site);
    one.freed = freed_end(&addresses, owner);
    rb_heapprof_mismatches_add(&rb_heapprof.tables.mismatches, &one);
    end_change();
    rb_heapprof_gc_end_own_work(own_work);
    rb_gc_vm_unlock_no_barrier(lev);
}

/* ---- what is wrong ---- */

enum given_to { TO_XMALLOC, TO_LIBC, TO_LIBC_BY_CORE };

/* word: the return address of the function that stands for the C library's. */
HEAPPROF_COLD static enum given_to
given_to(uintptr_t word)
{
    const struct heapprof_callers *callers = &rb_heapprof.tables.callers;

    if (!rb_heapprof_callers_core_p(callers, word)) return TO_LIBC;
    return rb_heapprof_callers_role(callers, word) == HEAPPROF_ROLE_XMALLOC ? TO_XMALLOC
                                                                            : TO_LIBC_BY_CORE;
}

HEAPPROF_COLD static bool
mismatch_p(enum heapprof_block_allocator from, enum given_to to)
{
    switch (from) {
      case HEAPPROF_OF_LIBC: return to == TO_XMALLOC;
      case HEAPPROF_OF_XMALLOC: return to != TO_XMALLOC;
      case HEAPPROF_OF_XMALLOC_BY_CORE: return to != TO_XMALLOC; /* check_free looks further */
      default: return false;
    }
}

/* The piece of a block that is about to be given to the wrong allocator; its site is 0 if it is
 * not the wrong one, or not known. Nothing is said of the block again, should it stay. */
HEAPPROF_COLD static struct heapprof_piece
take_mismatched(void *mem, enum given_to to)
{
    const struct heapprof_blocks *blocks = &rb_heapprof.tables.blocks;
    struct heapprof_piece *beginning = rb_heapprof_blocks_beginning(blocks, (uintptr_t)mem);
    struct heapprof_piece piece = { .site = 0 };

    if (beginning && mismatch_p(beginning->allocator, to) &&
        rb_heapprof_blocks_end(blocks, (uintptr_t)mem) == malloc_usable_size(mem)) {
        piece = *beginning;
        beginning->allocator = HEAPPROF_OF_UNKNOWN;
    }
    return piece;
}

HEAPPROF_COLD static bool
checks_allocators_p(void)
{
    return rb_heapprof.run.options.memcheck && !heapprof_thread.own_work &&
           rb_heapprof.account.dropped + rb_heapprof.account.dropped_blocks == 0;
}

/* The block at mem is about to be given to MRI's allocator. */
HEAPPROF_COLD static void
check_xfree(void *mem)
{
    if (!checks_allocators_p()) return;
    lock_blocks();
    struct heapprof_piece piece = take_mismatched(mem, TO_XMALLOC);
    unlock_blocks();
    if (piece.site) note_mismatch(&piece, 0);
}

/* The block at mem is about to be given to the C library's free or realloc. word: as given_to's. */
HEAPPROF_COLD static void
check_free(void *mem, uintptr_t word)
{
    if (!checks_allocators_p()) return;
    uintptr_t owner = 0;

    lock_blocks(); /* the wrappers may move */
    enum given_to to = given_to(word);
    struct heapprof_piece piece = take_mismatched(mem, to);
    unlock_blocks();
    if (!piece.site) return;
    if (to == TO_LIBC_BY_CORE && piece.allocator == HEAPPROF_OF_XMALLOC_BY_CORE) {
        if (!(owner = owner_of_struct(mem))) return;
    }
    note_mismatch(&piece, owner);
}
#else
HEAPPROF_COLD static void
check_xfree(void *mem)
{
}
#endif
