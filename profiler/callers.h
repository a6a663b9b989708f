#ifndef HEAPPROF_CALLERS_H
#define HEAPPROF_CALLERS_H
/* The C code that asks the allocator: the innermost return addresses of a call, by an identity.
 * Which of them is the caller, and what it is called, is found when a name is wanted. */
#include "mem.h"

#define HEAPPROF_CALLER_FRAMES 6

struct heapprof_caller {
    uintptr_t frames[HEAPPROF_CALLER_FRAMES]; /* innermost first; 0: there are no more */
};

struct heapprof_callers {
    struct heapprof_mem    *mem;
    struct heapprof_caller *all; /* by identity; zero: not a caller's */
    size_t all_capacity;
};

/* An empty table; allocates nothing. mem must outlive it. */
void rb_heapprof_callers_init(struct heapprof_callers *callers, struct heapprof_mem *mem);

/* Gives the memory back; the table is then as after init. */
void rb_heapprof_callers_free(struct heapprof_callers *callers);

/* The key of a caller among the addresses of identities: none that an object can have. */
uintptr_t rb_heapprof_callers_key(const struct heapprof_caller *caller);

/* Whether an address of the identities is such a key. */
static inline bool
rb_heapprof_callers_key_p(uintptr_t address)
{
    return (intptr_t)address < 0;
}

/* Keeps it under identity; false when memory is refused. */
bool rb_heapprof_callers_set(struct heapprof_callers *callers, uint32_t identity,
                             const struct heapprof_caller *caller);

/* NULL: the identity is not a caller's. Good until the next set. */
static inline const struct heapprof_caller *
rb_heapprof_callers_get(const struct heapprof_callers *callers, uint32_t identity)
{
    return identity < callers->all_capacity && callers->all[identity].frames[0]
               ? &callers->all[identity] : NULL;
}

#endif
