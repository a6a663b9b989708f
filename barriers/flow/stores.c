/* stores.c - stores of VALUEs into the data of objects, which wait for their barriers.
 *
 *     store --> waits --barrier--> done
 *                 |
 *                 +--a GC may start, or the function ends--> reported, or left to the callers
 *
 * A store is left to the callers if the object came as a parameter and all callers are read. In
 * a caller the object may be fresh, or the "struct" may be a variable.
 *
 * A store into memory that no object owns yet waits for an owner. A new object needs no barrier
 * then; an object that existed before does.
 */
#include "barriers/flow/flow.h"

#include <stdio.h>
#include <string.h>

#include "barriers/flow/blocks.h"
#include "barriers/flow/facts.h"
#include "barriers/flow/globals.h"
#include "barriers/flow/guards.h"
#include "barriers/flow/stored.h"

/* ---- which object owns an address ---- */

struct wb_symbol *
wb_parent_of(const struct wb_state *state, struct wb_symbol *address)
{
    struct wb_symbol *base = wb_base_of(address), *object = wb_wrapped_in(state, base);

    if (object) return object;
    if (base->kind == WB_S_DATA) return base->of;
    if (base->kind == WB_S_EITHER) {
        object = wb_parent_of(state, base->of);
        return object == wb_parent_of(state, base->other) ? object : NULL;
    }
    return base->kind == WB_S_LOAD ? wb_parent_of(state, base->of) : NULL;
}

/* If the record belongs to several types, prefers one whose objects need barriers for the field. */
static const struct wb_data_type *
owner_of(const struct wb_record *record, const struct wb_field *field)
{
    const struct wb_data_type *found = NULL;
    int found_rank = -1;

    for (const struct wb_owner *owner = record->owners; owner; owner = owner->next) {
        int rank = 2 * owner->data_type->protected_p + wb_marked_p(field, owner->data_type);
        if (rank > found_rank) found = owner->data_type, found_rank = rank;
    }
    return found;
}

/* The type of the object that is known to own the address. Returns NULL if it is not known. */
static struct wb_data_type *
known_type_of(const struct wb_state *state, struct wb_symbol *address)
{
    struct wb_symbol *base = wb_base_of(address);

    return base->data_type ? base->data_type : wb_type_wrapped_in(state, base);
}

/* The type of the object whose data leads to the memory. Returns NULL if it is not known. */
static struct wb_data_type *
type_that_leads_to(struct wb_symbol *address)
{
    const struct wb_symbol *base = wb_base_of(address);

    while (base->kind == WB_S_LOAD) base = wb_base_of(base->of);
    return base->data_type;
}

const struct wb_data_type *
wb_owning_type(const struct wb_state *state, struct wb_symbol *address)
{
    const struct wb_data_type *known = known_type_of(state, address);
    const struct wb_field *first = wb_first_field(address), *holder = wb_holder_of(address);

    if (known) return known;
    /* memory that several types lead to, as a table that is shared, is of the type that leads
     * there now */
    const struct wb_field *field = wb_field_of(address);
    known = type_that_leads_to(address);
    if (known && (field ? wb_marked_p(field, known)
                        : holder && wb_field_use(holder, known)->behind))
        return known;
    if (first && first->record->owners) return owner_of(first->record, field);
    return holder ? wb_marks_behind(holder) : NULL;
}

bool
wb_ownerless_p(const struct wb_state *state, const struct wb_store *store)
{
    struct wb_symbol *base = wb_base_of(store->address);

    return base->kind == WB_S_MEMORY && !wb_wrapped_in(state, base);
}

/* ---- reporting ---- */

/* The variable that holds the object. Returns NULL if there is none. */
static const char *
variable_name(const struct wb_state *state, const struct wb_symbol *parent)
{
    for (const struct wb_binding *binding = state->bindings; binding; binding = binding->next) {
        if (binding->value != parent || binding->address->kind != WB_S_LOCAL) continue;
        const char *name = ((const struct wb_variable *)binding->address->what)->name;
        if (*name) return name;
    }
    return NULL;
}

