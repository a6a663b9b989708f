/* conditions.c - what a condition says of a VALUE. On one of its branches there is no object, so no
 * store needs a barrier there.
 *
 *     if (!RB_SPECIAL_CONST_P(v)) RB_OBJ_WRITTEN(self, Qundef, v);     a test of the table below
 *     if (NIL_P(v) || TYPE(v) == T_FIXNUM) return;                     several of them
 *     if (v != Qnil && !RB_FIXNUM_P(v)) RB_OBJ_WRITTEN(...);           v is tested somehow
 *     if (self) RB_OBJ_WRITTEN(self, Qundef, v);                       the object is tested
 *     if (set.insert(v).second) RB_OBJ_WRITTEN(self, Qundef, v);       what it stores, or not
 *     *p = *q; if (p->kind == 1) RB_OBJ_WRITTEN(self, Qundef, p->v);   whether a union has one
 *
 * Any operator may stand in the second and third case, and one with a single operand is taken to be
 * "!". There the branch with the barrier is the one that has an object. In the fifth case truth.c
 * knows better, if it knows the function.
 */
#include <string.h>

#include "barriers/flow/flow.h"

/* ---- tests by name ---- */

static const struct wb_test {
    const char *name;
    bool        object;  /* what the test says of an object */
} tests[] = {
    {"RB_FIXNUM_P", false},        {"RB_FLONUM_P", false},    {"RB_FL_ABLE", true},
    {"RB_IMMEDIATE_P", false},     {"RB_NIL_OR_UNDEF_P", false}, {"RB_NIL_P", false},
    {"RB_SPECIAL_CONST_P", false}, {"RB_STATIC_SYM_P", false}, {"RB_TEST", true},
    {"RB_UNDEF_P", false},
};

/* Returns NULL if the node is no call of a test. */
static const struct wb_test *
test_of(const struct wb_node *node)
{
    if (node->kind != WB_CALL || !node->function || !node->child) return NULL;
    for (size_t i = 0; i < sizeof(tests) / sizeof(tests[0]); i++) {
        if (!strcmp(tests[i].name, node->function->name)) return &tests[i];
    }
    return NULL;
}

/* The value of a variable or member. Returns NULL if the node is none, or not a VALUE. */
static struct wb_symbol *
named_value(struct wb_frame *frame, struct wb_state *state, const struct wb_node *node)
{
    bool named = node->kind == WB_VARIABLE || node->kind == WB_MEMBER;

    return named && node->type && node->type->kind == WB_VALUE ? wb_visit(frame, state, node) :
           NULL;
}

/* Sets value if the condition is a test, with "!" before it or not. object: what the condition is
 * where the value is an object. */
static void
read_test(struct wb_frame *frame, struct wb_condition *condition, const struct wb_node *node,
          bool object)
{
    const struct wb_test *test = test_of(node);
    const struct wb_node *child = node->child;

    condition->object_if = object;
    if (test) {
        condition->object_if = object == test->object;
        condition->value = named_value(frame, condition->state, wb_without_casts(child));
    }
    else if (node->kind == WB_VARIABLE || node->kind == WB_MEMBER) {
        condition->value = named_value(frame, condition->state, node);
    }
    else if (node->kind == WB_CALL && node->function && child &&
             !strcmp(node->function->name, "__builtin_expect")) {
        read_test(frame, condition, child, object);
    }
    else if (child && !child->next && (node->kind == WB_CAST || node->kind == WB_ANY)) {
        read_test(frame, condition, child, object == (node->kind == WB_CAST));
    }
}

/* ---- conditions of several parts ---- */

/* The one VALUE that a condition tests: "self", "RTEST(self)", "self != Qnil". only_tests: by
 * nothing but tests of the table. Returns NULL if there are several, or none. */
