/* still.c - which entries of a still are copied: all below next, and those whose bit is in early.
 *
 *   I1  an entry is copied once, before it changes.
 *   I2  next is a multiple of 64, or end: where no entry was copied early, one call copies 64.
 */
#include "base/still.h"

#define BITS 64

bool
rb_heapprof_still_begin(struct heapprof_still *still, struct heapprof_mem *mem, uint32_t end)
{
    still->end = end;
    still->next = 0;
    return HEAPPROF_MEM_GROW(mem, still->early, still->early_capacity, (size_t)end / BITS + 1);
}

void
rb_heapprof_still_free(struct heapprof_still *still, struct heapprof_mem *mem)
{
    HEAPPROF_MEM_RELEASE(mem, still->early, still->early_capacity);
    still->next = still->end = 0;
}

static bool
early_p(const struct heapprof_still *still, uint32_t number)
{
    return still->early[number / BITS] >> number % BITS & 1;
}

static void
copy_others(struct heapprof_still *still, uint32_t first, uint32_t end)
{
    for (uint32_t number = first; number < end; number++) {
        if (!early_p(still, number)) still->copy(still, number, number + 1);
    }
}

bool
rb_heapprof_still_step(struct heapprof_still *still)
{
    for (int i = 0; i < HEAPPROF_STILL_STEP / BITS && still->next < still->end; i++) {
        uint32_t first = still->next;
        still->next = still->end - first < BITS ? still->end : first + BITS;
        if (still->early[first / BITS]) copy_others(still, first, still->next);
        else still->copy(still, first, still->next);
    }
    return still->next < still->end;
}

void
rb_heapprof_still_keep(struct heapprof_still *still, uint32_t number)
{
    if (number < still->next || number >= still->end || early_p(still, number)) return;
    still->early[number / BITS] |= UINT64_C(1) << number % BITS;
    still->copy(still, number, number + 1);
}