/* The same, for the function that stores. */
static const char *
own_name(const struct wb_state *state, const struct wb_store *store)
{
    const struct wb_symbol *parent = wb_parent_of(state, store->address);

    if (!parent || wb_base_of(store->address)->kind == WB_S_MEMORY) return NULL;
    return variable_name(state, parent);
}

static const char *
parent_name(struct wb_frame *frame, const struct wb_state *state, const struct wb_symbol *parent)
{
    const char *name = parent ? variable_name(state, parent) : NULL;
    char path[256];

    if (name || !parent) return name;
    if (parent->kind != WB_S_LOAD || !wb_field_of(parent->of)) return NULL;
    wb_path_text(parent->of, path, sizeof(path));
    return wb_name(frame->flow->program, path);
}

/* The end of a field's name, behind the name of what is copied. */
static const char *
rest_of(const char *field, const struct wb_symbol *copied)
{
    char path[256];

    wb_path_text(copied, path, sizeof(path));
    return strncmp(field, path, strlen(path)) ? "" : field + strlen(path);
}

/* Sets record, offset and size of the field. Memory behind a pointer has no offset in the data. */
static void
find_field(struct wb_finding *finding, struct wb_symbol *address)
{
    const struct wb_field *first = wb_first_field(address);

    finding->offset = -1;
    if (!first) return;
    finding->record = first->record;
    if (wb_whole_p(first->record, finding->data_type) &&
        !wb_byte_range(address, &finding->offset, &finding->size)) {
        finding->offset = -1;
    }
}

/* For a store in a function that has no name for the object. */
static const struct wb_call_site *
call_site_of(struct wb_frame *frame, const struct wb_store *store)
{
    struct wb_call_site *site = WB_NEW(frame->flow->arena, struct wb_call_site);

    *site = (struct wb_call_site){ .object = store->object, .field = store->field };
    if (store->call) site->place = store->call->place;
    return site;
}

/* As wb_path_text. An element of new memory has the name of the field that leads there. */
static void
name_path(struct wb_symbol *address, char *path, size_t size)
{
    const struct wb_block *block = wb_base_of(address)->block;
    char elements[256];

    wb_path_text(address, path, size);
    if (*path != '[' || !block || !block->field) return;
    snprintf(elements, sizeof(elements), "%s", path);
    snprintf(path, size, "%s%s", block->field->name, elements);
}

static void
report_finding(struct wb_frame *frame, const struct wb_state *state, const struct wb_store *store,
               enum wb_certainty certainty, const char *why)
{
    const struct wb_data_type *data_type = wb_owning_type(state, store->address);
    struct wb_symbol *parent = wb_parent_of(state, store->address);
    char path[256];

    if (!frame->flow->reporting || !data_type) return;
    if (store->function->foreign) return; /* of the system: what it does is told of its callers */
    if (certainty != WB_HARMLESS && wb_unmarked_p(data_type, store->address)) {
        certainty = WB_HARMLESS;
        why = data_type->marks ? "the mark function does not mark it" :
              "the type has no mark function";
    }
    name_path(store->address, path, sizeof(path));
    struct wb_finding finding = (struct wb_finding){
        .place = store->place, .certainty = certainty, .function = store->function,
        .data_type = data_type,
        .field = wb_name(frame->flow->program, path), .parent = parent_name(frame, state, parent),
        .why = why,
    };
    finding.object = store->function == frame->function ? own_name(state, store) : store->known_as;
    if (!finding.object) finding.call_sites = call_site_of(frame, store);
    if (store->copied) finding.rest = rest_of(finding.field, store->copied);
    find_field(&finding, store->address);
    wb_add_finding(&frame->flow->findings, &finding);
}

