/* owners.c - which objects hold the known blocks of the allocator. Compiled inside gc.c.
 *
 * A block does not know its object. So the heap is walked, page by page, and every object
 * that has blocks of its own is asked for their addresses; most are not known, which one byte
 * of the filter tells:
 *
 *     String  ptr ---------> 0x7f..10   known: its owner is the String
 *     Hash    bins, entries  0x7f..80   not known
 *
 * Asked are the types whose blocks can be read without calling anything. What lies behind a
 * typed object's own struct is not seen; nor is what one object has borrowed from another, as
 * substrings do: it is the other's.
 *
 * A walk goes in slices. What one has found stays right until a GC lets objects die or move,
 * or pages come and go: rb_heapprof_gc_heap_stamp tells.
 */
#include "state.h"
#include "track.h"
#include <time.h>

#define SLICE_NS 500000

/* ---- one object ---- */

HEAPPROF_COLD static void
own(VALUE object, const void *block)
{
    if (!block || !rb_heapprof_maybe_block_p(block)) return;

    struct heapprof_owner owner = { .object = object, .class_id = rb_heapprof_class_of(object) };
    if (owner.class_id == 0) return;
    lock_blocks();
    rb_heapprof_blocks_own(&rb_heapprof.tables.blocks, (uintptr_t)block, &owner);
    unlock_blocks();
}

HEAPPROF_COLD static void
own_table(VALUE object, const st_table *table)
{
    own(object, table->bins);
    own(object, table->entries);
}

HEAPPROF_COLD static void
own_ivars(VALUE object)
{
    if (rb_shape_obj_too_complex(object)) {
        st_table *ivars = ROBJECT_IV_HASH(object);
        own(object, ivars);
        if (ivars) own_table(object, ivars);
    }
    else if (!RB_FL_TEST_RAW(object, ROBJECT_EMBED)) {
        own(object, ROBJECT(object)->as.heap.ivptr);
    }
}

HEAPPROF_COLD static void
own_data(VALUE object)
{
    if (!RTYPEDDATA_P(object)) own(object, DATA_PTR(object));
    else if (!RTYPEDDATA_EMBEDDED_P(object)) own(object, RTYPEDDATA_DATA(object));
}

HEAPPROF_COLD static void
own_match(VALUE object)
{
    const rb_matchext_t *match = RMATCH_EXT(object);

    own(object, match->regs.beg);
    own(object, match->regs.end);
    own(object, match->char_offset);
}

HEAPPROF_COLD static void
own_class(VALUE object)
{
    if (RB_TYPE_P(object, T_ICLASS)) {
        if (RICLASS_OWNS_M_TBL_P(object)) own(object, RCLASS_M_TBL(object));
        return;
    }
    own(object, RCLASS_M_TBL(object));
    own(object, RCLASS_CONST_TBL(object));
    if (!RB_FL_TEST_RAW(object, RCLASS_SUPERCLASSES_INCLUDE_SELF)) return;
    own(object, RCLASS_SUPERCLASSES(object));
}

HEAPPROF_COLD static void
own_imemo(VALUE object)
{
    switch (imemo_type(object)) {
      case imemo_iseq: own(object, ((const rb_iseq_t *)object)->body); break;
      case imemo_ment: own(object, ((const rb_method_entry_t *)object)->def); break;
      case imemo_env: own(object, ((const rb_env_t *)object)->env); break;
      case imemo_tmpbuf: own(object, ((const rb_imemo_tmpbuf_t *)object)->ptr); break;
      default: break;
    }
}

HEAPPROF_COLD static void
own_blocks_of(VALUE object)
{
    switch (RB_BUILTIN_TYPE(object)) {
      case T_STRING:
        if (!RB_FL_TEST_RAW(object, RSTRING_NOEMBED) || RB_FL_TEST_RAW(object, ELTS_SHARED)) break;
        own(object, RSTRING(object)->as.heap.ptr);
        break;
      case T_ARRAY:
        if (RB_FL_TEST_RAW(object, RARRAY_EMBED_FLAG | ELTS_SHARED)) break;
        own(object, RARRAY(object)->as.heap.ptr);
        break;
      case T_HASH:
        if (RHASH_ST_TABLE_P(object)) own_table(object, RHASH_ST_TABLE(object));
        break;
      case T_STRUCT:
        if (!RB_FL_TEST_RAW(object, RSTRUCT_EMBED_LEN_MASK)) own(object, RSTRUCT(object)->as.heap.ptr);
        break;
      case T_BIGNUM:
        if (!RB_FL_TEST_RAW(object, BIGNUM_EMBED_FLAG)) own(object, BIGNUM_DIGITS(object));
        break;
      case T_CLASS:
      case T_MODULE:
      case T_ICLASS: own_class(object); break;
      case T_IMEMO: own_imemo(object); break;
      case T_OBJECT: own_ivars(object); break;
      case T_DATA: own_data(object); break;
      case T_MATCH: own_match(object); break;
      case T_FILE: own(object, RFILE(object)->fptr); break;
      case T_REGEXP: own(object, RREGEXP_PTR(object)); break;
      default: break;
    }
}

/* ---- the heap ---- */

HEAPPROF_COLD static void
own_blocks_of_page(rb_objspace_t *objspace, const struct heap_page *page)
{
    uintptr_t end = (uintptr_t)page->start + page->total_slots * page->slot_size;

    for (uintptr_t slot = (uintptr_t)page->start; slot < end; slot += page->slot_size) {
        VALUE object = (VALUE)slot;
        asan_unpoisoning_object(object) {
            if (!rb_gc_impl_garbage_object_p(objspace, object)) own_blocks_of(object);
        }
    }
}

HEAPPROF_COLD static int64_t
clock_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

HEAPPROF_COLD uint64_t
rb_heapprof_gc_heap_stamp(void)
{
    rb_objspace_t *objspace = rb_gc_get_objspace();
    return objspace->profile.count + objspace->heap_pages.allocated_pages +
           objspace->heap_pages.freed_pages;
}

HEAPPROF_COLD void
rb_heapprof_gc_forget_owners(void)
{
    lock_blocks();
    rb_heapprof_blocks_forget_owners(&rb_heapprof.tables.blocks);
    unlock_blocks();
}

HEAPPROF_COLD bool
rb_heapprof_gc_find_owners(size_t *page)
{
    rb_objspace_t *objspace = rb_gc_get_objspace();
    int64_t end_ns = clock_ns() + SLICE_NS;

    while (*page < rb_darray_size(objspace->heap_pages.sorted)) {
        own_blocks_of_page(objspace, rb_darray_get(objspace->heap_pages.sorted, *page));
        ++*page;
        if (clock_ns() > end_ns) return true;
    }
    return false;
}
