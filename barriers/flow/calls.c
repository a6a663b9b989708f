/* calls.c - what a call does to values, and whether it may start a GC.
 *
 *     a function that known.c names     its effect: effects.c
 *     a function of the extension       its summary
 *     any other                         it may start a GC, store at each address that it is given,
 *                                       and call each function that it is given
 *
 * A value that is known only by the call that returned it is a conjured one.
 */
#include "barriers/flow/call.h"

#include <string.h>

#include "barriers/flow/blocks.h"
#include "barriers/flow/facts.h"
#include "barriers/flow/globals.h"
#include "barriers/flow/guards.h"

/* ---- functions of ours, by their summaries ---- */

/* Notes the parameter that the symbol is reached from, if there is one. */
static void
note_parameter(const struct wb_frame *frame, uint64_t *parameters, const struct wb_symbol *symbol)
{
    if (!wb_of_parameter_p(symbol, frame->function) || wb_contents_p(symbol)) return;
    while (symbol->of) symbol = symbol->of;
    if (symbol->number < 64) *parameters |= UINT64_C(1) << symbol->number;
}

static struct wb_symbol *translate(const struct wb_call *call, struct wb_symbol *symbol);

static struct wb_symbol *
translate_outer(const struct wb_call *call, struct wb_symbol *symbol, struct wb_symbol *of)
{
    struct wb_symbols *symbols = &call->frame->flow->symbols;
    struct wb_symbol *translated;

    switch (symbol->kind) {
      case WB_S_EITHER:
        translated = translate(call, symbol->other);
        if (of == translated) return of;
        translated = wb_either(symbols, symbol->what, of, translated);
        return translated ? translated : wb_conjured(call, WB_S_UNKNOWN);
      case WB_S_LOAD: return wb_load(call->frame, call->state, of);
      case WB_S_FIELD: return wb_field_address(call->frame, of, symbol->what);
      case WB_S_DATA:
        translated = wb_data_of(call->frame, call->state, of);
        if (!translated->data_type && translated->kind != WB_S_CONSTANT) {
            translated->data_type = symbol->data_type;
        }
        return translated;
      default: return wb_symbol(symbols, symbol->kind, symbol->what, of, symbol->number);
    }
}

/* A symbol of the called function, in symbols of the caller. */
static struct wb_symbol *
translate(const struct wb_call *call, struct wb_symbol *symbol)
{
    struct wb_symbols *symbols = &call->frame->flow->symbols;
    struct wb_symbol *translated;

    switch (symbol->kind) {
      case WB_S_CONSTANT:
      case WB_S_LOCAL:
      case WB_S_GLOBAL:
        return symbol;
      case WB_S_PARAMETER:
        if (symbol->what != call->node->function) return symbol;
        return wb_argument(call, (unsigned)symbol->number);
      case WB_S_UNKNOWN:
        if (wb_contents_p(symbol)) return wb_contents(symbols, translate(call, symbol->of));
        /* fallthrough */
      case WB_S_FRESH:
      case WB_S_MEMORY:
        translated = wb_symbol(symbols, symbol->kind, call->node, symbol, 0);
        translated->data_type = symbol->data_type;
        translated->string = symbol->string;
        translated->immortal = symbol->immortal;
        return translated;
      default:
        return translate_outer(call, symbol, translate(call, symbol->of));
    }
}

/* A finding in a header of the system would help nobody: it stands where that code is called. */
static void
place_in_caller(const struct wb_call *call, struct wb_store *store)
{
    if (!store->function->foreign) return;
    store->function = call->frame->function;
    store->place = (call->back ? call->back : call->node)->place;
}

/* result: of the call; or NULL if it is not known. */
static void
apply_stores(const struct wb_call *call, const struct wb_summary *summary,
             const struct wb_symbol *result)
{
    for (const struct wb_stores *each = summary->stores; each; each = each->next) {
        struct wb_store store = *each->store;
        store.guards = result ? wb_guard_of_call(call->frame, &store, result) : NULL;
        store.address = translate(call, store.address);
        store.value = translate(call, store.value);
        store.call = call->back ? call->back : call->node;
        place_in_caller(call, &store);
        if (call->back) store.late = true, store.early = false;
        wb_replay_store(call->frame, call->state, &store);
    }
}

/* Here it is known whose the addresses are, or the callers know it. */
static void
apply_claims(const struct wb_call *call, const struct wb_summary *summary)
{
    for (const struct wb_claim *each = summary->claims; each; each = each->next) {
        wb_apply_claim(call, translate(call, each->object), translate(call, each->address),
                       translate(call, each->value));
    }
}

