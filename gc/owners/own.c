/* own.c - the blocks that one object holds: each guest of the cloakroom claims coats. Compiled
 * inside gc.c.
 *
 *     String  ptr ---------> 0x7f..10   known: its owner is the String
 *     Hash    bins, entries  0x7f..80   not known, as one byte of the filter tells
 *
 * Only types whose blocks can be read without calling anything are asked. A block that one
 * object borrows from another, as substrings do, belongs to the other.
 */
#include "gc/book/mri.h"
#include "gc/book/state.h"
#include "iseq.h"
#include "variable.h"

/* Enters the holder as the owner of a block, if the block is known. The holder is an object, or
 * the key of a table of the VM (holder.c). */
HEAPPROF_COLD static void
own_block(uintptr_t holder, const void *block)
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
    own_block(holder, table->bins);
    own_block(holder, table->entries);
}

/* Only id_table.c knows what an id table looks like. But one of its words points to the items,
 * and the smallest block has three words. */
HEAPPROF_COLD static void
own_id_table(uintptr_t holder, const struct rb_id_table *table)
{
    const void *const *words = (const void *const *)table;

    own_block(holder, table);
    for (int i = 0; table && i < 3; i++) own_block(holder, words[i]);
}

HEAPPROF_COLD static void
own_ivars(VALUE object)
{
    if (rb_shape_obj_too_complex(object)) {
        st_table *ivars = ROBJECT_IV_HASH(object);
        own_block(object, ivars);
        if (ivars) own_table(object, ivars);
    }
    else if (!RB_FL_TEST_RAW(object, ROBJECT_EMBED)) {
        own_block(object, ROBJECT(object)->as.heap.ivptr);
    }
}

HEAPPROF_COLD static void
own_data(VALUE object)
{
    if (!RTYPEDDATA_P(object)) own_block(object, DATA_PTR(object));
    else if (!RTYPEDDATA_EMBEDDED_P(object)) own_block(object, RTYPEDDATA_DATA(object));
}

HEAPPROF_COLD static void
own_match(VALUE object)
{
    const rb_matchext_t *match = RMATCH_EXT(object);

    own_block(object, match->regs.beg);
    own_block(object, match->regs.end);
    own_block(object, match->char_offset);
}

HEAPPROF_COLD static enum rb_id_table_iterator_result
own_value_i(VALUE value, void *holder)
{
    own_block((uintptr_t)holder, (const void *)value);
    return ID_TABLE_CONTINUE;
}

HEAPPROF_COLD static enum rb_id_table_iterator_result
own_call_caches_i(VALUE value, void *holder)
{
    const struct rb_class_cc_entries *caches = (const struct rb_class_cc_entries *)value;

    own_block((uintptr_t)holder, caches);
    own_block((uintptr_t)holder, caches->entries);
    return ID_TABLE_CONTINUE;
}

HEAPPROF_COLD static void
own_id_table_of(VALUE object, struct rb_id_table *table, rb_id_table_foreach_values_func_t *value_i)
{
    own_id_table(object, table);
    if (table) rb_id_table_foreach_values(table, value_i, (void *)object);
}

/* Instance variables of a class, which lie outside of its slot. */
HEAPPROF_COLD static void
own_class_ivars(VALUE object)
{
    own_block(object, RCLASS_IVPTR(object));
    if (RCLASS_IVPTR(object) && rb_shape_obj_too_complex(object)) {
        own_table(object, RCLASS_IV_HASH(object));
    }
}

/* An included class has the constants, the variables and maybe the methods of a module: the
 * module owns them. */
HEAPPROF_COLD static void
own_class(VALUE object)
{
    bool included = RB_TYPE_P(object, T_ICLASS);

    if (!included || RICLASS_OWNS_M_TBL_P(object)) own_id_table(object, RCLASS_M_TBL(object));
    if (RCLASS_CALLABLE_M_TBL(object) != RCLASS_M_TBL(object)) {
        own_id_table(object, RCLASS_CALLABLE_M_TBL(object));
    }
    own_id_table_of(object, RCLASS_CC_TBL(object), own_call_caches_i);
    own_block(object, RCLASS_SUBCLASSES(object));
    own_block(object, RCLASS_SUBCLASS_ENTRY(object));
    own_block(object, RCLASS_MODULE_SUBCLASS_ENTRY(object));
    if (included) return;
    own_id_table_of(object, RCLASS_CONST_TBL(object), own_value_i);
    own_id_table_of(object, RCLASS_CVC_TBL(object), own_value_i);
    own_class_ivars(object);
    if (!RB_FL_TEST_RAW(object, RCLASS_SUPERCLASSES_INCLUDE_SELF)) return;
    own_block(object, RCLASS_SUPERCLASSES(object));
}

