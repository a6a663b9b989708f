/* globals.c - VALUEs in global variables, and in memory that only a global variable leads to.
 *
 *     static VALUE cache;                 static struct node *list;
 *     cache = rb_str_new_cstr("x");       list->value = object;
 *
 * No object marks them. So the GC has to be told: by rb_gc_register_address(&cache), by
 * rb_gc_register_mark_object(value), or by a mark function. A variable whose address is passed to
 * a function that is not read is taken to be registered, and one whose value is put into a constant
 * or an instance variable to be held by that. Of Ruby's own functions it is known which register.
 */
#include "barriers/flow/globals.h"

#include "barriers/flow/classes.h"
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
    if (wb_known_to_gc_p(value) || of_global_p(value)) return;
    variable->stored = *place;
}

void
wb_note_registered(const struct wb_symbol *address)
{
    struct wb_variable *variable = wb_global_at(address);

    if (variable) variable->registered = true;
}

bool
wb_registers_p(const struct wb_function *function)
{
    static const char *const names[] = {
        "rb_gc_mark_and_move", "rb_gc_mark_locations", "rb_gc_register_address",
        "rb_global_variable",
    };

    return WB_ONE_OF_P(function, names);
}

bool
wb_may_register_p(const struct wb_function *function)
{
    static const char *const names[] = {
        "rb_data_object_wrap", "rb_data_object_wrap_warning", "rb_data_typed_object_alloc",
        "rb_data_typed_object_wrap", "rb_define_hooked_variable", "rb_define_readonly_variable",
        "rb_define_variable",
    };

    return wb_registers_p(function) || WB_ONE_OF_P(function, names) ||
           !(function->foreign || function->body);
}

bool
wb_holds_p(const struct wb_function *function, unsigned number)
{
    static const char *const marking[] = {
        "rb_gc_mark", "rb_gc_mark_maybe", "rb_gc_mark_movable", "rb_gc_register_mark_object",
        "rb_mark_hash", "rb_mark_set", "rb_mark_tbl", "rb_mark_tbl_no_pin",
    };
    static const char *const setting[] = {
        "rb_const_set", "rb_cv_set", "rb_cvar_set", "rb_define_class_variable", "rb_define_const",
        "rb_define_global_const", "rb_iv_set", "rb_ivar_set",
    };

    return WB_ONE_OF_P(function, marking) || (number > 0 && WB_ONE_OF_P(function, setting));
}

static bool
returned_p(const struct wb_symbol *value)
{
    return value && (value->kind == WB_S_UNKNOWN || value->kind == WB_S_FRESH);
}

/* What a call has returned is another symbol in the called function, which may be called elsewhere,
 * too. */
void
wb_hold_value(struct wb_symbol *value)
{
    if (value->kind == WB_S_LOAD) wb_note_registered(value->of);
    if (value->kind == WB_S_PARAMETER || returned_p(value)) value->immortal = true;
    if (!returned_p(value)) return;
    for (value = value->of; returned_p(value); value = value->of) value->held = true;
}

bool
wb_known_to_gc_p(const struct wb_symbol *value)
{
    return value->kind == WB_S_CONSTANT || value->immortal || value->held;
}

bool
wb_note_held(const struct wb_function *function, unsigned number, struct wb_symbol *value)
{
    static const char *const containers[] = {
        "rb_ary_push", "rb_ary_store", "rb_ary_unshift", "rb_hash_aset", "rb_struct_aset",
    };
    bool contains = number > 0 && value->kind != WB_S_LOAD && WB_ONE_OF_P(function, containers);

    if (!contains && !wb_holds_p(function, number)) return false;
    wb_hold_value(value);
    return true;
}

/* Some keep an ID in a variable of type VALUE. */
static bool
returns_number_p(const struct wb_function *function)
{
    return function->of_ruby && function->result && function->result->kind == WB_OTHER;
}

bool
wb_returns_immortal_p(const struct wb_node *call)
{
    return wb_returns_class_of_c_p(call) || returns_number_p(call->function);
}
