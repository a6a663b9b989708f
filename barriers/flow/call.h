#ifndef HEAPPROF_BARRIERS_CALL_H
#define HEAPPROF_BARRIERS_CALL_H
/* A call that is visited: calls.c decides what is known of the function, effects.c knows Ruby's. */
#include "barriers/flow/flow.h"

struct wb_call {
    struct wb_frame       *frame;
    struct wb_state       *state;
    const struct wb_node  *node;
    struct wb_symbol     **arguments;
    const struct wb_node **nodes;      /* nodes of the arguments, without casts */
    unsigned               count;
    const struct wb_node  *back;       /* the call of Ruby's function that calls this callback,
                                        * never, once or often; NULL for a plain call */
};

/* A value that is known only by the call that returned it. */
struct wb_symbol *wb_conjured(const struct wb_call *call, enum wb_symbol_kind kind);

/* The value of an argument. An argument that the call does not have is an unknown value. */
struct wb_symbol *wb_argument(const struct wb_call *call, unsigned number);

/* The node of an argument. Returns NULL if the call does not have the argument. */
const struct wb_node *wb_argument_node(const struct wb_call *call, unsigned number);

/* The type of the thing whose address is passed: a variable, a field or an array. Returns NULL
 * if the argument is no such address. */
const struct wb_type *wb_addressed_type(const struct wb_node *node);

/* Does what the table says of the function, and returns its result. */
struct wb_symbol *wb_apply_known(const struct wb_call *call, const struct wb_known *known);

/* Returns whether the object's barrier counts for the value at that address. Otherwise the value is
 * stored there without a barrier. */
bool wb_apply_claim(const struct wb_call *call, struct wb_symbol *object,
                    struct wb_symbol *address, struct wb_symbol *value);

/* A mark function marks the value. */
void wb_add_mark(struct wb_frame *frame, struct wb_symbol *value, bool movable);

#endif
