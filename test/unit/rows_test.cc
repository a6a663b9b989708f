// rows_test.cc - samples add up to rows: in order, in whole numbers, and to the sites' totals.

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "snapshot_builder.h"

extern "C" {
#include "profiler/rows.h"
}

namespace {

std::string
Text(const Snapshot &snapshot, uint32_t string)
{
    return rb_heapprof_strings_get(&snapshot->strings, string, nullptr);
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
    uint32_t caller_ = builder_.Caller("new (ruby)");
};

TEST_F(RowsTest, AgesAreRoundedDownToPowersOfTwo)
{
    const std::pair<uint32_t, uint32_t> expected[] = {
        {0, 0}, {1, 1}, {2, 2}, {3, 2}, {4, 4}, {7, 4}, {8, 8}, {1000, 512}, {INT32_MAX, 1u << 30},
    };
    for (auto &[age, rounded] : expected) {
        EXPECT_EQ(rounded, rb_heapprof_rows_age(5000000000, static_cast<uint32_t>(5000000000 - age)));
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
        uint32_t stack = builder_.Stack({{builder_.Function(std::string(1, 'a' + random() % 9)), 1}});
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
        for (double value : {row.alloc_objects, row.alloc_slot_bytes, row.alloc_malloc_bytes, row.inuse_objects,
                             row.inuse_slot_bytes, row.inuse_malloc_bytes, row.resident_bytes}) {
            EXPECT_LE(0, value);
        }
        EXPECT_LE(row.inuse_slot_bytes, row.alloc_slot_bytes);
    }
}

} // namespace