static const char *
format_name(struct wb_frame *frame, const char *format, const char *name)
{
    char whole[300];

    snprintf(whole, sizeof(whole), format, name);
    return wb_name(frame->flow->program, whole);
}

static const char *
why_missing(struct wb_frame *frame, const struct wb_store *store)
{
    const char *start = store->hidden ?
                        "its address is passed to a function that may store there, and " : "";
    char format[200];

    snprintf(format, sizeof(format), "%snone comes before %s", start,
             store->why ? "%s(), which may start a GC" : "%s() ends");
    return format_name(frame, format, store->why ? store->why : store->function->name);
}

/* Reports a store that had no barrier in time. */
static void
report_missing(struct wb_frame *frame, const struct wb_state *state, const struct wb_store *store)
{
    struct wb_symbol *parent = wb_parent_of(state, store->address);
    bool certain = parent && wb_base_of(store->address)->kind != WB_S_LOAD && !store->hidden;

    report_finding(frame, state, store, certain ? WB_CERTAIN : WB_LIKELY,
                   why_missing(frame, store));
}

/* Leaves a store to the callers of the function. They need not know by which call it is
 * reached here. */
static void
defer_to_callers(struct wb_frame *frame, const struct wb_state *state, const struct wb_store *store,
                 bool late, const char *why)
{
    const struct wb_stores *stores = frame->summary->stores;

    if (stores && stores->length >= WB_SUMMARY_MOST) {
        frame->flow->findings.truncated = true;
        return;
    }
    struct wb_store *left = WB_NEW(frame->flow->arena, struct wb_store);
    *left = *store;
    left->late = late;
    left->why = why;
    if (store->function == frame->function) left->known_as = own_name(state, store);
    left->call = NULL;
    left->guards = late ? NULL : wb_guard_of_result(frame, state, store);
    left->object = left->field = NULL;
    wb_add_store(frame->flow->arena, &frame->summary->stores, left);
}

/* True if the callers know more of a store than this function. A constructor's object is memory
 * that was just made, wherever it is called. */
static bool
left_to_callers_p(const struct wb_frame *frame, struct wb_symbol *address)
{
    const struct wb_symbol *base = wb_base_of(address);
    bool made = frame->function->constructs && base->kind == WB_S_PARAMETER && base->number == 0;

    return (made || !frame->escapes) && wb_of_parameter_p(address, frame->function);
}

/* A barrier would come too late: reports the store, or leaves it to the callers. */
static void
resolve_store(struct wb_frame *frame, const struct wb_state *state, const struct wb_store *store,
              const char *why)
{
    struct wb_store told = *store;

    if (!store->late) told.why = why;
    if (store->excuse) report_finding(frame, state, store, WB_HARMLESS, store->excuse);
    else if (left_to_callers_p(frame, store->address)) {
        defer_to_callers(frame, state, store, true, told.why);
    }
    else report_missing(frame, state, &told);
}

/* ---- stores ---- */

static void
note_place(struct wb_frame *frame, const struct wb_state *state, struct wb_symbol *address,
           const struct wb_function *function, const struct wb_place *place)
{
    struct wb_finding field = { .data_type = wb_owning_type(state, address), .offset = -1 };

    if (!frame->flow->reporting || wb_on_stack_p(wb_base_of(address))) return;
    if (field.data_type) find_field(&field, address);
    wb_add_stored(frame->flow->arena, (struct wb_function *)function, &(struct wb_stored){
        .place = *place, .data_type = field.data_type, .record = field.record,
        .offset = field.offset, .size = field.size,
    });
}

void
wb_note_barriered_store(struct wb_frame *frame, const struct wb_state *state,
                        struct wb_symbol *address, const struct wb_symbol *value,
                        const struct wb_node *node)
{
    wb_note_stored(frame->flow->arena, address, value, known_type_of(state, address));
    note_place(frame, state, address, frame->function, &node->place);
}

