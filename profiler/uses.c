/* uses.c - a list without an index: programs have few of these, and each is an error. The caller
 * serialises. */
#include "profiler/uses.h"

enum { MOST = 1024 };

void
rb_heapprof_uses_init(struct heapprof_uses *uses, struct heapprof_mem *mem,
                      struct heapprof_stacks *stacks)
{
    *uses = (struct heapprof_uses){ .mem = mem, .stacks = stacks };
}

void
rb_heapprof_uses_free(struct heapprof_uses *uses)
{
    HEAPPROF_MEM_RELEASE(uses->mem, uses->all, uses->capacity);
    rb_heapprof_uses_init(uses, uses->mem, uses->stacks);
}

/* Whose numbers of GCs alone differ are one: the first. */
static bool
same_p(const struct heapprof_use *a, const struct heapprof_use *b)
{
    return a->used.stack == b->used.stack && a->used.c_path == b->used.c_path &&
           a->access == b->access && a->object.stack == b->object.stack &&
           a->object.class_name == b->object.class_name && a->object.moved == b->object.moved &&
           a->gc.stack == b->gc.stack;
}

void
rb_heapprof_uses_add(struct heapprof_uses *uses, const struct heapprof_use *one)
{
    for (uint32_t i = 0; i < uses->count; i++) {
        if (!same_p(&uses->all[i], one)) continue;
        uses->all[i].times++;
        return;
    }
    if (uses->count == MOST ||
        !HEAPPROF_MEM_GROW(uses->mem, uses->all, uses->capacity, (size_t)uses->count + 1)) {
        uses->unknown++;
        return;
    }
    rb_heapprof_stacks_hold(uses->stacks, one->used.stack);
    rb_heapprof_stacks_hold(uses->stacks, one->object.stack);
    rb_heapprof_stacks_hold(uses->stacks, one->gc.stack);
    uses->all[uses->count] = *one;
    uses->all[uses->count++].times = 1;
}
