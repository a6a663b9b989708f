/* snapshot.c - the profile at one moment: how it is made and freed, and its frames. copies.c
 * copies it out of the tables, rows.c adds up the copies, and snapshot_sample.c makes that of
 * one sample.
 *
 *     tables (the profiler's)          snapshot (anybody's)
 *     strings    -- copy -->           strings, and an index: "(anonymous)" joins
 *     functions  -- copy -->           functions   by number only
 *     stacks     -- copy -->           stacks      by number only
 *     live  \
 *     sites  >-- copy, add up -->      rows
 *     names /
 *
 *   I1  nothing in the snapshot points outside it.
 *
 * Allocates (mem.c, an account of its own). Takes no lock.
 */
#include "profiler/snapshot.h"
#include "base/aside.h"

#include <stdlib.h>

#include "base/check.h"
#include "pprof/digest.h"

/* ---- life ---- */

struct heapprof_snapshot *
rb_heapprof_snapshot_new(const struct heapprof_facts *facts)
{
    struct heapprof_snapshot *snapshot = rb_heapprof_aside_zeroed(1, sizeof(*snapshot));

    if (!snapshot) return NULL;
    rb_heapprof_mem_init(&snapshot->mem, SIZE_MAX);
    rb_heapprof_strings_init(&snapshot->strings, &snapshot->mem);
    rb_heapprof_functions_init(&snapshot->functions, &snapshot->mem);
    rb_heapprof_stacks_init(&snapshot->stacks, &snapshot->mem);
    snapshot->facts = *facts;
    return snapshot;
}

struct heapprof_snapshot *
rb_heapprof_snapshot_new_salted(const struct heapprof_facts *facts)
{
    struct heapprof_snapshot *snapshot = rb_heapprof_snapshot_new(facts);

    if (!snapshot) return NULL;
    snapshot->strings.salt = snapshot->functions.salt = snapshot->stacks.salt =
        rb_heapprof_digest_begin().a;
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
    rb_heapprof_aside_free(snapshot);
}

/* ---- reading ---- */

size_t
rb_heapprof_snapshot_memsize(const struct heapprof_snapshot *snapshot)
{
    return sizeof(*snapshot) + snapshot->mem.used_bytes;
}

size_t
rb_heapprof_stack_frames(const struct heapprof_stacks *stacks,
                         const struct heapprof_functions *functions, uint32_t stack,
                         struct heapprof_frame *frames, size_t capacity)
{
    size_t count = 0, unplaced = 0; /* C functions from unplaced to count wait for a Ruby frame */

    while (stack) {
        const struct heapprof_stack_node *node = rb_heapprof_stacks_node(stacks, stack);
        const struct heapprof_function *function =
            rb_heapprof_functions_get(functions, node->function);
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

size_t
rb_heapprof_snapshot_frames(const struct heapprof_snapshot *snapshot, uint32_t stack,
                            struct heapprof_frame *frames, size_t capacity)
{
    return rb_heapprof_stack_frames(&snapshot->stacks, &snapshot->functions, stack, frames,
                                    capacity);
}
