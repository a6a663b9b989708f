#ifndef HEAPPROF_BARRIERS_STATE_H
#define HEAPPROF_BARRIERS_STATE_H
/* What is known at a point of a function.
 *
 *     before the branch:    b <- a
 *     one path:        d <- b <- a
 *     the other path:  c <- b <- a
 *
 * The lists of a state only grow at the front. So a state is copied by assignment, and two states
 * share their tails. Where the paths join, only d and c are looked at.
 */
#include "barriers/flow/symbols.h"

/* What is at an address: of a variable, or of memory that a variable points to. */
struct wb_binding {
    struct wb_symbol        *address, *value;
    unsigned                 length;  /* of the list */
    const struct wb_binding *next;
};

/* A store of a VALUE that has had no barrier so far. */
struct wb_store {
    struct wb_symbol         *address, *value;
    struct wb_symbol         *copied;  /* address of the struct or array that is copied; NULL if
                                        * it is this VALUE alone */
    const struct wb_function *function;
    struct wb_place           place;
    bool                      early;   /* no GC can have started since the function began */
    bool                      late; /* a barrier would come too late */
    bool                      hidden;  /* done perhaps by a call that was given the address */
    const char               *known_as; /* the object's name in the function that stores; NULL if it
                                         * has none, or while that function is visited */
    const struct wb_node     *call;    /* by which the visited function reaches it; NULL if it is
                                        * its own store */
    const char               *object, *field; /* names of both in the visited function, before
                                               * that call */
    const char               *why;     /* the function that may start a GC before the barrier;
                                        * NULL: this one ended before it */
    const char               *excuse;  /* why it needs no barrier; NULL if it needs one */
    const struct wb_guard    *guards;  /* it has happened only if all of them hold: flow/guards.h */
};

struct wb_stores {
    const struct wb_store  *store;
    unsigned                length;  /* of the list */
    const struct wb_stores *next;
};

/* Limits: stores that wait for a barrier in a state, and stores of a function for its callers.
 * Nobody writes more. The rest is dropped, and the summary line says so. */
#define WB_STORES_MOST  1000
#define WB_SUMMARY_MOST 400

/* A list of objects; what data means depends on the list. */
struct wb_objects {
    bool                     movable;       /* of marked values: not pinned */
    bool                     each;          /* of a barrier: for each element of an array, not for
                                             * the value alone */
    struct wb_symbol        *object, *data; /* data: what it was given, or the value of a
                                             * barrier; or NULL */
    struct wb_data_type     *data_type;     /* of an object that got memory; NULL if not known */
    const struct wb_objects *next;
};

struct wb_state {
    const struct wb_binding *bindings;
    const struct wb_stores  *stores;   /* with no barrier so far, and no GC since */
    const struct wb_objects *fresh;    /* objects that no GC has seen */
    const struct wb_objects *unprotected; /* objects that gave up their protection */
    const struct wb_objects *told;     /* objects and values of barriers, and no GC since */
    const struct wb_objects *wrapped;  /* memory that became an object's data */
    bool                     collected; /* a GC may have started since the function began */
    bool                     dead;     /* no path reaches this point */
};

/* The value at an address. Returns NULL if nothing was stored there. */
struct wb_symbol *wb_bound(const struct wb_state *state, const struct wb_symbol *address);
void wb_bind(struct wb_arena *arena, struct wb_state *state, struct wb_symbol *address,
             struct wb_symbol *value);

/* Fresh objects: no GC can have seen them since they were made. */
bool wb_fresh_p(const struct wb_state *state, const struct wb_symbol *object);
void wb_add_fresh(struct wb_arena *arena, struct wb_state *state, struct wb_symbol *object);

/* Objects that need no barriers from here on. */
bool wb_unprotected_p(const struct wb_state *state, const struct wb_symbol *object);
void wb_add_unprotected(struct wb_arena *arena, struct wb_state *state, struct wb_symbol *object);

/* The GC was told that the object refers to the value, and has not started since. */
bool wb_told_p(const struct wb_state *state, const struct wb_symbol *object,
               const struct wb_symbol *value);
void wb_add_told(struct wb_arena *arena, struct wb_state *state, struct wb_symbol *object,
                 struct wb_symbol *value);

/* Those of these kinds that are in the other state, too. */
void wb_keep_common_objects(struct wb_arena *arena, struct wb_state *state,
                            const struct wb_state *other);

/* The object whose data that memory became. Returns NULL if there is none. */
struct wb_symbol *wb_wrapped_in(const struct wb_state *state, const struct wb_symbol *data);
void wb_add_wrapped(struct wb_arena *arena, struct wb_state *state, struct wb_symbol *object,
                    struct wb_symbol *data, struct wb_data_type *data_type);

/* The type of that object. Returns NULL if it is not known. */
struct wb_data_type *wb_type_wrapped_in(const struct wb_state *state, const struct wb_symbol *data);

/* Adds a store, unless it is there: a loop visits the same store twice. */
void wb_add_store(struct wb_arena *arena, const struct wb_stores **stores,
                  const struct wb_store *store);

/* ---- join.c ---- */

/* Joins two paths: into becomes what holds on both of them, and what happened on either. */
void wb_join_states(struct wb_symbols *symbols, struct wb_state *into,
                    const struct wb_state *other);

#endif
