/* totals.c - how much of each site is left, by fate, and whose code asked for it. Has no state
 * except its arguments. */
#include "profiler/leaks/totals.h"

#include <stdlib.h>
#include <string.h>

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

const struct heapprof_identity *
rb_heapprof_leak_caller(const struct heapprof_tables *tables, uint32_t site)
{
    uint32_t id = site ? rb_heapprof_site_identity(rb_heapprof_sites_get(&tables->sites, site)) : 0;

    if (id == 0 || tables->identities.all[id].name == HEAPPROF_UNNAMED) return NULL;
    return &tables->identities.all[id];
}

bool
rb_heapprof_leak_core_p(const struct heapprof_tables *tables,
                        const struct heapprof_identity *caller, const char *core)
{
    uint32_t library = caller ? caller->library : 0;
    return library == 0 ||
           strcmp(rb_heapprof_strings_get(&tables->strings, library, NULL), core) == 0;
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
