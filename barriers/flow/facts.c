/* facts.c - decides whether a field is marked, and whether it only holds Strings, from what
 * was noted of its stores. */
#include "barriers/flow/facts.h"

#include <string.h>

bool
wb_unmarked_p(const struct wb_data_type *data_type, const struct wb_symbol *address)
{
    const struct wb_field *first = wb_first_field(address), *field = wb_field_of(address);

    if (!data_type->known) return false;
    if (!data_type->marks) return true;
    return data_type->marks_seen && first && !field->marked && wb_whole_p(first->record, data_type);
}

/* ---- Strings ---- */

/* A value that is copied from the same field of another object says nothing new. */
void
wb_note_stored(const struct wb_symbol *address, const struct wb_symbol *value)
{
    struct wb_field *field = (struct wb_field *)wb_field_of(address);

    if (!field || value->kind == WB_S_CONSTANT) return;
    field->holds = true;
    if (value->string) return;
    if (value->kind == WB_S_LOAD && wb_field_of(value->of) == field) return;
    field->holds_others = true;
}

void
wb_note_updated(const struct wb_symbol *address)
{
    struct wb_field *field = (struct wb_field *)wb_field_of(address);

    if (field) field->updated = true;
}

bool
wb_only_strings_p(const struct wb_symbol *address)
{
    const struct wb_field *field = wb_field_of(address);

    return field && !field->holds_others;
}

static bool
named_p(const struct wb_function *function, const char *const *names, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (!strcmp(function->name, names[i])) return true;
    }
    return false;
}

bool
wb_returns_string_p(const struct wb_function *function)
{
    static const char *const names[] = {
        "rb_enc_sprintf", "rb_enc_str_new", "rb_enc_str_new_cstr", "rb_external_str_new",
            "rb_external_str_new_cstr", "rb_fstring",
        "rb_obj_as_string", "rb_sprintf", "rb_str_buf_new", "rb_str_dup", "rb_str_dup_frozen",
        "rb_str_export", "rb_str_new",
        "rb_str_new_cstr", "rb_str_new_frozen", "rb_str_new_static", "rb_str_plus", "rb_str_substr",
        "rb_string_value",
        "rb_usascii_str_new", "rb_usascii_str_new_cstr", "rb_utf8_str_new", "rb_utf8_str_new_cstr",
    };

    return named_p(function, names, sizeof(names) / sizeof(names[0]));
}

bool
wb_converts_to_string_p(const struct wb_function *function)
{
    static const char *const names[] = {"rb_string_value", "rb_string_value_cstr",
                                        "rb_string_value_ptr"};

    return named_p(function, names, sizeof(names) / sizeof(names[0]));
}
