// ladder_test.cc - rungs add up to RSS whatever has been measured, and rows to the same.

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <random>
#include <string>

#include "test/unit/support/snapshot_builder.h"

extern "C" {
#include "profiler/ladder.h"
}

namespace {

const uint64_t kMega = 1 << 20;

uint64_t
Sum(const heapprof_ladder &ladder)
{
    uint64_t sum = 0;
#define ADD(name, title) sum += ladder.name;
    HEAPPROF_RUNGS(ADD)
#undef ADD
    return sum;
}

// A process of 100 MB whose allocator knows 40 MB of it, all in memory.
heapprof_measured
Process()
{
    heapprof_measured measured = {};
    measured.mappings.files = 10 * kMega;
    measured.mappings.executable = 5 * kMega;
    measured.mappings.main_stack = kMega;
    measured.mappings.heap = measured.mappings.heap_mapped = 30 * kMega;
    measured.mappings.anonymous = 54 * kMega;
    measured.mappings.rss = 100 * kMega;
    measured.slots = 20 * kMega;
    measured.free_slots = 10 * kMega;
    measured.page_padding = kMega;
    measured.stacks = 2 * kMega;
    measured.profiler = 3 * kMega;
    measured.bss = kMega;
    measured.allocator.known = true;
    measured.allocator.blocks = 35 * kMega;
    measured.allocator.large_blocks = 10 * kMega;
    measured.allocator.free_blocks = 5 * kMega;
    measured.code = {4 * kMega, 3 * kMega, 2 * kMega, 0};
    measured.page_descriptors = kMega;
    return measured;
}

TEST(Ladder, EachRungIsWhatWasMeasured)
{
    heapprof_ladder ladder = rb_heapprof_ladder_build(&(const heapprof_measured &)Process());
    EXPECT_EQ(100 * kMega, ladder.rss);
    EXPECT_EQ(20 * kMega, ladder.slots);
    EXPECT_EQ(10 * kMega, ladder.free_slots);
    EXPECT_EQ(2 * kMega, ladder.page_overhead);
    EXPECT_EQ(4 * kMega, ladder.iseqs);
    EXPECT_EQ(3 * kMega, ladder.method_tables);
    EXPECT_EQ(2 * kMega, ladder.symbols);
    EXPECT_EQ(25 * kMega, ladder.malloc);
    EXPECT_EQ(5 * kMega, ladder.allocator_slack);
    EXPECT_EQ(3 * kMega, ladder.stacks);
    EXPECT_EQ(5 * kMega, ladder.jit_code);
    EXPECT_EQ(3 * kMega, ladder.profiler);
    EXPECT_EQ(11 * kMega, ladder.files);
    EXPECT_EQ(7 * kMega, ladder.unexplained);
    EXPECT_EQ(0u, ladder.absent_blocks);
}

TEST(Ladder, UntouchedEndOfTheHeapIsNoSlack)
{
    heapprof_measured measured = Process();
    measured.mappings.heap_mapped += 4 * kMega;
    measured.allocator.free_blocks += 4 * kMega;
    heapprof_ladder ladder = rb_heapprof_ladder_build(&measured);
    EXPECT_EQ(5 * kMega, ladder.allocator_slack);
    EXPECT_EQ(25 * kMega, ladder.malloc);
    EXPECT_EQ(7 * kMega, ladder.unexplained);
}

TEST(Ladder, UntouchedLargeBlocksAreAbsent)
{
    heapprof_measured measured = Process();
    measured.allocator.blocks += 100 * kMega;
    measured.allocator.large_blocks += 100 * kMega;
    heapprof_ladder ladder = rb_heapprof_ladder_build(&measured);
    EXPECT_EQ(93 * kMega, ladder.absent_blocks);
    EXPECT_EQ(32 * kMega, ladder.malloc);
    EXPECT_EQ(5 * kMega, ladder.allocator_slack);
    EXPECT_EQ(0u, ladder.unexplained);
}

TEST(Ladder, StacksInBlocksAreNoMalloc)
{
    heapprof_measured measured = Process();
    measured.code.vm_stacks = 8 * kMega;
    measured.block_stacks = kMega;
    heapprof_ladder ladder = rb_heapprof_ladder_build(&measured);
    EXPECT_EQ(4 * kMega, ladder.stacks);
    EXPECT_EQ(17 * kMega, ladder.malloc);
    EXPECT_EQ(100 * kMega, Sum(ladder));
}

// Where it gives no mapping to a large block, as tcmalloc, they are in the heap.
TEST(Ladder, UntouchedStacksInTheHeapAreNobodyElsesAbsentPages)
{
    heapprof_measured measured = Process();
    measured.code.vm_stacks = 8 * kMega;
    measured.block_stacks = kMega;
    measured.allocator.large_blocks = 0;
    measured.mappings.heap_mapped += 7 * kMega;
    heapprof_ladder ladder = rb_heapprof_ladder_build(&measured);
    EXPECT_EQ(4 * kMega, ladder.stacks);
    EXPECT_EQ(17 * kMega, ladder.malloc);
    EXPECT_EQ(5 * kMega, ladder.allocator_slack);
    EXPECT_EQ(0u, ladder.absent_blocks);
}

// An allocator that takes its heap in larger steps than it uses.
TEST(Ladder, HeapThatNoAllocatorClaimsIsNoBlocksAbsentPages)
{
    heapprof_measured measured = Process();
    measured.allocator.blocks = 25 * kMega;
    measured.allocator.large_blocks = 0;
    measured.mappings.heap_mapped += 20 * kMega;
    heapprof_ladder ladder = rb_heapprof_ladder_build(&measured);
    EXPECT_EQ(15 * kMega, ladder.malloc);
    EXPECT_EQ(5 * kMega, ladder.allocator_slack);
    EXPECT_EQ(0u, ladder.absent_blocks);
}

TEST(Ladder, AllocatorThatDoesNotTellHasWhatIsKnownOtherwise)
{
    heapprof_measured measured = Process();
    measured.allocator.known = false;
    measured.allocator.blocks = measured.allocator.large_blocks = measured.allocator.free_blocks =
        0;
    measured.sampled_blocks = 16 * kMega;
    measured.other_blocks = 4 * kMega;
    heapprof_ladder ladder = rb_heapprof_ladder_build(&measured);
    EXPECT_EQ(10 * kMega, ladder.malloc);
    EXPECT_EQ(0u, ladder.allocator_slack);
    EXPECT_EQ(27 * kMega, ladder.unexplained);
    measured.sampled_blocks = 0;
    ladder = rb_heapprof_ladder_build(&measured);
    EXPECT_EQ(3 * kMega, ladder.iseqs);
    EXPECT_EQ(0u, ladder.malloc);
    EXPECT_EQ(43 * kMega, ladder.unexplained);
}

TEST(Ladder, AddsUpToRssWhateverWasMeasured)
{
    std::mt19937_64 random(1);
    auto any = [&](int shift) { return random() >> (random() % 24 + shift); };
    for (int i = 0; i < 20000; i++) {
        heapprof_measured m = {};
        for (uint64_t *kind : { &m.mappings.files, &m.mappings.executable, &m.mappings.main_stack,
                                &m.mappings.heap, &m.mappings.anonymous }) {
            m.mappings.rss += *kind = any(30);
        }
        m.mappings.heap_mapped = m.mappings.heap + any(30);
        for (uint64_t *part :
             { &m.slots, &m.free_slots, &m.page_padding, &m.stacks, &m.block_stacks, &m.profiler,
               &m.bss, &m.sampled_blocks, &m.other_blocks, &m.code.iseqs, &m.code.method_tables,
               &m.code.symbols, &m.page_descriptors }) {
            *part = any(30);
        }
        m.code.vm_stacks = m.block_stacks + any(30);
        m.allocator.known = random() % 4 != 0;
        if (m.allocator.known) {
            m.allocator.large_blocks = any(30);
            m.allocator.blocks = m.allocator.large_blocks + any(30);
            m.allocator.free_blocks = any(30);
        }
        heapprof_ladder ladder = rb_heapprof_ladder_build(&m);
        ASSERT_EQ(m.mappings.rss, ladder.rss);
        ASSERT_EQ(m.mappings.rss, Sum(ladder)) << "at " << i;
#define WITHIN(name, title) ASSERT_LE(ladder.name, m.mappings.rss) << title << " at " << i;
        HEAPPROF_RUNGS(WITHIN)
#undef WITHIN
    }
}

// ---- rows ----

using Rows = std::map<std::string, double>;

double
Resident(const heapprof_snapshot *snapshot)
{
    double sum = 0;
    for (size_t i = 0; i < snapshot->row_count; i++) sum += snapshot->rows[i].resident_bytes;
    return sum;
}

Rows
VmRows(const heapprof_snapshot *snapshot)
{
    Rows rows;
    for (size_t i = 0; i < snapshot->row_count; i++) {
        const heapprof_row &row = snapshot->rows[i];
        EXPECT_LE(0, row.resident_bytes);
        EXPECT_EQ(row.kind == HEAPPROF_ROW_RUNG, row.resident_bytes != 0);
        if (row.kind != HEAPPROF_ROW_RUNG) continue;
        EXPECT_EQ(0, row.inuse_slot_bytes + row.inuse_malloc_bytes);
        heapprof_frame frames[2];
        EXPECT_EQ(1u, rb_heapprof_snapshot_frames(snapshot, row.stack, frames, 2));
        EXPECT_EQ(0u, frames[0].path);
        EXPECT_EQ(row.subject, frames[0].name);
        EXPECT_EQ(HEAPPROF_AGE_DEAD, row.gc_age);
        rows[rb_heapprof_strings_get(&snapshot->strings, frames[0].name, nullptr)] =
            row.resident_bytes;
    }
    return rows;
}

class LadderRows : public testing::Test {
  protected:
    SnapshotBuilder builder_;

