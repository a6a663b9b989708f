/* memory.c - what is at an address: the data of an object, a field, a value that was stored
 * there. */
#include "barriers/flow/flow.h"

#include <string.h>

void
wb_learn_owner(struct wb_frame *frame, const struct wb_symbol *value, const struct wb_type *type)
{
    struct wb_record *record = wb_pointed(type);

    if (record && value->data_type && value->kind != WB_S_FRESH) {
        wb_add_owner(frame->flow->program, record, value->data_type, true);
    }
}

struct wb_symbol *
wb_data_of(struct wb_frame *frame, const struct wb_state *state, struct wb_symbol *object)
{
    struct wb_symbol *data = wb_symbol(&frame->flow->symbols, WB_S_DATA, NULL, object, 0),
        *bound = wb_bound(state, data);

    if (!data->data_type) data->data_type = object->data_type;
    return bound ? bound : data;
}

struct wb_symbol *
wb_field_address(struct wb_frame *frame, struct wb_symbol *of, const struct wb_field *field)
{
    if (of->data_type && of->kind != WB_S_FRESH) {
        wb_add_owner(frame->flow->program, field->record, of->data_type, true);
    }
    return wb_symbol(&frame->flow->symbols, WB_S_FIELD, field, of, 0);
}

bool
wb_data_pointer_p(const struct wb_symbol *address)
{
    const struct wb_field *field = address->kind == WB_S_FIELD ? address->what : NULL;

    return field && !strcmp(field->name, "data") &&
           (strstr(field->record->name, "RTypedData") || strstr(field->record->name, "RData"));
}

/* What is in one of a variable's elements, of which it is not known which one. Returns NULL if
 * nothing was stored there. */
static struct wb_symbol *
bound_in_any(struct wb_frame *frame, const struct wb_state *state, const struct wb_symbol *address)
{
    const struct wb_symbol *array = address->of;
    struct wb_symbol *value = NULL;

    if (address->kind != WB_S_INDEX || address->number >= 0 || array->kind != WB_S_LOCAL) {
        return NULL;
    }
    for (const struct wb_binding *each = state->bindings; each; each = each->next) {
        if (each->address->kind != WB_S_INDEX || each->address->of != array) continue;
        if (each->value->kind == WB_S_CONSTANT || each->value == value) continue;
        value = value ? wb_either(&frame->flow->symbols, address, value, each->value) : each->value;
        if (!value) break;
    }
    return value;
}

struct wb_symbol *
wb_load(struct wb_frame *frame, const struct wb_state *state, struct wb_symbol *address)
{
    struct wb_symbol *bound = wb_bound(state, address);

    if (!bound) bound = bound_in_any(frame, state, address);
    if (bound) return bound;
    if (wb_data_pointer_p(address)) return wb_data_of(frame, state, address->of);
    return wb_symbol(&frame->flow->symbols, WB_S_LOAD, NULL, address, 0);
}
