/* holder.c - who may hold a block, and under what name: an object, a table of the VM, a
 * library. Compiled inside gc.c.
 *
 *     an object        its address         the class it is labelled with
 *     a table          VM_TABLE_KEY + n    "[VM] interned strings"
 *     a library        LIBRARY_KEY + n     "[C] libfoo.so"
 *
 * No object and no type has such a number as its key among the identities.
 */
#include "gc/book/state.h"
#include "gc/book/track.h"

#define VM_TABLES(T) \
    T(INTERNED_STRINGS, "interned strings") T(SYMBOLS, "symbols") \
    T(GENERIC_IVARS, "generic ivars") \
    T(FINALIZERS, "finalizers") T(OBJECT_IDS, "object ids") T(METHODS, "method caches") \
    T(CALLS, "call infos") T(CONSTANT_CACHES, "constant caches") T(FEATURES, "loaded features") \
    T(SHAPES, "shapes") T(HEAP_PAGES, "heap pages") T(GC, "garbage collector") \
    T(STATIC_DATA, "static data") T(REGISTERED, "registered addresses")

#define VM_TABLE_KEY 0x8000
#define LIBRARY_KEY 0x9000 /* one for each library, from there on */
#define LIBRARY_KEYS 0x6000

enum {
    VM_TABLE_BEFORE = VM_TABLE_KEY - 1,
#define VM_TABLE_KEY_OF(table, name) VM_##table,
    VM_TABLES(VM_TABLE_KEY_OF)
#undef VM_TABLE_KEY_OF
};

static const char *const vm_table_names[] = {
#define VM_TABLE_NAME(table, name) "[VM] " name,
    VM_TABLES(VM_TABLE_NAME)
#undef VM_TABLE_NAME
};

/* The identity under a key that no object has. Returns 0 when memory is refused. */
HEAPPROF_COLD static uint32_t
named_identity(uintptr_t key, const char *name)
{
    return rb_heapprof_tables_named(&rb_heapprof.tables, identities_of_page(key), key, name,
                                    strlen(name));
}

/* The name of the library whose key was asked for last. */
static char library_name[64];

HEAPPROF_COLD static bool
library_named_p(uint32_t id, const char *name)
{
    const struct heapprof_identities *identities = &rb_heapprof.tables.identities;
    size_t length;
    const char *other =
        rb_heapprof_strings_get(&rb_heapprof.tables.strings, identities->all[id].name, &length);

    return length == strlen(name) && memcmp(other, name, length) == 0;
}

/* The key follows from the name: libraries come and go, and so do their addresses. */
HEAPPROF_COLD static uintptr_t
key_of_library(const char *name)
{
    uint64_t hash = 0;
    uintptr_t key;
    uint32_t id;

    for (const char *c = name; *c; c++) hash = rb_heapprof_index_hash(hash + (unsigned char)*c);
    do {
        key = LIBRARY_KEY + hash++ % LIBRARY_KEYS;
        id = rb_heapprof_identities_find(&rb_heapprof.tables.identities, key);
    } while (id && !library_named_p(id, name));
    snprintf(library_name, sizeof(library_name), "%s", name);
    return key;
}

/* A search (reach.c) may come back to an object that has died since. */
HEAPPROF_COLD static bool
alive_p(VALUE object)
{
    rb_objspace_t *objspace = rb_gc_get_objspace();
    bool alive = false;

    if (!heap_page_for_ptr(objspace, object) || rb_gc_impl_garbage_object_p(objspace, object))
        return false;
    asan_unpoisoning_object(object) {
        enum ruby_value_type type = RB_BUILTIN_TYPE(object);
        alive = type != T_NONE && type != T_ZOMBIE && type != T_MOVED;
    }
    return alive;
}

HEAPPROF_COLD static uint32_t
identity_of_holder(uintptr_t holder)
{
    bool of_class;

    if (rb_heapprof_object_key_p(holder)) return alive_p(holder) ? label_of(holder, &of_class) : 0;
    if (holder >= LIBRARY_KEY) return named_identity(holder, library_name);
    return named_identity(holder, vm_table_names[holder - VM_TABLE_KEY]);
}

HEAPPROF_COLD static struct heapprof_owner
owner_now(uintptr_t holder)
{
    const rb_objspace_t *objspace = rb_gc_get_objspace();

    begin_change();
    uint32_t class_id = identity_of_holder(holder);
    end_change();
    return (struct heapprof_owner){
        .object = holder, .class_id = class_id,
        .seen = rb_heapprof_owner_seen((uint32_t)objspace->profile.count, rb_heapprof_gc_moves()),
    };
}

