/* functions.c - what stands behind a frame: a name, a file, a first line.
 *
 *     number      1                        2
 *     all         iseq 7, owner Foo        method ID 88 | C, owner Array
 *                 "Foo#bar" foo.rb:3       "Array#map"
 *     index       hash(origin, owner) -> number
 *
 *   I1  no two functions have the same origin and owner.
 *   I2  a function stays when its code dies, because stacks name it for as long as their samples
 *       live. It goes in a sweep for which nobody has marked it as needed.
 *
 * Their number is bounded by the living code that has run: what is dead is merged (dead_code.h).
 *
 * The caller serialises. add allocates (mem.c). The rest may run anywhere.
 */
#include "profiler/functions.h"

#include <string.h>

#include "base/check.h"

static uint64_t
key_hash(const struct heapprof_functions *functions, uint64_t origin, uint32_t owner)
{
    return rb_heapprof_index_hash(rb_heapprof_index_hash(origin ^ functions->salt) + owner);
}

static uint64_t
hash_i(const void *owner, uint32_t number)
{
    const struct heapprof_function *function =
        rb_heapprof_functions_get((const struct heapprof_functions *)owner, number);

    return key_hash(owner, function->origin, function->owner);
}

static bool
reserve(struct heapprof_functions *functions)
{
    return HEAPPROF_NUMBERS_RESERVE(&functions->numbers, functions->mem, functions->all) &&
           rb_heapprof_index_reserve(&functions->index, functions->mem, functions->numbers.count,
                                     hash_i, functions);
}

static void
free_function(struct heapprof_functions *functions, uint32_t number)
{
    struct heapprof_function *function = &functions->all[number];

    rb_heapprof_index_erase(&functions->index, number, hash_i, functions);
    memset(function, 0, sizeof(*function));
    rb_heapprof_numbers_give_back(&functions->numbers, number, &function->owner);
}

void
rb_heapprof_functions_init(struct heapprof_functions *functions, struct heapprof_mem *mem)
{
    memset(functions, 0, sizeof(*functions));
    functions->mem = mem;
    rb_heapprof_numbers_init(&functions->numbers);
}

void
rb_heapprof_functions_free(struct heapprof_functions *functions)
{
    HEAPPROF_NUMBERS_RELEASE(&functions->numbers, functions->mem, functions->all);
    rb_heapprof_index_release(&functions->index, functions->mem);
    rb_heapprof_functions_init(functions, functions->mem);
}

uint32_t
rb_heapprof_functions_find(const struct heapprof_functions *functions,
                           uint64_t origin, uint32_t owner)
{
    uint64_t probe = key_hash(functions, origin, owner);
    uint32_t number;

    for (; (number = rb_heapprof_index_at(&functions->index, probe)) != 0; probe++) {
        const struct heapprof_function *function = &functions->all[number];
        if (function->origin == origin && function->owner == owner) break;
    }
    return number;
}

uint32_t
rb_heapprof_functions_add(struct heapprof_functions *functions,
                          const struct heapprof_function *function)
{
    uint32_t number;

    HEAPPROF_ASSERT(!rb_heapprof_functions_find(functions, function->origin, function->owner));
    if (!reserve(functions)) return 0;

    number = rb_heapprof_numbers_next(&functions->numbers);
    rb_heapprof_numbers_take(&functions->numbers, &functions->all[number].owner);
    functions->all[number] = *function;
    rb_heapprof_index_insert(&functions->index, hash_i(functions, number), number);
    return number;
}

uint32_t
rb_heapprof_functions_sweep(struct heapprof_functions *functions)
{
    uint32_t number, before = functions->numbers.count;

    for (number = 1; number < functions->numbers.end; number++) {
        struct heapprof_function *function = &functions->all[number];
        if (function->origin && !function->needed) free_function(functions, number);
        function->needed = false;
    }
    return before - functions->numbers.count;
}

static uint32_t
link_i(const void *owner, uint32_t number)
{
    const struct heapprof_function *function = rb_heapprof_functions_get(owner, number);

    return function->origin ? HEAPPROF_NUMBER_USED : function->owner;
}

void
rb_heapprof_functions_check(const struct heapprof_functions *functions)
{
    uint32_t number;

    for (number = 1; number < functions->numbers.end; number++) {
        const struct heapprof_function *function = &functions->all[number];
        HEAPPROF_ASSERT(!function->needed && !function->kept && function->same == 0);
        if (function->origin == 0) continue;
        HEAPPROF_ASSERT(rb_heapprof_functions_find(functions, function->origin,
                                                   function->owner) == number);
    }
    rb_heapprof_numbers_check(&functions->numbers, link_i, functions);
    rb_heapprof_index_check(&functions->index, functions->numbers.count, hash_i, functions);
}
