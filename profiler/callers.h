#ifndef HEAPPROF_CALLERS_H
#define HEAPPROF_CALLERS_H
/* Which C code asks the allocator. A call has several return addresses. The caller is the innermost
 * that does not lie in a wrapper: a function that asks for somebody else, such as xmalloc. The name
 * of the caller's function is looked up when somebody wants it. */
#include "base/mem.h"

/* What a function is to the requests that it leads to. */
enum heapprof_role {
    HEAPPROF_ROLE_NONE,    /* asks for itself */
    HEAPPROF_ROLE_WRAPPER, /* asks for its caller */
    HEAPPROF_ROLE_XMALLOC, /* as a wrapper, and MRI's allocator: it gives out blocks of xmalloc */
    HEAPPROF_ROLE_EDGE,    /* runs or reads Ruby code: never for its caller */
    HEAPPROF_ROLE_MARKER   /* calls mark functions */
};

/* The code of a function, or of all of MRI: addresses from start to end - 1. */
struct heapprof_code_range {
    uintptr_t start;
    uintptr_t end;
    enum heapprof_role role;
};

struct heapprof_callers {
    struct heapprof_mem  *mem;
    struct heapprof_code_range *all; /* what has a role; sorted after sort; none overlaps another */
    size_t capacity;
    size_t count;
    struct heapprof_code_range core; /* the code of MRI; {0}: not known */
};

/* An empty table; allocates nothing. mem must outlive it. */
void rb_heapprof_callers_init(struct heapprof_callers *callers, struct heapprof_mem *mem);

/* Gives the memory back; the table is then as after init. */
void rb_heapprof_callers_free(struct heapprof_callers *callers);

/* Adds a function, if there is memory. The caller calls sort after the last one. */
void rb_heapprof_callers_add(struct heapprof_callers *callers, uintptr_t start, size_t size_bytes,
                             enum heapprof_role role);
void rb_heapprof_callers_sort(struct heapprof_callers *callers);

/* The role of the function that a return address lies in. */
enum heapprof_role rb_heapprof_callers_role(const struct heapprof_callers *callers,
                                            uintptr_t address);

/* Whether it asks for its caller: a wrapper, or MRI's allocator. */
bool rb_heapprof_callers_wrapper_p(const struct heapprof_callers *callers, uintptr_t address);

/* Finds the caller among return addresses, which come innermost first. Returns 0 if there is
 * none. The first own_count belong to the profiler. Where wrappers are known, own_count may be
 * too small. */
uintptr_t rb_heapprof_callers_find(const struct heapprof_callers *callers,
                                   const uintptr_t *addresses, size_t count, size_t own_count);

/* Whether a return address lies in MRI. */
bool rb_heapprof_callers_core_p(const struct heapprof_callers *callers, uintptr_t address);

/* Finds the code that MRI asked for, among return addresses, which come innermost first. The search
 * passes over MRI and wrappers. It ends at an edge. Returns 0 if it finds nothing else before. */
uintptr_t rb_heapprof_callers_behalf(const struct heapprof_callers *callers,
                                     const uintptr_t *addresses, size_t count);

/* A caller as a key among the addresses of identities. No object can have such an address. The
 * second function goes back. */
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
