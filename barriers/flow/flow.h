#ifndef HEAPPROF_BARRIERS_FLOW_H
#define HEAPPROF_BARRIERS_FLOW_H
/* An interpreter that runs each function once without values: it puts symbols in their place.
 *
 *     flow.c       statements and expressions  <---+
 *         |                                        |  these three recurse, as the code does:
 *     calls.c      what a call does                |  a function has calls, and a call leads to
 *         |                                        |  a function
 *     functions.c  a whole function: its summary --+
 *
 *     conditions.c what a condition says of a VALUE; asks flow.c for its value
 *     truth.c      what it says of a store: store() says whether it has stored
 *     stores.c     stores that need a barrier, and the GC that may start before it
 *     barriers.c   barriers, and the stores that they answer
 *     pointers.c   memory that becomes an object's, or moves to another object
 *     memory.c     what is at an address
 *
 * The summary of a function says what it does to its arguments. It is applied at each call. All
 * functions are visited several times: first to learn which structs are data of which types,
 * and what mark functions mark; then once to report.
 */
#include "barriers/flow/findings.h"
#include "barriers/flow/state.h"
#include "barriers/known.h"

/* A function stores the value at the address, and calls the object's barrier for it. Its callers
 * know which object owns the address. */
struct wb_claim {
    struct wb_symbol      *object, *address, *value;
    const struct wb_claim *next;
};

/* What a function does, in symbols of its own parameters. */
struct wb_summary {
    bool                     busy;      /* being computed: a recursive call finds it so */
    struct wb_summary       *earlier;   /* of a recursive function: what was found of it without its
                                         * calls of itself; NULL while that is looked for */
    bool                     collects;  /* a GC may start in it */
    bool                     fresh;     /* its result is an object that no GC has seen */
    struct wb_symbol        *result;    /* NULL if there is none, or it is not known */
    const struct wb_stores  *stores;    /* into memory that its parameters lead to, with no
                                         * barrier when it returns */
    const struct wb_objects *barriers;  /* object and value; called before a GC may start */
    const struct wb_claim   *claims;
    const struct wb_objects *marks;     /* values */
    bool                     gives;     /* it passes what its parameters lead to on to functions
                                         * that are not read */
    uint64_t                 frees;     /* bit n: it frees what parameter n points to */
    uint64_t                 registers; /* bit n: it may register the address that it gets there */
    uint64_t                 holds;     /* bit n: it puts that value where it is marked */
    const struct wb_objects *updates;   /* addresses at which it stores, if it runs in a GC */
    const struct wb_binding *writes;    /* pointers that it stores where its parameters point to */
};

struct wb_flow {
    struct wb_program  *program;
    struct wb_arena    *arena;
    struct wb_symbols   symbols;
    struct wb_findings  findings;
    bool                last;       /* the last round, which reports */
    bool                reporting;  /* this visit of a function reports */
    unsigned            depth;    /* of calls: functions that wait for the summary of another one */
    struct wb_symbol   *copying;  /* where a struct or an array is copied to; NULL if none is */
};

struct wb_label {
    const char      *name;
    struct wb_state  state;   /* the join of the states at each goto */
    bool             passed;  /* the label was visited */
    struct wb_label *next;
};

/* A switch that is being visited. */
struct wb_switch {
    const struct wb_symbol *value;
    struct wb_symbol       *typed;    /* the switch is over the type of this VALUE; or NULL */
    struct wb_state         from;     /* before the first case */
    unsigned                rest;     /* classes of numbers for which no case was seen */
    bool                    complete; /* it has a default */
};

/* A function that is being visited. */
struct wb_frame {
    struct wb_flow     *flow;
    struct wb_function *function;
    struct wb_summary  *summary;
    struct wb_state     end;          /* the join of the states in which it returns */
    struct wb_state    *break_to, *continue_to;
    struct wb_switch   *around;       /* NULL: none */
    struct wb_label    *labels;
    const struct wb_objects *barriers_seen;  /* objects that had a barrier so far, the latest
                                              * first */
    unsigned            loops;        /* around the node that is visited */
    const struct wb_stores *before_loop; /* that waited when the innermost one began */
    bool                exempt;       /* it runs in a GC: its stores need no barrier */
    bool                escapes;      /* it may be called from code that is not read */
    struct wb_variable  result;       /* holds what is known of the result as a number */
};

/* The summary of a function. Returns NULL if it has no body, or is being computed and has no
 * earlier one. */
struct wb_summary *wb_summary_of(struct wb_flow *flow, struct wb_function *function);

/* Visits the mark and compact functions of a data type, with the data of an object of that type. */
void wb_visit_gc_functions(struct wb_flow *flow, struct wb_data_type *data_type);

