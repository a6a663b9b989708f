/* owners.c - which objects hold the known blocks of the allocator. Compiled inside gc.c.
 *
 * A block does not know its object. So the heap is walked (walk.h), and every object that has
 * blocks of its own is asked for their addresses; most are not known, which one byte of the filter
 * tells:
 *
 *     String  ptr ---------> 0x7f..10   known: its owner is the String
 *     Hash    bins, entries  0x7f..80   not known
 *
 * Only types whose blocks can be read without calling anything are asked, and the VM's own tables
 * (vm_tables.c), which no object holds. Then blocks may be left that nobody has been found to hold. For
 * a snapshot that asks for suspicions these are looked for behind the structs of extensions' objects and
 * the variables of libraries (reach.c). What one object has borrowed from another, as substrings do, is
 * the other's.
 */
#include "gc/book/state.h"
#include "gc/book/track.h"
#include "iseq.h"
#include "variable.h"
#include "gc/book/walk.h"

/* ---- one object ---- */

HEAPPROF_COLD static struct heapprof_owner
owner_now(uintptr_t holder);

/* The holder is an object, or a table of the VM's by its key (vm_tables.c). */
HEAPPROF_COLD static void
own(uintptr_t holder, const void *block)
{
    if (!block || !rb_heapprof_maybe_block_p(block)) return;

    struct heapprof_owner owner = owner_now(holder);
    if (owner.class_id == 0) return;
    lock_blocks();
    rb_heapprof_blocks_own(&rb_heapprof.tables.blocks, (uintptr_t)block, &owner);
    unlock_blocks();
}

HEAPPROF_COLD static void
own_table(uintptr_t holder, const st_table *table)
{
    own(holder, table->bins);
    own(holder, table->entries);
}

/* What an id table looks like only id_table.c knows; but one of its words points to the items, and
 * the smallest block has three words. */
