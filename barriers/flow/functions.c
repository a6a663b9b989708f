/* functions.c - visits a whole function and makes its summary; visits mark and compact
 * functions with the data of an object. */
#include "barriers/flow/flow.h"

#include "barriers/flow/facts.h"

/* Depth of calls. A function below that is taken to do anything, and is visited by itself later. */
#define CALLS_MOST 200

static struct wb_symbol *
parameter_address(struct wb_frame *frame, const struct wb_variable *parameter)
{
    return wb_symbol(&frame->flow->symbols, WB_S_LOCAL, parameter, NULL, 0);
}

/* A struct that is passed by value is a copy of what the caller has. */
static void
bind_fields(struct wb_frame *frame, struct wb_state *state, struct wb_symbol *address,
            struct wb_record *record, struct wb_symbol *from)
{
    if (record->visiting) return;
    record->visiting = true;
    for (const struct wb_field *field = record->fields; field; field = field->next) {
        struct wb_symbol *to = wb_field_address(frame, address, field),
            *part = wb_field_address(frame, from, field);
        if (field->type->kind == WB_RECORD) {
            bind_fields(frame, state, to, field->type->record, part);
        }
        if (field->type->kind != WB_VALUE && field->type->kind != WB_POINTER) continue;
        wb_bind(frame->flow->arena, state, to, wb_load(frame, state, part));
    }
    for (const struct wb_base *base = record->bases; base; base = base->next) {
        bind_fields(frame, state, address, base->record, from);
    }
    record->visiting = false;
}

static void
bind_parameters(struct wb_frame *frame, struct wb_state *state)
{
    struct wb_function *function = frame->function;

    for (unsigned i = 0; i < function->parameter_count; i++) {
        const struct wb_type *type = function->parameters[i]->type;
        struct wb_symbol *address = parameter_address(frame, function->parameters[i]),
            *value = wb_symbol(&frame->flow->symbols, WB_S_PARAMETER, function, NULL, i);
        wb_bind(frame->flow->arena, state, address, value);
        if (type->kind == WB_RECORD) bind_fields(frame, state, address, type->record, value);
    }
}

/* True for a part of a variable that the function returns a copy of. */
static bool
returned_p(const struct wb_frame *frame, struct wb_symbol *address)
{
    const struct wb_symbol *base = wb_base_of(address);

    return base->kind == WB_S_LOCAL && base != address && base == frame->summary->result;
}

/* Keeps what the function stored where its parameters point, and in the struct that it returns. */
static void
keep_writes(struct wb_frame *frame)
{
    struct wb_state kept = {0};

    for (const struct wb_binding *each = frame->end.bindings; each; each = each->next) {
        bool seen = wb_of_parameter_p(each->address, frame->function) ||
                    returned_p(frame, each->address);
        if (seen && !wb_bound(&kept, each->address)) {
            wb_bind(frame->flow->arena, &kept, each->address, each->value);
        }
    }
    frame->summary->writes = kept.bindings;
}

static bool
runs_in_gc_p(const struct wb_flow *flow, const struct wb_function *function)
{
    const struct wb_data_type *each = flow->program->data_types;

    for (; each; each = each->next) {
        if (each->mark == function || each->free == function || each->size == function ||
            each->compact == function) return true;
    }
    return false;
}

/* data: the value of the first parameter, or NULL if it is not known. earlier: a summary for calls
 * of itself, or NULL. */
static struct wb_summary *
visit_once(struct wb_flow *flow, struct wb_function *function, struct wb_symbol *data,
           struct wb_summary *earlier)
{
    struct wb_summary *summary = WB_NEW(flow->arena, struct wb_summary);
    struct wb_frame frame = { .flow = flow, .function = function, .summary = summary,
                              .end = { .dead = true } };
    struct wb_state state = {0};