    // A snapshot whose live objects stand for that many bytes of slots, with the process's ladder.
    Snapshot
    Take(const heapprof_ladder &ladder, double slot_bytes)
    {
        if (slot_bytes > 0) {
            uint32_t stack = builder_.Stack({{builder_.Function("main"), 1}});
            builder_.Live(stack, builder_.Class("Object"), slot_bytes / 64, 64);
        }
        Snapshot snapshot = builder_.Take();
        EXPECT_TRUE(rb_heapprof_ladder_add_rows(snapshot.get(), &ladder));
        return snapshot;
    }

    Snapshot
    Take(const heapprof_measured &measured, double slot_bytes)
    {
        return Take(rb_heapprof_ladder_build(&measured), slot_bytes);
    }
};

TEST_F(LadderRows, AreTheRungsWhateverTheSamplesHave)
{
    for (double slot_bytes : {0.0, 15.0 * kMega, 8.0 * kMega}) {
        Snapshot snapshot = Take(Process(), slot_bytes);
        Rows rows = VmRows(snapshot.get());
        EXPECT_EQ(20.0 * kMega, rows["[VM] slots"]);
        EXPECT_EQ(10.0 * kMega, rows["[VM] free slots"]);
        EXPECT_EQ(4.0 * kMega, rows["[VM] iseqs"]);
        EXPECT_EQ(25.0 * kMega, rows["[VM] malloc"]);
        EXPECT_EQ(100.0 * kMega, Resident(snapshot.get()));
        EXPECT_EQ(100 * kMega, snapshot->ladder.rss);
    }
}

TEST_F(LadderRows, AreNotThereForWhatThereIsNoneOf)
{
    heapprof_measured measured = Process();
    measured.code.symbols = 0;
    EXPECT_EQ(0u, VmRows(Take(measured, 0).get()).count("[VM] symbol table"));
}

TEST_F(LadderRows, WhatIsEstimatedTooHighIsTold)
{
    EXPECT_EQ(0u, Take(Process(), 20 * kMega)->ladder.samples_excess);
    Snapshot snapshot = Take(Process(), 3 * kMega);
    EXPECT_EQ(3 * kMega, snapshot->ladder.samples_excess);
    EXPECT_EQ(0u, snapshot->ladder.samples_absent);
}

TEST_F(LadderRows, WhatIsNotInMemoryIsTold)
{
    heapprof_ladder ladder = {};
    ladder.rss = ladder.slots = 10 * kMega;
    ladder.absent_blocks = 2 * kMega;
    Snapshot snapshot = Take(ladder, 13 * kMega);
    EXPECT_EQ(2 * kMega, snapshot->ladder.samples_absent);
    EXPECT_EQ(1 * kMega, snapshot->ladder.samples_excess);
    EXPECT_EQ(10.0 * kMega, Resident(snapshot.get()));
}

TEST_F(LadderRows, HaveStacksWhoseNumbersWereFree)
{
    for (uint32_t line : {1, 2, 3}) builder_.Stack({{builder_.Function("gone"), line}});
    uint32_t kept = builder_.Stack({{builder_.Function("kept"), 1}});
    builder_.Live(kept, builder_.Class("Object"), 1, 64);
    builder_.Trim();
    Snapshot before = builder_.Take(), snapshot = Take(Process(), 0);
    Rows rows = VmRows(snapshot.get());
    EXPECT_EQ(20.0 * kMega, rows["[VM] slots"]);
    EXPECT_EQ(100.0 * kMega, Resident(snapshot.get()));
    EXPECT_EQ(before->stacks.numbers.end + rows.size() - 3, snapshot->stacks.numbers.end);

    heapprof_frame frame;
    EXPECT_EQ(1u, rb_heapprof_snapshot_frames(snapshot.get(), kept, &frame, 1));
    EXPECT_STREQ("kept", rb_heapprof_strings_get(&snapshot->strings, frame.name, nullptr));
}

} // namespace
