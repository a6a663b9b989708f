#ifndef HEAPPROF_FUNCTIONS_H
#define HEAPPROF_FUNCTIONS_H
/* The functions of the stacks: a name as Ruby's backtraces print it, a file and a first line. A
 * function is known by two keys. The first is the identity of its iseq, or the ID of a C
 * method. The second is the class that owns the method, because a block may run as a method of
 * several classes.
 */
#include "base/index.h"
#include "base/numbers.h"

struct heapprof_function {
    uint64_t origin;      /* iseq identity, or method ID with HEAPPROF_ORIGIN_C; 0: free */
    uint32_t owner;       /* class identity; 0: none. Of a free one: its link */
    uint32_t name;        /* string */
    uint32_t path;        /* string, absolute where there is a file; 0 for C */
    uint32_t first_line;
    bool     cfunc;       /* its path and line are those of the Ruby frame that called it */
    bool     provisional; /* the owner had no name yet: ask again at the next snapshot */
    bool     needed;      /* the next sweep keeps it */
    bool     kept;        /* a mark while dead code is merged (dead_names.c) */
    uint32_t same;        /* while dead code is merged: which one stands for it; otherwise 0 */
};

#define HEAPPROF_ORIGIN_C (UINT64_C(1) << 63)

struct heapprof_functions {
    struct heapprof_mem *mem;
    struct heapprof_function *all; /* by number; [0] unused */
    struct heapprof_numbers numbers;
    struct heapprof_index index;   /* (origin, owner) -> number */
    uint64_t salt;                 /* secret of the index, as in stacks.h */
};

/* An empty table; allocates nothing. mem must outlive it. */
void rb_heapprof_functions_init(struct heapprof_functions *functions, struct heapprof_mem *mem);

/* Gives the memory back; the table is then as after init. */
void rb_heapprof_functions_free(struct heapprof_functions *functions);

/* The function's number, or 0 if it is not known. */
uint32_t rb_heapprof_functions_find(const struct heapprof_functions *functions,
                                    uint64_t origin, uint32_t owner);

/* Adds a function whose keys are not in the table. Returns 0 if memory is refused. function
 * must not point into the table. */
uint32_t rb_heapprof_functions_add(struct heapprof_functions *functions,
                                   const struct heapprof_function *function);

/* Frees every function whose needed is not set, and clears needed. Numbers of freed functions are
 * handed out again. Allocates nothing. Returns how many it freed. */
uint32_t rb_heapprof_functions_sweep(struct heapprof_functions *functions);

/* The function of that number, good until the next add. Its keys, origin and owner, may not be
 * changed. Its name may not be changed while a still is made. */
static inline struct heapprof_function *
rb_heapprof_functions_get(const struct heapprof_functions *functions, uint32_t number)
{
    return &functions->all[number];
}

/* Asserts the invariants of functions.c. */
void rb_heapprof_functions_check(const struct heapprof_functions *functions);

#endif
