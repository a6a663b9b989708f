/* globals.c - VALUEs in global variables, and in memory that only a global variable leads to.
 *
 *     static VALUE cache;                 static struct node *list;
 *     cache = rb_str_new_cstr("x");       list->value = object;
 *
 * No object marks them. So the GC has to be told: by rb_gc_register_address(&cache), by
 * rb_gc_register_mark_object(value), or by a mark function. A variable whose address is passed to
 * any function is taken to be registered, and one whose value is put into a constant or an instance
 * variable to be held by that.
 */
#include "barriers/flow/globals.h"

#include "barriers/known.h"

struct wb_variable *
wb_global_at(const struct wb_symbol *address)
{
    for (; address->of; address = address->of) {
        const struct wb_field *field = address->kind == WB_S_FIELD ? address->what : NULL;
        if (address->kind == WB_S_DATA || address->kind == WB_S_EITHER) return NULL;
        if (field && field->record->owners) return NULL;
    }
    return address->kind == WB_S_GLOBAL ? (struct wb_variable *)address->what : NULL;
}

static bool
of_global_p(const struct wb_symbol *value)
{
    return value->kind == WB_S_LOAD && wb_global_at(value->of) != NULL;
}

void
wb_note_global(const struct wb_symbol *address, const struct wb_symbol *value,
               const struct wb_place *place)
{
    struct wb_variable *variable = wb_global_at(address);

    if (!variable || variable->foreign || variable->stored.file) return;
    if (value->kind == WB_S_CONSTANT || value->immortal || of_global_p(value)) return;
    variable->stored = *place;
}

void
wb_note_registered(const struct wb_symbol *address)
{
    struct wb_variable *variable = wb_global_at(address);

    if (variable) variable->registered = true;
}

bool
wb_holds_p(const struct wb_function *function)
{
    static const char *const names[] = {
        "rb_const_set", "rb_cv_set", "rb_cvar_set", "rb_define_class_variable", "rb_define_const",
        "rb_define_global_const", "rb_gc_mark", "rb_gc_mark_maybe", "rb_gc_mark_movable",
        "rb_gc_register_mark_object", "rb_iv_set", "rb_ivar_set", "rb_mark_hash", "rb_mark_set",
        "rb_mark_tbl", "rb_mark_tbl_no_pin",
    };

    return WB_ONE_OF_P(function, names);
}

void
wb_note_held(const struct wb_function *function, struct wb_symbol *value)
{
    static const char *const containers[] = {
        "rb_ary_push", "rb_ary_store", "rb_ary_unshift", "rb_hash_aset", "rb_struct_aset",
    };
    bool holds = wb_holds_p(function);

    if (holds && value->kind == WB_S_LOAD) wb_note_registered(value->of);
    if (value->kind == WB_S_UNKNOWN || value->kind == WB_S_FRESH ||
        value->kind == WB_S_PARAMETER) {
        value->immortal |= holds || WB_ONE_OF_P(function, containers);
    }
}

bool
wb_returns_immortal_p(const struct wb_function *function)
{
    static const char *const names[] = {
        "rb_define_class", "rb_define_class_id_under", "rb_define_class_under", "rb_define_module",
        "rb_define_module_id_under", "rb_define_module_under",
    };

    return WB_ONE_OF_P(function, names);
}
