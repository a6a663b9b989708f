/* flow.c - visits statements and expressions in the order in which they run.
 *
 * Both ways of a branch are visited, and their states are joined behind it. A loop's body is
 * visited twice, so that the state at its end reaches its start. A loop is taken to run at
 * least once.
 */
#include "barriers/flow/flow.h"

#include "barriers/flow/guards.h"

/* Of nested loops. Deeper ones are visited once, for the visits double with each level. */
#define LOOPS_VISITED_TWICE 3

static struct wb_symbol *
symbol(struct wb_frame *frame, enum wb_symbol_kind kind, const void *what, struct wb_symbol *of,
       int64_t number)
{
    return wb_symbol(&frame->flow->symbols, kind, what, of, number);
}

static struct wb_symbol *
constant(struct wb_frame *frame)
{
    return symbol(frame, WB_S_CONSTANT, NULL, NULL, 0);
}

/* ---- addresses ---- */

static struct wb_symbol *
address_of_variable(struct wb_frame *frame, const struct wb_variable *variable)
{
    return symbol(frame, variable->global ? WB_S_GLOBAL : WB_S_LOCAL, variable, NULL, 0);
}

static struct wb_symbol *
element_address(struct wb_frame *frame, struct wb_state *state, const struct wb_node *node)
{
    const struct wb_node *index = node->child->next;
    struct wb_symbol *of = wb_visit(frame, state, node->child);

    if (!index) return of;
    wb_visit(frame, state, index);
    return wb_element_at(&frame->flow->symbols, of, index);
}

/* A value that may be either of two, at a place. */
static struct wb_symbol *
join_values(struct wb_frame *frame, const void *place, struct wb_symbol *one,
            struct wb_symbol *two)
{
    if (one == two) return two;
    struct wb_symbol *value = wb_either(&frame->flow->symbols, place, one, two);
    if (value) return value;
    value = symbol(frame, WB_S_UNKNOWN, place, NULL, 0);
    value->string = one->string && two->string;
    value->immortal = one->immortal && two->immortal;
    return value;
}

static struct wb_symbol *
address_of(struct wb_frame *frame, struct wb_state *state, const struct wb_node *node);

/* The value of an array is its address. The value of a struct is, too: a copy looks at what is
 * there. */
static bool
aggregate_p(const struct wb_node *node)
{
    return node->type && (node->type->kind == WB_ARRAY || node->type->kind == WB_RECORD);
}

/* The address of the last node of a sequence, behind what comes before it. */
static struct wb_symbol *
address_of_last(struct wb_frame *frame, struct wb_state *state, const struct wb_node *node)
{
    for (; node->next; node = node->next) wb_visit(frame, state, node);
    return address_of(frame, state, node);
}

static struct wb_symbol *
address_of(struct wb_frame *frame, struct wb_state *state, const struct wb_node *node)
{
    struct wb_symbol *of;

    switch (node->kind) {
      case WB_VARIABLE: return address_of_variable(frame, node->variable);
      case WB_POINTEE: return wb_visit(frame, state, node->child);
      case WB_ELEMENT: return element_address(frame, state, node);
      case WB_MEMBER:
        of = node->arrow ? wb_visit(frame, state, node->child) :
             address_of(frame, state, node->child);
        return wb_field_address(frame, of, node->field);
      case WB_ASSIGN:
        wb_visit(frame, state, node);
        return address_of(frame, state, node->child);
      case WB_SEQUENCE: /* of C++: an object without a name */
        if (node->child) return address_of_last(frame, state, node->child);
        break;
      case WB_IF: /* of C++: "(c ? a : b) = v" */
        if (!node->child->next || !node->child->next->next) break;
        wb_visit(frame, state, node->child);
        of = address_of(frame, state, node->child->next);
        return join_values(frame, node, of,
                           address_of(frame, state, node->child->next->next));
      case WB_CALL: /* of C++: a struct that is returned */
        if (aggregate_p(node)) return wb_visit(frame, state, node);
        break;
      case WB_CAST:
      case WB_ANY:
        if (node->child && !node->child->next) return address_of(frame, state, node->child);
        break;
      default: break;
    }
    wb_visit(frame, state, node);
    return symbol(frame, WB_S_UNKNOWN, node, NULL, 0);
}