/* The reason why a store without a barrier needs none. Returns NULL if it needs one. */
static const char *
why_harmless(const struct wb_state *state, const struct wb_store *store)
{
    struct wb_symbol *parent = wb_parent_of(state, store->address), *value = store->value;

    if (parent && wb_fresh_p(state, parent) && (store->early || !store->late)) {
        return "the object is new: no GC can have started since it was made";
    }
    if (parent && wb_told_p(state, parent, value) && (store->early || !store->late)) {
        return "a barrier has told of the value already: no GC can have started since";
    }
    if (parent && wb_unprotected_p(state, parent)) return "the object is not protected any more";
    if (value == parent) return "the object refers to itself";
    if (parent && wb_contents_p(value) && value->of == parent) {
        return "the object holds the value already";
    }
    if (value->kind != WB_S_LOAD) return NULL;
    if (wb_base_of(value->of)->kind == WB_S_GLOBAL) return "a global variable holds the value, too";
    if (parent && wb_parent_of(state, value->of) == parent) {
        return "the object holds the value already";
    }
    return NULL;
}

/* True if the store may be into the data of an object, as far as this function knows. */
static bool
may_need_barrier_p(struct wb_frame *frame, const struct wb_state *state,
                   const struct wb_store *store)
{
    if (wb_on_stack_p(wb_base_of(store->address))) return false;
    if (wb_ownerless_p(state, store) || wb_owning_type(state, store->address)) return true;
    return left_to_callers_p(frame, store->address);
}

void
wb_note_update(struct wb_frame *frame, const struct wb_state *state, struct wb_symbol *address)
{
    struct wb_data_type *data_type = known_type_of(state, address);

    if (!data_type) data_type = type_that_leads_to(address);
    wb_note_updated(frame->flow->arena, address, data_type);
    if (!wb_of_parameter_p(address, frame->function)) return;
    struct wb_objects *update = WB_NEW(frame->flow->arena, struct wb_objects);
    *update = (struct wb_objects){ .object = address, .next = frame->summary->updates };
    frame->summary->updates = update;
}

static void
note_itself(const struct wb_symbol *address)
{
    struct wb_field *field = (struct wb_field *)wb_field_of(address);

    if (field) field->itself = true;
}

/* True for "p->a = rb_gc_location(p->b)": a slip of the pen, which does not update p->a. */
static bool
of_another_field_p(const struct wb_store *store)
{
    struct wb_symbol *from = store->value->kind == WB_S_LOAD ? store->value->of : NULL;
    const struct wb_field *field = from ? wb_field_of(from) : NULL;

    return field && field != wb_field_of(store->address) &&
           wb_base_of(from) == wb_base_of(store->address);
}

static void
enter_store(struct wb_frame *frame, struct wb_state *state, struct wb_store *store)
{
    if (frame->exempt) {
        if (!of_another_field_p(store)) wb_note_update(frame, state, store->address);
        return;
    }
    note_place(frame, state, store->address, store->function, &store->place);
    if (frame->flow->reporting) wb_note_global(store->address, store->value, &store->place);
    if (wb_bound(state, store->address)) {
        wb_bind(frame->flow->arena, state, store->address, store->value);
    }
    wb_note_outside(frame, store->address, store->value, &store->place);
    if (!may_need_barrier_p(frame, state, store)) return;
    if (store->value == wb_parent_of(state, store->address)) note_itself(store->address);
    if (!store->excuse && !wb_ownerless_p(state, store)) store->excuse = why_harmless(state, store);
    if (store->late) resolve_store(frame, state, store, store->why);
    else wb_add_store(frame->flow->arena, &state->stores, store);
}

struct wb_symbol *
wb_address_from(struct wb_frame *frame, const struct wb_symbol *address, struct wb_symbol *base)
{
    if (address->kind != WB_S_FIELD && address->kind != WB_S_INDEX) return base;
    return wb_symbol(&frame->flow->symbols, address->kind, address->what,
                     wb_address_from(frame, address->of, base), address->number);
}

