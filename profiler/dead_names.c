/* dead_names.c - which names of dead code are given up.
 *
 * Equal code can be merged, however much there is. Templates with paths of their own, and classes
 * with names of their own, cannot, and a process may make ever new ones. So what is dead and has no
 * live sample has at most so many names:
 *
 *     HEAPPROF_DEAD_NAMES, and one for each living function
 *
 * If there are more, a name is lost that has allocated less than twice the mean: half of them or
 * more. What was allocated counts for the innermost dead function on its stack, and for its class.
 * Callers stay, and what was called. All sums stay:
 *
 *     main:3 -> t17.erb:1 -> Class#new  400 bytes     main:3 -> t17.erb:1   -> Class#new  400 bytes
 *     main:3 -> t18.erb:1 -> Class#new   40 bytes     main:3 -> [dead code] -> Class#new  120 bytes
 *     main:3 -> t19.erb:1 -> Class#new   80 bytes
 *
 * So code that was loaded at the start, and has allocated much, keeps its names, however many
 * templates come later.
 *
 * The caller serialises.
 */
#include "profiler/dead_code.h"

#include <string.h>

#include "profiler/dead_names.h"

/* Keys of what stands for what has lost its name: of a function, as if it were a C method's; of a
 * class, one that neither an object has nor a type (gc/objects/label.c) nor a table of the
 * VM (gc/owners/holder.c). */
#define NAMELESS_CODE  (UINT64_MAX - 1)
#define NAMELESS_CLASS ((uintptr_t)0x7000)

/* ---- how many names are left ---- */

/* Marks the functions that stacks name, and the functions on stacks that are kept. */
static void
mark_functions(const struct heapprof_tables *tables)
{
    for (uint32_t stack = 1; stack < tables->stacks.numbers.end; stack++) {
        uint32_t number = rb_heapprof_stacks_node(&tables->stacks, stack)->function;
        if (number == 0) continue;
        number = rb_heapprof_dead_function_same(tables, number);
        struct heapprof_function *function = rb_heapprof_functions_get(&tables->functions, number);
        function->needed = true;
        if (rb_heapprof_stacks_kept_p(&tables->stacks, stack)) function->kept = true;
    }
}

/* Counts dead functions that are marked, and takes the marks away. *living becomes the number
 * of functions that are not dead. */
static uint32_t
count_functions(const struct heapprof_tables *tables, uint32_t *living)
{
    uint32_t dead = 0;

    *living = 0;
    for (uint32_t number = 1; number < tables->functions.numbers.end; number++) {
        struct heapprof_function *function = rb_heapprof_functions_get(&tables->functions, number);
        if (!rb_heapprof_dead_function_p(tables, number)) *living += function->origin != 0;
        else dead += function->needed && !function->kept;
        function->needed = function->kept = false;
    }
    return dead;
}

static uint32_t
count_classes(const struct heapprof_tables *tables)
{
    struct heapprof_identity *all = tables->identities.all;
    uint32_t dead = 0;

    for (uint32_t number = 1; number < tables->sites.numbers.end; number++) {
        const struct heapprof_site *site = rb_heapprof_sites_get(&tables->sites, number);
        uint32_t id = rb_heapprof_dead_class_same(tables, rb_heapprof_site_identity(site));
        if (!site->used || !rb_heapprof_dead_class_p(tables, id) || all[id].needed) continue;
        all[id].needed = true;
        dead++;
    }
    for (uint32_t id = 1; id < tables->identities.numbers.end; id++) all[id].needed = false;
    return dead;
}

static bool
too_many_names_p(const struct heapprof_tables *tables)
{
    uint32_t living, dead;

    mark_functions(tables);
    dead = count_functions(tables, &living);
    return dead + count_classes(tables) > HEAPPROF_DEAD_NAMES + living;
}

/* ---- which names are lost ---- */

static bool
dead_number_p(uint32_t function, void *tables)
{
    return rb_heapprof_dead_function_p(tables, function);
}

/* Whether the site could lose that of code; or of its class. */
static bool
code_named_p(const struct heapprof_tables *tables, const struct heapprof_site *site)
{
    return site->live_samples == 0 && rb_heapprof_stacks_inside_p(&tables->stacks, site->stack) &&
           !rb_heapprof_stacks_kept_p(&tables->stacks, site->stack);
}

static bool
class_named_p(const struct heapprof_tables *tables, const struct heapprof_site *site)
{
    return site->live_samples == 0 &&
           rb_heapprof_dead_class_p(tables, rb_heapprof_site_identity(site));
}

/* The innermost function on the stack that is dead; there is one. */
static uint32_t
innermost_dead(const struct heapprof_tables *tables, uint32_t stack)
{
    const struct heapprof_stack_node *node = rb_heapprof_stacks_node(&tables->stacks, stack);

    while (!rb_heapprof_dead_function_p(tables, node->function)) {
        node = rb_heapprof_stacks_node(&tables->stacks, node->parent);
    }
    return rb_heapprof_dead_function_same(tables, node->function);
}

/* Bytes that have been allocated under a name: by function, and by identity. */
struct dead_weights {
    double *code;
    size_t  code_capacity;
    double *classes;
    size_t  classes_capacity;
};

