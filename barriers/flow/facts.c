/* facts.c - decides whether a field is marked, and whether it only holds Strings, from what
 * was noted of its stores. */
#include "barriers/flow/facts.h"

#include "barriers/known.h"

/* ---- uses ---- */

static struct wb_field_use *
find_use(const struct wb_field *field, const struct wb_data_type *data_type)
{
    struct wb_field_use *use = field->uses;

    while (use && use->data_type != data_type) use = use->next;
    return use;
}

struct wb_field_use *
wb_field_use_of(struct wb_arena *arena, struct wb_field *field, struct wb_data_type *data_type)
{
    struct wb_field_use *use = find_use(field, data_type);

    if (use) return use;
    use = WB_NEW(arena, struct wb_field_use);
    *use = (struct wb_field_use){ .data_type = data_type, .next = field->uses };
    return field->uses = use;
}

const struct wb_field_use *
wb_field_use(const struct wb_field *field, const struct wb_data_type *data_type)
{
    static const struct wb_field_use none;
    const struct wb_field_use *use = find_use(field, data_type);

    return use ? use : &none;
}

bool
wb_marked_p(const struct wb_field *field, const struct wb_data_type *data_type)
{
    const struct wb_field_use *use = wb_field_use(field, data_type);

    return use->pinned || use->movable || use->behind;
}

bool
wb_marked_by_any_p(const struct wb_field *field)
{
    const struct wb_field_use *use = field->uses;

    while (use && !use->pinned && !use->movable) use = use->next;
    return use != NULL;
}

const struct wb_data_type *
wb_marks_behind(const struct wb_field *field)
{
    const struct wb_data_type *found = NULL;

    for (const struct wb_field_use *use = field->uses; use; use = use->next) {
        if (use->behind && (!found || use->data_type->protected_p)) found = use->data_type;
    }
    return found;
}

bool
wb_unmarked_p(const struct wb_data_type *data_type, const struct wb_symbol *address)
{
    const struct wb_field *first = wb_first_field(address), *field = wb_field_of(address);

    if (!data_type->known) return false;
    if (!data_type->marks) return true;
    return data_type->marks_seen && first && !wb_marked_p(field, data_type) &&
           wb_whole_p(first->record, data_type);
}

/* ---- Strings ---- */

/* A value that is copied from the same field of another object says nothing new. */
void
wb_note_stored(struct wb_arena *arena, const struct wb_symbol *address,
               const struct wb_symbol *value, struct wb_data_type *data_type)
{
    struct wb_field *field = (struct wb_field *)wb_field_of(address);

    if (!field || value->kind == WB_S_CONSTANT) return;
    wb_field_use_of(arena, field, data_type)->holds = true;
    if (value->string) return;
    if (value->kind == WB_S_LOAD && wb_field_of(value->of) == field) return;
    field->holds_others = true;
}

void
wb_note_updated(struct wb_arena *arena, struct wb_symbol *address, struct wb_data_type *data_type)
{
    struct wb_field *field = (struct wb_field *)wb_field_of(address);
    struct wb_field *holder = field ? NULL : (struct wb_field *)wb_holder_of(address);

    if (field) wb_field_use_of(arena, field, data_type)->updated = true;
    if (holder) wb_field_use_of(arena, holder, data_type)->elements_updated = true;
}

bool
wb_only_strings_p(const struct wb_symbol *address)
{
    const struct wb_field *field = wb_field_of(address);

    return field && !field->holds_others;
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

    return WB_ONE_OF_P(function, names);
}

bool
wb_converts_to_string_p(const struct wb_function *function)
{
    static const char *const names[] = {"rb_string_value", "rb_string_value_cstr",
                                        "rb_string_value_ptr"};

    return WB_ONE_OF_P(function, names);
}