HEAPPROF_COLD static void
own_id_table(uintptr_t holder, const struct rb_id_table *table)
{
    const void *const *words = (const void *const *)table;

    own(holder, table);
    for (int i = 0; table && i < 3; i++) own(holder, words[i]);
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

HEAPPROF_COLD static enum rb_id_table_iterator_result
own_value_i(VALUE value, void *holder)
{
    own((uintptr_t)holder, (const void *)value);
    return ID_TABLE_CONTINUE;
}

HEAPPROF_COLD static enum rb_id_table_iterator_result
own_call_caches_i(VALUE value, void *holder)
{
    const struct rb_class_cc_entries *caches = (const struct rb_class_cc_entries *)value;

    own((uintptr_t)holder, caches);
    own((uintptr_t)holder, caches->entries);
    return ID_TABLE_CONTINUE;
}

HEAPPROF_COLD static void
own_id_table_of(VALUE object, struct rb_id_table *table, rb_id_table_foreach_values_func_t *value_i)
{
    own_id_table(object, table);
    if (table) rb_id_table_foreach_values(table, value_i, (void *)object);
}

/* Instance variables of a class, which are outside. */
HEAPPROF_COLD static void
own_class_ivars(VALUE object)
{
    own(object, RCLASS_IVPTR(object));
    if (RCLASS_IVPTR(object) && rb_shape_obj_too_complex(object)) {
        own_table(object, RCLASS_IV_HASH(object));
    }
}

/* A class that is included has constants, variables and maybe methods of a module, whose they are. */
HEAPPROF_COLD static void
own_class(VALUE object)
{
    bool included = RB_TYPE_P(object, T_ICLASS);

    if (!included || RICLASS_OWNS_M_TBL_P(object)) own_id_table(object, RCLASS_M_TBL(object));
    if (RCLASS_CALLABLE_M_TBL(object) != RCLASS_M_TBL(object)) {
        own_id_table(object, RCLASS_CALLABLE_M_TBL(object));
    }
    own_id_table_of(object, RCLASS_CC_TBL(object), own_call_caches_i);
    own(object, RCLASS_SUBCLASSES(object));
    own(object, RCLASS_SUBCLASS_ENTRY(object));
    own(object, RCLASS_MODULE_SUBCLASS_ENTRY(object));
    if (included) return;
    own_id_table_of(object, RCLASS_CONST_TBL(object), own_value_i);
    own_id_table_of(object, RCLASS_CVC_TBL(object), own_value_i);
    own_class_ivars(object);
    if (!RB_FL_TEST_RAW(object, RCLASS_SUPERCLASSES_INCLUDE_SELF)) return;
    own(object, RCLASS_SUPERCLASSES(object));
}

HEAPPROF_COLD static void
own_iseq(VALUE object)
{
    const struct rb_iseq_constant_body *body = ((const rb_iseq_t *)object)->body;
    if (!body) return;

    own(object, body);
    own(object, body->iseq_encoded);
    own(object, body->variable.original_iseq);
    own(object, body->insns_info.body);
    own(object, body->insns_info.positions);
    own(object, body->insns_info.succ_index_table);
    own(object, body->local_table);
    own(object, body->catch_table);
    own(object, body->is_entries);
    own(object, body->call_data);
    own(object, body->param.opt_table);
    own_id_table(object, body->outer_variables);
    for (unsigned int i = 0; body->is_entries && i < body->ic_size; i++) {
        const struct iseq_inline_constant_cache *cache = &ISEQ_IS_IC_ENTRY(body, i);
        own(object, cache->segments);
    }
    if (ISEQ_MBITS_BUFLEN(body->iseq_size) > 1) own(object, body->mark_bits.list);
    if (!body->param.keyword) return;
    own(object, body->param.keyword);
    own(object, body->param.keyword->table);
    own(object, body->param.keyword->default_values);
}

HEAPPROF_COLD static void
own_imemo(VALUE object)
{
    switch (imemo_type(object)) {
      case imemo_iseq: own_iseq(object); break;
      case imemo_ment: own(object, ((const rb_method_entry_t *)object)->def); break;
      case imemo_env: own(object, ((const rb_env_t *)object)->env); break;
      case imemo_tmpbuf: own(object, ((const rb_imemo_tmpbuf_t *)object)->ptr); break;
      default: break;
    }
}

/* Those of an object that is neither a class nor has room for any. */
HEAPPROF_COLD static void
own_generic_ivars(VALUE object)
{
    struct gen_ivtbl *ivars;
    if (!rb_gen_ivtbl_get(object, 0, &ivars)) return;

    own(object, ivars);
    if (!rb_shape_obj_too_complex(object)) return;
    own(object, ivars->as.complex.table);
    own_table(object, ivars->as.complex.table);
}

/* A slot that an object has left, or whose finalizer is all that is left of it, leads nowhere. */
HEAPPROF_COLD static void
own_blocks_of_i(VALUE object, size_t slot_bytes, void *unused)
{
    if (RB_FL_TEST_RAW(object, FL_EXIVAR) && !RB_TYPE_P(object, T_IMEMO)) own_generic_ivars(object);

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

#include "gc/owners/vm_tables.c"
#include "gc/owners/reach.c"
#include "gc/owners/reach_roots.c"

/* ---- the heap ---- */

HEAPPROF_COLD static void
forget_owners(void)
{
    rb_heapprof_gc_copy_rest();
    lock_blocks();
    rb_heapprof_blocks_forget_owners(&rb_heapprof.tables.blocks);
    unlock_blocks();
}

/* A walk is one pass over the heap or several. One pass at a time: who comes while one is under way helps with
 * that, and wants the next.
 *
 *     a step each:  OBJECTS    the blocks of the objects on a page
 *                   FOREIGN    what structs of extensions' objects on a page lead to
 *                   LIBRARIES  what a part of the data of a library leads to
 *                   OWN        what the VM's own objects on a page lead to
 *                   VM_DATA    what a part of the VM's own data leads to
 *                   LAST
 *
 * GCs may come in between, and need no pass to be thrown away: a block dies with its owner, and whoever holds a
 * block from the beginning of a pass to its end is found (walk.c, I2). What that leaves is blocks that were born,
 * or have changed hands, behind the place where the walk was; and objects that a compaction has moved there. So
 * after a GC one more pass adds what it finds, after compactions up to MOVED_AGAIN; each may overwrite what the
 * one before has found. When objects have been moved, or died, since an owner was seen, its address is not
 * used (profiler/blocks.h), only its class.
 */
enum stage { NO_STAGE, OBJECTS, FOREIGN, LIBRARIES, OWN, VM_DATA, LAST };

enum { MOVED_AGAIN = 2 };

static struct {
    uint64_t   number;     /* of the one under way, or of the last */
    enum stage stage;      /* NO_STAGE: none is under way */
    uintptr_t  page;       /* pages up to this address are done in this stage */
    size_t     library;    /* the next, */
    size_t     part;       /* and of its data */
    size_t     gc_count;   /* when it began */
    uint32_t   moves;
    bool       moved;      /* objects have been, in the last one that has come to its end */
    bool       reached;    /* the next is to search, too */
} pass;

/* Whether there are blocks that somebody might hold. Memory that is only reported is held by no
 * pointer. */
HEAPPROF_COLD static bool
ownerless_p(void)
{
    const struct heapprof_blocks *blocks = &rb_heapprof.tables.blocks;
    uint32_t entry = 0;
    bool found = false;

    lock_blocks();
    while (!found && (entry = rb_heapprof_blocks_next(blocks, entry)) != 0) {
        uintptr_t address = rb_heapprof_address_table_address(&blocks->addresses, entry);
        found = !blocks->owners[entry].object && !rb_heapprof_reported_block_p(address);
    }
    unlock_blocks();
    return found;
}

HEAPPROF_COLD static bool
step_page(void (*object_i)(VALUE object, size_t slot_bytes, void *data))
{
    const struct heap_page *page = walk_page_after(pass.page);

    if (!page) return false;
    if (pass.stage == OBJECTS) own(VM_HEAP_PAGES, page);
    walk_page(page, object_i, NULL);
    pass.page = (uintptr_t)page->body;
    return true;
}

HEAPPROF_COLD static bool
step_library(void)
{
    if (pass.library == reach.library_count) return false;
    if (pass.library != reach.vm_library && reach_library(pass.library, pass.part)) {
        pass.part++;
    }
    else {
        pass.part = 0;
        pass.library++;
    }
    return true;
}

/* False: the stage has come to its end. */
HEAPPROF_COLD static bool
step_on(void)
{
    switch (pass.stage) {
      case OBJECTS: return step_page(own_blocks_of_i);
      case FOREIGN: return step_page(reach_foreign_i);
      case LIBRARIES: return step_library();
      case OWN: return step_page(reach_own_i);
      case VM_DATA: return reach_library(reach.vm_library, pass.part++);
      default: return false;
    }
}

HEAPPROF_COLD static enum stage
next_stage(void)
{
    if (!reach.wanted || reach.cut_short || pass.stage == LAST) return NO_STAGE;
    if (pass.stage == OBJECTS && !ownerless_p()) return NO_STAGE;
    return pass.stage + 1;
}

/* False: that was the last. */
HEAPPROF_COLD static bool
find_step_i(void *unused)
{
    if (reach_unread_p()) {
        reach_step();
    }
    else if (!step_on()) {
        pass.stage = next_stage();
        pass.page = pass.part = 0;
    }
    return pass.stage != NO_STAGE;
}

HEAPPROF_COLD uint32_t
rb_heapprof_gc_moves(void)
{
    return (uint32_t)((rb_objspace_t *)rb_gc_get_objspace())->profile.compact_count;
}

HEAPPROF_COLD static size_t
gc_count_now(void)
{
    return ((rb_objspace_t *)rb_gc_get_objspace())->profile.count;
}

HEAPPROF_COLD static void
begin_pass(void)
{
    pass.number++;
    pass.stage = OBJECTS;
    pass.page = 0;
    pass.library = pass.part = 0;
    pass.gc_count = gc_count_now();
    pass.moves = rb_heapprof_gc_moves();
    own_vm_tables();
    reach_begin(pass.reached);
    pass.reached = false;
}

HEAPPROF_COLD static void
end_pass(void)
{
    pass.moved = pass.moves != rb_heapprof_gc_moves();
    reach_end();
}

/* The pass that has come to its end was the walk's. Whether it wants another. */
HEAPPROF_COLD static bool
want_another(struct heapprof_walk *walk, bool reached)
{
    unsigned int most = pass.moved ? MOVED_AGAIN : pass.gc_count != gc_count_now() ? 1 : 0;

    if (reached && !reach.wanted) most = walk->again + 1;
    if (walk->again >= most) return false;
    walk->again++;
    walk->pass = pass.number + 1;
    return true;
}

HEAPPROF_COLD bool
rb_heapprof_gc_find_owners(struct heapprof_walk *walk, bool reached)
{
    if (walk->pass == 0) {
        if (pass.stage == NO_STAGE) forget_owners();
        walk->pass = pass.number + 1;
    }
    if (pass.number < walk->pass && reached) pass.reached = true;
    if (pass.stage == NO_STAGE) {
        if (pass.number >= walk->pass) return want_another(walk, reached);
        begin_pass();
        return true;
    }
    if (rb_heapprof_gc_slice(find_step_i, NULL, walk->waited_ns)) return true;
    end_pass();
    return pass.number < walk->pass || want_another(walk, reached);
}

HEAPPROF_COLD bool
rb_heapprof_gc_owners_known_p(const struct heapprof_walk *walk, bool reached)
{
    return pass.stage == NO_STAGE && pass.number >= walk->pass && (reach.wanted || !reached);
}

HEAPPROF_COLD bool
rb_heapprof_gc_owners_complete_p(void)
{
    return reach.wanted && !reach.cut_short && !pass.moved;
}
