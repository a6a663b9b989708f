/* functions.c - what stands behind a frame: a name, a file, a first line.
 *
 *     number      1                        2
 *     all         iseq 7, owner Foo        method ID 88 | C, owner Array
 *                 "Foo#bar" foo.rb:3       "Array#map"
 *     index       hash(origin, owner) -> number
 *
 *   I1  no two functions have the same origin and owner.
 *   I2  a function stays when its code dies: stacks name it for as long as their
 *       samples live. It goes in a sweep, when whoever knows what is needed has
 *       said so.
 *
 * The code that has run bounds their number, but for programs that make code as they
 * run (eval, a singleton class an object).
 *
 * The caller serialises. add allocates (mem.c); the rest may run anywhere.
 */
#include "profiler/functions.h"

#include <string.h>

#include "base/check.h"

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

static bool
reserve(struct heapprof_functions *functions)
{
    size_t next = functions->free_head ? functions->free_head : functions->end;

    return HEAPPROF_MEM_GROW(functions->mem, functions->all, functions->all_capacity, next + 1) &&
           rb_heapprof_index_reserve(&functions->index, functions->mem, functions->count,
                                     hash_i, functions);
}

static uint32_t
take_number(struct heapprof_functions *functions)
{
    uint32_t number = functions->free_head;

    if (number) {
        functions->free_head = functions->all[number].owner;
    }
    else {
        number = functions->end++;
    }
    functions->count++;
    return number;
}

static void
free_number(struct heapprof_functions *functions, uint32_t number)
{
    struct heapprof_function *function = &functions->all[number];

    rb_heapprof_index_erase(&functions->index, number, hash_i, functions);
    memset(function, 0, sizeof(*function));
    function->owner = functions->free_head;
    functions->free_head = number;
    functions->count--;
}

void
rb_heapprof_functions_init(struct heapprof_functions *functions, struct heapprof_mem *mem)
{
    memset(functions, 0, sizeof(*functions));
    functions->mem = mem;
    functions->end = 1;
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
    if (!reserve(functions)) return 0;

    number = take_number(functions);
    functions->all[number] = *function;
    rb_heapprof_index_insert(&functions->index, hash_i(functions, number), number);
    return number;
}

uint32_t
rb_heapprof_functions_sweep(struct heapprof_functions *functions)
{
    uint32_t number, before = functions->count;

    for (number = 1; number < functions->end; number++) {
        struct heapprof_function *function = &functions->all[number];
        if (function->origin && !function->needed) free_number(functions, number);
        function->needed = false;
    }
    return before - functions->count;
}

void
rb_heapprof_functions_check(const struct heapprof_functions *functions)
{
    uint32_t number, used = 0, free_numbers = 0;

    for (number = 1; number < functions->end; number++) {
        const struct heapprof_function *function = &functions->all[number];
        HEAPPROF_ASSERT(!function->needed);
        if (function->origin == 0) continue;
        HEAPPROF_ASSERT(rb_heapprof_functions_find(functions, function->origin,
                                                   function->owner) == number);
        used++;
    }
    for (number = functions->free_head; number; number = functions->all[number].owner) {
        HEAPPROF_ASSERT(number < functions->end && functions->all[number].origin == 0);
        free_numbers++;
        HEAPPROF_ASSERT(free_numbers < functions->end);
    }
    HEAPPROF_ASSERT(used == functions->count && used + free_numbers + 1 == functions->end);
    rb_heapprof_index_check(&functions->index, functions->count, hash_i, functions);
}
