/* reflection_class.c - the fields of a class, a module, or the object that stands for an included
 * module: its constants, also private ones, without loading any or warning of it; its methods;
 * and what follows it in method lookup.
 */
#include "ruby/ruby.h"
#include "vm/memprof/reflection_class.h"
#include "vm/memprof/json.h"
#include "constant.h"
#include "id_table.h"
#include "internal.h"
#include "internal/class.h"
#include "method.h"

static enum rb_id_table_iterator_result
constant_i(ID id, VALUE entry, void *hash)
{
    VALUE name = rb_heapprof_reflection_name(id);
    VALUE value = ((const rb_const_entry_t *)entry)->value;

    if (NIL_P(name)) return ID_TABLE_CONTINUE;
    VALUE said =
        UNDEF_P(value) ? rb_str_new_cstr("autoload") : rb_heapprof_reflection_reference(value);
    rb_hash_aset(*(VALUE *)hash, name, said);
    return ID_TABLE_CONTINUE;
}

static enum rb_id_table_iterator_result
method_i(ID id, VALUE entry, void *hash)
{
    VALUE name = rb_heapprof_reflection_name(id);
    if (NIL_P(name) || UNDEFINED_METHOD_ENTRY_P((const rb_method_entry_t *)entry))
        return ID_TABLE_CONTINUE;
    rb_hash_aset(*(VALUE *)hash, name, rb_heapprof_reflection_reference(entry));
    return ID_TABLE_CONTINUE;
}

static void
set_table(VALUE hash, const char *key, struct rb_id_table *table,
          rb_id_table_foreach_func_t *function)
{
    VALUE named = rb_hash_new();
    if (table) rb_id_table_foreach(table, function, &named);
    rb_heapprof_reflection_set(hash, key, named);
}

static void
set_super(VALUE hash, VALUE klass)
{
    VALUE above = RCLASS_SUPER(klass);

    if (above) rb_heapprof_reflection_set(hash, "super", rb_heapprof_reflection_reference(above));
    if (!RB_TYPE_P(klass, T_CLASS)) return;
    while (above && RB_TYPE_P(above, T_ICLASS)) above = RCLASS_SUPER(above);
    if (above) rb_heapprof_reflection_set_text(hash, "super_name", rb_mod_name(above));
}

static void
set_attached(VALUE hash, VALUE klass)
{
    bool singleton = RCLASS_SINGLETON_P(klass);

    rb_heapprof_reflection_set(hash, "singleton", RBOOL(singleton));
    if (!singleton) return;
    VALUE attached = RCLASS_ATTACHED_OBJECT(klass);
    rb_heapprof_reflection_set(hash, "attached", rb_heapprof_reflection_reference(attached));
}

void
rb_heapprof_reflection_class_fields(VALUE hash, VALUE klass)
{
    if (RB_TYPE_P(klass, T_ICLASS)) {
        VALUE module = RBASIC_CLASS(klass);
        set_super(hash, klass);
        if (!module) return;
        rb_heapprof_reflection_set(hash, "module", rb_heapprof_reflection_reference(module));
        rb_heapprof_reflection_set_text(hash, "module_name", rb_mod_name(module));
        return;
    }
    rb_heapprof_reflection_set_text(hash, "name", rb_mod_name(klass));
    set_super(hash, klass);
    if (RB_TYPE_P(klass, T_CLASS)) set_attached(hash, klass);
    set_table(hash, "constants", RCLASS_CONST_TBL(klass), constant_i);
    set_table(hash, "methods", RCLASS_M_TBL(RCLASS_ORIGIN(klass)), method_i);
}
