#ifndef HEAPPROF_BARRIERS_KNOWN_H
#define HEAPPROF_BARRIERS_KNOWN_H
/* What is known of functions whose bodies are not read: those of Ruby and of C. */
#include "barriers/program.h"

/* What a call does. The arguments are named in brackets. */
enum wb_effect {
    WB_NOTHING,          /* stores no VALUE of the extension, and returns nothing of interest */
    WB_CHECKED_DATA,     /* (object, type): returns the object's data */
    WB_DATA_OF,          /* (object): returns its data */
    WB_WRAP,             /* (class, data, type): returns a new object with that data */
    WB_ALLOCATE,         /* (class, size, type): returns a new object with zeroed data */
    WB_MAKE,             /* (class, type, data *, size): returns a new object; writes its data
                          * there */
    WB_MEMORY,           /* returns new memory */
    WB_REALLOCATE,       /* (memory, ...): returns the same memory at another address */
    WB_COPY,             /* (to, from, ...) */
    WB_INSERT,           /* (table, key, value): stores both in the table; also (table, key,
                          * function, value), where the function stores it */
    WB_STORE_LAST,       /* (slot, ..., value): stores */
    WB_OUT,              /* stores a VALUE, perhaps, at the addresses that it is given */
    WB_WRITE,            /* (object, slot, value): stores, with a barrier */
    WB_WRITTEN,          /* (object, old, value): the barrier of an earlier store */
    WB_REMEMBER,         /* (object, value): the same */
    WB_UNPROTECT,        /* (object): the object needs no barriers from here on */
    WB_MARK,             /* (value): marks and pins it */
    WB_MARK_MOVABLE,     /* (value): marks it; the value may move */
    WB_MARK_ARRAY,       /* (start, end) */
    WB_RETURN_FIRST,     /* (value, ...): returns that value */
    WB_CLASS_OF,         /* (object): returns its class */
    WB_ENTRY,            /* (array, index): returns an element */
    WB_RETURN_IMMEDIATE  /* returns a VALUE that is no object */
};

struct wb_known {
    const char    *name;
    enum wb_effect effect;
    bool           collects;  /* it may start a GC */
};

/* A function of Ruby's that calls a function it is given before it returns, and passes data on to
 * it. */
struct wb_callback {
    const char *name;
    unsigned    function, data;  /* numbers of these two arguments */
    unsigned    parameter;       /* which parameter of the given function gets the data */
    bool        returns;         /* what the given function returns is returned */
};

/* The row for that argument of a function. Returns NULL if the function does not call what it is
 * given there, or may keep it for later. */
const struct wb_callback *wb_callback_of(const struct wb_function *function, unsigned argument);

/* What is known of a function by its name. A function of Ruby's that no table names may do
 * anything. */
const struct wb_known *wb_known_of(struct wb_function *function);

/* True if a table names the function. Then its body does not matter. */
bool wb_known_p(struct wb_function *function);

/* True if the function has one of the names. */
bool wb_one_of_p(const struct wb_function *function, const char *const *names, size_t count);

#define WB_ONE_OF_P(function, names) \
    wb_one_of_p(function, names, sizeof(names) / sizeof((names)[0]))

#endif
