/* sequence.c - two numbers that tell a reader in another process whether the tables changed
 * while it read them (state.h). They work like a sign at a door: odd means that somebody is
 * moving the furniture. Compiled inside gc.c.
 *
 *     begin   word odd ─ fence ─ changes ─ word even, with all of them before it     end
 *     reader  word even ─ copy ─ the same word again: the copy is of one moment
 *
 *   I1  tables change only between begin and end, under the VM lock or with all ractors
 *       stopped. Sections may nest: one that reads a locked page faults, and the SIGSEGV
 *       handler of compaction moves objects before it ends (gc/objects/move.c).
 *   I2  blocks and reports change only under the blocks' lock, and their word is odd while it
 *       is held.
 *   I3  a section is left only by its end: no raise, no jump.
 *
 * A debug build checks I1 and I2: at each begin the tables are what they were at the last end.
 * In a short run it adds them up each time. Later it does so more and more seldom, so that this
 * takes a constant time a section.
 */
#include "gc/book/state.h"
#include "base/check.h"
#include "profiler/checksum.h"

struct heapprof_sequence rb_heapprof_sequence;

/* The checksum of the tables when their word became even. */
struct heapprof_seen {
    uint64_t (*checksum)(const struct heapprof_tables *tables);
    uint64_t sum;
    size_t   credit; /* bytes that may be added up; each end adds some */
    bool     known;
};

enum { CREDIT = 256 << 20, CREDIT_EACH = 4096 };
static struct heapprof_seen tables_seen = { .checksum = rb_heapprof_checksum_tables,
                                            .credit = CREDIT };
static struct heapprof_seen blocks_seen = { .checksum = rb_heapprof_checksum_blocks,
                                            .credit = CREDIT };

HEAPPROF_COLD static void
note_unchanged(struct heapprof_seen *seen)
{
    size_t bytes = rb_heapprof.mem.used_bytes;

    seen->credit += CREDIT_EACH;
    seen->known = seen->credit >= bytes;
    if (!seen->known) return;
    seen->credit -= bytes;
    seen->sum = seen->checksum(&rb_heapprof.tables);
}

HEAPPROF_COLD static void
check_unchanged(struct heapprof_seen *seen)
{
    HEAPPROF_ASSERT(!seen->known || seen->sum == seen->checksum(&rb_heapprof.tables));
    seen->known = false;
}

/* Makes the word odd. A reader that sees any of the changes sees this. */
HEAPPROF_PART static void
open_word(uint64_t *word, struct heapprof_seen *seen)
{
    if (HEAPPROF_CHECK) check_unchanged(seen);
    __atomic_store_n(word, *word + 1, __ATOMIC_RELAXED);
    __atomic_thread_fence(__ATOMIC_RELEASE);
}

/* Makes the word even. A reader that sees this sees all of the changes. */
HEAPPROF_PART static void
close_word(uint64_t *word, struct heapprof_seen *seen)
{
    if (HEAPPROF_CHECK) note_unchanged(seen);
    __atomic_store_n(word, *word + 1, __ATOMIC_RELEASE);
}

HEAPPROF_COLD static void
begin_change(void)
{
    if (rb_heapprof_sequence.depth++ == 0) open_word(&rb_heapprof_sequence.tables, &tables_seen);
}

HEAPPROF_COLD static void
end_change(void)
{
    if (--rb_heapprof_sequence.depth == 0) close_word(&rb_heapprof_sequence.tables, &tables_seen);
}

HEAPPROF_COLD void rb_heapprof_gc_begin_change(void) { begin_change(); }
HEAPPROF_COLD void rb_heapprof_gc_end_change(void) { end_change(); }

/* Under the blocks' lock, when it was free before. */
HEAPPROF_COLD static void
begin_blocks(void)
{
    open_word(&rb_heapprof_sequence.blocks, &blocks_seen);
}
HEAPPROF_COLD static void
end_blocks(void)
{
    close_word(&rb_heapprof_sequence.blocks, &blocks_seen);
}

/* In the child of a fork. A thread that was in the midst of a section is not there. */
HEAPPROF_COLD static void
settle_sequence(void)
{
    rb_heapprof_sequence.depth = 0;
    rb_heapprof_sequence.tables += rb_heapprof_sequence.tables & 1;
    rb_heapprof_sequence.blocks += rb_heapprof_sequence.blocks & 1;
    tables_seen.known = blocks_seen.known = false;
}