HEAPPROF_COLD static void
own_iseq(VALUE object)
{
    const struct rb_iseq_constant_body *body = ((const rb_iseq_t *)object)->body;
    if (!body) return;

    own_block(object, body);
    own_block(object, body->iseq_encoded);
    own_block(object, body->variable.original_iseq);
    own_block(object, body->insns_info.body);
    own_block(object, body->insns_info.positions);
    own_block(object, body->insns_info.succ_index_table);
    own_block(object, body->local_table);
    own_block(object, body->catch_table);
    own_block(object, body->is_entries);
    own_block(object, body->call_data);
    own_block(object, body->param.opt_table);
    own_id_table(object, body->outer_variables);
    for (unsigned int i = 0; body->is_entries && i < body->ic_size; i++) {
        const struct iseq_inline_constant_cache *cache = &ISEQ_IS_IC_ENTRY(body, i);
        own_block(object, cache->segments);
    }
    if (ISEQ_MBITS_BUFLEN(body->iseq_size) > 1) own_block(object, body->mark_bits.list);
    if (!body->param.keyword) return;
    own_block(object, body->param.keyword);
    own_block(object, body->param.keyword->table);
    own_block(object, body->param.keyword->default_values);
}

HEAPPROF_COLD static void
own_imemo(VALUE object)
{
    switch (imemo_type(object)) {
      case imemo_iseq: own_iseq(object); break;
      case imemo_ment: own_block(object, ((const rb_method_entry_t *)object)->def); break;
      case imemo_env: own_block(object, ((const rb_env_t *)object)->env); break;
      case imemo_tmpbuf: own_block(object, ((const rb_imemo_tmpbuf_t *)object)->ptr); break;
      default: break;
    }
}

/* Instance variables of an object that is neither a class nor has room for them. */
HEAPPROF_COLD static void
own_generic_ivars(VALUE object)
{
    struct gen_ivtbl *ivars;
    if (!rb_gen_ivtbl_get(object, 0, &ivars)) return;

    own_block(object, ivars);
    if (!rb_shape_obj_too_complex(object)) return;
    own_block(object, ivars->as.complex.table);
    own_table(object, ivars->as.complex.table);
}

/* The strings of symbols made at run time are in a Hash that only the VM sees: a table of its
 * own. */
HEAPPROF_COLD static uintptr_t
hash_holder(VALUE hash)
{
    return hash == ruby_global_symbols.dsymbol_fstr_hash ? VM_SYMBOLS : hash;
}

/* A slot that an object has left (T_MOVED) leads nowhere, nor does one that only waits for its
 * finalizer (T_ZOMBIE). */
HEAPPROF_COLD static void
own_blocks_of_i(VALUE object, size_t slot_bytes, void *unused)
{
    if (RB_FL_TEST_RAW(object, FL_EXIVAR) && !RB_TYPE_P(object, T_IMEMO)) own_generic_ivars(object);

    switch (RB_BUILTIN_TYPE(object)) {
      case T_STRING:
        if (!RB_FL_TEST_RAW(object, RSTRING_NOEMBED) || RB_FL_TEST_RAW(object, ELTS_SHARED)) break;
        own_block(object, RSTRING(object)->as.heap.ptr);
        break;
      case T_ARRAY:
        if (RB_FL_TEST_RAW(object, RARRAY_EMBED_FLAG | ELTS_SHARED)) break;
        own_block(object, RARRAY(object)->as.heap.ptr);
        break;
      case T_HASH:
        if (RHASH_ST_TABLE_P(object)) own_table(hash_holder(object), RHASH_ST_TABLE(object));
        break;
      case T_STRUCT:
        if (!RB_FL_TEST_RAW(object, RSTRUCT_EMBED_LEN_MASK))
            own_block(object, RSTRUCT(object)->as.heap.ptr);
        break;
      case T_BIGNUM:
        if (!RB_FL_TEST_RAW(object, BIGNUM_EMBED_FLAG)) own_block(object, BIGNUM_DIGITS(object));
        break;
      case T_CLASS:
      case T_MODULE:
      case T_ICLASS: own_class(object); break;
      case T_IMEMO: own_imemo(object); break;
      case T_OBJECT: own_ivars(object); break;
      case T_DATA: own_data(object); break;
      case T_MATCH: own_match(object); break;
      case T_FILE: own_block(object, RFILE(object)->fptr); break;
      case T_REGEXP: own_block(object, RREGEXP_PTR(object)); break;
      default: break;
    }
}
