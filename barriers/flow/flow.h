#ifndef HEAPPROF_BARRIERS_FLOW_H
#define HEAPPROF_BARRIERS_FLOW_H
/* The code of functions gone through in the order in which it runs, with symbols for values.
 *
 *     flow.c       statements and expressions
 *     functions.c  a whole function, and its summary
 *     calls.c      what a call does: of a known function, of one of ours (by its summary), of any other
 *     stores.c     stores that need a barrier, barriers, and what comes too early between them
 *
 * Each function is gone through once; what it does to its arguments is its summary, which is applied where it is called. All of
 * it is done twice: first to learn which structs are whose data and what mark functions mark, then to tell.
 */
#include "barriers/flow/findings.h"
#include "barriers/known.h"
#include "barriers/flow/state.h"

/* What a function does, in symbols of its own parameters. */
struct wb_summary {
    bool                     busy;      /* being worked out */
    bool                     collects;  /* a GC may start in it */
    bool                     fresh;     /* its result is an object that no GC has seen */
    struct wb_symbol        *result;    /* NULL: none, or not known */
    const struct wb_stores  *stores;    /* into what its parameters lead to, without a barrier when it ends */
    const struct wb_objects *barriers;  /* object, value; before anything that may start a GC */
    const struct wb_objects *marks;     /* values */
    bool                     gives;     /* what its parameters lead to is given to functions that are not seen */
    const struct wb_binding *writes;    /* of pointers, to what its parameters point to */
};

struct wb_flow {
    struct wb_program  *program;
    struct wb_arena    *arena;
    struct wb_symbols   symbols;
    struct wb_findings  findings;
    bool                reporting;  /* the second time */
    unsigned            depth;    /* of functions that wait for those they call */
    struct wb_symbol   *copying;  /* address of what a struct or an array is copied to */
};

struct wb_label {
    const char      *name;
    struct wb_state  state;   /* of those who go there */
    bool             passed;  /* it is behind us */
    struct wb_label *next;
};

/* The function that is gone through. */
struct wb_frame {
    struct wb_flow     *flow;
    struct wb_function *function;
    struct wb_summary  *summary;
    struct wb_state     end;          /* where it returns */
    struct wb_state    *break_to, *continue_to, *switch_from;
    struct wb_label    *labels;
    const struct wb_objects *barriers_seen;  /* objects that had a barrier so far */
    unsigned            loops;        /* around us */
    bool                exempt;       /* it runs in a GC: stores need no barrier */
    bool                escapes;      /* it is called from where we do not see */
};

/* The function's summary; NULL: it has no body, or is being worked out. */
struct wb_summary *wb_summary_of(struct wb_flow *flow, struct wb_function *function);

/* Goes through a data type's mark and compact functions, with the data of an object of it. */
void wb_visit_gc_functions(struct wb_flow *flow, struct wb_data_type *data_type);

/* The function is left here: it returns, or a call in it never does. */
void wb_sink(struct wb_frame *frame, struct wb_state *state);

/* Runs a statement or an expression; returns its value. */
struct wb_symbol *wb_visit(struct wb_frame *frame, struct wb_state *state,
                           const struct wb_node *node);

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

/* A thing of that type is stored at an address; from: where it was copied from, or the VALUE itself. */
void wb_store(struct wb_frame *frame, struct wb_state *state, struct wb_symbol *address,
              const struct wb_type *type, struct wb_symbol *from, const struct wb_node *node);

/* The same of one VALUE whose address was given away. */
void wb_store_escaped(struct wb_frame *frame, struct wb_state *state, struct wb_symbol *address,
                      const struct wb_node *node);

/* A VALUE is stored at that address, together with its barrier. */
void wb_note_barriered_store(struct wb_frame *frame, const struct wb_state *state,
                             struct wb_symbol *address, const struct wb_node *node);

/* A store of a function that was called. */
void wb_replay_store(struct wb_frame *frame, struct wb_state *state, const struct wb_store *store);

/* The object's data is memory of another kind from here on. */
void wb_replace_data(struct wb_frame *frame, struct wb_state *state, struct wb_symbol *object,
                     struct wb_symbol *data, const struct wb_type *type,
                     const struct wb_node *node);

/* That value was told to the GC as one of the object's. */
void wb_barrier(struct wb_frame *frame, struct wb_state *state, struct wb_symbol *object,
                struct wb_symbol *value);
/* There is no such object on this way. */
void wb_assume_null(struct wb_frame *frame, struct wb_state *state, struct wb_symbol *object);
void wb_unprotect(struct wb_frame *frame, struct wb_state *state, struct wb_symbol *object);

/* A GC may start here: by the function of that name. */
void wb_gc_point(struct wb_frame *frame, struct wb_state *state, const char *why);

/* The function ends in that state. */
void wb_end_function(struct wb_frame *frame, struct wb_state *state);

#endif