static void
apply_marks(const struct wb_call *call, const struct wb_summary *summary)
{
    for (const struct wb_objects *each = summary->marks; each; each = each->next) {
        wb_add_mark(call->frame, translate(call, each->object), each->movable);
    }
}

/* A store into a variable of the caller binds its new value. */
static void
bind_stored(const struct wb_call *call, const struct wb_summary *summary)
{
    for (const struct wb_stores *each = summary->stores; each; each = each->next) {
        struct wb_symbol *address = translate(call, each->store->address),
            *value = translate(call, each->store->value);
        bool holds = wb_base_of(address)->kind == WB_S_LOCAL && value->kind != WB_S_CONSTANT;
        if (holds) wb_bind(call->frame->flow->arena, call->state, address, value);
    }
}

/* What the function has stored where its parameters point: perhaps new memory, which belongs to the
 * caller's object from here on. */
static const struct wb_binding *
translate_writes(const struct wb_call *call, const struct wb_summary *summary)
{
    struct wb_state translated = {0};

    for (const struct wb_binding *each = summary->writes; each; each = each->next) {
        wb_bind(call->frame->flow->arena, &translated, translate(call, each->address),
                translate(call, each->value));
    }
    return translated.bindings;
}

static void
apply_writes(const struct wb_call *call, const struct wb_binding *writes)
{
    for (const struct wb_binding *each = writes; each; each = each->next) {
        const struct wb_field *field = wb_field_of(each->address);
        wb_bind(call->frame->flow->arena, call->state, each->address, each->value);
        if (field && field->type->kind == WB_POINTER) {
            wb_store(call->frame, call->state, each->address, field->type, each->value, call->node);
        }
    }
}

/* The order matters. First the barriers, for what the caller stored before. Then the stores of
 * the called function, while new objects are still fresh. Its GC comes last. Its values say what
 * was there when it began, so they are translated before what it wrote is bound. */
static struct wb_symbol *
apply_summary(const struct wb_call *call, const struct wb_summary *summary)
{
    struct wb_frame *frame = call->frame;
    struct wb_symbol *result;

    for (const struct wb_objects *each = summary->barriers; each; each = each->next) {
        wb_barrier_of_call(frame, call->state, translate(call, each->object),
                           translate(call, each->data), each->each);
    }
    apply_claims(call, summary);
    apply_marks(call, summary);
    for (const struct wb_objects *each = summary->updates; each; each = each->next) {
        if (frame->exempt) wb_note_update(frame, call->state, translate(call, each->object));
    }
    for (unsigned i = 0; i < call->count && i < 64; i++) {
        if (summary->frees >> i & 1) wb_note_freed(frame, call->arguments[i]);
        if (!(summary->holds >> i & 1)) continue;
        wb_hold_value(call->arguments[i]);
        note_parameter(frame, &frame->summary->holds, call->arguments[i]);
    }
    frame->summary->gives |= summary->gives;
    result = summary->result ? translate(call, summary->result) : wb_conjured(call, WB_S_UNKNOWN);
    wb_forget_guards(frame->flow->arena, call->state, result);
    if (summary->collects) {
        struct wb_state before = *call->state;
        struct wb_call early = *call;
        wb_gc_point(frame, call->state, call->node->function->name);
        early.state = &before;
        before.stores = NULL;
        apply_stores(&early, summary, result);
        for (const struct wb_stores *each = before.stores; each; each = each->next) {
            wb_add_store(frame->flow->arena, &call->state->stores, each->store);
        }
    }
    else apply_stores(call, summary, result);
    const struct wb_binding *writes = translate_writes(call, summary);
    bind_stored(call, summary);
    apply_writes(call, writes);
    if (summary->fresh) wb_add_fresh(frame->flow->arena, call->state, result);
    return result;
}

/* ---- all others ---- */

static bool
only_read_p(const struct wb_function *function, unsigned parameter)
{
    return function && parameter < 64 && function->only_read >> parameter & 1;
}

/* True if the function may store at the address that it gets. */
static bool
may_store_p(const struct wb_function *function, unsigned parameter, const struct wb_symbol *address)
{
    if (!function) return true;
    return !only_read_p(function, parameter) &&
           !(wb_converts_to_string_p(function) && wb_only_strings_p(address));
}

