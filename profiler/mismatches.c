/* mismatches.c - a list without an index: programs have few of these, and each is an error. The
 * caller serialises. */
#include "profiler/mismatches.h"

#include <string.h>

enum { MOST = 256 };

void
rb_heapprof_mismatches_init(struct heapprof_mismatches *mismatches, struct heapprof_mem *mem,
                            struct heapprof_stacks *stacks)
{
    *mismatches = (struct heapprof_mismatches){ .mem = mem, .stacks = stacks };
}

void
rb_heapprof_mismatches_free(struct heapprof_mismatches *mismatches)
{
    HEAPPROF_MEM_RELEASE(mismatches->mem, mismatches->all, mismatches->capacity);
    rb_heapprof_mismatches_init(mismatches, mismatches->mem, mismatches->stacks);
}

static bool
same_end_p(const struct heapprof_mismatch_end *a, const struct heapprof_mismatch_end *b)
{
    return a->stack == b->stack && a->c_path == b->c_path;
}

void
rb_heapprof_mismatches_add(struct heapprof_mismatches *mismatches,
                           const struct heapprof_mismatch *one)
{
    for (uint32_t i = 0; i < mismatches->count; i++) {
        struct heapprof_mismatch *known = &mismatches->all[i];
        if (known->of_ruby != one->of_ruby || !same_end_p(&known->asked, &one->asked) ||
            !same_end_p(&known->freed, &one->freed)) continue;
        known->blocks++;
        known->bytes += one->bytes;
        return;
    }
    if (mismatches->count == MOST ||
        !HEAPPROF_MEM_GROW(mismatches->mem, mismatches->all, mismatches->capacity,
                           (size_t)mismatches->count + 1))
        return;
    rb_heapprof_stacks_hold(mismatches->stacks, one->asked.stack);
    rb_heapprof_stacks_hold(mismatches->stacks, one->freed.stack);
    mismatches->all[mismatches->count] = *one;
    mismatches->all[mismatches->count++].blocks = 1;
}
