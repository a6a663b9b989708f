/* twins.c - frames that look like those of another function. Two functions of one name and path
 * have such frames at the lines that both have.
 *
 *     1  "block in Foo#run"  foo.rb       twins: a block that has run for two classes
 *     2  "block in Foo#run"  foo.rb
 *     3  "call" C            twins: called in bar.rb, the C function may look like 4
 *     4  "call"              bar.rb
 *     5  "Foo#run"           foo.rb       no twin
 *
 * Allocates from the account it is given.
 */
#include "profiler/twins.h"

struct twins_search {
    const struct heapprof_snapshot *snapshot;
    struct heapprof_mem *mem;
    bool    *twins;              /* by node */
    uint8_t *alike;              /* by function: what it has in common with other functions */
    size_t   alike_capacity;
    uint8_t *named;              /* by string: what kinds of functions have that name */
    size_t   named_capacity;
    struct heapprof_index index; /* of functions, by name and path; then of nodes, by line, too */
    uint32_t count;              /* entries in index */
};

enum { RUBY = 1, IN_C = 2 };     /* kinds of functions that have a name */
enum { SAME_PLACE = 1, ANY_PLACE = 2 };

static const struct heapprof_function *
function_at(const struct twins_search *search, uint32_t number)
{
    return rb_heapprof_functions_get(&search->snapshot->functions, number);
}

static const struct heapprof_stack_node *
node_at(const struct twins_search *search, uint32_t stack)
{
    return rb_heapprof_stacks_node(&search->snapshot->stacks, stack);
}

static uint64_t
function_hash_i(const void *owner, uint32_t number)
{
    const struct heapprof_function *function = function_at(owner, number);

    return rb_heapprof_index_hash((uint64_t)function->name << 32 | function->path);
}

static bool
same_function_p(const struct twins_search *search, uint32_t a, uint32_t b)
{
    const struct heapprof_function *one = function_at(search, a), *other = function_at(search, b);

    return one->name == other->name && one->path == other->path;
}

static uint64_t
frame_hash_i(const void *owner, uint32_t stack)
{
    const struct heapprof_stack_node *node = node_at(owner, stack);

    return rb_heapprof_index_hash(function_hash_i(owner, node->function) + node->line);
}

static bool
same_frame_p(const struct twins_search *search, uint32_t a, uint32_t b)
{
    const struct heapprof_stack_node *one = node_at(search, a), *other = node_at(search, b);

    return one->line == other->line && same_function_p(search, one->function, other->function);
}

typedef bool same_i(const struct twins_search *search, uint32_t a, uint32_t b);

/* Finds the first function that is the same. If there is no such function, enters this one,
 * which is then the first. Returns 0 if memory is refused. */
static uint32_t
find_or_enter(struct twins_search *search, uint32_t number, heapprof_hash_i *hash_i, same_i *same_p)
{
    uint64_t probe, hash = hash_i(search, number);
    uint32_t first;

    for (probe = hash; (first = rb_heapprof_index_at(&search->index, probe)) != 0; probe++) {
        if (first == number || same_p(search, first, number)) return first;
    }
    if (!rb_heapprof_index_reserve(&search->index, search->mem, search->count, hash_i, search)) {
        return 0;
    }
    rb_heapprof_index_insert(&search->index, hash, number);
    search->count++;
    return number;
}

static void
empty_index(struct twins_search *search)
{
    rb_heapprof_index_release(&search->index, search->mem);
    search->count = 0;
}

/* ---- functions ---- */

/* Marks functions that have the same name and path. C functions have no path. */
static bool
mark_same(struct twins_search *search)
{
    for (uint32_t number = 1; number < search->snapshot->functions.numbers.end; number++) {
        const struct heapprof_function *function = function_at(search, number);
        if (function->origin == 0) continue;
        search->named[function->name] |= function->cfunc ? IN_C : RUBY;
        uint32_t first = find_or_enter(search, number, function_hash_i, same_function_p);
        if (first == 0) return false;
        if (first == number) continue;
        uint8_t alike = function->cfunc ? ANY_PLACE : SAME_PLACE;
        search->alike[first] |= alike;
        search->alike[number] |= alike;
    }
    return true;
}

/* At the place where it was called, a C function may look like any Ruby function of its name. */
static void
mark_in_c(struct twins_search *search)
{
    for (uint32_t number = 1; number < search->snapshot->functions.numbers.end; number++) {
        const struct heapprof_function *function = function_at(search, number);
        if (function->origin == 0) continue;
        uint8_t others = function->cfunc ? RUBY : IN_C;
        if (search->named[function->name] & others) search->alike[number] |= ANY_PLACE;
    }
}

/* The frame of a C function is shown at its caller's line. So frames that differ only in a line
 * of their own look the same. */
static void
mark_lines_in_c(struct twins_search *search)
{
    for (uint32_t stack = 1; stack < search->snapshot->stacks.numbers.end; stack++) {
        const struct heapprof_stack_node *node = node_at(search, stack);
        if (node->line != 0 && function_at(search, node->function)->cfunc) {
            search->alike[node->function] |= ANY_PLACE;
        }
    }
}

/* ---- frames ---- */

/* Marks the first frame that looks like a node's, if the two frames are of two functions. */
static bool
mark_first(struct twins_search *search)
{
    for (uint32_t stack = 1; stack < search->snapshot->stacks.numbers.end; stack++) {
        uint32_t function = node_at(search, stack)->function;
        if (function == 0 || search->alike[function] != SAME_PLACE) continue;
        uint32_t first = find_or_enter(search, stack, frame_hash_i, same_frame_p);
        if (first == 0) return false;
        if (node_at(search, first)->function != function) search->twins[first] = true;
    }
    return true;
}

/* Frames that look like a first frame are twins if that one is. */
static void
mark_others(struct twins_search *search)
{
    for (uint32_t stack = 1; stack < search->snapshot->stacks.numbers.end; stack++) {
        uint32_t function = node_at(search, stack)->function;
        if (function == 0 || search->alike[function] == 0) continue;
        if (search->alike[function] & ANY_PLACE) search->twins[stack] = true;
        else
            search->twins[stack] =
                search->twins[find_or_enter(search, stack, frame_hash_i, same_frame_p)];
    }
}

static bool
search_all(struct twins_search *search)
{
    if (!mark_same(search)) return false;
    mark_in_c(search);
    mark_lines_in_c(search);
    empty_index(search);
    if (!mark_first(search)) return false;
    mark_others(search);
    return true;
}

bool
rb_heapprof_twins_find(struct heapprof_twins *twins, struct heapprof_mem *mem,
                       const struct heapprof_snapshot *snapshot)
{
    struct twins_search search = {.snapshot = snapshot, .mem = mem};
    uint32_t functions = snapshot->functions.numbers.end, strings = snapshot->strings.numbers.end;
    bool found =
        HEAPPROF_MEM_GROW(mem, twins->all, twins->capacity, snapshot->stacks.numbers.end) &&
        HEAPPROF_MEM_GROW(mem, search.alike, search.alike_capacity, functions) &&
        HEAPPROF_MEM_GROW(mem, search.named, search.named_capacity, strings);

    search.twins = twins->all;
    found = found && search_all(&search);
    empty_index(&search);
    HEAPPROF_MEM_RELEASE(mem, search.alike, search.alike_capacity);
    HEAPPROF_MEM_RELEASE(mem, search.named, search.named_capacity);
    return found;
}

void
rb_heapprof_twins_free(struct heapprof_twins *twins, struct heapprof_mem *mem)
{
    HEAPPROF_MEM_RELEASE(mem, twins->all, twins->capacity);
}