static struct wb_symbol *
tested_value(struct wb_frame *frame, struct wb_state *state, const struct wb_node *condition,
             bool only_tests)
{
    struct wb_symbol *found = NULL;

    if (condition->kind == WB_VARIABLE || condition->kind == WB_MEMBER) {
        return named_value(frame, state, condition);
    }
    if (condition->kind != WB_ANY && condition->kind != WB_CAST && condition->kind != WB_CALL) {
        return NULL;
    }
    if (only_tests && condition->kind == WB_CALL && !test_of(condition)) return NULL;
    for (const struct wb_node *child = condition->child; child; child = child->next) {
        struct wb_symbol *one = child->kind == WB_NUMBER ? NULL :
                                tested_value(frame, state, child, only_tests);
        if (found && one && found != one) return NULL;
        if (one) found = one;
    }
    return found;
}

/* The struct of which a condition tests a number, as "p->kind == 1", or which it passes to a
 * function. Returns NULL if the condition tests no struct. */
static const struct wb_symbol *
tagged_struct(struct wb_frame *frame, struct wb_state *state, const struct wb_node *node)
{
    const struct wb_symbol *found = NULL;
    const struct wb_type *type = node->type;
    struct wb_symbol *value;

    if (node->kind == WB_MEMBER && (!type || type->kind == WB_OTHER)) {
        value = wb_visit(frame, state, node);
        return value->kind == WB_S_LOAD ? wb_base_of(value->of) : NULL;
    }
    if (node->kind == WB_VARIABLE && type && type->kind == WB_POINTER) {
        return wb_base_of(wb_visit(frame, state, node));
    }
    if (node->kind != WB_ANY && node->kind != WB_CAST && node->kind != WB_CALL) return NULL;
    for (node = node->child; node && !found; node = node->next) {
        found = tagged_struct(frame, state, node);
    }
    return found;
}

/* ---- where there is no object ---- */

bool
wb_type_of_no_object_p(int64_t type)
{
    enum { NIL = 0x11, TRUE = 0x12, FALSE = 0x13, FIXNUM = 0x15, UNDEF = 0x16 }; /* of Ruby */

    return type == NIL || type == TRUE || type == FALSE || type == FIXNUM || type == UNDEF;
}

const struct wb_node *
wb_typed_by(const struct wb_node *node)
{
    node = wb_without_casts(node);
    bool types = node->kind == WB_CALL && node->function && node->child &&
                 (!strcmp(node->function->name, "rb_type") ||
                  !strcmp(node->function->name, "RB_BUILTIN_TYPE"));

    return types ? wb_without_casts(node->child) : NULL;
}

/* "v == Qtrue", "TYPE(v) == T_FIXNUM": the VALUE that is no object where the two are equal. */
static struct wb_symbol *
equal_to_none(struct wb_frame *frame, struct wb_state *state, const struct wb_node *one,
              const struct wb_node *other)
{
    int64_t number;

    if (!wb_number_p(other, &number)) {
        return wb_number_p(one, &number) ? equal_to_none(frame, state, other, one) : NULL;
    }
    const struct wb_node *typed = wb_typed_by(one);
    if (!typed) return named_value(frame, state, wb_without_casts(one));
    return wb_type_of_no_object_p(number) ? named_value(frame, state, typed) : NULL;
}

/* RB_TYPE_P(v, T_FIXNUM) */
static bool
type_test_p(const struct wb_node *node)
{
    static const char *const names[] = {"RB_TYPE_P", "rbimpl_RB_TYPE_P_fastpath"};
    int64_t type;

    return node->kind == WB_CALL && node->function && WB_ONE_OF_P(node->function, names) &&
           node->child && node->child->next && wb_number_p(node->child->next, &type) &&
           wb_type_of_no_object_p(type);
}

void
wb_assume_checked(struct wb_frame *frame, struct wb_state *state, const struct wb_node *call,
                  struct wb_symbol *value)
{
    static const char *const names[] = {"Check_Type", "rb_check_type"};
    int64_t type;

    if (!WB_ONE_OF_P(call->function, names) || !call->child || !call->child->next) return;
    if (wb_number_p(call->child->next, &type) && wb_type_of_no_object_p(type)) {
        wb_assume_no_object(frame, state, NULL, value);
    }
}