/* Of two addresses with the same owner and the same innermost field, one is enough. */
static bool
alike_p(const struct wb_state *state, struct wb_symbol *one, struct wb_symbol *other)
{
    struct wb_symbol *parent = wb_parent_of(state, one);

    return parent && parent == wb_parent_of(state, other) && wb_field_of(one) == wb_field_of(other);
}

static void
store_value(struct wb_frame *frame, struct wb_state *state, struct wb_symbol *address,
            struct wb_symbol *value, const struct wb_node *node, bool hidden)
{
    const struct wb_symbol *base = wb_base_of(address);

    if (base->kind == WB_S_EITHER) {
        struct wb_symbol *one = wb_address_from(frame, address, base->of),
            *other = wb_address_from(frame, address, base->other);
        store_value(frame, state, one, value, node, hidden);
        if (!alike_p(state, one, other)) store_value(frame, state, other, value, node, hidden);
        return;
    }
    wb_note_stored(frame->flow->arena, address, value, known_type_of(state, address));
    if (value->kind == WB_S_CONSTANT) return;
    struct wb_store *store = WB_NEW(frame->flow->arena, struct wb_store);
    *store = (struct wb_store){
        .address = address, .value = value, .function = frame->function, .place = node->place,
        .early = !state->collected, .copied = frame->flow->copying, .hidden = hidden,
    };
    enter_store(frame, state, store);
}

void
wb_store_escaped(struct wb_frame *frame, struct wb_state *state, struct wb_symbol *address,
                 const struct wb_node *node)
{
    store_value(frame, state, address,
                wb_symbol(&frame->flow->symbols, WB_S_UNKNOWN, node, address, 0), node, true);
}

/* The value of a variable, or of a part of one, is followed. */
static void
bind_copied(struct wb_frame *frame, struct wb_state *state, struct wb_symbol *address,
            struct wb_symbol *value)
{
    if (wb_base_of(address)->kind != WB_S_LOCAL) return;
    wb_bind(frame->flow->arena, state, address, value);
}

/* Copies a struct as its VALUEs; a pointer in it is copied where it is followed. */
static void
copy_record(struct wb_frame *frame, struct wb_state *state, struct wb_symbol *address,
            struct wb_record *record, struct wb_symbol *from, const struct wb_node *node)
{
    if (record->visiting) return;
    record->visiting = true;
    for (const struct wb_field *field = record->fields; field; field = field->next) {
        enum wb_type_kind kind = field->type->kind;
        bool single = kind == WB_VALUE || kind == WB_POINTER;
        if (kind == WB_OTHER) continue;
        struct wb_symbol *part = wb_field_address(frame, from, field),
            *to = wb_field_address(frame, address, field);
        if (single) part = wb_load(frame, state, part);
        if (single) bind_copied(frame, state, to, part);
        if (kind != WB_POINTER) wb_store(frame, state, to, field->type, part, node);
    }
    for (const struct wb_base *base = record->bases; base; base = base->next) {
        copy_record(frame, state, address, base->record, from, node);
    }
    record->visiting = false;
}

static void
copy_aggregate(struct wb_frame *frame, struct wb_state *state, struct wb_symbol *address,
               const struct wb_type *type, struct wb_symbol *from, const struct wb_node *node)
{
    struct wb_symbols *symbols = &frame->flow->symbols;
    struct wb_symbol *outer = frame->flow->copying, *value;

    if (!outer) frame->flow->copying = address;
    if (type->kind == WB_RECORD) copy_record(frame, state, address, type->record, from, node);
    else {
        bool single = type->to->kind == WB_VALUE || type->to->kind == WB_POINTER;
        value = wb_element_of(symbols, from);
        if (single) value = wb_load(frame, state, value);
        if (single) bind_copied(frame, state, wb_element_of(symbols, address), value);
        wb_store(frame, state, wb_element_of(symbols, address), type->to, value, node);
    }
    frame->flow->copying = outer;
}

