/* ladder.c - from what has been measured to rungs, and from rungs to rows.
 *
 *     files       --> files                    by the kernel's list of mappings (smaps)
 *     executable  --> JIT code
 *     anonymous   --> slots, free slots, page overhead, stacks, profiler, bss     by address
 *          | what no address explains, and the heap
 *          v
 *     candidates  --> blocks in use --> iseqs, method tables, symbol table, malloc
 *                 --> free blocks   --> allocator slack
 *                 --> unexplained
 *
 * An allocator may tell nothing. It is then believed to have given out what samples and the
 * collector know of. An allocator that tells knows how much it has given out and kept. It does
 * not know where, nor whether that is in memory. The part of its numbers that is more than the
 * candidates is absent: pages nobody has touched yet. Absent pages of the heap are taken from
 * free blocks first (its untouched end), other absent pages from large blocks in use (a buffer
 * with room to grow). How absence is shared out moves bytes between malloc and slack; their sum
 * stays.
 *
 *   I1  the rungs add up to rss.   I2  no rung is negative.
 *
 * Each rung is a row, which has resident bytes and nothing else:
 *
 *     rows of samples   inuse     estimates        rows of rungs   resident   rss, to the byte
 *
 * They are two accounts of the same memory and are never added up. The estimates may have more than
 * the rungs they belong to. That is told in two parts: what was asked for and nobody has touched
 * (absent), and the rest, which is chance.
 *
 * Pure, except for the snapshot's memory.
 */
#include "profiler/ladder.h"

#include <string.h>

#include "profiler/snapshot.h"

/* ---- rungs ---- */

/* Takes bytes, or what there is, out of *from. */
static uint64_t
take(uint64_t *from, uint64_t bytes)
{
    if (bytes > *from) bytes = *from;
    *from -= bytes;
    return bytes;
}

/* Blocks, as a ladder sees them. */
struct ladder_blocks {
    uint64_t in_use;
    uint64_t large; /* of in_use */
    uint64_t slack;
    uint64_t absent; /* taken from in_use */
};

static void
take_absent(struct ladder_blocks *blocks, uint64_t *from, uint64_t *bytes)
{
    uint64_t taken = take(from, *bytes);

    *bytes -= taken;
    if (from == &blocks->slack) return;
    if (from == &blocks->large) blocks->in_use -= taken;
    blocks->absent += taken;
}

/* What of the heap is not in memory and may be a block's: not what no allocator claims, which
 * may take more from the system than it uses; nor what is known to be of VM stacks that are no
 * large blocks. */
static uint64_t
absent_heap(const struct heapprof_measured *measured, uint64_t stacks_in_heap)
{
    uint64_t absent = measured->mappings.heap_mapped - measured->mappings.heap;
    uint64_t unclaimed = measured->mappings.heap_mapped;

    take(&unclaimed, measured->allocator.blocks - measured->allocator.large_blocks +
                         measured->allocator.free_blocks);
    take(&absent, unclaimed);
    take(&stacks_in_heap, measured->block_stacks);
    take(&absent, stacks_in_heap);
    return absent;
}

/* Those in memory, among candidates. */
static struct ladder_blocks
resident_blocks(const struct heapprof_measured *measured, uint64_t candidates)
{
    struct ladder_blocks blocks = {.in_use = measured->sampled_blocks + measured->other_blocks};
    uint64_t absent = 0, stacks = measured->code.vm_stacks;

    if (measured->allocator.known) {
        blocks.in_use = measured->allocator.blocks;
        blocks.large = measured->allocator.large_blocks;
        blocks.slack = measured->allocator.free_blocks;
        absent = absent_heap(measured, stacks - take(&blocks.large, stacks));
        take_absent(&blocks, &blocks.slack, &absent);
    }
    take(&blocks.in_use, stacks);
    if (blocks.in_use + blocks.slack > candidates + absent) {
        absent = blocks.in_use + blocks.slack - candidates;
    }
    take_absent(&blocks, &blocks.large, &absent);
    take_absent(&blocks, &blocks.slack, &absent);
    take_absent(&blocks, &blocks.in_use, &absent);
    return blocks;
}

