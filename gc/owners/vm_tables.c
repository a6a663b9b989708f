/* vm_tables.c - the blocks of the VM's own tables, which no object holds: the house's own
 * coats. Compiled inside gc.c.
 *
 * Each table has a name instead of a class (holder.c).
 *
 *     frozen_strings  st_table --> bins, entries      all three "[VM] interned strings"
 */
#include "gc/book/mri.h"
#include "shape.h"

HEAPPROF_COLD static void
own_vm_table(uintptr_t key, const st_table *table)
{
    if (!table) return;
    own_block(key, table);
    own_table(key, table);
}

HEAPPROF_COLD static enum rb_id_table_iterator_result
own_constant_caches_i(VALUE caches, void *unused)
{
    own_vm_table(VM_CONSTANT_CACHES, (const st_table *)caches);
    return ID_TABLE_CONTINUE;
}

HEAPPROF_COLD static void
own_caches(const rb_vm_t *vm)
{
    own_id_table(VM_METHODS, vm->negative_cme_table);
    own_vm_table(VM_METHODS, vm->overloaded_cme_table);
    own_vm_table(VM_METHODS, vm->unused_block_warning_table);
    own_vm_table(VM_CALLS, vm->ci_table);
    own_id_table(VM_CONSTANT_CACHES, vm->constant_cache);
    if (vm->constant_cache)
        rb_id_table_foreach_values(vm->constant_cache, own_constant_caches_i, NULL);
}

/* If a shape has one child, `edges` is that child, with a mark in its lowest bit. */
HEAPPROF_COLD static void
own_shapes(void)
{
    const rb_shape_tree_t *tree = GET_SHAPE_TREE();

    for (shape_id_t i = 0; i < tree->next_shape_id; i++) {
        const struct rb_id_table *edges = tree->shape_list[i].edges;
        if (edges && !((uintptr_t)edges & 1)) own_id_table(VM_SHAPES, edges);
    }
}

HEAPPROF_COLD static void
own_collector(const rb_objspace_t *objspace)
{
    own_vm_table(VM_FINALIZERS, finalizer_table);
    own_vm_table(VM_OBJECT_IDS, objspace->id_to_obj_tbl);
    own_vm_table(VM_OBJECT_IDS, objspace->obj_to_id_tbl);
    own_block(VM_GC, objspace);
    own_block(VM_GC, objspace->weak_references);
    for (const stack_chunk_t *chunk = objspace->mark_stack.chunk; chunk; chunk = chunk->next) {
        own_block(VM_GC, chunk);
    }
    own_block(VM_HEAP_PAGES, objspace->heap_pages.sorted);
}

/* An entry for each variable of C that rb_gc_register_address has made a root. */
HEAPPROF_COLD static void
own_registered(const rb_vm_t *vm)
{
    for (const struct global_object_list *list = vm->global_object_list; list; list = list->next) {
        own_block(VM_REGISTERED, list);
    }
}

HEAPPROF_COLD static void
own_vm_tables(void)
{
    const rb_vm_t *vm = GET_VM();

    own_vm_table(VM_INTERNED_STRINGS, vm->frozen_strings);
    own_vm_table(VM_SYMBOLS, ruby_global_symbols.str_sym);
    own_vm_table(VM_GENERIC_IVARS, rb_generic_ivtbl_get());
    own_caches(vm);
    own_vm_table(VM_FEATURES, vm->loaded_features_index);
    own_vm_table(VM_FEATURES, vm->loading_table);
    own_vm_table(VM_FEATURES, vm->static_ext_inits);
    own_registered(vm);
    own_shapes();
    own_collector(rb_gc_get_objspace());
}
