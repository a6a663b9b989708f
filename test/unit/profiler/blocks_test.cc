// blocks_test.cc - pieces of blocks against a model, over random mallocs, reallocs and frees, some
// of them by somebody the table does not see.

#include <gtest/gtest.h>

#include <map>
#include <vector>

#include "test/unit/support/table_testing.h"

extern "C" {
#include "profiler/blocks.h"
}

namespace {

struct Piece {
    size_t begin, held, asked;
    uint32_t site;
};

using Pieces = std::vector<Piece>; // the one furthest back last

class BlocksTest : public testing::Test {
  protected:
    heapprof_mem mem_;
    heapprof_blocks blocks_;
    std::vector<uint8_t> filter_ = std::vector<uint8_t>(HEAPPROF_BLOCK_FILTER_SIZE);
    std::map<uintptr_t, Pieces> model_;
    std::map<uint32_t, uint32_t> retired_; // by site

    void
    SetUp() override
    {
        rb_heapprof_mem_init(&mem_, SIZE_MAX);
        rb_heapprof_blocks_init(&blocks_, &mem_, filter_.data());
    }

    void
    TearDown() override
    {
        rb_heapprof_blocks_free(&blocks_);
        EXPECT_EQ(0u, mem_.used_bytes);
        for (uint8_t count : filter_) EXPECT_EQ(0, count);
    }

    bool
    Add(uintptr_t address, size_t begin, size_t bytes, uint32_t site)
    {
        heapprof_piece piece = {};
        piece.begin = begin;
        piece.asked_bytes = bytes;
        piece.site = site;
        piece.weight = 1;
        if (!rb_heapprof_blocks_add(&blocks_, address, &piece)) return false;
        if (begin == 0) Forget(address);
        else CutModel(address, begin);
        model_[address].push_back({begin, bytes, bytes, site});
        return true;
    }

    void
    Forget(uintptr_t address)
    {
        for (const Piece &piece : model_[address]) retired_[piece.site]++;
        model_.erase(address);
    }

    void
    Remove(uintptr_t address)
    {
        rb_heapprof_blocks_remove(&blocks_, address);
        Forget(address);
    }

    void
    Move(uintptr_t from, uintptr_t to)
    {
        uint32_t lifted = rb_heapprof_blocks_lift(&blocks_, from);
        ASSERT_EQ(model_.count(from) != 0, lifted != 0);
        if (!lifted) return;
        Pieces pieces = model_[from];
        model_.erase(from);
        rb_heapprof_blocks_put(&blocks_, lifted, to);
        Forget(to);
        model_[to] = pieces;
    }

    void
    Cut(uintptr_t address, size_t bytes)
    {
        rb_heapprof_blocks_cut(&blocks_, address, bytes);
        CutModel(address, bytes);
    }

    void
    CutModel(uintptr_t address, size_t bytes)
    {
        auto block = model_.find(address);
        if (block == model_.end()) return;
        Pieces &pieces = block->second;
        while (!pieces.empty() && pieces.back().begin >= bytes) {
            retired_[pieces.back().site]++;
            pieces.pop_back();
        }
        if (pieces.empty()) {
            model_.erase(block);
        }
        else {
            pieces.back().held = std::min(pieces.back().held, bytes - pieces.back().begin);
        }
    }

    void
    TakeRetired()
    {
        for (uint32_t site; (site = rb_heapprof_blocks_take_retired(&blocks_)) != 0;) {
            ASSERT_GT(retired_[site], 0u);
            retired_[site]--;
        }
        for (const auto &[site, count] : retired_) EXPECT_EQ(0u, count) << site;
    }

