#ifndef HEAPPROF_CALLERS_H
#define HEAPPROF_CALLERS_H
/* Which C code asks the allocator. A call has several return addresses. The caller is the innermost
 * that does not lie in a wrapper: a function that asks for somebody else, such as xmalloc. The name
 * of the caller's function is looked up when somebody wants it. */
#include "base/mem.h"

/* The code of a wrapper: addresses from start to end - 1. */
struct heapprof_wrapper {
    uintptr_t start;
    uintptr_t end;
    bool      of_xmalloc; /* a part of MRI's allocator: what it asks for is a block of xmalloc */
};

struct heapprof_callers {
    struct heapprof_mem  *mem;
    struct heapprof_wrapper *wrappers; /* sorted after sort; none overlaps another */
    size_t wrappers_capacity;
    size_t wrapper_count;
    struct heapprof_wrapper core;        /* the code of MRI; {0}: not known */
    struct heapprof_wrapper interpreter; /* MRI's function that runs Ruby code; {0}: not known */
};

/* An empty table; allocates nothing. mem must outlive it. */
void rb_heapprof_callers_init(struct heapprof_callers *callers, struct heapprof_mem *mem);

/* Gives the memory back; the table is then as after init. */
void rb_heapprof_callers_free(struct heapprof_callers *callers);

/* Adds a wrapper, if there is memory. The caller calls sort after the last one. */
void rb_heapprof_callers_add_wrapper(struct heapprof_callers *callers, uintptr_t start,
                                     size_t size_bytes, bool of_xmalloc);
void rb_heapprof_callers_sort(struct heapprof_callers *callers);

/* Whether a return address lies in a wrapper. */
bool rb_heapprof_callers_wrapper_p(const struct heapprof_callers *callers, uintptr_t address);

/* Whether it lies in a wrapper that is a part of MRI's allocator. */
bool rb_heapprof_callers_xmalloc_p(const struct heapprof_callers *callers, uintptr_t address);

/* Finds the caller among return addresses, which come innermost first. Returns 0 if there is
 * none. The first own_count belong to the profiler. Where wrappers are known, own_count may be
 * too small. */
uintptr_t rb_heapprof_callers_find(const struct heapprof_callers *callers,
                                   const uintptr_t *addresses, size_t count, size_t own_count);

/* Whether a return address lies in MRI. */
bool rb_heapprof_callers_core_p(const struct heapprof_callers *callers, uintptr_t address);

/* Whether it lies in the function that runs Ruby code. */
bool rb_heapprof_callers_interpreter_p(const struct heapprof_callers *callers, uintptr_t address);

/* The code on whose behalf MRI asked: the innermost address that lies neither in MRI nor in a
 * wrapper, if it has called MRI without Ruby code in between. Returns 0 if there is none. */
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