static struct wb_symbol *
visit_lvalue(struct wb_frame *frame, struct wb_state *state, const struct wb_node *node)
{
    struct wb_symbol *at = address_of(frame, state, node);

    return aggregate_p(node) ? at : wb_load(frame, state, at);
}

/* ---- assignments ---- */

/* True for what was loaded from a pointer, whatever the source calls it then. */
static bool
pointer_p(const struct wb_symbol *value)
{
    const struct wb_field *field = value->kind == WB_S_LOAD ? wb_field_of(value->of) : NULL;
    const struct wb_type *type = field ? field->type : NULL;

    while (type && type->kind == WB_ARRAY) type = type->to;
    return type && type->kind == WB_POINTER;
}

/* True for a part of an object's data, for new memory, and for what a pointer leads to. */
static bool
in_memory_p(const struct wb_symbol *value)
{
    return value->kind == WB_S_DATA || value->kind == WB_S_FIELD || value->kind == WB_S_INDEX ||
           value->kind == WB_S_MEMORY || pointer_p(value);
}

/* True for a number in a variable that may say whether something was stored. */
static bool
says_p(const struct wb_state *state, const struct wb_symbol *at, const struct wb_symbol *value)
{
    if (at->kind != WB_S_LOCAL || ((const struct wb_variable *)at->what)->changed) return false;
    return value->kind == WB_S_CONSTANT || wb_guarded_p(state->stores, value);
}

/* True for a part of a node that is cleared, perhaps before the node moves to another object. */
static bool
cleared_p(struct wb_symbol *at, const struct wb_symbol *value)
{
    struct wb_symbol *base = wb_base_of(at);

    return value->kind == WB_S_CONSTANT && at->kind == WB_S_FIELD &&
           (base->kind == WB_S_LOAD || base->kind == WB_S_PARAMETER);
}

/* True if the analysis keeps what is stored at the address: a variable, a pointer that the function
 * returns through a parameter, or one from new memory to new memory. A number or a char * is kept
 * if it is an address, or says something of a store. */
static bool
followed_p(const struct wb_frame *frame, const struct wb_state *state, struct wb_symbol *at,
           const struct wb_type *type, const struct wb_symbol *value)
{
    bool local = wb_base_of(at)->kind == WB_S_LOCAL;

    if (type && type->kind == WB_OTHER) {
        return local && (in_memory_p(value) || wb_bound(state, at) || says_p(state, at, value));
    }
    if (type && type->kind != WB_POINTER && type->kind != WB_VALUE) return false;
    if (type && type->kind == WB_VALUE && cleared_p(at, value)) return true;
    if (wb_base_of(at)->kind == WB_S_MEMORY && value->kind == WB_S_MEMORY) return true;
    return local || (type && type->kind == WB_POINTER && wb_of_parameter_p(at, frame->function));
}

static void
assign_value(struct wb_frame *frame, struct wb_state *state, struct wb_symbol *at,
             const struct wb_type *type, struct wb_symbol *value, const struct wb_node *node)
{
    wb_learn_owner(frame, value, type);
    if (followed_p(frame, state, at, type, value)) wb_bind(frame->flow->arena, state, at, value);
    wb_store(frame, state, at, type, value, node);
}

static const struct wb_type *
type_of(const struct wb_node *node)
{
    while (!node->type && node->child && !node->child->next) node = node->child;
    return node->type;
}

static struct wb_symbol *
visit_assignment(struct wb_frame *frame, struct wb_state *state, const struct wb_node *node)
{
    const struct wb_node *to = node->child, *what = to->next;

    if (!what) return symbol(frame, WB_S_UNKNOWN, node, NULL, 0);
    struct wb_symbol *value = wb_visit(frame, state, what);
    struct wb_symbol *at = address_of(frame, state, to);
    if (wb_data_pointer_p(at)) wb_replace_data(frame, state, at->of, value, type_of(what), node);
    else {
        assign_value(frame, state, at,
                     wb_stored_type(at, type_of(to), wb_without_casts(what)->type), value, node);
    }
    return value;
}