/* After the call each VALUE at the address may be another one. */
static void
invalidate_memory(const struct wb_call *call, struct wb_symbol *address, const struct wb_type *type)
{
    struct wb_record *record = type->record;

    if (type->constant) return;
    if (type->kind == WB_VALUE) wb_store_escaped(call->frame, call->state, address, call->node);
    if (type->kind == WB_ARRAY) {
        invalidate_memory(call, wb_element_of(&call->frame->flow->symbols, address), type->to);
    }
    if (type->kind != WB_RECORD || record->visiting) return;
    record->visiting = true;
    for (const struct wb_field *field = record->fields; field; field = field->next) {
        invalidate_memory(call, wb_field_address(call->frame, address, field), field->type);
    }
    record->visiting = false;
}

/* A function that is not read may change the variables whose addresses it gets, and, with
 * outs, everything else. */
static void
invalidate_arguments(const struct wb_call *call, bool outs)
{
    for (unsigned i = 0; i < call->count; i++) {
        struct wb_symbol *given = call->arguments[i];
        const struct wb_type *type = wb_addressed_type(call->nodes[i]);
        if (given->kind == WB_S_LOCAL) {
            wb_bind(call->frame->flow->arena, call->state, given,
                    wb_symbol(&call->frame->flow->symbols, WB_S_UNKNOWN, call->node, given, 0));
        }
        else if (outs && type && may_store_p(call->node->function, i, given)) {
            invalidate_memory(call, given, type);
        }
    }
}

static bool
given_function_p(const struct wb_call *call)
{
    for (unsigned i = 0; i < call->count; i++) {
        if (call->nodes[i]->kind == WB_FUNCTION) return true;
    }
    return false;
}

/* A function of the extension that is not read may store into the data that it gets. */
static void
note_escaped_type(const struct wb_node *node)
{
    const struct wb_record *record = node->type ? wb_pointed(node->type) : NULL;

    for (const struct wb_owner *owner = record ? record->owners : NULL; owner;
         owner = owner->next) {
        owner->data_type->given = true;
    }
}

/* A function that is not read may mark what it gets, and what that leads to. */
static void
note_escaped(const struct wb_call *call)
{
    const struct wb_function *function = call->node->function;
    bool unread = function && !function->body && !function->foreign;

    for (unsigned i = 0; i < call->count; i++) {
        struct wb_symbol *base = wb_base_of(call->arguments[i]);
        bool value = call->nodes[i]->type && call->nodes[i]->type->kind == WB_VALUE &&
                     base->kind == WB_S_LOAD;
        if (base->kind != WB_S_CONSTANT && !value) call->frame->summary->gives = true;
        if (unread) note_escaped_type(call->nodes[i]);
    }
}

/* Applies what a callback stores and marks. A GC may start before and after each of its calls, so
 * its stores come too late for any barrier behind it. A function that walks through a table of st.h
 * passes keys and values of that table on. Returns what the call returns, or NULL: not known. */
static struct wb_symbol *
apply_callback(const struct wb_call *call, const struct wb_callback *callback)
{
    const struct wb_node *given = call->nodes[callback->function];
    struct wb_function *function = given->function;
    const struct wb_summary *summary = wb_summary_of(call->frame->flow, function);
    const bool of_table = !strncmp(callback->name, "rb_st_", strlen("rb_st_"));
    struct wb_symbol *table = wb_element_of(&call->frame->flow->symbols, wb_argument(call, 0)),
        *element = of_table ? wb_load(call->frame, call->state, table) : NULL;
    struct wb_call inner = { .frame = call->frame, .state = call->state, .node = given,
                          .back = call->node };

    if (!summary || callback->data >= call->count) return NULL;
    inner.count = function->parameter_count;
    inner.arguments = wb_arena_take(call->frame->flow->arena,
                                    inner.count * sizeof(*inner.arguments));
    for (unsigned i = 0; i < inner.count; i++) {
        if (i == callback->parameter) inner.arguments[i] = call->arguments[callback->data];
        else if (of_table) inner.arguments[i] = element;
        else inner.arguments[i] = wb_symbol(&call->frame->flow->symbols, WB_S_UNKNOWN, given, NULL,
                                            i);
    }
    apply_stores(&inner, summary, NULL);
    apply_marks(&inner, summary);
    return callback->returns && summary->result ? translate(&inner, summary->result) : NULL;
}

/* The same of all of them. */
static struct wb_symbol *
apply_callbacks(const struct wb_call *call)
{
    struct wb_symbol *result = NULL, *returned;

    for (unsigned i = 0; i < call->count; i++) {
        const struct wb_callback *callback = NULL;
        if (call->nodes[i]->kind == WB_FUNCTION) callback = wb_callback_of(call->node->function, i);
        if (callback && (returned = apply_callback(call, callback))) result = returned;
    }
    return result;
}

