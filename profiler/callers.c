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
    HEAPPROF_MEM_RELEASE(callers->mem, callers->wrappers, callers->wrappers_capacity);
    callers->wrapper_count = 0;
}

void
rb_heapprof_callers_add_wrapper(struct heapprof_callers *callers, uintptr_t start,
                                size_t size_bytes, bool of_xmalloc)
{
    if (!HEAPPROF_MEM_GROW(callers->mem, callers->wrappers, callers->wrappers_capacity,
                           callers->wrapper_count + 1)) return;
    callers->wrappers[callers->wrapper_count++] =
        (struct heapprof_wrapper){ start, start + size_bytes, of_xmalloc };
}

static int
compare_code(const void *left, const void *right)
{
    const struct heapprof_wrapper *a = left, *b = right;
    return (a->start > b->start) - (a->start < b->start);
}

void
rb_heapprof_callers_sort(struct heapprof_callers *callers)
{
    if (callers->wrapper_count == 0) return;
    qsort(callers->wrappers, callers->wrapper_count, sizeof(*callers->wrappers), compare_code);
}

/* A return address follows its call, which may be the function's last instruction. Returns NULL if
 * it lies in no wrapper. */
static const struct heapprof_wrapper *
wrapper_at(const struct heapprof_callers *callers, uintptr_t address)
{
    size_t low = 0, high = callers->wrapper_count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (callers->wrappers[middle].start < address) low = middle + 1;
        else high = middle;
    }
    if (low == 0 || address > callers->wrappers[low - 1].end) return NULL;
    return &callers->wrappers[low - 1];
}

bool
rb_heapprof_callers_wrapper_p(const struct heapprof_callers *callers, uintptr_t address)
{
    return wrapper_at(callers, address) != NULL;
}

bool
rb_heapprof_callers_xmalloc_p(const struct heapprof_callers *callers, uintptr_t address)
{
    const struct heapprof_wrapper *wrapper = wrapper_at(callers, address);
    return wrapper && wrapper->of_xmalloc;
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

/* As wrapper_p. */
static bool
within_p(const struct heapprof_wrapper *code, uintptr_t address)
{
    return address > code->start && address <= code->end;
}

bool
rb_heapprof_callers_core_p(const struct heapprof_callers *callers, uintptr_t address)
{
    return within_p(&callers->core, address);
}

bool
rb_heapprof_callers_interpreter_p(const struct heapprof_callers *callers, uintptr_t address)
{
    return within_p(&callers->interpreter, address);
}

uintptr_t
rb_heapprof_callers_behalf(const struct heapprof_callers *callers, const uintptr_t *addresses,
                           size_t count)
{
    for (size_t i = 0; i < count && !rb_heapprof_callers_interpreter_p(callers, addresses[i]);
         i++) {
        if (rb_heapprof_callers_core_p(callers, addresses[i])) continue;
        if (rb_heapprof_callers_wrapper_p(callers, addresses[i])) continue;
        return addresses[i];
    }
    return 0;
}