static void
weigh(const struct heapprof_tables *tables, struct dead_weights *weights)
{
    for (uint32_t number = 1; number < tables->sites.numbers.end; number++) {
        const struct heapprof_site *site = rb_heapprof_sites_get(&tables->sites, number);
        uint32_t id = rb_heapprof_dead_class_same(tables, rb_heapprof_site_identity(site));
        if (!site->used) continue;
        if (class_named_p(tables, site)) weights->classes[id] += site->alloc_bytes;
        if (!code_named_p(tables, site)) continue;
        weights->code[innermost_dead(tables, site->stack)] += site->alloc_bytes;
    }
}

/* Twice the mean of all weights that are not 0. At most half of these are that large. */
static double
threshold(const double *weights, uint32_t end)
{
    double bytes = 0;
    uint32_t count = 0;

    for (uint32_t number = 1; number < end; number++) {
        bytes += weights[number];
        count += weights[number] > 0;
    }
    return count > 0 ? 2 * bytes / count : 1;
}

/* Marks the names that stay. */
static void
mark_heavy(struct heapprof_tables *tables, const struct dead_weights *weights)
{
    struct heapprof_identity *classes = tables->identities.all;
    uint32_t functions = tables->functions.numbers.end, ids = tables->identities.numbers.end,
             number;
    double least = threshold(weights->code, functions);

    for (number = 1; number < functions; number++) {
        bool heavy = weights->code[number] >= least;
        rb_heapprof_functions_get(&tables->functions, number)->kept = heavy;
    }
    least = threshold(weights->classes, ids);
    for (number = 1; number < ids; number++)
        classes[number].needed = weights->classes[number] >= least;
}

/* The stacks that lead to a name that stays are to have all of theirs. Takes the marks of
 * functions away. */
static void
keep_heavy(struct heapprof_tables *tables)
{
    uint32_t number;

    for (number = 1; number < tables->sites.numbers.end; number++) {
        const struct heapprof_site *site = rb_heapprof_sites_get(&tables->sites, number);
        if (!site->used || !code_named_p(tables, site)) continue;
        uint32_t function = innermost_dead(tables, site->stack);
        if (rb_heapprof_functions_get(&tables->functions, function)->kept) {
            rb_heapprof_stacks_keep(&tables->stacks, site->stack);
        }
    }
    for (number = 1; number < tables->functions.numbers.end; number++) {
        rb_heapprof_functions_get(&tables->functions, number)->kept = false;
    }
}

static uint32_t
count_nameless(const struct heapprof_tables *tables)
{
    uint32_t count = 0;

    for (uint32_t number = 1; number < tables->sites.numbers.end; number++) {
        const struct heapprof_site *site = rb_heapprof_sites_get(&tables->sites, number);
        if (!site->used) continue;
        uint32_t id = rb_heapprof_site_identity(site);
        count += code_named_p(tables, site) ||
                 (class_named_p(tables, site) && rb_heapprof_dead_class_nameless_p(tables, id));
    }
    return count;
}

/* False when memory is refused. */
static bool
choose_heavy(struct heapprof_tables *tables)
{
    struct heapprof_mem *mem = tables->strings.mem;
    struct dead_weights weights = {0};
    uint32_t functions = tables->functions.numbers.end, ids = tables->identities.numbers.end;
    bool weighed = HEAPPROF_MEM_GROW(mem, weights.code, weights.code_capacity, functions) &&
                   HEAPPROF_MEM_GROW(mem, weights.classes, weights.classes_capacity, ids);

    if (weighed) {
        weigh(tables, &weights);
        mark_heavy(tables, &weights);
        keep_heavy(tables);
    }
    HEAPPROF_MEM_RELEASE(mem, weights.code, weights.code_capacity);
    HEAPPROF_MEM_RELEASE(mem, weights.classes, weights.classes_capacity);
    return weighed;
}

/* ---- what stands for them ---- */

static uint32_t
enter_code(struct heapprof_tables *tables)
{
    static const char name[] = "[dead code]";
    struct heapprof_function function = {.origin = NAMELESS_CODE};
    uint32_t number = rb_heapprof_functions_find(&tables->functions, function.origin, 0);

    if (number) return number;
    function.name = rb_heapprof_strings_intern(&tables->strings, name, sizeof(name) - 1);
    if (function.name == UINT32_MAX) return 0;
    return rb_heapprof_functions_add(&tables->functions, &function);
}

static uint32_t
enter_class(struct heapprof_tables *tables)
{
    static const char name[] = "[dead class]";

    return rb_heapprof_tables_named(tables, &tables->identities.elsewhere, NAMELESS_CLASS, name,
                                    sizeof(name) - 1);
}

struct heapprof_nameless
rb_heapprof_dead_names_find(const struct heapprof_tables *tables)
{
    return (struct heapprof_nameless){
        .code = rb_heapprof_functions_find(&tables->functions, NAMELESS_CODE, 0),
        .class_id = rb_heapprof_identities_find(&tables->identities, NAMELESS_CLASS),
    };
}

struct heapprof_nameless
rb_heapprof_dead_names_choose(struct heapprof_tables *tables)
{
    const struct heapprof_nameless none = {0};
    struct heapprof_nameless nameless;

    if (!too_many_names_p(tables)) return none;
    nameless.code = enter_code(tables);
    nameless.class_id = enter_class(tables);
    if (!nameless.code || !nameless.class_id) return none;
    rb_heapprof_stacks_mark_inside(&tables->stacks, dead_number_p, tables);
    if (!choose_heavy(tables)) return none;
    tables->nameless_sites += count_nameless(tables);
    return nameless;
}