    flow->depth++;
    summary->busy = true;
    summary->earlier = earlier;
    function->summary = summary;
    frame.exempt = runs_in_gc_p(flow, function);
    frame.escapes = function->addressed > 0 || !function->called;
    bind_parameters(&frame, &state);
    if (data && function->parameter_count > 0) {
        struct wb_variable *first = function->parameters[0];
        wb_learn_owner(&frame, data, first->type);
        wb_bind(flow->arena, &state, parameter_address(&frame, first), data);
    }
    wb_visit(&frame, &state, function->body);
    if (!state.dead) wb_sink(&frame, &state);
    wb_end_function(&frame, &frame.end);
    keep_writes(&frame);
    summary->busy = false;
    flow->depth--;
    return summary;
}

/* A function that calls itself is visited twice: the second time it is known what these calls do.
 * In the round that reports it is known that it calls itself: the first visit reports nothing. */
static struct wb_summary *
visit_function(struct wb_flow *flow, struct wb_function *function, struct wb_symbol *data)
{
    const bool outer = flow->reporting;
    struct wb_summary *summary;

    flow->reporting = flow->last && !function->recursive;
    summary = visit_once(flow, function, data, NULL);
    flow->reporting = flow->last;
    if (function->recursive) summary = visit_once(flow, function, data, summary);
    flow->reporting = outer;
    return summary;
}

struct wb_summary *
wb_summary_of(struct wb_flow *flow, struct wb_function *function)
{
    if (!function->body) return NULL;
    if (function->summary && function->summary->busy) {
        function->recursive = true;
        return function->summary->earlier;
    }
    if (function->summary) return function->summary;
    if (flow->depth < CALLS_MOST) return visit_function(flow, function, NULL);
    function->addressed++; /* this caller does not see its stores, so they are reported for the
                            * function itself */
    return NULL;
}

/* Notes the field that a marked value was loaded from, or the field behind whose pointer it
 * lies. Returns false if the value has another origin. */
static bool
note_mark(struct wb_flow *flow, const struct wb_symbol *value, bool movable,
          struct wb_data_type *data_type)
{
    if (value->kind != WB_S_LOAD) return false;
    struct wb_field *field = (struct wb_field *)wb_field_of(value->of);
    if (field) {
        struct wb_field_use *use = wb_field_use_of(flow->arena, field, data_type);
        *(movable ? &use->movable : &use->pinned) = true;
        if (!wb_of_values_p(field->type)) data_type->tables = use->behind = true;
        wb_add_owner(flow->program, field->record, data_type, false);
    }
    struct wb_field *behind = (struct wb_field *)wb_holder_of(value->of);
    if (behind) {
        struct wb_field_use *use = wb_field_use_of(flow->arena, behind, data_type);
        use->behind = true;
        if (field) wb_field_use_of(flow->arena, field, data_type)->of_node = true;
        else *(movable ? &use->elements_movable : &use->elements_pinned) = true;
    }
    data_type->tables |= !field;
    return field || (behind && wb_owned_p(behind->record, data_type));
}

/* Visits a function of the type with the data of an object of it. */
static struct wb_summary *
visit_gc_function(struct wb_flow *flow, struct wb_function *function,
                  struct wb_data_type *data_type)
{
    struct wb_symbol *object = wb_symbol(&flow->symbols, WB_S_UNKNOWN, data_type, NULL, 0);
    struct wb_symbol *data = wb_symbol(&flow->symbols, WB_S_DATA, NULL, object, 0);

    data->data_type = data_type;
    struct wb_summary *summary = visit_function(flow, function, data);
    function->summary = NULL;
    return summary;
}

void
wb_visit_gc_functions(struct wb_flow *flow, struct wb_data_type *data_type)
{
    if (data_type->compact && data_type->compact->body) {
        data_type->updates_seen = !visit_gc_function(flow, data_type->compact, data_type)->gives;
    }
    if (!data_type->mark || !data_type->mark->body) return;
    struct wb_summary *summary = visit_gc_function(flow, data_type->mark, data_type);
    data_type->marks_seen = !summary->gives;
    for (const struct wb_objects *each = summary->marks; each; each = each->next) {
        if (!note_mark(flow, each->object, each->movable, data_type)) data_type->marks_seen = false;
    }
}
