#ifndef HEAPPROF_DEAD_NAMES_H
#define HEAPPROF_DEAD_NAMES_H
/* Which names of dead code and dead classes are given up, if there are too many (dead_names.c). It
 * is a part of merging (dead_code.h). */
#include "profiler/tables.h"

/* Whether the class has died; of a function, whether its code has died. False for 0. */
static inline bool
rb_heapprof_dead_class_p(const struct heapprof_tables *tables, uint32_t id)
{
    return id && tables->identities.all[id].dead;
}

static inline bool
rb_heapprof_dead_function_p(const struct heapprof_tables *tables, uint32_t number)
{
    const struct heapprof_function *function =
        rb_heapprof_functions_get(&tables->functions, number);

    if (number == 0 || function->origin == 0) return false;
    if (rb_heapprof_dead_class_p(tables, function->owner)) return true;
    return !(function->origin & HEAPPROF_ORIGIN_C) && tables->identities.all[function->origin].dead;
}

/* Which class, or function, stands for it while dead code is merged. */
static inline uint32_t
rb_heapprof_dead_class_same(const struct heapprof_tables *tables, uint32_t id)
{
    uint32_t same = id ? tables->identities.all[id].next_free : 0;

    return same ? same : id;
}

static inline uint32_t
rb_heapprof_dead_function_same(const struct heapprof_tables *tables, uint32_t number)
{
    uint32_t same = rb_heapprof_functions_get(&tables->functions, number)->same;

    return same ? same : number;
}

/* Whether a dead class loses its name, once names are chosen. Classes that keep theirs are
 * marked. */
static inline bool
rb_heapprof_dead_class_nameless_p(const struct heapprof_tables *tables, uint32_t id)
{
    uint32_t same = rb_heapprof_dead_class_same(tables, id);

    return rb_heapprof_dead_class_p(tables, id) && !tables->identities.all[same].needed;
}

/* What stands for functions and classes that have lost their names. */
struct heapprof_nameless {
    uint32_t code;      /* a function; 0: no name is given up */
    uint32_t class_id;  /* an identity */
};

/* Chooses, if too many names are left. Stacks of live samples are already kept. Keeps the stacks of
 * code that is to have a name, too, and marks the classes that are (needed). Returns zeros if there
 * is nothing to do, or if memory is refused. */
struct heapprof_nameless rb_heapprof_dead_names_choose(struct heapprof_tables *tables);

/* What stands for them, if it has been needed before; otherwise 0. */
struct heapprof_nameless rb_heapprof_dead_names_find(const struct heapprof_tables *tables);

#endif