/* Ends this path: the function returns here, or calls a function that never returns. */
void wb_sink(struct wb_frame *frame, struct wb_state *state);

/* Runs a statement or an expression; returns its value. */
struct wb_symbol *wb_visit(struct wb_frame *frame, struct wb_state *state,
                           const struct wb_node *node);

/* ---- conditions.c ---- */

struct wb_condition {
    struct wb_symbol        *value;     /* the VALUE that is tested; NULL if there is none */
    struct wb_symbol        *object;    /* the same, by any test */
    const struct wb_symbol  *tagged;    /* the struct whose field is tested, a number; or NULL */
    bool                     sure;      /* the branch in which value is an object is known */
    bool                     object_if; /* what the condition is there */
    const struct wb_symbol  *truth;     /* the condition itself */
    struct wb_state         *state, *other; /* where it is true, and where it is not */
    const struct wb_stores  *earlier, *stored; /* before it and behind it: it may store something */
    const struct wb_objects *barriers, *between; /* the last barrier before the branches, and
                                                  * between them */
};

/* Sets what the condition tests. The caller has set state. */
void wb_read_condition(struct wb_frame *frame, struct wb_condition *condition,
                       const struct wb_node *node);

/* Before the branches are visited: values are no objects on one of them. */
void wb_assume_condition(struct wb_frame *frame, const struct wb_condition *condition,
                         const struct wb_node *node);

/* The node whose type the node is, as v of TYPE(v). Returns NULL if it is nothing's. */
const struct wb_node *wb_typed_by(const struct wb_node *node);

/* After Check_Type(v, T_FIXNUM) the value is no object. */
void wb_assume_checked(struct wb_frame *frame, struct wb_state *state, const struct wb_node *call,
                       struct wb_symbol *value);

/* True for the number of a type whose values are no objects, as T_FIXNUM. */
bool wb_type_of_no_object_p(int64_t type);

/* When both have been visited: what their barriers say of the condition. */
void wb_conclude_condition(struct wb_frame *frame, const struct wb_condition *condition);

/* ---- truth.c ---- */

/* The operands of an expression that were visited. */
struct wb_operands {
    const struct wb_symbol *left, *right; /* right is NULL if the operator has one operand */
    const struct wb_stores *before;       /* stores before the right one */
};

/* The value of a test, such as "x < 0", of which it is known what it says of stores. Returns NULL
 * if the expression is no such test. */
struct wb_symbol *wb_test_of(struct wb_frame *frame, struct wb_state *state,
                             const struct wb_node *node, const struct wb_operands *operands);

/* Whether the node is a number that stands in the source, such as Qtrue. Sets the number. */
bool wb_number_p(const struct wb_node *node, int64_t *number);

/* The same for NIL_P and RTEST. */
struct wb_symbol *wb_named_test(struct wb_frame *frame, struct wb_state *state,
                                const struct wb_function *function, const struct wb_symbol *value);

/* On this path the value is true, or it is not: some stores have not happened. */
void wb_assume_truth(struct wb_frame *frame, struct wb_state *state, const struct wb_symbol *value,
                     bool truth);

/* The function returns that value here. */
void wb_note_result(struct wb_frame *frame, struct wb_state *state, const struct wb_symbol *result);

/* What the result says of a store: where the function ends, and where it was called. NULL: nothing.
 */
const struct wb_guard *wb_guard_of_result(struct wb_frame *frame, const struct wb_state *state,
                                          const struct wb_store *store);
const struct wb_guard *wb_guard_of_call(struct wb_frame *frame, const struct wb_store *store,
                                        const struct wb_symbol *result);

/* ---- memory.c ---- */

/* What is at an address. */
struct wb_symbol *wb_load(struct wb_frame *frame, const struct wb_state *state,
                          struct wb_symbol *address);

/* The data of an object. */
struct wb_symbol *wb_data_of(struct wb_frame *frame, const struct wb_state *state,
                             struct wb_symbol *object);

/* The address of a field of a struct. */
struct wb_symbol *wb_field_address(struct wb_frame *frame, struct wb_symbol *of,
                                   const struct wb_field *field);

/* True if the address is that of the field in which an object has the pointer to its data. */
bool wb_data_pointer_p(const struct wb_symbol *address);

/* Learns that the value points to a struct of that type. */
void wb_learn_owner(struct wb_frame *frame, const struct wb_symbol *value,
                    const struct wb_type *type);

/* ---- calls.c ---- */

struct wb_symbol *wb_visit_call(struct wb_frame *frame, struct wb_state *state,
                                const struct wb_node *node);

/* ---- stores.c ---- */

