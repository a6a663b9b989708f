/* functions.c - a sorted table of functions, of which no two begin at the same address.
 *
 * Several names may stand for one function. Of these the name is kept that has the fewest
 * underscores in front; of several, one that is not weak, and the first by the alphabet. So the
 * answer does not depend on the order of the file.
 *
 * Anybody may have written the names, and many may overlap: of each, COMPARED bytes are looked
 * at. */
#include "unwind/functions.h"

#include <stdlib.h>
#include <string.h>

enum { COMPARED = 256 };

struct functions_reading {
    struct unwind_functions *functions;
    bool room;
};

static bool
add_function(const struct heapprof_elf_function *function, void *data)
{
    struct functions_reading *reading = data;
    struct unwind_functions *functions = reading->functions;

    reading->room = HEAPPROF_MEM_GROW(functions->mem, functions->all, functions->capacity,
                                      functions->count + 1);
    if (reading->room)
        functions->all[functions->count++] = (struct unwind_function){
            .start = function->start, .bytes = function->size_bytes, .name = function->name,
            .weak = function->weak
        };
    return reading->room;
}

static int
compare_functions(const void *left, const void *right)
{
    const struct unwind_function *a = left, *b = right;

    return (a->start > b->start) - (a->start < b->start);
}

static const char *
name_of(const struct unwind_functions *functions, const struct unwind_function *function)
{
    return function->name < functions->names_bytes ? functions->names + function->name : "";
}

static size_t
underscores(const char *name)
{
    size_t count = 0;

    while (count < COMPARED && name[count] == '_') count++;
    return count;
}

static bool
better_p(const struct unwind_functions *functions, const struct unwind_function *function,
         const struct unwind_function *than)
{
    const char *name = name_of(functions, function), *other = name_of(functions, than);
    size_t ours = underscores(name), theirs = underscores(other);

    if (!*name || !*other) return *name;
    if (ours != theirs) return ours < theirs;
    return function->weak != than->weak ? than->weak : strncmp(name, other, COMPARED) < 0;
}

/* Keeps the best of the functions that begin at one address. */
static void
keep_best(struct unwind_functions *functions)
{
    size_t kept = 0;

    for (size_t i = 0; i < functions->count; i++) {
        const struct unwind_function *each = &functions->all[i];
        struct unwind_function *last = kept ? &functions->all[kept - 1] : NULL;
        if (!last || last->start != each->start) functions->all[kept++] = *each;
        else if (better_p(functions, each, last)) *last = *each;
    }
    functions->count = kept;
}

bool
unwind_functions_read(struct unwind_functions *functions, struct heapprof_elf *elf)
{
    struct functions_reading reading = { .functions = functions, .room = true };

    *functions = (struct unwind_functions){ .mem = elf->mem };
    rb_heapprof_elf_each(elf, add_function, &reading);
    if (!reading.room || !rb_heapprof_elf_load_names(elf)) {
        unwind_functions_free(functions);
        return false;
    }
    functions->names = elf->loaded;
    functions->names_capacity = elf->loaded_capacity;
    functions->names_bytes = (size_t)elf->names_bytes;
    elf->loaded = NULL;
    elf->loaded_capacity = 0;
    if (functions->count)
        qsort(functions->all, functions->count, sizeof(*functions->all), compare_functions);
    keep_best(functions);
    return true;
}

void
unwind_functions_free(struct unwind_functions *functions)
{
    if (!functions->mem) return;
    HEAPPROF_MEM_RELEASE(functions->mem, functions->all, functions->capacity);
    HEAPPROF_MEM_RELEASE(functions->mem, functions->names, functions->names_capacity);
    functions->count = 0;
}

const char *
unwind_functions_name(const struct unwind_functions *functions, uint64_t address)
{
    size_t low = 0, high = functions->count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (functions->all[middle].start <= address) low = middle + 1;
        else high = middle;
    }
    if (low == 0 || address - functions->all[low - 1].start >= functions->all[low - 1].bytes)
        return NULL;
    const char *name = name_of(functions, &functions->all[low - 1]);
    return *name ? name : NULL;
}
