#ifndef HEAPPROF_BARRIERS_KNOWN_H
#define HEAPPROF_BARRIERS_KNOWN_H
/* What functions do whose bodies we do not read, as far as it matters. */
#include "barriers/program.h"

enum wb_effect {
    WB_NOTHING,      /* stores no VALUE that we hold, and gives nothing of interest */
    WB_CHECKED_DATA,      /* (object, type): the object's data */
    WB_DATA_OF,      /* (object): its data */
    WB_WRAP,         /* (class, data, type): a new object with that data */
    WB_ALLOCATE,     /* (class, size, type): a new object with zeroed data */
    WB_MAKE,         /* (class, type, data *, size): a new object, whose data is written there */
    WB_MEMORY,       /* new memory */
    WB_REALLOCATE,       /* (memory, ...): what it was, somewhere else */
    WB_COPY,         /* (to, from, ...) */
    WB_WRITE,        /* (object, slot, value): a store with its barrier */
    WB_WRITTEN,      /* (object, old, value): the barrier of a store that was */
    WB_REMEMBER,     /* (object, value): the same */
    WB_UNPROTECT,    /* (object): needs no barriers from here on */
    WB_MARK,         /* (value): called by a mark function */
    WB_MARK_MOVABLE, /* (value): the same, and the value may move */
    WB_MARK_ARRAY,   /* (start, end) */
    WB_RETURN_FIRST,         /* (value, ...): that value */
    WB_RETURN_IMMEDIATE     /* a VALUE that is no object */
};

struct wb_known {
    const char    *name;
    enum wb_effect effect;
    bool           collects;  /* it may start a GC */
};

/* A function of Ruby's that calls one it is given, before it returns, with something else that it is given. */
struct wb_callback {
    const char *name;
    unsigned    function, data;  /* which of its arguments they are */
    unsigned    parameter;       /* which parameter of that function gets data */
};

/* NULL: it calls none that is given there; or keeps it, who knows. */
const struct wb_callback *wb_callback_of(const struct wb_function *function, unsigned argument);

/* What is known of a function, by its name; of one of Ruby's that is in no table: that it may do anything. */
const struct wb_known *wb_known_of(struct wb_function *function);

/* Whether it is in a table, so that its body, if there is one, does not matter. */
bool wb_known_p(struct wb_function *function);

#endif
