/* conditions.c - what a condition says of a VALUE. On one of its branches there is no object, so no
 * store needs a barrier there.
 *
 *     if (!RB_SPECIAL_CONST_P(v)) RB_OBJ_WRITTEN(self, Qundef, v);     a test of the table below
 *     if (v != Qnil && !RB_FIXNUM_P(v)) RB_OBJ_WRITTEN(...);           v is tested somehow
 *     if (self) RB_OBJ_WRITTEN(self, Qundef, v);                       the object is tested
 *     if (set.insert(v).second) RB_OBJ_WRITTEN(self, Qundef, v);       what it stores, or not
 *
 * Any operator may stand in the second and third case, and one with a single operand is taken to be
 * "!". There the branch with the barrier is the one that has an object. In the last case truth.c
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

/* ---- what follows ---- */

void
wb_read_condition(struct wb_frame *frame, struct wb_condition *condition,
                  const struct wb_node *node)
{
    struct wb_symbol *tested = tested_value(frame, condition->state, node, true);

    condition->object = tested_value(frame, condition->state, node, false);
    read_test(frame, condition, node, true);
    condition->sure = condition->value != NULL;
    if (!condition->sure) condition->value = tested;
}

void
wb_assume_condition(struct wb_frame *frame, const struct wb_condition *condition)
{
    struct wb_state *state = condition->object_if ? condition->other : condition->state;

    if (condition->sure) wb_assume_no_object(frame, state, NULL, condition->value);
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
