/* totals.c - how much of each site is left, by fate, and whose code asked for it. Has no state
 * except its arguments. */
#include "profiler/leaks/totals.h"

#include <stdlib.h>
#include <string.h>

#include "base/cxx_name.h"

static void
add(struct heapprof_leak_total *total, enum heapprof_leak_value blocks,
    enum heapprof_leak_value bytes, size_t size)
{
    total->values[blocks]++;
    total->values[bytes] += (int64_t)size;
}

struct heapprof_leak_totals *
rb_heapprof_leak_totals(const struct heapprof_tables *tables, const struct heapprof_lost *lost)
{
    struct heapprof_leak_totals *totals =
        calloc((size_t)tables->sites.numbers.end + 1, sizeof(*totals));

    for (size_t i = 0; totals && i < lost->block_count; i++) {
        const struct heapprof_lost_block *block = &lost->blocks[i];
        add(&totals[block->site].of[block->fate], HEAPPROF_LEAK_BLOCKS, HEAPPROF_LEAK_BYTES,
            block->bytes);
        if (block->fate != HEAPPROF_INDIRECT) continue;
        uint32_t leader = lost->blocks[block->leader].site;
        add(&totals[leader].of[HEAPPROF_LOST], HEAPPROF_LEAK_INDIRECT_BLOCKS,
            HEAPPROF_LEAK_INDIRECT_BYTES, block->bytes);
    }
    return totals;
}

static bool
std_p(const struct heapprof_tables *tables, const struct heapprof_identity *identity)
{
    size_t length;
    const char *name = rb_heapprof_strings_get(&tables->strings, identity->name, &length);
    return rb_heapprof_cxx_std_p(name, length);
}

static const struct heapprof_identity *
named(const struct heapprof_tables *tables, uint32_t id)
{
    const struct heapprof_identity *identity = &tables->identities.all[id];
    return id == 0 || identity->name == HEAPPROF_UNNAMED ? NULL : identity;
}

static struct heapprof_leak_caller
next_caller(const struct heapprof_tables *tables, uint32_t c_path)
{
    const struct heapprof_stack_node *node = rb_heapprof_stacks_node(&tables->c_paths, c_path);
    return (struct heapprof_leak_caller){ named(tables, node->function), node->parent };
}

static struct heapprof_leak_caller
without_std(const struct heapprof_tables *tables, struct heapprof_leak_caller innermost)
{
    struct heapprof_leak_caller caller = innermost;

    while (caller.identity && caller.c_path && std_p(tables, caller.identity))
        caller = next_caller(tables, caller.c_path);
    return caller.identity && !std_p(tables, caller.identity) ? caller : innermost;
}

struct heapprof_leak_caller
rb_heapprof_leak_site_caller(const struct heapprof_tables *tables, uint32_t number)
{
    const struct heapprof_leak_caller none = { .identity = NULL };

    if (number == 0) return none;
    const struct heapprof_site *site = rb_heapprof_sites_get(&tables->sites, number);
    const struct heapprof_leak_caller innermost = {
        named(tables, rb_heapprof_site_identity(site)), site->c_path
    };
    return without_std(tables, innermost);
}

struct heapprof_leak_caller
rb_heapprof_leak_end_caller(const struct heapprof_tables *tables, uint32_t c_path)
{
    const struct heapprof_leak_caller none = { .identity = NULL };
    return c_path ? without_std(tables, next_caller(tables, c_path)) : none;
}

bool
rb_heapprof_leak_core_p(const struct heapprof_tables *tables,
                        const struct heapprof_identity *caller, const char *core)
{
    uint32_t library = caller ? caller->library : 0;
    return library == 0 ||
           strcmp(rb_heapprof_strings_get(&tables->strings, library, NULL), core) == 0;
}

struct leak_core {
    const struct heapprof_tables *tables;
    const char *file;
};

static bool
core_site_i(uint32_t site, void *data)
{
    const struct leak_core *core = data;
    return rb_heapprof_leak_core_p(
        core->tables, rb_heapprof_leak_site_caller(core->tables, site).identity, core->file);
}

bool
rb_heapprof_leak_uncover(const struct heapprof_tables *tables, struct heapprof_lost *lost,
                         const char *core)
{
    return rb_heapprof_lost_uncover(lost, core_site_i, &(struct leak_core){ tables, core });
}

uint32_t
rb_heapprof_leak_placed(const struct heapprof_tables *tables, uint32_t node)
{
    while (node) {
        const struct heapprof_stack_node *one = rb_heapprof_stacks_node(&tables->stacks, node);
        if (!rb_heapprof_functions_get(&tables->functions, one->function)->cfunc) return node;
        node = one->parent;
    }
    return 0;
}