static void
visit_declaration(struct wb_frame *frame, struct wb_state *state, const struct wb_node *node)
{
    const struct wb_variable *variable = node->variable;

    if (!node->child) return;
    assign_value(frame, state, address_of_variable(frame, variable), variable->type,
                 wb_visit(frame, state, node->child), node);
}

/* ---- statements ---- */

static struct wb_symbol *
visit_sequence(struct wb_frame *frame, struct wb_state *state, const struct wb_node *first)
{
    struct wb_symbol *last = NULL;

    for (const struct wb_node *node = first; node; node = node->next) {
        last = wb_visit(frame, state, node);
    }
    return last;
}

static struct wb_symbol *
visit_if(struct wb_frame *frame, struct wb_state *state, const struct wb_node *node)
{
    struct wb_condition condition = { .state = state, .barriers = frame->barriers_seen,
                                      .earlier = state->stores };

    if (!node->child || !node->child->next) return visit_sequence(frame, state, node->child);
    condition.truth = wb_visit(frame, state, node->child);
    condition.stored = state->stores;
    wb_read_condition(frame, &condition, node->child);
    const struct wb_node *then = node->child->next;
    const struct wb_node *otherwise = then->next;
    struct wb_state other = *state;
    condition.other = &other;
    wb_assume_condition(frame, &condition, node->child);
    wb_assume_truth(frame, state, condition.truth, true);
    wb_assume_truth(frame, &other, condition.truth, false);
    struct wb_symbol *one = wb_visit(frame, state, then);
    condition.between = frame->barriers_seen;
    struct wb_symbol *two = otherwise ? wb_visit(frame, &other, otherwise) : NULL;
    wb_conclude_condition(frame, &condition);
    if (other.dead || !two) two = one;
    if (state->dead) one = two;
    wb_join_states(&frame->flow->symbols, state, &other);
    if (one->kind != WB_S_CONSTANT && two->kind == WB_S_CONSTANT) return one;
    if (one->kind == WB_S_CONSTANT && two->kind != WB_S_CONSTANT) return two;
    if (one->kind == WB_S_CONSTANT) {
        return wb_constant_of(&frame->flow->symbols, wb_classes_of(one) | wb_classes_of(two));
    }
    return join_values(frame, node, one, two);
}

/* Visits the body once. States of `continue` are joined behind the body, those of `break` in
 * left. */
static void
visit_loop_body(struct wb_frame *frame, struct wb_state *state, const struct wb_node *node,
                struct wb_state *left)
{
    struct wb_state *break_to = frame->break_to, *continue_to = frame->continue_to;
    struct wb_state next = { .dead = true };

    frame->break_to = left;
    frame->continue_to = &next;
    visit_sequence(frame, state, node->child);
    frame->break_to = break_to;
    frame->continue_to = continue_to;
    wb_join_states(&frame->flow->symbols, state, &next);
}

static void
visit_loop(struct wb_frame *frame, struct wb_state *state, const struct wb_node *node)
{
    struct wb_state before = *state, left = { .dead = true };
    const struct wb_stores *before_outer = frame->before_loop;

    frame->loops++;
    frame->before_loop = before.stores;
    visit_loop_body(frame, state, node, &left);
    if (frame->loops <= LOOPS_VISITED_TWICE && !state->dead) {
        visit_loop_body(frame, state, node, &left);
    }
    frame->loops--;
    frame->before_loop = before_outer;
    wb_join_states(&frame->flow->symbols, state, &left);
    if (state->dead) *state = before;
}

/* Joins the state in which the switch is left for a value of those classes. object: the switch may
 * be over the type of an object. */
static void
join_switch(struct wb_frame *frame, struct wb_state *state, unsigned classes, bool object)
{
    const struct wb_switch *around = frame->around;
    struct wb_state from = around->from;

    if (around->typed && !object) wb_assume_no_object(frame, &from, NULL, around->typed);
    wb_assume_classes(frame->flow->arena, &from, around->value, classes);
    wb_join_states(&frame->flow->symbols, state, &from);
}