/* The condition is true, or it is not: truth says which. Returns the VALUE that is no object then,
 * or NULL. */
static struct wb_symbol *
never_object(struct wb_frame *frame, struct wb_state *state, const struct wb_node *node, bool truth)
{
    struct wb_condition test = { .state = state };
    const struct wb_node *left = node->child, *right = left ? left->next : NULL;

    if (node->kind == WB_CALL && node->function && left &&
        !strcmp(node->function->name, "__builtin_expect")) {
        return never_object(frame, state, left, truth);
    }
    if (left && !right && (node->kind == WB_CAST || node->kind == WB_ANY)) {
        return never_object(frame, state, left, truth == (node->kind == WB_CAST));
    }
    if (node->kind == WB_IF && right && right->next) { /* a macro that chooses one of two tests */
        struct wb_symbol *one = never_object(frame, state, right, truth);
        return one == never_object(frame, state, right->next, truth) ? one : NULL;
    }
    if (type_test_p(node)) {
        return truth ? named_value(frame, state, wb_without_casts(left)) : NULL;
    }
    if (node->kind == WB_ANY && (node->operation == WB_AND || node->operation == WB_OR)) {
        struct wb_symbol *one = never_object(frame, state, left, truth),
            *other = never_object(frame, state, right, truth);
        if ((node->operation == WB_AND) == truth) return one ? one : other;
        return one == other ? one : NULL;
    }
    if (node->kind == WB_ANY && (node->operation == WB_EQUAL || node->operation == WB_NOT_EQUAL)) {
        return (node->operation == WB_EQUAL) == truth ? equal_to_none(frame, state, left, right) :
               NULL;
    }
    read_test(frame, &test, node, true);
    return test.object_if != truth ? test.value : NULL;
}

/* ---- what follows ---- */

void
wb_read_condition(struct wb_frame *frame, struct wb_condition *condition,
                  const struct wb_node *node)
{
    struct wb_symbol *tested = tested_value(frame, condition->state, node, true);

    condition->object = tested_value(frame, condition->state, node, false);
    condition->tagged = tagged_struct(frame, condition->state, node);
    read_test(frame, condition, node, true);
    condition->sure = condition->value != NULL;
    if (!condition->sure) condition->value = tested;
}

void
wb_assume_condition(struct wb_frame *frame, const struct wb_condition *condition,
                    const struct wb_node *node)
{
    struct wb_symbol *yes = never_object(frame, condition->state, node, true),
        *no = never_object(frame, condition->state, node, false);

    if (yes) wb_assume_no_object(frame, condition->state, NULL, yes);
    if (no) wb_assume_no_object(frame, condition->other, NULL, no);
}

/* One branch has a barrier, for the object or the value that is tested, or for what the condition
 * may have stored. So on the other branch there is no object, or nothing was stored. barriers: the
 * list of those of the first branch; it ends where before begins. */
static void
assume_none_elsewhere(struct wb_frame *frame, const struct wb_condition *condition,
                      struct wb_state *other, const struct wb_objects *barriers,
                      const struct wb_objects *before)
{
    if (other->dead) return;
    for (; barriers != before; barriers = barriers->next) {
        if (condition->object && barriers->object == condition->object) {
            wb_assume_no_object(frame, other, barriers->object, NULL);
        }
        if (condition->value && !condition->sure && barriers->data == condition->value) {
            wb_assume_no_object(frame, other, barriers->object, condition->value);
        }
        if (condition->tagged) wb_assume_not_tagged(frame, other, condition->tagged, barriers);
        wb_assume_not_stored(frame, other, condition, barriers);
    }
}

void
wb_conclude_condition(struct wb_frame *frame, const struct wb_condition *condition)
{
    assume_none_elsewhere(frame, condition, condition->other, condition->between,
                          condition->barriers);
    assume_none_elsewhere(frame, condition, condition->state, frame->barriers_seen,
                          condition->between);
}
