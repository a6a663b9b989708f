/* tally.c - counts how often functions and labels are seen. */
#include "attach/tally.h"

#include <string.h>

void
attach_tally_init(struct attach_tally *tally, struct heapprof_mem *mem)
{
    *tally = (struct attach_tally){.mem = mem};
}

void
attach_tally_free(struct attach_tally *tally)
{
    HEAPPROF_MEM_RELEASE(tally->mem, tally->functions, tally->capacity);
    HEAPPROF_MEM_RELEASE(tally->mem, tally->sets, tally->set_capacity);
}

/* A recursive function counts once. */
static bool
count(struct attach_tally *tally, uint32_t number, bool innermost)
{
    if (!HEAPPROF_MEM_GROW(tally->mem, tally->functions, tally->capacity, (size_t)number + 1))
        return false;
    if (number >= tally->end) tally->end = number + 1;
    struct attach_tally_function *function = &tally->functions[number];
    function->self += innermost;
    function->total += function->seen != tally->passed;
    function->seen = tally->passed;
    return true;
}

static bool
count_labels(struct attach_tally *tally, uint32_t set)
{
    if (!HEAPPROF_MEM_GROW(tally->mem, tally->sets, tally->set_capacity, (size_t)set + 1))
        return false;
    if (set >= tally->set_end) tally->set_end = set + 1;
    tally->sets[set].total++;
    return true;
}

bool
attach_tally_add(struct attach_tally *tally, const struct attach_looks *looks, bool idle)
{
    for (size_t i = 0; i < looks->stack_count; i++) {
        const struct attach_look_stack *stack = &looks->stacks[i];
        if (stack->failed || (stack->idle && !idle)) continue;
        tally->passed++;
        tally->stacks++;
        tally->collecting += stack->collecting;
        if (!count_labels(tally, stack->label_set)) return false;
        for (size_t f = 0; f < stack->count; f++) {
            if (!count(tally, looks->frames[stack->first + f].function, f == 0)) return false;
        }
    }
    return true;
}

void
attach_tally_mark(struct attach_tally *tally)
{
    tally->stacks_marked = tally->stacks;
    tally->collecting_marked = tally->collecting;
    for (uint32_t i = 0; i < tally->end; i++) {
        tally->functions[i].self_marked = tally->functions[i].self;
        tally->functions[i].total_marked = tally->functions[i].total;
    }
    for (uint32_t i = 0; i < tally->set_end; i++)
        tally->sets[i].total_marked = tally->sets[i].total;
}

void
attach_tally_clear(struct attach_tally *tally)
{
    uint64_t passed = tally->passed;

    if (tally->end) memset(tally->functions, 0, tally->end * sizeof(*tally->functions));
    if (tally->set_end) memset(tally->sets, 0, tally->set_end * sizeof(*tally->sets));
    *tally = (struct attach_tally){ .mem = tally->mem,
                                     .functions = tally->functions,
                                     .capacity = tally->capacity,
                                     .sets = tally->sets,
                                     .set_capacity = tally->set_capacity,
                                     .passed = passed };
}
