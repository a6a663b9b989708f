#ifndef HEAPPROF_CALLERS_H
#define HEAPPROF_CALLERS_H
/* The C code that asks the allocator: of the return addresses of a call the innermost that does
 * not lie in a function that asks for somebody else, such as xmalloc. What function that is, is
 * found when a name is wanted. */
#include "base/mem.h"

/* The code of functions that ask for somebody else: addresses from start up to end. */
struct heapprof_wrapper {
    uintptr_t start;
    uintptr_t end;
};

struct heapprof_callers {
    struct heapprof_mem  *mem;
    struct heapprof_wrapper *wrappers; /* sorted when all have been added, none overlaps another */
    size_t wrappers_capacity;
    size_t wrapper_count;
    struct heapprof_wrapper core;        /* the code of MRI itself; {0}: not known */
    struct heapprof_wrapper interpreter; /* of that, the function that runs Ruby code; {0}: not known */
};

/* An empty table; allocates nothing. mem must outlive it. */
void rb_heapprof_callers_init(struct heapprof_callers *callers, struct heapprof_mem *mem);

/* Gives the memory back; the table is then as after init. */
void rb_heapprof_callers_free(struct heapprof_callers *callers);

/* Adds a wrapper, if there is memory; sort after the last. */
void rb_heapprof_callers_add_wrapper(struct heapprof_callers *callers, uintptr_t start,
                                     size_t size_bytes);
void rb_heapprof_callers_sort(struct heapprof_callers *callers);

/* Whether a return address lies in a wrapper. */
bool rb_heapprof_callers_wrapper_p(const struct heapprof_callers *callers, uintptr_t address);

/* The caller among return addresses, innermost first; 0 when there is none. The first own_count are
 * the profiler's; how many those are need not be known where wrappers are. */
uintptr_t rb_heapprof_callers_find(const struct heapprof_callers *callers,
                                   const uintptr_t *addresses, size_t count, size_t own_count);

/* Whether a return address lies in MRI itself. */
bool rb_heapprof_callers_core_p(const struct heapprof_callers *callers, uintptr_t address);

/* Whether it lies in the function that runs Ruby code. */
bool rb_heapprof_callers_interpreter_p(const struct heapprof_callers *callers, uintptr_t address);

/* On whose behalf a function of MRI asked: the innermost of the addresses that lies neither in MRI nor in a wrapper, and
 * has called it without Ruby code in between; 0: none. */
uintptr_t rb_heapprof_callers_behalf(const struct heapprof_callers *callers, const uintptr_t *addresses, size_t count);

/* A caller as a key among the addresses of identities, none that an object can have; and
 * back. */
static inline uintptr_t
rb_heapprof_callers_key(uintptr_t caller)
{
    return caller | ((uintptr_t)1 << (sizeof(uintptr_t) * 8 - 1));
}

static inline uintptr_t
rb_heapprof_callers_of_key(uintptr_t key)
{
    return key & ~((uintptr_t)1 << (sizeof(uintptr_t) * 8 - 1));
}

static inline bool
rb_heapprof_callers_key_p(uintptr_t address)
{
    return (intptr_t)address < 0;
}

#endif
