#ifndef HEAPPROF_DEAD_NAMES_H
#define HEAPPROF_DEAD_NAMES_H
/* Which names of dead code and dead classes are given up, where there are too many
 * (dead_names.c): a part of merging (dead_code.h). */
#include "profiler/tables.h"

/* Whether the class, or the code of the function, has died. False for 0, which is no class. */
static inline bool
rb_heapprof_dead_class_p(const struct heapprof_tables *tables, uint32_t id)
{
    return id && tables->identities.all[id].dead;
}

static inline bool
rb_heapprof_dead_function_p(const struct heapprof_tables *tables, uint32_t number)
{
    const struct heapprof_function *function = rb_heapprof_functions_get(&tables->functions, number);

    if (number == 0 || function->origin == 0) return false;
    if (rb_heapprof_dead_class_p(tables, function->owner)) return true;
    return !(function->origin & HEAPPROF_ORIGIN_C) && tables->identities.all[function->origin].dead;
}

/* Which one stands for it, while dead code is merged. */
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

/* Whether a dead class loses its name, where names are given up. Classes that keep theirs have been marked. */
static inline bool
rb_heapprof_dead_class_nameless_p(const struct heapprof_tables *tables, uint32_t id)
{
    uint32_t same = rb_heapprof_dead_class_same(tables, id);

    return rb_heapprof_dead_class_p(tables, id) && !tables->identities.all[same].needed;
}

/* What stands for those that have lost their names. */
struct heapprof_nameless {
    uint32_t code;      /* function; 0: none is given up */
    uint32_t class_id;  /* identity */
};

/* Where too many names are left, and stacks of live samples are kept: keeps those of code that is
 * to have a name, too, and marks classes that are (needed). 0 where there is nothing to be done,
 * or memory is refused. */
struct heapprof_nameless rb_heapprof_dead_names_choose(struct heapprof_tables *tables);

/* What stands for them as far as it has been needed; otherwise 0. */
struct heapprof_nameless rb_heapprof_dead_names_find(const struct heapprof_tables *tables);

#endif
