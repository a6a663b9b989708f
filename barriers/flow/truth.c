/* truth.c - what a condition says of stores: "store(p, v) < 0" where store() says whether it has
 * stored. Its value is a constant on which stores have guards (flow/guards.h).
 */
#include "barriers/flow/flow.h"

#include <string.h>

#include "barriers/flow/guards.h"

/* ---- a test ---- */

/* The classes of numbers for which a test may be true, and for which it may be false. */
struct truth {
    unsigned yes, no;
};

/* Zero or not, as the test says. */
static unsigned
outcome(const struct truth *truth, unsigned classes)
{
    return (classes & truth->no ? WB_ZERO : 0) | (classes & truth->yes ? WB_POSITIVE : 0);
}

/* The value of a test of that value. Stores that say something of the one say it of the other, too.
 * Returns NULL if nothing is known of it. */
static struct wb_symbol *
test_value(struct wb_frame *frame, struct wb_state *state, const struct wb_symbol *value,
           const struct truth *truth)
{
    const struct wb_stores *stores = state->stores;
    struct wb_symbols *symbols = &frame->flow->symbols;
    unsigned all = outcome(truth, wb_classes_of(value));

    if (!wb_guarded_p(stores, value)) {
        return value->kind == WB_S_CONSTANT ? wb_constant_of(symbols, all) : NULL;
    }
    struct wb_symbol *result = wb_met_constant(symbols, all);
    state->stores = NULL;
    for (; stores; stores = stores->next) {
        unsigned classes = wb_guarded_classes(stores->store, value);
        const struct wb_store *store = stores->store;
        if (outcome(truth, classes) != all) {
            store = wb_add_guard(symbols->arena, store, result, outcome(truth, classes));
        }
        wb_add_store(symbols->arena, &state->stores, store);
    }
    return result;
}

struct wb_symbol *
wb_named_test(struct wb_frame *frame, struct wb_state *state, const struct wb_function *function,
              const struct wb_symbol *value)
{
    static const struct {
        const char  *name;
        struct truth truth;
    } tests[] = {
        {"RB_NIL_P", {WB_NIL, WB_ANY_CLASS & ~WB_NIL}},
        {"RB_TEST", {WB_POSITIVE | WB_NEGATIVE, WB_ZERO | WB_NIL}},
    };

    for (size_t i = 0; i < sizeof(tests) / sizeof(tests[0]); i++) {
        if (!strcmp(function->name, tests[i].name)) {
            return test_value(frame, state, value, &tests[i].truth);
        }
    }
    return NULL;
}

/* ---- comparisons ---- */

/* "a < b" is "b > a". */
static enum wb_operator
turned(enum wb_operator operation)
{
    switch (operation) {
      case WB_LESS: return WB_GREATER;
      case WB_LESS_OR_EQUAL: return WB_GREATER_OR_EQUAL;
      case WB_GREATER: return WB_LESS;
      case WB_GREATER_OR_EQUAL: return WB_LESS_OR_EQUAL;
      default: return operation;
    }
}

/* The test "x operation number". of_values: x is a VALUE, not a number that may be 4 or 8. Returns
 * false if it is no such test. */
static bool
read_comparison(struct truth *truth, enum wb_operator operation, int64_t number, bool of_values)
{
    unsigned class = wb_class_of_number(number);
    bool known = false;

    /* "x < 1" is "x <= 0", and so on: tests against 1 and -1 become tests against 0. */
    if (number == 1 && operation == WB_LESS) number = 0, operation = WB_LESS_OR_EQUAL;
    if (number == 1 && operation == WB_GREATER_OR_EQUAL) number = 0, operation = WB_GREATER;
    if (number == -1 && operation == WB_GREATER) number = 0, operation = WB_GREATER_OR_EQUAL;
    if (number == -1 && operation == WB_LESS_OR_EQUAL) number = 0, operation = WB_LESS;
    switch (operation) {
      case WB_EQUAL:
      case WB_NOT_EQUAL:
        truth->yes = class;
        truth->no = class == WB_ZERO || (class == WB_NIL && of_values) ? WB_ANY_CLASS & ~class :
                    WB_ANY_CLASS;
        known = true;
        break;
      case WB_LESS:
      case WB_GREATER_OR_EQUAL:
        truth->yes = WB_NEGATIVE;
        truth->no = WB_ANY_CLASS & ~WB_NEGATIVE;
        known = number == 0;
        break;
      case WB_LESS_OR_EQUAL:
      case WB_GREATER:
        truth->yes = WB_NEGATIVE | WB_ZERO;
        truth->no = WB_POSITIVE | WB_NIL;
        known = number == 0;
        break;
      default: break;
    }
    if (operation == WB_NOT_EQUAL || operation == WB_GREATER_OR_EQUAL || operation == WB_GREATER) {
        *truth = (struct truth){truth->no, truth->yes};
    }
    return known;
}

bool
wb_number_p(const struct wb_node *node, int64_t *number)
{
    node = wb_without_casts(node);
    *number = node->kind == WB_NUMBER ? node->number : 0;
    return node->kind == WB_NUMBER;
}

static struct wb_symbol *
comparison(struct wb_frame *frame, struct wb_state *state, const struct wb_node *node,
           const struct wb_operands *operands)
{
    enum wb_operator operation = node->operation;
    const struct wb_symbol *value = operands->left;
    const struct wb_type *type = node->child->type;
    const bool of_values = type && type->kind == WB_VALUE;
    struct truth truth;
    int64_t number;

    if (!wb_number_p(node->child->next, &number)) {
        if (!wb_number_p(node->child, &number)) return NULL;
        value = operands->right;
        operation = turned(operation);
    }
    if (!read_comparison(&truth, operation, number, of_values)) return NULL;
    return test_value(frame, state, value, &truth);
}