/* The object that owns the address. Memory that an object's data points to is taken to belong
 * to the object. Returns NULL if the object is not known. */
struct wb_symbol *wb_parent_of(const struct wb_state *state, struct wb_symbol *address);

/* The type of what is stored at an address of that type: a VALUE also where the source calls it a
 * number or a pointer, as "*(uintptr_t *)slot = (uintptr_t)value". A field of such a type has to be
 * marked. stored: the type of what is stored, without casts; or NULL. */
const struct wb_type *wb_stored_type(const struct wb_symbol *at, const struct wb_type *type,
                                     const struct wb_type *stored);

/* A thing of that type is stored at an address. from: the VALUE itself, or the address of the
 * struct or array that is copied. */
void wb_store(struct wb_frame *frame, struct wb_state *state, struct wb_symbol *address,
              const struct wb_type *type, struct wb_symbol *from, const struct wb_node *node);

/* The same address, counted from another base. */
struct wb_symbol *wb_address_from(struct wb_frame *frame, const struct wb_symbol *address,
                                  struct wb_symbol *base);

/* The type of the object that owns the address. Returns NULL if the address is in no data that is
 * known. */
const struct wb_data_type *wb_owning_type(const struct wb_state *state, struct wb_symbol *address);

/* A VALUE may be stored at an address that was passed to a function which is not read. */
void wb_store_escaped(struct wb_frame *frame, struct wb_state *state, struct wb_symbol *address,
                      const struct wb_node *node);

/* The value is stored at that address by a function that also calls the barrier. */
void wb_note_barriered_store(struct wb_frame *frame, const struct wb_state *state,
                             struct wb_symbol *address, const struct wb_symbol *value,
                             const struct wb_node *node);

/* A function that runs in a GC stores at that address. */
void wb_note_update(struct wb_frame *frame, const struct wb_state *state,
                    struct wb_symbol *address);

/* A store of a called function, in symbols of the caller. */
void wb_replay_store(struct wb_frame *frame, struct wb_state *state, const struct wb_store *store);

/* True if no object owns the memory of the store yet. */
bool wb_ownerless_p(const struct wb_state *state, const struct wb_store *store);

/* A GC may start here. why: the name of the function that may start it. */
void wb_gc_point(struct wb_frame *frame, struct wb_state *state, const char *why);

/* The function ends. state: the join of all states in which it returns. */
void wb_end_function(struct wb_frame *frame, struct wb_state *state);

/* ---- barriers.c ---- */

/* A barrier for that object and value. value NULL: any. */
void wb_barrier(struct wb_frame *frame, struct wb_state *state, struct wb_symbol *object,
                struct wb_symbol *value);

/* The same by a called function. each: as in wb_objects. */
void wb_barrier_of_call(struct wb_frame *frame, struct wb_state *state, struct wb_symbol *object,
                        struct wb_symbol *value, bool each);

/* A value is stored at the address, and the object's barrier is called for it. Returns false if the
 * address is another object's: then that barrier does not count. If only the callers know whose the
 * address is, the summary tells them. */
bool wb_claim(struct wb_frame *frame, const struct wb_state *state, struct wb_symbol *object,
              struct wb_symbol *address, struct wb_symbol *value);

/* On this path the object is nil or NULL, so no store is into it; or the value is no object, so its
 * stores into that object need no barrier. object NULL: into any; value NULL: any value. */
void wb_assume_no_object(struct wb_frame *frame, struct wb_state *state, struct wb_symbol *object,
                         struct wb_symbol *value);

/* The barrier is on the other path: what the condition itself has stored there, it has not here. */
void wb_assume_not_stored(struct wb_frame *frame, struct wb_state *state,
                          const struct wb_condition *condition, const struct wb_objects *barrier);

/* The barrier is on the other path, and a field of the struct says that the value is not there:
 * what was copied with that struct, or from it, is no object here. */
void wb_assume_not_tagged(struct wb_frame *frame, struct wb_state *state,
                          const struct wb_symbol *tagged, const struct wb_objects *barrier);

/* From here on the object needs no barriers. */
void wb_unprotect(struct wb_frame *frame, struct wb_state *state, struct wb_symbol *object);

/* ---- pointers.c ---- */

/* A pointer is stored at the address. type: of the pointer. */
void wb_store_pointer(struct wb_frame *frame, struct wb_state *state, struct wb_symbol *address,
                      const struct wb_type *type, struct wb_symbol *value,
                      const struct wb_node *node);

/* From here on the object's data is that memory. */
void wb_replace_data(struct wb_frame *frame, struct wb_state *state, struct wb_symbol *object,
                     struct wb_symbol *data, const struct wb_type *type,
                     const struct wb_node *node);

#endif