    void
    ExpectModel() const
    {
        uint32_t live = 0;

        rb_heapprof_blocks_check(&blocks_);
        for (const auto &[address, pieces] : model_) {
            uint32_t entry = rb_heapprof_address_table_find(&blocks_.addresses, address);
            ASSERT_NE(0u, entry);
            EXPECT_NE(0, filter_[rb_heapprof_block_filter_index(address)]);
            EXPECT_EQ(pieces.back().begin + pieces.back().held,
                      rb_heapprof_blocks_end(&blocks_, address));
            uint32_t number = blocks_.pieces_of[entry];
            for (size_t i = pieces.size(); i-- > 0; number = blocks_.pieces[number].next) {
                EXPECT_EQ(pieces[i].begin, blocks_.pieces[number].begin);
                EXPECT_EQ(pieces[i].held, blocks_.pieces[number].held_bytes);
                EXPECT_EQ(pieces[i].asked, blocks_.pieces[number].asked_bytes);
                EXPECT_EQ(pieces[i].site, blocks_.pieces[number].site);
            }
            EXPECT_EQ(0u, number);
            live += static_cast<uint32_t>(pieces.size());
        }
        EXPECT_EQ(model_.size(), blocks_.addresses.numbers.count);
        EXPECT_EQ(live, blocks_.live_count);
    }
};

TEST_F(BlocksTest, KnowsWhatIsAddedAndForgetsWhatIsFreed)
{
    Add(0x1000, 0, 100, 7);
    Add(0x1000, 100, 50, 8);
    ExpectModel();
    EXPECT_EQ(1u, rb_heapprof_blocks_next(&blocks_, 0));
    EXPECT_EQ(0u, rb_heapprof_blocks_next(&blocks_, 1));
    Remove(0x1000);
    ExpectModel();
    TakeRetired();
    EXPECT_EQ(0u, rb_heapprof_blocks_take_retired(&blocks_));
}

TEST_F(BlocksTest, ShrinkingBlockGivesBackFromItsEnd)
{
    Add(0x1000, 0, 100, 7);
    Add(0x1000, 4096, 4096, 8);
    Cut(0x1000, 5000);
    EXPECT_EQ(904u, model_[0x1000].back().held);
    ExpectModel();
    Cut(0x1000, 4096);
    ExpectModel();
    Cut(0x1000, 0);
    ExpectModel();
    TakeRetired();
}

TEST_F(BlocksTest, NewBlockAtAKnownAddressRetiresTheOldOne)
{
    Add(0x1000, 0, 100, 7);
    Add(0x1000, 0, 64, 8);
    ExpectModel();
    TakeRetired();
}

// The one that is known was freed by somebody else, and a smaller one, which was not sampled, grows
// in its place.
TEST_F(BlocksTest, GrowthOverwritesWhatWasKnownThere)
{
    Add(0x1000, 0, 100, 7);
    Add(0x1000, 100, 4000, 8);
    Add(0x1000, 64, 1000, 9);
    EXPECT_EQ(2u, model_[0x1000].size());
    EXPECT_EQ(64u, model_[0x1000].front().held);
    ExpectModel();
    TakeRetired();
}

TEST_F(BlocksTest, LiftedBlockPutBackIsAsBefore)
{
    Add(0x1000, 0, 100, 7);
    Add(0x1000, 100, 50, 8);
    Move(0x1000, 0x1000);
    ExpectModel();
    EXPECT_EQ(0u, rb_heapprof_blocks_lift(&blocks_, 0x2000));
}

// A block that somebody else has freed, without our knowledge, is where this one comes to lie.
// Memory that is only reported has a small odd number for its address (reported.h).
TEST_F(BlocksTest, LiftedBlockIsNoneThatWasReported)
{
    for (uint32_t n = 1; n <= 20; n++) Add(0x1000 * n, 0, 100, n);
    uint32_t lifted = rb_heapprof_blocks_lift(&blocks_, 0x11000);
    ASSERT_EQ(17u, lifted);
    Add(17, 0, 1, 30);
    rb_heapprof_blocks_put(&blocks_, lifted, 0x11000);
    ExpectModel();
    Remove(17);
    ExpectModel();
}

TEST_F(BlocksTest, EndIsThatOfTheLastPiece)
{
    EXPECT_EQ(0u, rb_heapprof_blocks_end(&blocks_, 0x1000));
    Add(0x1000, 0, 100, 7);
    EXPECT_EQ(100u, rb_heapprof_blocks_end(&blocks_, 0x1000));
    Add(0x1000, 4096, 50, 8);
    EXPECT_EQ(4146u, rb_heapprof_blocks_end(&blocks_, 0x1000));
    Cut(0x1000, 4100);
    EXPECT_EQ(4100u, rb_heapprof_blocks_end(&blocks_, 0x1000));
    Cut(0x1000, 4096);
    EXPECT_EQ(100u, rb_heapprof_blocks_end(&blocks_, 0x1000));
}

TEST_F(BlocksTest, LiftedBlockRetiresWhatIsKnownWhereItIsPut)
{
    Add(0x1000, 0, 100, 7);
    Add(0x2000, 0, 100, 8);
    Move(0x1000, 0x2000);
    EXPECT_EQ(1u, model_.size());
    ExpectModel();
    TakeRetired();
}

TEST_F(BlocksTest, LiftedBlockIsLiveAndInNoFilter)
{
    Add(0x1000, 0, 100, 7);
    uint32_t lifted = rb_heapprof_blocks_lift(&blocks_, 0x1000);
    EXPECT_EQ(1u, rb_heapprof_blocks_next(&blocks_, 0));
    for (uint8_t count : filter_) ASSERT_EQ(0, count);
    rb_heapprof_blocks_put(&blocks_, lifted, 0x1000);
    ExpectModel();
}

TEST_F(BlocksTest, RoomThatWasReservedNeedsNoMemory)
{
    EXPECT_FALSE(rb_heapprof_blocks_room_p(&blocks_));
    rb_heapprof_blocks_reserve(&blocks_, 1000);
    mem_.budget_bytes = mem_.used_bytes; // refuses from here on
    for (uintptr_t i = 1; i <= 1000; i++) {
        ASSERT_TRUE(rb_heapprof_blocks_room_p(&blocks_)) << i;
        uint32_t number = rb_heapprof_blocks_next_piece(&blocks_);
        ASSERT_TRUE(Add(i * 16, 0, 8, static_cast<uint32_t>(i)));
        ASSERT_EQ(i, blocks_.pieces[number].site);
    }
    EXPECT_EQ(0u, mem_.refused);
    for (uintptr_t i = 1; rb_heapprof_blocks_room_p(&blocks_); i++) {
        ASSERT_LT(i, 100000u);
        ASSERT_TRUE(Add((1000 + i) * 16, 0, 8, 1));
    }
    ExpectModel();
}

TEST_F(BlocksTest, WhatIsReservedMayBeRefused)
{
    mem_.budget_bytes = 8192;
    rb_heapprof_blocks_reserve(&blocks_, 1000);
    EXPECT_FALSE(rb_heapprof_blocks_room_p(&blocks_));
    rb_heapprof_blocks_check(&blocks_);
}

TEST_F(BlocksTest, AnOwnerStaysUntilTheBlockIsFreedOrOwnersAreForgotten)
{
    heapprof_owner owner = {0x5000, 3, 0};
    auto owner_of = [&](uintptr_t address) {
        return blocks_.owners[rb_heapprof_address_table_find(&blocks_.addresses, address)].object;
    };
    Add(0x1000, 0, 100, 7);
    Add(0x2000, 0, 100, 7);
    rb_heapprof_blocks_own(&blocks_, 0x1000, &owner);
    rb_heapprof_blocks_own(&blocks_, 0x3000, &owner); // not known
    Add(0x1000, 100, 50, 8);
    Move(0x1000, 0x4000);
    EXPECT_EQ(0x5000u, owner_of(0x4000));
    EXPECT_EQ(0u, owner_of(0x2000));
    Add(0x4000, 0, 10, 9); // another block where that was
    EXPECT_EQ(0u, owner_of(0x4000));
    rb_heapprof_blocks_own(&blocks_, 0x4000, &owner);
    rb_heapprof_blocks_own(&blocks_, 0x2000, &owner);
    Remove(0x4000);
    Add(0x6000, 0, 10, 9); // takes its place
    EXPECT_EQ(0u, owner_of(0x6000));
    rb_heapprof_blocks_forget_owners(&blocks_);
    EXPECT_EQ(0u, owner_of(0x2000));
    rb_heapprof_blocks_check(&blocks_);
}

TEST_F(BlocksTest, RetiredPiecesKeepTheirSiteUntilTheyAreTaken)
{
    for (uint32_t site = 1; site <= 10; site++) Add(0x1000 * site, 0, 100, site);
    for (uint32_t site = 1; site <= 10; site++) Remove(0x1000 * site);
    EXPECT_EQ(0u, blocks_.live_count);
    EXPECT_EQ(10u, rb_heapprof_blocks_retired_count(&blocks_));
    ExpectModel();
    TakeRetired();
    EXPECT_EQ(0u, rb_heapprof_blocks_retired_count(&blocks_));
}

TEST_F(BlocksTest, NumbersOfTakenPiecesAreUsedAgain)
{
    for (int round = 0; round < 1000; round++) {
        for (uintptr_t n = 1; n <= 5; n++) Add(0x1000 * n, 0, 100, 1);
        while (!model_.empty()) Remove(model_.begin()->first);
        TakeRetired();
    }
    EXPECT_EQ(6u, blocks_.numbers.end);
    ExpectModel();
}

TEST_F(BlocksTest, LiftedBlockLeavesItsAddressToOthers)
{
    Add(0x1000, 0, 100, 7);
    uint32_t lifted = rb_heapprof_blocks_lift(&blocks_, 0x1000);
    rb_heapprof_blocks_check(&blocks_);
    model_.clear();
    Add(0x1000, 0, 64, 8);
    rb_heapprof_blocks_put(&blocks_, lifted, 0x2000);
    model_[0x2000] = {{0, 100, 100, 7}};
    ExpectModel();
}

TEST_F(BlocksTest, LiftedBlockOfATableThatWasFreedIsForgotten)
{
    Add(0x1000, 0, 100, 7);
    uint32_t lifted = rb_heapprof_blocks_lift(&blocks_, 0x1000);
    rb_heapprof_blocks_free(&blocks_);
    model_.clear();
    rb_heapprof_blocks_put(&blocks_, lifted, 0x2000);
    ExpectModel();
}

TEST_F(BlocksTest, MatchesTheModelOverRandomOperations)
{
    Choices choose(1);

    for (int i = 0; i < kOperations; i++) {
        uintptr_t address = 0x10000 + 16 * choose.Below(500);
        uint32_t site = 1 + static_cast<uint32_t>(choose.Below(20));
        auto known = model_.find(address);
        switch (choose.Below(7)) {
          case 0:
          case 1:
            Add(address, 0, 1 + choose.Below(10000), site);
            break;
          case 2:
            if (known != model_.end()) {
                const Piece &last = known->second.back();
                Add(address, last.begin + last.held + choose.Below(100), 1 + choose.Below(5000),
                    site);
            }
            else {
                Add(address, 1 + choose.Below(100), 1 + choose.Below(5000), site);
            }
            break;
          case 3:
            Remove(address);
            break;
          case 6: // as of a block that the table has not seen there
            Add(address, 1 + choose.Below(10000), 1 + choose.Below(5000), site);
            break;
          case 4:
            Move(address, 0x10000 + 16 * choose.Below(500));
            break;
          default:
            Cut(address, choose.Below(10000));
            break;
        }
        if (choose.OneIn(50)) TakeRetired();
        if (choose.OneIn(200)) rb_heapprof_blocks_pack(&blocks_);
        if (i % kFullLook == 0) ExpectModel();
    }
    ExpectModel();
}

// Grown to what 5,000 need, of which a hundredth is left, in places all over the table.
TEST_F(BlocksTest, PackedTableGivesBackWhatFreedBlocksHaveLeft)
{
    for (uintptr_t n = 1; n <= 5000; n++) {
        Add(n * 16, 0, 32, 1 + n % 7);
        Add(n * 16, 100, 50, 8);
        heapprof_owner owner = {n, 9, 0};
        rb_heapprof_blocks_own(&blocks_, n * 16, &owner);
    }
    for (uintptr_t n = 1; n <= 5000; n++) {
        if (n == 200) TakeRetired();
        if (n % 100) Remove(n * 16);
    }
    size_t used_bytes = mem_.used_bytes;
    rb_heapprof_blocks_pack(&blocks_);
    EXPECT_LT(mem_.used_bytes, used_bytes * 2 / 3);
    ExpectModel();
    for (uintptr_t n = 100; n <= 5000; n += 100) {
        EXPECT_EQ(
            n, blocks_.owners[rb_heapprof_address_table_find(&blocks_.addresses, n * 16)].object);
    }
    TakeRetired();
    for (uintptr_t n = 1; n <= 1000; n++) Add(n * 16, 0, 32, 1);
    ExpectModel();
    for (uintptr_t n = 1; n <= 5000; n++) Remove(n * 16);
    TakeRetired();
    while (used_bytes > mem_.used_bytes) {
        used_bytes = mem_.used_bytes;
        rb_heapprof_blocks_pack(&blocks_);
    }
    EXPECT_LE(used_bytes, 6 * size_t{4096});
    ExpectModel();
}

TEST_F(BlocksTest, LiftedBlockKeepsItsNumberWhateverIsPacked)
{
    for (uintptr_t n = 1; n <= 5000; n++) Add(n * 16, 0, 32, 1);
    uint32_t lifted = rb_heapprof_blocks_lift(&blocks_, 5000 * 16);
    for (uintptr_t n = 1; n < 5000; n++) Remove(n * 16);
    TakeRetired();
    rb_heapprof_blocks_pack(&blocks_);
    rb_heapprof_blocks_put(&blocks_, lifted, 5000 * 16);
    ExpectModel();
    rb_heapprof_blocks_pack(&blocks_);
    ExpectModel();
}

TEST_F(BlocksTest, RefusedAddChangesNothing)
{
    mem_.budget_bytes = 0;
    int refusals = 0;
    for (uintptr_t n = 1; n <= 3000; n++) {
        refusals += AddPageByPage(
            &mem_, [&] { return Add(n * 16, 0, 32, 1); },
            [&] { rb_heapprof_blocks_check(&blocks_); });
    }
    EXPECT_GT(refusals, 3);
    ExpectModel();
}

using BlocksDeathTest = BlocksTest;

TEST_F(BlocksDeathTest, CheckSeesPiecesThatOverlap)
{
    Add(0x1000, 0, 100, 7);
    Add(0x1000, 100, 50, 8);
    blocks_.pieces[2].begin = 99;
    EXPECT_DEATH(rb_heapprof_blocks_check(&blocks_), "broken");
}

TEST_F(BlocksDeathTest, CheckSeesABlockThatTheFilterDenies)
{
    Add(0x1000, 0, 100, 7);
    filter_[rb_heapprof_block_filter_index(0x1000)] = 0;
    EXPECT_DEATH(rb_heapprof_blocks_check(&blocks_), "broken");
    filter_[rb_heapprof_block_filter_index(0x1000)] = 1;
}

TEST_F(BlocksDeathTest, CheckSeesAPieceThatIsLost)
{
    Add(0x1000, 0, 100, 7);
    Add(0x1000, 100, 50, 8);
    blocks_.pieces[2].next = 0;
    EXPECT_DEATH(rb_heapprof_blocks_check(&blocks_), "broken");
    blocks_.pieces[2].next = 1;
}

TEST_F(BlocksTest, FullFilterByteStays)
{
    for (uintptr_t n = 0; n < 300; n++)
        Add(0x100000 + n * 16 * HEAPPROF_BLOCK_FILTER_SIZE, 0, 8, 1);
    EXPECT_EQ(255, filter_[rb_heapprof_block_filter_index(0x100000)]);
    while (!model_.empty()) Remove(model_.begin()->first);
    EXPECT_EQ(255, filter_[rb_heapprof_block_filter_index(0x100000)]);
    ExpectModel();
}

} // namespace
