/* callers.c - which of the return addresses of a call asks the allocator for itself.
 *
 *     our own       [heapprof]        what comes before the first wrapper
 *     wrappers      [rb_gc_impl_malloc, ruby_xmalloc]
 *     the caller    str_enc_new
 *
 * The caller serialises. add_wrapper allocates (mem.c). */
#include "profiler/callers.h"

#include <stdlib.h>
#include <string.h>

void
rb_heapprof_callers_init(struct heapprof_callers *callers, struct heapprof_mem *mem)
{
    memset(callers, 0, sizeof(*callers));
    callers->mem = mem;
}

void
rb_heapprof_callers_free(struct heapprof_callers *callers)
{
    HEAPPROF_MEM_RELEASE(callers->mem, callers->all, callers->capacity);
    callers->count = 0;
}

void
rb_heapprof_callers_add(struct heapprof_callers *callers, uintptr_t start, size_t size_bytes,
                        enum heapprof_role role)
{
    if (!HEAPPROF_MEM_GROW(callers->mem, callers->all, callers->capacity, callers->count + 1))
        return;
    callers->all[callers->count++] =
        (struct heapprof_code_range){ start, start + size_bytes, role };
}

static int
compare_code(const void *left, const void *right)
{
    const struct heapprof_code_range *a = left, *b = right;
    return (a->start > b->start) - (a->start < b->start);
}

void
rb_heapprof_callers_sort(struct heapprof_callers *callers)
{
    if (callers->count == 0) return;
    qsort(callers->all, callers->count, sizeof(*callers->all), compare_code);
}

/* A return address follows its call, which may be the function's last instruction. */
static bool
within_p(const struct heapprof_code_range *code, uintptr_t address)
{
    return address > code->start && address <= code->end;
}

enum heapprof_role
rb_heapprof_callers_role(const struct heapprof_callers *callers, uintptr_t address)
{
    size_t low = 0, high = callers->count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (callers->all[middle].start < address) low = middle + 1;
        else high = middle;
    }
    if (low == 0 || !within_p(&callers->all[low - 1], address)) return HEAPPROF_ROLE_NONE;
    return callers->all[low - 1].role;
}

bool
rb_heapprof_callers_wrapper_p(const struct heapprof_callers *callers, uintptr_t address)
{
    enum heapprof_role role = rb_heapprof_callers_role(callers, address);
    return role == HEAPPROF_ROLE_WRAPPER || role == HEAPPROF_ROLE_XMALLOC;
}

uintptr_t
rb_heapprof_callers_find(const struct heapprof_callers *callers, const uintptr_t *addresses,
                         size_t count, size_t own_count)
{
    size_t i = 0;

    while (i < count && !rb_heapprof_callers_wrapper_p(callers, addresses[i])) i++;
    if (i == count) i = own_count;
    while (i < count && rb_heapprof_callers_wrapper_p(callers, addresses[i])) i++;
    return i < count ? addresses[i] : 0;
}

bool
rb_heapprof_callers_core_p(const struct heapprof_callers *callers, uintptr_t address)
{
    return within_p(&callers->core, address);
}

uintptr_t
rb_heapprof_callers_behalf(const struct heapprof_callers *callers, const uintptr_t *addresses,
                           size_t count)
{
    for (size_t i = 0; i < count; i++) {
        enum heapprof_role role = rb_heapprof_callers_role(callers, addresses[i]);
        if (role == HEAPPROF_ROLE_EDGE) return 0;
        if (role == HEAPPROF_ROLE_NONE && !rb_heapprof_callers_core_p(callers, addresses[i]))
            return addresses[i];
    }
    return 0;
}