static void
visit_switch(struct wb_frame *frame, struct wb_state *state, const struct wb_node *node)
{
    struct wb_state *break_to = frame->break_to, left = { .dead = true };
    struct wb_switch within = { .rest = WB_ANY_CLASS }, *around = frame->around;

    if (!node->child) return;
    within.value = wb_visit(frame, state, node->child);
    const struct wb_node *typed = wb_typed_by(node->child);
    if (typed) within.typed = wb_visit(frame, state, typed);
    within.from = *state;
    state->dead = true;
    frame->break_to = &left;
    frame->around = &within;
    visit_sequence(frame, state, node->child->next);
    frame->break_to = break_to;
    wb_join_states(&frame->flow->symbols, state, &left);
    if (!within.complete) join_switch(frame, state, within.rest, true); /* if no case fits */
    frame->around = around;
}

/* Zero is the only number of its class. */
static void
visit_case(struct wb_frame *frame, struct wb_state *state, const struct wb_node *node)
{
    struct wb_switch *around = frame->around;
    unsigned classes = WB_ANY_CLASS;

    if (around) {
        if (node->operation == WB_EQUAL) classes = wb_class_of_number(node->number);
        if (node->operation == WB_EQUAL && node->number == 0) around->rest &= ~WB_ZERO;
        if (node->operation == WB_NOT_EQUAL) {
            classes = around->rest;
            around->complete = true;
        }
        join_switch(frame, state, classes,
                    node->operation != WB_EQUAL || !wb_type_of_no_object_p(node->number));
    }
    visit_sequence(frame, state, node->child);
}

static void
jump(struct wb_frame *frame, struct wb_state *state, struct wb_state *where)
{
    wb_join_states(&frame->flow->symbols, where, state);
    state->dead = true;
}

void
wb_sink(struct wb_frame *frame, struct wb_state *state)
{
    jump(frame, state, &frame->end);
}

static struct wb_label *
label_named(struct wb_frame *frame, const char *name)
{
    struct wb_label *label = frame->labels;

    while (label && label->name != name) label = label->next;
    if (!label) {
        label = WB_NEW(frame->flow->arena, struct wb_label);
        *label = (struct wb_label){ .name = name, .state = { .dead = true },
                                    .next = frame->labels };
        frame->labels = label;
    }
    return label;
}

static void
visit_label(struct wb_frame *frame, struct wb_state *state, const struct wb_node *node)
{
    struct wb_label *label = label_named(frame, node->name);

    label->passed = true;
    wb_join_states(&frame->flow->symbols, state, &label->state);
    visit_sequence(frame, state, node->child);
}

/* A jump backwards makes a loop, which ends some time: what stands behind the jump comes then. A
 * jump forwards joins the label's state. */
static void
visit_goto(struct wb_frame *frame, struct wb_state *state, const char *name)
{
    struct wb_label *label = label_named(frame, name);

    if (!label->passed) jump(frame, state, &label->state);
}

static void
visit_return(struct wb_frame *frame, struct wb_state *state, const struct wb_node *node)
{
    struct wb_summary *summary = frame->summary;
    struct wb_symbol *result = node->child ? wb_visit(frame, state, node->child) : NULL;

    if (node->child) visit_sequence(frame, state, node->child->next);
    if (state->dead) return;
    if (result) wb_note_result(frame, state, result);
    if (result && result->kind != WB_S_CONSTANT) {
        wb_learn_owner(frame, result, frame->function->result);
        if (!summary->result) {
            summary->result = result;
            summary->fresh = wb_fresh_p(state, result);
        }
        else if (summary->result != result) {
            summary->result = join_values(frame, frame->function, summary->result, result);
            summary->fresh = false;
        }
        else summary->fresh &= wb_fresh_p(state, result);
    }
    wb_sink(frame, state);
}

/* A return in a lambda ends the lambda alone, and is its value. */
static struct wb_symbol *
visit_closure(struct wb_frame *frame, struct wb_state *state, const struct wb_node *node)
{
    struct wb_state end = frame->end;
    struct wb_symbol *outer = frame->summary->result, *result;
    bool fresh = frame->summary->fresh;

    frame->end = (struct wb_state){ .dead = true };
    frame->summary->result = NULL;
    visit_sequence(frame, state, node->child);
    wb_join_states(&frame->flow->symbols, state, &frame->end);
    result = frame->summary->result;
    frame->end = end;
    frame->summary->result = outer;
    frame->summary->fresh = fresh;
    return result;
}

