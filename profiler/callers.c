/* callers.c - return addresses by identity, and their key.
 *
 * Two callers with one key would be one: of a 63-bit hash that does not happen.
 *
 * The caller serialises. set allocates (mem.c). */
#include "callers.h"

#include <string.h>

#include "index.h"

void
rb_heapprof_callers_init(struct heapprof_callers *callers, struct heapprof_mem *mem)
{
    memset(callers, 0, sizeof(*callers));
    callers->mem = mem;
}

void
rb_heapprof_callers_free(struct heapprof_callers *callers)
{
    HEAPPROF_MEM_RELEASE(callers->mem, callers->all, callers->all_capacity);
}

uintptr_t
rb_heapprof_callers_key(const struct heapprof_caller *caller)
{
    uint64_t hash = 0;
    int i;

    for (i = 0; i < HEAPPROF_CALLER_FRAMES; i++) {
        hash = rb_heapprof_index_hash(hash + caller->frames[i]);
    }
    return (uintptr_t)hash | ((uintptr_t)1 << (sizeof(uintptr_t) * 8 - 1));
}

bool
rb_heapprof_callers_set(struct heapprof_callers *callers, uint32_t identity,
                        const struct heapprof_caller *caller)
{
    if (!HEAPPROF_MEM_GROW(callers->mem, callers->all, callers->all_capacity,
                           (size_t)identity + 1)) return false;
    callers->all[identity] = *caller;
    return true;
}
