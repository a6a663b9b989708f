/* tally.c - counts functions. */
#include "attach/tally.h"

#include <string.h>

void
rb_heapprof_tally_init(struct heapprof_tally *tally, struct heapprof_mem *mem)
{
    *tally = (struct heapprof_tally){.mem = mem};
}

void
rb_heapprof_tally_free(struct heapprof_tally *tally)
{
    HEAPPROF_MEM_RELEASE(tally->mem, tally->functions, tally->capacity);
}

/* A function that calls itself counts once. */
static bool
count(struct heapprof_tally *tally, uint32_t number, bool innermost)
{
    if (!HEAPPROF_MEM_GROW(tally->mem, tally->functions, tally->capacity, (size_t)number + 1)) return false;
    if (number >= tally->end) tally->end = number + 1;
    struct heapprof_tally_function *function = &tally->functions[number];
    function->self += innermost;
    function->total += function->seen != tally->passed;
    function->seen = tally->passed;
    return true;
}

bool
rb_heapprof_tally_add(struct heapprof_tally *tally, const struct heapprof_looks *looks, bool idle)
{
    for (size_t i = 0; i < looks->stack_count; i++) {
        const struct heapprof_look_stack *stack = &looks->stacks[i];
        if (stack->failed || (stack->idle && !idle)) continue;
        tally->passed++;
        tally->stacks++;
        tally->collecting += stack->collecting;
        for (size_t f = 0; f < stack->count; f++) {
            if (!count(tally, looks->frames[stack->first + f].function, f == 0)) return false;
        }
    }
    return true;
}

void
rb_heapprof_tally_mark(struct heapprof_tally *tally)
{
    tally->stacks_marked = tally->stacks;
    tally->collecting_marked = tally->collecting;
    for (uint32_t i = 0; i < tally->end; i++) {
        tally->functions[i].self_marked = tally->functions[i].self;
        tally->functions[i].total_marked = tally->functions[i].total;
    }
}

void
rb_heapprof_tally_clear(struct heapprof_tally *tally)
{
    uint64_t passed = tally->passed;

    if (tally->end) memset(tally->functions, 0, tally->end * sizeof(*tally->functions));
    *tally = (struct heapprof_tally){
        .mem = tally->mem, .functions = tally->functions, .capacity = tally->capacity, .passed = passed
    };
}