/* ---- all of them ---- */

static struct wb_symbol *
visit_cast(struct wb_frame *frame, struct wb_state *state, const struct wb_node *node)
{
    struct wb_symbol *value = wb_visit(frame, state, node->child);

    wb_learn_owner(frame, value, node->type);
    return value;
}

static bool
address_p(const struct wb_node *node, const struct wb_symbol *value)
{
    const struct wb_type *type = type_of(node);

    return type && type->kind == WB_POINTER ? value->kind != WB_S_CONSTANT : in_memory_p(value);
}

/* An operator on constants gives a constant. With one address it gives another address in the same
 * memory: "p + 1". Anything else is an unknown value. */
static struct wb_symbol *
visit_other(struct wb_frame *frame, struct wb_state *state, const struct wb_node *node)
{
    struct wb_operands operands = {0};
    struct wb_symbol *address = NULL, *value, *test;
    bool constants = node->child != NULL, one = node->child && !node->child->next;
    unsigned addresses = 0;

    for (const struct wb_node *child = node->child; child; child = child->next) {
        value = wb_visit(frame, state, child);
        constants &= value->kind == WB_S_CONSTANT;
        if (address_p(child, value)) address = value, addresses++;
        if (child == node->child) operands.left = value, operands.before = state->stores;
        else operands.right = value;
    }
    test = wb_test_of(frame, state, node, &operands);
    if (test) return test;
    if (constants) return constant(frame);
    if (one && !wb_guarded_p(state->stores, value)) return value;
    return addresses == 1 ? symbol(frame, WB_S_INDEX, node, address, -1) :
           symbol(frame, WB_S_UNKNOWN, node, NULL, 0);
}

static void
visit_statement(struct wb_frame *frame, struct wb_state *state, const struct wb_node *node)
{
    switch (node->kind) {
      case WB_LOOP: visit_loop(frame, state, node); break;
      case WB_SWITCH: visit_switch(frame, state, node); break;
      case WB_LABEL: visit_label(frame, state, node); break;
      case WB_GOTO: visit_goto(frame, state, node->name); break;
      case WB_BREAK: jump(frame, state, frame->break_to ? frame->break_to : &frame->end); break;
      case WB_CONTINUE: jump(frame, state,
                             frame->continue_to ? frame->continue_to : &frame->end); break;
      case WB_RETURN: visit_return(frame, state, node); break;
      case WB_DECLARE: visit_declaration(frame, state, node); break;
      case WB_CASE: visit_case(frame, state, node); break;
      default: break;
    }
}

struct wb_symbol *
wb_visit(struct wb_frame *frame, struct wb_state *state, const struct wb_node *node)
{
    struct wb_symbol *value = NULL;

    switch (node->kind) {
      case WB_SEQUENCE: value = visit_sequence(frame, state, node->child); break;
      case WB_IF: value = visit_if(frame, state, node); break;
      case WB_CLOSURE: value = visit_closure(frame, state, node); break;
      case WB_ASSIGN: return visit_assignment(frame, state, node);
      case WB_CALL: return wb_visit_call(frame, state, node);
      case WB_VARIABLE:
      case WB_MEMBER:
      case WB_POINTEE:
      case WB_ELEMENT: return visit_lvalue(frame, state, node);
      case WB_ADDRESS: return address_of(frame, state, node->child);
      case WB_CAST: return visit_cast(frame, state, node);
      case WB_NUMBER:
        return wb_constant_of(&frame->flow->symbols, wb_class_of_number(node->number));
      case WB_STRING: return wb_constant_of(&frame->flow->symbols, WB_POSITIVE);
      case WB_ANY: return visit_other(frame, state, node);
      case WB_FUNCTION: break;
      default: visit_statement(frame, state, node); break;
    }
    return value ? value : symbol(frame, WB_S_UNKNOWN, node, NULL, 0);
}