const struct wb_type *
wb_stored_type(const struct wb_symbol *at, const struct wb_type *type, const struct wb_type *stored)
{
    const struct wb_field *field = wb_field_of(at);

    if (!stored || stored->kind != WB_VALUE || at->kind == WB_S_LOCAL) return type;
    if (type && type->kind != WB_OTHER && type->kind != WB_POINTER) return type;
    return field && !wb_of_values_p(field->type) && !wb_marked_by_any_p(field) ? type : stored;
}

void
wb_store(struct wb_frame *frame, struct wb_state *state, struct wb_symbol *address,
         const struct wb_type *type, struct wb_symbol *from, const struct wb_node *node)
{
    enum wb_type_kind kind = type ? type->kind : WB_OTHER;

    if (kind == WB_VALUE) store_value(frame, state, address, from, node, false);
    else if (kind == WB_POINTER) wb_store_pointer(frame, state, address, type, from, node);
    else if (kind == WB_ARRAY || kind == WB_RECORD) {
        copy_aggregate(frame, state, address, type, from, node);
    }
}

/* Names object and field as the caller of a function has them. The field has a name only while
 * no GC can have started. */
static void
name_for_call(struct wb_frame *frame, const struct wb_state *state, struct wb_store *store)
{
    struct wb_symbol *parent = wb_parent_of(state, store->address),
        *base = wb_base_of(store->address);
    char path[256], whole[600];

    if (!frame->flow->reporting || !parent) return;
    store->object = variable_name(state, parent);
    const char *data = variable_name(state, base);
    if (store->late || base->kind != WB_S_DATA || !data) return;
    wb_path_text(store->address, path, sizeof(path));
    if (!*path || strpbrk(path, "[-")) return;
    snprintf(whole, sizeof(whole), "%s->%s", data, path);
    store->field = wb_name(frame->flow->program, whole);
}

void
wb_replay_store(struct wb_frame *frame, struct wb_state *state, const struct wb_store *store)
{
    if (store->value->kind == WB_S_CONSTANT) return;
    struct wb_store *again = WB_NEW(frame->flow->arena, struct wb_store);
    *again = *store;
    name_for_call(frame, state, again);
    if (frame->flow->reporting && !frame->exempt) {
        wb_note_global(again->address, again->value, &again->place);
    }
    enter_store(frame, state, again);
    if (!store->late) again->early = !state->collected;
    else again->early = store->early && !state->collected;
}

/* ---- a GC, and the end ---- */

static void
note_limit(struct wb_frame *frame, const struct wb_stores *stores)
{
    if (stores && stores->length >= WB_STORES_MOST) frame->flow->findings.truncated = true;
}

void
wb_gc_point(struct wb_frame *frame, struct wb_state *state, const char *why)
{
    const struct wb_stores *stores = state->stores;

    if (state->dead) return;
    note_limit(frame, stores);
    state->stores = NULL;
    for (; stores; stores = stores->next) {
        if (wb_ownerless_p(state, stores->store)) {
            wb_add_store(frame->flow->arena, &state->stores, stores->store);
        }
        else resolve_store(frame, state, stores->store, why);
    }
    state->fresh = state->told = NULL;
    state->collected = true;
    frame->summary->collects = true;
}

void
wb_end_function(struct wb_frame *frame, struct wb_state *state)
{
    note_limit(frame, state->stores);
    for (const struct wb_stores *stores = state->stores; stores; stores = stores->next) {
        const struct wb_store *store = stores->store;
        if (left_to_callers_p(frame, store->address) ||
            (!frame->escapes && wb_ownerless_p(state, store))) {
            defer_to_callers(frame, state, store, store->late, store->why);
        }
        else if (!wb_ownerless_p(state, store)) resolve_store(frame, state, store, NULL);
    }
}
