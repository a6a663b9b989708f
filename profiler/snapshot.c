/* snapshot.c - the profile at one moment, copied out of the tables; of one sample alone:
 * snapshot_sample.c.
 *
 *     tables (the profiler's)          snapshot (anybody's)
 *     strings    -- copy -->           strings, and its index: "(anonymous)" joins
 *     functions  -- copy -->           functions   by number only
 *     stacks     -- copy -->           stacks      by number only
 *     live  \
 *     sites  >-- add up -->            rows        (rows.c)
 *     names /
 *
 *   I1  nothing in the snapshot points outside it.
 *
 * Allocates (mem.c, an account of its own); takes no lock and calls nothing but what
 * it is told to ask. Reads the tables, so whoever may change them must wait for take; not for
 * anything else here.
 */
#include "profiler/snapshot.h"

#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "profiler/rows.h"

/* ---- copies ---- */

static bool
copy(struct heapprof_mem *mem, void **block, size_t *capacity,
     const void *from, size_t count, size_t element_bytes)
{
    void *pages;

    if (count == 0) return true;
    if (!rb_heapprof_mem_grow(mem, block, capacity, count, element_bytes)) return false;
    memcpy(&pages, block, sizeof(pages));
    memcpy(pages, from, count * element_bytes);
    return true;
}

/* The entries of those numbers; the free ones, too, which are chained. */
static bool
copy_numbers(struct heapprof_mem *mem, struct heapprof_numbers *to, void **block,
             const struct heapprof_numbers *from, const void *entries, size_t entry_bytes)
{
    to->end = from->end;
    to->free_head = from->free_head;
    to->count = from->count;
    return copy(mem, block, &to->capacity, entries, from->end > 1 ? from->end : 0, entry_bytes);
}

static bool
copy_strings(struct heapprof_strings *to, const struct heapprof_strings *from)
{
    to->bytes_used = from->bytes_used;
    return copy(to->mem, (void **)&to->bytes, &to->bytes_capacity, from->bytes, from->bytes_used, 1) &&
           copy_numbers(to->mem, &to->numbers, (void **)&to->all, &from->numbers, from->all,
                        sizeof(*from->all)) &&
           copy(to->mem, (void **)&to->index.buckets, &to->index.capacity,
                from->index.buckets, from->index.capacity, sizeof(*from->index.buckets));
}

static bool
copy_functions(struct heapprof_functions *to, const struct heapprof_functions *from)
{
    return copy_numbers(to->mem, &to->numbers, (void **)&to->all, &from->numbers, from->all,
                        sizeof(*from->all));
}

static bool
copy_stacks(struct heapprof_stacks *to, const struct heapprof_stacks *from)
{
    return copy_numbers(to->mem, &to->numbers, (void **)&to->nodes, &from->numbers, from->nodes,
                        sizeof(*from->nodes));
}

/* ---- life ---- */

struct heapprof_snapshot *
rb_heapprof_snapshot_new(const struct heapprof_facts *facts)
{
    struct heapprof_snapshot *snapshot = calloc(1, sizeof(*snapshot));

    if (!snapshot) return NULL;
    rb_heapprof_mem_init(&snapshot->mem, SIZE_MAX);
    rb_heapprof_strings_init(&snapshot->strings, &snapshot->mem);
    rb_heapprof_functions_init(&snapshot->functions, &snapshot->mem);
    rb_heapprof_stacks_init(&snapshot->stacks, &snapshot->mem);
    snapshot->facts = *facts;
    return snapshot;
}

struct heapprof_snapshot *
rb_heapprof_snapshot_take(const struct heapprof_tables *tables, const struct heapprof_facts *facts,
                          const struct heapprof_asks *asks)
{
    struct heapprof_snapshot *snapshot = rb_heapprof_snapshot_new(facts);

    if (!snapshot) return NULL;
    snapshot->facts.live_samples = 0;
    snapshot->facts.folded = tables->sites.folded_count;
    if (!copy_strings(&snapshot->strings, &tables->strings) ||
        !copy_functions(&snapshot->functions, &tables->functions) ||
        !copy_stacks(&snapshot->stacks, &tables->stacks) ||
        !rb_heapprof_rows_add(snapshot, tables, asks)) {
        rb_heapprof_snapshot_free(snapshot);
        return NULL;
    }
    return snapshot;
}

void
rb_heapprof_snapshot_free(struct heapprof_snapshot *snapshot)
{
    if (!snapshot) return;
    rb_heapprof_strings_free(&snapshot->strings);
    rb_heapprof_functions_free(&snapshot->functions);
    rb_heapprof_stacks_free(&snapshot->stacks);
    HEAPPROF_MEM_RELEASE(&snapshot->mem, snapshot->rows, snapshot->rows_capacity);
    HEAPPROF_ASSERT(snapshot->mem.used_bytes == 0);
    free(snapshot);
}

/* ---- reading ---- */

size_t
rb_heapprof_snapshot_memsize(const struct heapprof_snapshot *snapshot)
{
    return sizeof(*snapshot) + snapshot->mem.used_bytes;
}

size_t
rb_heapprof_snapshot_frames(const struct heapprof_snapshot *snapshot, uint32_t stack,
                            struct heapprof_frame *frames, size_t capacity)
{
    size_t count = 0, unplaced = 0; /* C functions from unplaced to count wait for a Ruby frame */

    while (stack) {
        const struct heapprof_stack_node *node = rb_heapprof_stacks_node(&snapshot->stacks, stack);
        const struct heapprof_function *function =
            rb_heapprof_functions_get(&snapshot->functions, node->function);
        if (count < capacity) {
            frames[count].name = function->name;
            frames[count].first_line = function->first_line;
            frames[count].path = 0;
            frames[count].line = 0;
        }
        count++;
        for (; !function->cfunc && unplaced < count; unplaced++) {
            if (unplaced >= capacity) continue;
            frames[unplaced].path = function->path;
            frames[unplaced].line = node->line;
        }
        stack = node->parent;
    }
    return count;
}
