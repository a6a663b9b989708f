#ifndef HEAPPROF_BARRIERS_STATE_H
#define HEAPPROF_BARRIERS_STATE_H
/* What is known at a point of a function. States are copied at branches by assignment: their lists only grow at the front,
 * so that copies share what they have in common. */
#include "barriers/flow/symbols.h"

/* What is at an address: of variables and of what they hold. */
struct wb_binding {
    struct wb_symbol        *address, *value;
    unsigned                 length;  /* of the list */
    const struct wb_binding *next;
};

/* A store of a VALUE that has had no barrier. */
struct wb_store {
    struct wb_symbol         *address, *value;
    struct wb_symbol         *copied;  /* address of the struct or the array that is copied; NULL: it is this VALUE alone */
    const struct wb_function *function;
    struct wb_place           place;
    bool                      early;   /* since the function's start no GC can have been */
    bool                      late; /* too late for a barrier */
    bool                      hidden;  /* by a call that was given the address */
    const char               *known_as; /* whose data it is, in the function that stores; NULL: it has no name there, or is not left yet */
    const struct wb_node     *call;    /* in the function at hand, by which it is reached; NULL: it is that function's own */
    const char               *object, *field; /* names in that function, before the call: of whose data it is, of what is stored to */
    const char               *why;     /* what came before a barrier: a function; NULL: the end of this one */
    const char               *excuse;  /* why it needs none; NULL: it needs one */
};

struct wb_stores {
    const struct wb_store  *store;
    unsigned                length;  /* of the list */
    const struct wb_stores *next;
};

/* So many wait at once, and so many are a function's for its callers; nobody writes more than that, and what is more is left
 * out. */
#define WB_STORES_MOST  1000
#define WB_SUMMARY_MOST 400

struct wb_objects {
    bool                     movable;       /* of what is marked: it is not pinned */
    struct wb_symbol        *object, *data; /* data: that it was given; NULL: its own */
    const struct wb_objects *next;
};

struct wb_state {
    const struct wb_binding *bindings;
    const struct wb_stores  *stores;   /* without a barrier, and no GC since */
    const struct wb_objects *fresh;    /* objects that no GC has seen */
    const struct wb_objects *unprotected; /* objects that need no barriers any more */
    const struct wb_objects *wrapped;  /* memory that became an object's data */
    bool                     collected; /* a GC may have been since the function's start */
    bool                     dead;     /* the point is not reached */
};

/* The value at an address; NULL: none was stored here. */
struct wb_symbol *wb_bound(const struct wb_state *state, const struct wb_symbol *address);
void wb_bind(struct wb_arena *arena, struct wb_state *state, struct wb_symbol *address,
             struct wb_symbol *value);

bool wb_fresh_p(const struct wb_state *state, const struct wb_symbol *object);
void wb_add_fresh(struct wb_arena *arena, struct wb_state *state, struct wb_symbol *object);

/* It needs no barriers from here on. */
bool wb_unprotected_p(const struct wb_state *state, const struct wb_symbol *object);
void wb_add_unprotected(struct wb_arena *arena, struct wb_state *state, struct wb_symbol *object);

/* Whose data that memory became; NULL: nobody's. */
struct wb_symbol *wb_wrapped_in(const struct wb_state *state, const struct wb_symbol *data);
void wb_add_wrapped(struct wb_arena *arena, struct wb_state *state, struct wb_symbol *object,
                    struct wb_symbol *data);

void wb_add_store(struct wb_arena *arena, const struct wb_stores **stores,
                  const struct wb_store *store);

/* Two ways meet: into is then what holds on both of them, and what happened on any. */
void wb_join_states(struct wb_symbols *symbols, struct wb_state *into,
                    const struct wb_state *other);

#endif