static struct wb_symbol *
apply_unknown(const struct wb_call *call)
{
    struct wb_function *function = call->node->function;
    bool recursive = function && function->body;
    bool collects = !function || recursive || wb_known_of(function)->collects ||
                    given_function_p(call);

    note_escaped(call);
    if (collects) {
        wb_gc_point(call->frame, call->state,
                    function ? function->name : "a call of a function pointer");
    }
    struct wb_symbol *result = function ? apply_callbacks(call) : NULL;
    invalidate_arguments(call, true);
    return result ? result : wb_conjured(call, WB_S_UNKNOWN);
}

/* ---- arguments ---- */

/* True if the argument is an address, or leads to one: not what is there. */
static bool
leads_to_p(const struct wb_symbol *given, const struct wb_node *node)
{
    const struct wb_type *type = node->type;

    if (type && type->kind == WB_RECORD) return false;
    return given->kind != WB_S_LOAD || (type && type->kind == WB_POINTER);
}

/* parameters: bit n says that the function may register the address that it gets there. */
static void
note_registered(const struct wb_call *call, uint64_t parameters)
{
    for (unsigned i = 0; i < call->count; i++) {
        struct wb_symbol *given = call->arguments[i];
        if (i < 64 && !(parameters >> i & 1)) continue;
        if (!leads_to_p(given, call->nodes[i])) continue;
        wb_note_registered(given);
        note_parameter(call->frame, &call->frame->summary->registers, given);
    }
}

static void
evaluate_arguments(struct wb_call *call, const struct wb_node *first)
{
    struct wb_function *function = call->node->function;
    struct wb_arena *arena = call->frame->flow->arena;
    unsigned count = 0;

    for (const struct wb_node *node = first; node; node = node->next) count++;
    call->arguments = wb_arena_take(arena, count * sizeof(*call->arguments));
    call->nodes = wb_arena_take(arena, count * sizeof(*call->nodes));
    for (const struct wb_node *node = first; node; node = node->next) {
        call->nodes[call->count] = wb_without_casts(node);
        call->arguments[call->count] = wb_visit(call->frame, call->state, node);
        if (function) {
            if (wb_note_held(function, call->count, call->arguments[call->count])) {
                note_parameter(call->frame, &call->frame->summary->holds,
                               call->arguments[call->count]);
            }
            wb_note_passed(call->frame, function, call->count, call->arguments[call->count],
                           call->nodes[call->count]);
        }
        call->count++;
    }
}

struct wb_symbol *
wb_visit_call(struct wb_frame *frame, struct wb_state *state, const struct wb_node *node)
{
    struct wb_call call = { .frame = frame, .state = state, .node = node };
    struct wb_function *function = node->function;
    struct wb_summary *summary;
    struct wb_symbol *result;

    if (!function && node->child) wb_visit(frame, state, node->child);
    evaluate_arguments(&call, function || !node->child ? node->child : node->child->next);
    if (!function || wb_may_register_p(function)) note_registered(&call, UINT64_MAX);
    if (function && function->never_returns) {
        wb_sink(frame, state);
        return wb_conjured(&call, WB_S_UNKNOWN);
    }
    if (function && wb_known_p(function)) {
        result = wb_apply_known(&call, wb_known_of(function));
        apply_callbacks(&call);
        enum wb_effect effect = wb_known_of(function)->effect;
        if (effect == WB_NOTHING || effect == WB_OUT) {
            invalidate_arguments(&call, effect == WB_OUT);
            note_escaped(&call);
        }
    }
    else if (function && (summary = wb_summary_of(frame->flow, function))) {
        note_registered(&call, summary->registers);
        result = apply_summary(&call, summary);
    }
    else if (function == frame->function) result = wb_conjured(&call, WB_S_UNKNOWN);
    else result = apply_unknown(&call);
    if (function && call.count == 2) {
        wb_assume_checked(frame, state, node, call.arguments[0]);
    }
    if (function && call.count == 1) {
        struct wb_symbol *test = wb_named_test(frame, state, function, call.arguments[0]);
        if (test) return test;
    }
    if (function && result->kind == WB_S_UNKNOWN) result->string |= wb_returns_string_p(function);
    if (function && (result->kind == WB_S_UNKNOWN || result->kind == WB_S_LOAD))
        result->immortal |= wb_returns_immortal_p(node);
    return result;
}
