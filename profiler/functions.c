/* functions.c - what stands behind a frame: a name, a file, a first line.
 *
 *     number      1                        2
 *     all         iseq 7, owner Foo        method ID 88 | C, owner Array
 *                 "Foo#bar" foo.rb:3       "Array#map"
 *     index       hash(origin, owner) -> number
 *
 *   I1  no two functions have the same origin and owner.
 *   I2  functions are never removed: their numbers stay good for stacks that are
 *       still to be walked, and their names for a later snapshot.
 *
 * Their number is bounded by the code that has run, not by how long it runs;
 * eval in a loop is the exception, and meets the budget.
 *
 * The caller serialises. add allocates (mem.c); the rest may run anywhere.
 */
#include "functions.h"

#include <string.h>

#include "check.h"

static uint64_t
key_hash(uint64_t origin, uint32_t owner)
{
    return rb_heapprof_index_hash(rb_heapprof_index_hash(origin) + owner);
}

static uint64_t
hash_i(const void *owner, uint32_t number)
{
    const struct heapprof_function *function =
        rb_heapprof_functions_get((const struct heapprof_functions *)owner, number);

    return key_hash(function->origin, function->owner);
}

void
rb_heapprof_functions_init(struct heapprof_functions *functions, struct heapprof_mem *mem)
{
    memset(functions, 0, sizeof(*functions));
    functions->mem = mem;
}

void
rb_heapprof_functions_free(struct heapprof_functions *functions)
{
    HEAPPROF_MEM_RELEASE(functions->mem, functions->all, functions->all_capacity);
    rb_heapprof_index_release(&functions->index, functions->mem);
    rb_heapprof_functions_init(functions, functions->mem);
}

uint32_t
rb_heapprof_functions_find(const struct heapprof_functions *functions,
                           uint64_t origin, uint32_t owner)
{
    uint64_t probe = key_hash(origin, owner);
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
    if (!HEAPPROF_MEM_GROW(functions->mem, functions->all, functions->all_capacity,
                           (size_t)functions->count + 2) ||
        !rb_heapprof_index_reserve(&functions->index, functions->mem, functions->count,
                                   hash_i, functions)) return 0;

    number = ++functions->count;
    functions->all[number] = *function;
    rb_heapprof_index_insert(&functions->index, hash_i(functions, number), number);
    return number;
}

void
rb_heapprof_functions_check(const struct heapprof_functions *functions)
{
    uint32_t number;

    for (number = 1; number <= functions->count; number++) {
        const struct heapprof_function *function = &functions->all[number];
        HEAPPROF_ASSERT(rb_heapprof_functions_find(functions, function->origin,
                                                   function->owner) == number);
    }
    rb_heapprof_index_check(&functions->index, functions->count, hash_i, functions);
}