/* ---- && and || ---- */

static bool
stored_before_p(const struct wb_stores *before, const struct wb_store *store)
{
    for (; before; before = before->next) {
        const struct wb_store *each = before->store;
        if (each->address == store->address && each->value == store->value &&
            each->call == store->call && each->place.line == store->place.line) return true;
    }
    return false;
}

/* What the stores of both operands say of the result. If the right operand has stored, it was
 * visited: then the result is its own truth. In every other case the left operand, or a guard from
 * before, decides only if it ends the expression. */
static struct wb_symbol *
both_or_one(struct wb_frame *frame, struct wb_state *state, const struct wb_node *node,
            const struct wb_operands *operands)
{
    const bool both = node->operation == WB_AND;
    const struct truth itself = {WB_NOT_ZERO, WB_ZERO};
    const unsigned ending = both ? WB_ZERO : WB_POSITIVE;
    const struct wb_stores *stores = state->stores;
    struct wb_symbols *symbols = &frame->flow->symbols;
    const struct wb_symbol *left = operands->left, *right = operands->right;

    if (!wb_guarded_p(stores, left) && !wb_guarded_p(stores, right)) return NULL;
    struct wb_symbol *result = wb_met_constant(symbols, WB_ZERO | WB_POSITIVE);
    state->stores = NULL;
    for (; stores; stores = stores->next) {
        const struct wb_store *store = stores->store;
        unsigned one = outcome(&itself, wb_guarded_classes(store, left));
        unsigned other = outcome(&itself, wb_guarded_classes(store, right));
        bool ends = one == ending || other == ending;
        unsigned classes = !stored_before_p(operands->before, store) ? other :
                           ends ? ending : WB_ZERO | WB_POSITIVE;
        if (classes != (WB_ZERO | WB_POSITIVE)) {
            store = wb_add_guard(symbols->arena, store, result, classes);
        }
        wb_add_store(symbols->arena, &state->stores, store);
    }
    return result;
}

struct wb_symbol *
wb_test_of(struct wb_frame *frame, struct wb_state *state, const struct wb_node *node,
           const struct wb_operands *operands)
{
    switch (node->operation) {
      case WB_OTHER_OPERATOR: return NULL;
      case WB_NOT: return test_value(frame, state, operands->left,
                                     &(struct truth){WB_ZERO, WB_NOT_ZERO});
      case WB_AND:
      case WB_OR: return both_or_one(frame, state, node, operands);
      default: return comparison(frame, state, node, operands);
    }
}

/* ---- conditions and results ---- */

void
wb_assume_truth(struct wb_frame *frame, struct wb_state *state, const struct wb_symbol *value,
                bool truth)
{
    wb_assume_classes(frame->flow->arena, state, value, truth ? WB_NOT_ZERO : WB_ZERO);
}

/* True for a value that has its name from the call that returned it, and for an address. Any other
 * may stand for something else later, as the first node of a list. */
static bool
lasting_p(const struct wb_symbol *value)
{
    return value->kind == WB_S_UNKNOWN || value->kind == WB_S_MEMORY ||
           value->kind == WB_S_FRESH || value->kind == WB_S_FIELD || value->kind == WB_S_INDEX;
}

/* The classes that the result may be of. Something was stored where it points: it is not NULL. */
static unsigned
classes_of_result(const struct wb_stores *stores, const struct wb_symbol *result)
{
    for (; stores; stores = stores->next) {
        const struct wb_symbol *address = stores->store->address;
        while (address != result && (address->kind == WB_S_FIELD || address->kind == WB_S_INDEX)) {
            address = address->of;
        }
        if (address == result) return WB_POSITIVE;
    }
    return wb_classes_of(result);
}

/* The result is bound to a variable without a name, so that it is joined like any other. What a
 * call returned may have been tested in between. So it gets a name of its own. */
void
wb_note_result(struct wb_frame *frame, struct wb_state *state, const struct wb_symbol *result)
{
    struct wb_symbols *symbols = &frame->flow->symbols;
    const struct wb_stores *stores = state->stores;
    struct wb_symbol *at = wb_symbol(symbols, WB_S_LOCAL, &frame->result, NULL, 0), *own;

    if (!wb_guarded_p(stores, result)) {
        own = wb_constant_of(symbols, classes_of_result(stores, result));
        wb_bind(symbols->arena, state, at, own);
        return;
    }
    own = wb_met_constant(symbols, WB_ANY_CLASS);
    state->stores = NULL;
    for (; stores; stores = stores->next) {
        wb_add_store(symbols->arena, &state->stores,
                     wb_add_guard(symbols->arena, stores->store, own,
                                  wb_guarded_classes(stores->store, result)));
    }
    wb_bind(symbols->arena, state, at, own);
}

const struct wb_guard *
wb_guard_of_result(struct wb_frame *frame, const struct wb_state *state,
                   const struct wb_store *store)
{
    struct wb_symbol *at = wb_symbol(&frame->flow->symbols, WB_S_LOCAL, &frame->result, NULL, 0);
    const struct wb_symbol *result = wb_bound(state, at);

    if (!result) return NULL;
    unsigned classes = wb_guarded_classes(store, result) & wb_classes_of(result);
    return classes == WB_ANY_CLASS ? NULL :
           wb_new_guard(frame->flow->arena, NULL, classes, NULL);
}

const struct wb_guard *
wb_guard_of_call(struct wb_frame *frame, const struct wb_store *store,
                 const struct wb_symbol *result)
{
    if (!store->guards || !lasting_p(result)) return NULL;
    return wb_new_guard(frame->flow->arena, result, store->guards->classes, NULL);
}
