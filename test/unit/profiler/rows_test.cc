// rows_test.cc - samples add up to rows: of each kind, by site, owner and age, in order, in whole
// numbers, and to the sites' totals; or memory is refused.

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <random>
#include <string>
#include <tuple>
#include <vector>

#include "test/unit/support/snapshot_builder.h"

extern "C" {
#include "profiler/rows.h"
}

namespace {

std::string
Text(const Snapshot &snapshot, uint32_t string)
{
    return rb_heapprof_strings_get(&snapshot->strings, string, nullptr);
}

// All that a row has beside its age and its values, as text.
std::string
Key(const Snapshot &snapshot, const heapprof_row &row)
{
    static const char *const kinds[] = {"objects", "blocks", "rung"};
    std::string key =
        kinds[row.kind] + (" " + Text(snapshot, row.subject)) + " at " + std::to_string(row.stack);
    if (row.library) key += " in " + Text(snapshot, row.library);
    if (row.owner) key += " of " + Text(snapshot, row.owner);
    if (row.owner_stack) key += " from " + std::to_string(row.owner_stack);
    return key + (row.folded ? " folded" : "") + (row.native_leak ? " leak" : "");
}

std::vector<std::string>
Keys(const Snapshot &snapshot)
{
    std::vector<std::string> keys;
    for (size_t i = 0; i < snapshot->row_count; i++)
        keys.push_back(Key(snapshot, snapshot->rows[i]));
    return keys;
}

std::vector<uint32_t>
Ages(const Snapshot &snapshot)
{
    std::vector<uint32_t> ages;
    for (size_t i = 0; i < snapshot->row_count; i++) ages.push_back(snapshot->rows[i].gc_age);
    return ages;
}

class RowsTest : public testing::Test {
  protected:
    SnapshotBuilder builder_;
    uint32_t stack_ = builder_.Stack({{builder_.Function("f"), 1}});
    uint32_t other_ = builder_.Stack({{builder_.Function("g"), 2}});
    uint32_t caller_ = builder_.Caller("new (ruby)", "ruby");
};

// ---- kinds and subjects ----

TEST_F(RowsTest, ObjectsHaveAClassAndBlocksACallerAndItsLibrary)
{
    builder_.Live(stack_, builder_.Class("new (ruby)"), 2, 40);
    builder_.Block(stack_, caller_, 3, 100);
    Snapshot snapshot = builder_.Take();
    EXPECT_EQ(
        (std::vector<std::string> { "objects new (ruby) at 1", "blocks new (ruby) at 1 in ruby" }),
        Keys(snapshot));
    const heapprof_row &objects = snapshot->rows[0], &blocks = snapshot->rows[1];
    EXPECT_EQ(2, objects.inuse_objects);
    EXPECT_EQ(80, objects.inuse_slot_bytes);
    EXPECT_EQ(0, objects.alloc_malloc_bytes + objects.inuse_malloc_bytes);
    EXPECT_EQ(300, blocks.inuse_malloc_bytes);
    EXPECT_EQ(0, blocks.alloc_objects + blocks.alloc_slot_bytes + blocks.memsize_bytes);
    for (const heapprof_row &row : {objects, blocks}) EXPECT_EQ(0, row.resident_bytes);
}

TEST_F(RowsTest, WhatHasNoNameIsAnonymousAndWhatIsNotKnownHasNoSubject)
{
    builder_.Live(stack_, builder_.UnnamedClass(), 1, 40);
    builder_.Live(stack_, 0, 1, 40);
    builder_.Block(stack_, builder_.UnnamedCaller(), 1, 40);
    builder_.Block(stack_, 0, 1, 40);
    EXPECT_EQ((std::vector<std::string>{"objects (anonymous) at 1", "objects  at 1",
                                        "blocks (anonymous) at 1", "blocks  at 1"}),
              Keys(builder_.Take()));
}

TEST_F(RowsTest, WhatWasFoldedHasARowOfEachKindAndNoSubject)
{
    builder_.Dead(stack_, builder_.Class("A"), 2, 40);
    builder_.Dead(other_, builder_.Class("B"), 3, 40);
    builder_.DeadBlock(stack_, caller_, 5, 100);
    builder_.Fold();
    Snapshot snapshot = builder_.Take();
    EXPECT_EQ((std::vector<std::string> { "objects  at 0 folded", "blocks  at 0 folded" }),
              Keys(snapshot));
    EXPECT_EQ(5, snapshot->rows[0].alloc_objects);
    EXPECT_EQ(200, snapshot->rows[0].alloc_slot_bytes);
    EXPECT_EQ(500, snapshot->rows[1].alloc_malloc_bytes);
}

// ---- how exact ----

TEST_F(RowsTest, TheVarianceIsThatOfEachSamplesWeight)
{
    uint32_t a = builder_.Class("A");
    builder_.Live(stack_, a, 5, 40);
    builder_.Live(stack_, a, 3, 40); // sampled when the interval was another
    builder_.Block(other_, caller_, 10, 100);
    builder_.Dead(stack_, a, 7, 40);
    Snapshot snapshot = builder_.Take();
    ASSERT_EQ(3u, snapshot->row_count);
    EXPECT_EQ((5.0 * 4 + 3 * 2) * 40 * 40, snapshot->rows[0].inuse_variance);
    EXPECT_EQ(0, snapshot->rows[1].inuse_variance); // of what is dead nothing is in use
    EXPECT_EQ(10.0 * 9 * 100 * 100, snapshot->rows[2].inuse_variance);
}

TEST_F(RowsTest, WhatIsExactHasNoVariance)
{
    builder_.Live(stack_, builder_.Class("A"), 1, 40);
    builder_.Block(stack_, caller_, 1, 100);
    Snapshot snapshot = builder_.Take();
    for (size_t i = 0; i < snapshot->row_count; i++) EXPECT_EQ(0, snapshot->rows[i].inuse_variance);
}

// ---- keys ----

TEST_F(RowsTest, ComeBySiteThenOwnerThenAge)
{
    uint32_t a = builder_.Class("A"), b = builder_.Class("B");
    builder_.Live(other_, b, 1, 40, 4);                                // site 1
    builder_.Own(builder_.Block(stack_, caller_, 1, 8, 1), b);         // site 2
    builder_.Live(stack_, a, 1, 40, 2);                                // site 3
    builder_.Own(builder_.Block(stack_, caller_, 1, 8, 2), a);
    builder_.Block(stack_, caller_, 1, 8, 8);
    builder_.Own(builder_.Block(stack_, caller_, 1, 8, 0), b);
    builder_.Live(other_, b, 1, 40, 1);
    builder_.DeadBlock(stack_, caller_, 1, 8);
    Snapshot snapshot = builder_.Take();
    EXPECT_EQ((std::vector<std::string>{
                  "objects B at 2", "objects B at 2",
                  "blocks new (ruby) at 1 in ruby", "blocks new (ruby) at 1 in ruby of A",
                  "blocks new (ruby) at 1 in ruby of B", "blocks new (ruby) at 1 in ruby of B",
                  "blocks new (ruby) at 1 in ruby", "objects A at 1"}),
              Keys(snapshot));
    EXPECT_EQ((std::vector<uint32_t>{1, 4, 8, 2, 0, 1, HEAPPROF_AGE_DEAD, 2}), Ages(snapshot));
}

TEST_F(RowsTest, OwnersOfOneClassFromTwoStacksAreTwo)
{
    uint32_t string = builder_.Class("String");
    uint32_t here = builder_.Live(stack_, string, 1, 40),
             there = builder_.Live(other_, string, 1, 40);
    for (uint32_t entry : { here, there, here })
        builder_.Own(builder_.Block(stack_, caller_, 1, 100), string, entry);
    Snapshot snapshot = builder_.Take();
    std::map<std::string, double> bytes;
    for (size_t i = 0; i < snapshot->row_count; i++) {
        bytes[Key(snapshot, snapshot->rows[i])] += snapshot->rows[i].inuse_malloc_bytes;
    }
    EXPECT_EQ((std::map<std::string, double> {
                  { "objects String at 1", 0 },
                  { "objects String at 2", 0 },
                  { "blocks new (ruby) at 1 in ruby of String from 1", 200 },
                  { "blocks new (ruby) at 1 in ruby of String from 2", 100 } }),
              bytes);
}

// Each piece counts where and when it was asked for; what a block has given back is taken from its
// end.
TEST_F(RowsTest, PiecesOfABlockAreInRowsOfTheirOwnSites)
{
    uintptr_t block = builder_.Block(stack_, caller_, 2, 100, 4);
    builder_.Grow(block, 100, other_, caller_, 3, 60);
    builder_.Cut(block, 120);
    Snapshot snapshot = builder_.Take();
    EXPECT_EQ((std::vector<std::string> { "blocks new (ruby) at 1 in ruby",
                                          "blocks new (ruby) at 2 in ruby" }),
              Keys(snapshot));
    EXPECT_EQ((std::vector<uint32_t>{4, 0}), Ages(snapshot));
    EXPECT_EQ(200, snapshot->rows[0].inuse_malloc_bytes);
    EXPECT_EQ(60, snapshot->rows[1].inuse_malloc_bytes);
    EXPECT_EQ(180, snapshot->rows[1].alloc_malloc_bytes);
}

// ---- ages ----

TEST_F(RowsTest, AgesAreRoundedDownToPowersOfTwo)
{
    const std::pair<uint32_t, uint32_t> expected[] = {
        {0, 0}, {1, 1}, {2, 2}, {3, 2}, {4, 4}, {7, 4}, {8, 8}, {1000, 512}, {INT32_MAX, 1u << 30},
    };
    for (auto &[age, rounded] : expected) {
        EXPECT_EQ(rounded,
                  rb_heapprof_rows_age(5000000000, static_cast<uint32_t>(5000000000 - age)));
    }
}

TEST_F(RowsTest, ABirthAheadOfTheSnapshotIsOfAgeZero)
{
    EXPECT_EQ(0u, rb_heapprof_rows_age(10, 11));
}

TEST_F(RowsTest, ARowForEachAgeThenTheDead)
{
    uint32_t a = builder_.Class("A");
    for (uint32_t age : {9, 0, 3, 8}) builder_.Live(stack_, a, 1, 40, age);
    builder_.Dead(stack_, a, 5, 40);
    Snapshot snapshot = builder_.Take();
    EXPECT_EQ((std::vector<uint32_t>{0, 2, 8, HEAPPROF_AGE_DEAD}), Ages(snapshot));
    EXPECT_EQ(2, snapshot->rows[2].inuse_objects);
    EXPECT_EQ(0, snapshot->rows[3].inuse_objects);
    EXPECT_EQ(5, snapshot->rows[3].alloc_objects);
    EXPECT_EQ(4u, snapshot->facts.live_samples);
}

// ---- owners ----

TEST_F(RowsTest, WithoutOwnersBlocksOfASiteAreOneRow)
{
    uintptr_t block = builder_.Block(stack_, caller_, 1, 100);
    builder_.Block(stack_, caller_, 1, 200);
    builder_.Own(block, builder_.Class("String"));
    builder_.facts.owners = false;
    Snapshot snapshot = builder_.Take();
    ASSERT_EQ(1u, snapshot->row_count);
    EXPECT_EQ(0u, snapshot->rows[0].owner);
    EXPECT_EQ(300, snapshot->rows[0].inuse_malloc_bytes);
}

TEST_F(RowsTest, WithOwnersARowForEach)
{
    uint32_t entry = builder_.Live(stack_, builder_.Class("Array"), 1, 40);
    builder_.Own(builder_.Block(stack_, caller_, 1, 100), builder_.Class("String"));
    builder_.Own(builder_.Block(stack_, caller_, 1, 200), builder_.Class("Array"), entry);
    builder_.Block(stack_, caller_, 1, 400);
    Snapshot snapshot = builder_.Take();
    double owned[3] = {};
    for (size_t i = 0; i < snapshot->row_count; i++) {
        const heapprof_row &row = snapshot->rows[i];
        if (row.kind != HEAPPROF_ROW_BLOCKS) continue;
        std::string owner = Text(snapshot, row.owner);
        owned[owner == "String" ? 0 : owner == "Array" ? 1 : 2] += row.inuse_malloc_bytes;
        EXPECT_EQ(owner == "Array", row.owner_stack != 0);
    }
    EXPECT_EQ(100, owned[0]);
    EXPECT_EQ(200, owned[1]);
    EXPECT_EQ(400, owned[2]);
}

TEST_F(RowsTest, LeaksAreSuspectedOnlyWhenLookedFor)
{
    builder_.facts.gc_count = 1000;
    builder_.facts.owners = true;
    for (uint32_t age : {20, 40, 80}) builder_.Block(stack_, caller_, 1, 100, age);
    for (uint64_t old_gc : {0, 990}) {
        builder_.facts.old_gc = old_gc;
        Snapshot snapshot = builder_.Take();
        ASSERT_EQ(3u, snapshot->row_count);
        for (size_t i = 0; i < 3; i++) EXPECT_EQ(old_gc != 0, snapshot->rows[i].native_leak);
    }
}

// ---- adding up ----

// Of each site and age what was put in; of each kind what the sites have in all.
TEST_F(RowsTest, AddUpAsAMapDoes)
{
    using Cell =
        std::tuple<bool, uint32_t, uint32_t, uint32_t>; // blocks, stack, class or caller, age
    std::mt19937 random(7);
    std::map<Cell, double> objects, bytes;
    uint32_t classes[] = {builder_.Class("A"), builder_.Class("B")};
    for (int i = 0; i < 3000; i++) {
        bool blocks = random() % 2, dead = random() % 3 == 0;
        uint32_t stack = random() % 2 ? stack_ : other_;
        uint32_t age = dead ? HEAPPROF_AGE_DEAD : random() % 2 ? 0 : 1u << random() % 5;
        uint32_t which = blocks ? caller_ : classes[random() % 2];
        double weight = 1 + random() % 9;
        size_t size = blocks ? 1 + random() % 999 : 40;
        if (blocks && dead) builder_.DeadBlock(stack, which, weight, size);
        else if (blocks) builder_.Block(stack, which, weight, size, age);
        else if (dead) builder_.Dead(stack, which, weight, static_cast<uint16_t>(size));
        else builder_.Live(stack, which, weight, static_cast<uint16_t>(size), age);
        uint32_t name = builder_.Tables()->identities.all[which].name;
        objects[{blocks, stack, name, age}] += blocks ? 0 : weight;
        bytes[{blocks, stack, name, age}] += weight * static_cast<double>(size);
    }
    Snapshot snapshot = builder_.Take();
    EXPECT_EQ(bytes.size(), snapshot->row_count);
    for (size_t i = 0; i < snapshot->row_count; i++) {
        const heapprof_row &row = snapshot->rows[i];
        Cell cell(row.kind == HEAPPROF_ROW_BLOCKS, row.stack, row.subject, row.gc_age);
        bool dead = row.gc_age == HEAPPROF_AGE_DEAD;
        EXPECT_EQ(objects[cell], row.alloc_objects);
        EXPECT_EQ(dead ? 0 : objects[cell], row.inuse_objects);
        EXPECT_EQ(bytes[cell], row.alloc_slot_bytes + row.alloc_malloc_bytes);
        EXPECT_EQ(dead ? 0 : bytes[cell], row.inuse_slot_bytes + row.inuse_malloc_bytes);
    }
}

TEST_F(RowsTest, WhatIsGoneIsDeadAndNotAskedAgain)
{
    builder_.Live(stack_, builder_.Class("A"), 2, 40);
    builder_.Block(stack_, caller_, 3, 100);
    heapprof_asks asks = {};
    asks.gone_p = [](uintptr_t, void *) { return true; };
    asks.memsize = [](uintptr_t, void *) -> size_t { ADD_FAILURE(); return 0; };
    Snapshot snapshot(TakeSnapshot(builder_.Tables(), &builder_.facts, &asks),
                      rb_heapprof_snapshot_free);
    ASSERT_EQ(2u, snapshot->row_count);
    EXPECT_EQ((std::vector<uint32_t>{HEAPPROF_AGE_DEAD, 0}), Ages(snapshot));
    EXPECT_EQ(2, snapshot->rows[0].alloc_objects);
    EXPECT_EQ(0, snapshot->rows[0].inuse_slot_bytes);
    EXPECT_EQ(300, snapshot->rows[1].inuse_malloc_bytes);
    EXPECT_EQ(1u, snapshot->facts.live_samples);
}

// That of the samples themselves: no estimate of all.
TEST_F(RowsTest, MemsizeIsNotWeighted)
{
    builder_.memsize = 72;
    for (int i = 0; i < 2; i++) builder_.Live(stack_, builder_.Class("A"), 100, 40);
    Snapshot snapshot = builder_.Take();
    double sum = 0;
    for (size_t i = 0; i < snapshot->row_count; i++) sum += snapshot->rows[i].memsize_bytes;
    EXPECT_EQ(144, sum);
}

// ---- whole numbers ----

// Rows of one sample of weight 1.4 each would all be rounded to 1.
TEST_F(RowsTest, WhatRoundingLeavesGoesToTheNextRow)
{
    for (int i = 0; i < 1000; i++) {
        uint32_t stack = builder_.Stack({{builder_.Function("f" + std::to_string(i)), 1}});
        builder_.Live(stack, builder_.Class("A"), 1.4, 40);
    }
    Snapshot snapshot = builder_.Take();
    double objects = 0, bytes = 0;
    for (size_t i = 0; i < snapshot->row_count; i++) {
        const heapprof_row &row = snapshot->rows[i];
        EXPECT_EQ(row.inuse_objects, std::floor(row.inuse_objects));
        EXPECT_EQ(row.alloc_objects, row.inuse_objects);
        objects += row.inuse_objects;
        bytes += row.inuse_slot_bytes;
        EXPECT_NEAR(1.4 * (i + 1), objects, 0.51);
        EXPECT_NEAR(56 * (i + 1), bytes, 0.51);
    }
}

TEST_F(RowsTest, NoValueIsNegative)
{
    std::mt19937 random(1);
    for (int i = 0; i < 2000; i++) {
        uint32_t stack =
            builder_.Stack({ { builder_.Function(std::string(1, 'a' + random() % 9)), 1 } });
        double weight = 1 + random() % 1000 / 7.0;
        switch (random() % 4) {
          case 0: builder_.Live(stack, builder_.Class("A"), weight, 40, random() % 9); break;
          case 1: builder_.Dead(stack, builder_.Class("A"), weight, 40); break;
          case 2: builder_.Block(stack, caller_, weight, random() % 5000, random() % 9); break;
          default: builder_.DeadBlock(stack, caller_, weight, random() % 5000); break;
        }
    }
    Snapshot snapshot = builder_.Take();
    for (size_t i = 0; i < snapshot->row_count; i++) {
        const heapprof_row &row = snapshot->rows[i];
        for (double value :
             { row.alloc_objects, row.alloc_slot_bytes, row.alloc_malloc_bytes, row.inuse_objects,
               row.inuse_slot_bytes, row.inuse_malloc_bytes, row.resident_bytes }) {
            EXPECT_LE(0, value);
        }
        EXPECT_LE(row.inuse_slot_bytes, row.alloc_slot_bytes);
    }
}

// ---- memory ----

// A page more each time: false until there is enough, and what was needed only to add up is given
// back, which freeing a snapshot asserts.
TEST_F(RowsTest, RefusedMemoryIsFalse)
{
    for (uint32_t i = 0; i < 500; i++) {
        uint32_t stack = builder_.Stack({{builder_.Function("f" + std::to_string(i)), 1}});
        builder_.Live(stack, builder_.Class("A"), 1, 40, i);
        builder_.Own(builder_.Block(stack, caller_, 1, 100, i), builder_.Class("A"));
    }
    size_t pages = 0;
    for (bool added = false; !added; pages++) {
        heapprof_copies *copies =
            rb_heapprof_copies_begin(builder_.Tables(), &builder_.facts, nullptr);
        while (rb_heapprof_copies_step(copies, false)) continue;
        copies->snapshot->mem.budget_bytes = copies->snapshot->mem.used_bytes + pages * 4096;
        Snapshot snapshot(rb_heapprof_copies_add_up(copies), rb_heapprof_snapshot_free);
        added = snapshot != nullptr;
        EXPECT_EQ(added ? 1000u : 0u, added ? snapshot->row_count : 0);
        ASSERT_LT(pages, 1000u);
    }
    EXPECT_GT(pages, 20u);
}

} // namespace