struct heapprof_ladder
rb_heapprof_ladder_build(const struct heapprof_measured *measured)
{
    const struct heapprof_code *code = &measured->code;
    uint64_t candidates = measured->mappings.anonymous;
    struct heapprof_ladder ladder = {
        .rss = measured->mappings.rss,
        .slots = take(&candidates, measured->slots),
        .free_slots = take(&candidates, measured->free_slots),
        .page_overhead = take(&candidates, measured->page_padding),
        .block_stacks = take(&candidates, measured->block_stacks),
        .vm_stacks = code->vm_stacks,
        .jit_code = measured->mappings.executable,
        .profiler = take(&candidates, measured->profiler),
        .files = measured->mappings.files + take(&candidates, measured->bss),
    };
    ladder.stacks =
        measured->mappings.main_stack + take(&candidates, measured->stacks) + ladder.block_stacks;
    candidates += measured->mappings.heap;

    struct ladder_blocks blocks = resident_blocks(measured, candidates);
    ladder.unexplained = candidates - blocks.in_use - blocks.slack;
    ladder.absent_blocks = blocks.absent;
    ladder.allocator_slack = blocks.slack;
    ladder.page_overhead += take(&blocks.in_use, measured->page_descriptors);
    ladder.iseqs = take(&blocks.in_use, code->iseqs);
    ladder.method_tables = take(&blocks.in_use, code->method_tables);
    ladder.symbols = take(&blocks.in_use, code->symbols);
    ladder.malloc = blocks.in_use;
    return ladder;
}

/* ---- rows ---- */

/* A stack of one frame with that name. Returns 0 if there is no memory. */
static uint32_t
add_stack(struct heapprof_snapshot *snapshot, uint32_t name)
{
    struct heapprof_functions *functions = &snapshot->functions;
    struct heapprof_stacks *stacks = &snapshot->stacks;
    uint32_t function = rb_heapprof_numbers_next(&functions->numbers);
    uint32_t stack = rb_heapprof_numbers_next(&stacks->numbers);

    if (!HEAPPROF_NUMBERS_RESERVE(&functions->numbers, functions->mem, functions->all) ||
        !HEAPPROF_NUMBERS_RESERVE(&stacks->numbers, stacks->mem, stacks->nodes)) {
        return 0;
    }
    rb_heapprof_numbers_take(&functions->numbers, &functions->all[function].owner);
    rb_heapprof_numbers_take(&stacks->numbers, &stacks->nodes[stack].holds);
    functions->all[function] = (struct heapprof_function){.name = name};
    stacks->nodes[stack] = (struct heapprof_stack_node){.function = function, .depth = 1};
    return stack;
}

static bool
add_row(struct heapprof_snapshot *snapshot, const char *name, double bytes)
{
    struct heapprof_row row = {
        .kind = HEAPPROF_ROW_RUNG, .gc_age = HEAPPROF_AGE_DEAD, .resident_bytes = bytes
    };

    if (bytes == 0) return true;
    row.subject = rb_heapprof_strings_intern(&snapshot->strings, name, strlen(name));
    if (row.subject == UINT32_MAX) return false;
    row.stack = add_stack(snapshot, row.subject);
    if (row.stack == 0 || !HEAPPROF_MEM_GROW(&snapshot->mem, snapshot->rows,
                                             snapshot->rows_capacity, snapshot->row_count + 1)) {
        return false;
    }
    snapshot->rows[snapshot->row_count++] = row;
    return true;
}

/* How much the samples stand for that is in no rung. */
static uint64_t
beyond_rungs(const struct heapprof_snapshot *snapshot, const struct heapprof_ladder *ladder)
{
    uint64_t blocks = ladder->malloc + ladder->iseqs + ladder->method_tables + ladder->symbols +
                      ladder->block_stacks;
    uint64_t slots = ladder->slots;
    double slot_bytes = 0, malloc_bytes = 0;

    for (size_t i = 0; i < snapshot->row_count; i++) {
        slot_bytes += snapshot->rows[i].inuse_slot_bytes;
        malloc_bytes += snapshot->rows[i].inuse_malloc_bytes;
    }
    return (uint64_t)slot_bytes - take(&slots, (uint64_t)slot_bytes) +
           (uint64_t)malloc_bytes - take(&blocks, (uint64_t)malloc_bytes);
}

bool
rb_heapprof_ladder_add_rows(struct heapprof_snapshot *snapshot,
                            const struct heapprof_ladder *ladder)
{
    uint64_t beyond = beyond_rungs(snapshot, ladder);
    uint64_t absent = ladder->absent_blocks + ladder->vm_stacks - ladder->block_stacks;

    snapshot->ladder = *ladder;
    snapshot->ladder.samples_absent = take(&beyond, absent);
    snapshot->ladder.samples_excess = beyond;
#define ADD_ROW(name, title) add_row(snapshot, "[VM] " title, (double)ladder->name) &&
    return HEAPPROF_RUNGS(ADD_ROW) true;
#undef ADD_ROW
}
