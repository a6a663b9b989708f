#ifndef HEAPPROF_GC_MRI_H
#define HEAPPROF_GC_MRI_H
/* mri.h - what we use of MRI that no header of MRI declares: the checklist for the next version.
 * Each says where MRI 3.4 defines it.
 */
#include "ruby/st.h"
#include "symbol.h"

/* symbol.c: names of IDs; its arrays grow as symbols are made (vm_tables.c, pages.c). */
extern rb_symbols_t ruby_global_symbols;

/* variable.c: instance variables of objects that have no room for them. */
st_table *rb_generic_ivtbl_get(void);

/* weakmap.c: struct weakmap and struct weakkeymap. In the table of the first, keys and values are
 * addresses of VALUEs. In the table of the second, only keys are. */
struct mri_weak_map {
    st_table *table;
};

/* thread_sync.c: struct rb_mutex_struct. The fiber that has locked it, which may be dead; NULL if
 * it is not locked. */
struct mri_mutex {
    const void *fiber;
};

/* variable.c: a class's name, and whether it will stay; makes no object. */
VALUE rb_mod_name0(VALUE klass, bool *permanent);

#endif
