// mem_test.cc - blocks of pages under a budget.

#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <sys/mman.h>
#include <unistd.h>
#include <vector>

#include "test/unit/support/table_testing.h"

extern "C" {
#include "os/resident.h"
}

namespace {

const size_t kPage = static_cast<size_t>(sysconf(_SC_PAGESIZE));

// An array of elements as wide as the test wants.
struct Block {
    heapprof_mem *mem;
    size_t element_bytes;
    void *pages = nullptr;
    size_t capacity = 0;

    Block(heapprof_mem *account, size_t bytes) : mem(account), element_bytes(bytes) {}
    ~Block() { Release(); }
    Block(const Block &) = delete;
    Block &operator=(const Block &) = delete;

    bool
    Grow(size_t count)
    {
        return rb_heapprof_mem_grow(mem, &pages, &capacity, count, element_bytes);
    }

    void
    Shrink(size_t used)
    {
        rb_heapprof_mem_shrink(mem, &pages, &capacity, used, element_bytes);
    }

    void
    Release()
    {
        rb_heapprof_mem_release(mem, &pages, &capacity, element_bytes);
    }

    size_t
    MappedBytes() const
    {
        return (capacity * element_bytes + kPage - 1) / kPage * kPage;
    }

    // The value of every byte in the elements first to end - 1, or -1 if they differ.
    int
    EveryByte(size_t first, size_t end) const
    {
        const unsigned char *bytes = static_cast<const unsigned char *>(pages);
        for (size_t i = first * element_bytes; i < end * element_bytes; i++) {
            if (bytes[i] != bytes[first * element_bytes]) return -1;
        }
        return bytes[first * element_bytes];
    }
};

class MemTest : public testing::Test {
  protected:
    heapprof_mem mem_;

    void
    SetUp() override
    {
        rb_heapprof_mem_init(&mem_, SIZE_MAX);
    }
};

TEST_F(MemTest, GrowMakesRoomForWhatWasAsked)
{
    for (size_t count : {1, 2, 511, 512, 513, 100000}) {
        Block block(&mem_, 8);
        ASSERT_TRUE(block.Grow(count));
        EXPECT_GE(block.capacity, count);
        memset(block.pages, 0xff, block.capacity * 8);
    }
}

TEST_F(MemTest, GrowKeepsOldElementsAndNewOnesAreZero)
{
    for (size_t element_bytes : {1, 4, 12, 16, 20, 24, 40, 48, 1000, 4096}) {
        Block block(&mem_, element_bytes);
        ASSERT_TRUE(block.Grow(1));
        EXPECT_EQ(0, block.EveryByte(0, block.capacity)) << element_bytes;
        for (int i = 0; i < 6; i++) {
            size_t old_capacity = block.capacity;
            memset(block.pages, 0xff, old_capacity * element_bytes);
            ASSERT_TRUE(block.Grow(old_capacity + 1));
            EXPECT_EQ(0xff, block.EveryByte(0, old_capacity)) << element_bytes;
            EXPECT_EQ(0, block.EveryByte(old_capacity, block.capacity)) << element_bytes;
        }
    }
}

TEST_F(MemTest, GrowthAtLeastDoubles)
{
    for (size_t element_bytes : {4, 20, 48}) {
        Block block(&mem_, element_bytes);
        ASSERT_TRUE(block.Grow(1));
        for (int i = 0; i < 8; i++) {
            size_t old_capacity = block.capacity;
            ASSERT_TRUE(block.Grow(old_capacity + 1));
            EXPECT_GE(block.capacity, 2 * old_capacity);
        }
    }
}

// So of a large block four fifths are in use at least, before it is grown again.
TEST_F(MemTest, FromAMegabyteOnGrowthIsByAQuarter)
{
    constexpr size_t kMegabyte = 1 << 20;
    for (size_t element_bytes : {4, 20, 48}) {
        Block block(&mem_, element_bytes);
        ASSERT_TRUE(block.Grow(1));
        while (block.capacity * element_bytes < kMegabyte)
            ASSERT_TRUE(block.Grow(block.capacity + 1));
        for (int i = 0; i < 8; i++) {
            size_t old_bytes = block.MappedBytes();
            ASSERT_TRUE(block.Grow(block.capacity + 1));
            EXPECT_NEAR(old_bytes / 4, block.MappedBytes() - old_bytes, 2 * kPage) << element_bytes;
        }
        size_t wanted = 2 * block.capacity;
        ASSERT_TRUE(block.Grow(wanted));
        EXPECT_NEAR(wanted * element_bytes, block.MappedBytes(), kPage);
    }
}

// Halves are of whole pages, an odd one included.
TEST_F(MemTest, ShrinkOfAnOddNumberOfPages)
{
    Block block(&mem_, 8);
    ASSERT_TRUE(block.Grow(7 * kPage / 8));
    memset(block.pages, 7, 7 * kPage);
    block.Shrink(kPage / 8);
    EXPECT_EQ(2 * kPage, block.MappedBytes());
    EXPECT_EQ(7, block.EveryByte(0, kPage / 8));
    ASSERT_TRUE(block.Grow(4 * kPage / 8));
    EXPECT_EQ(0, block.EveryByte(2 * kPage / 8, block.capacity));
}

TEST_F(MemTest, GrowthWithinCapacityChangesNothing)
{
    Block block(&mem_, 20);
    ASSERT_TRUE(block.Grow(1));
    void *pages = block.pages;
    size_t capacity = block.capacity;
    mem_.budget_bytes = 0;
    EXPECT_TRUE(block.Grow(capacity));
    EXPECT_EQ(pages, block.pages);
    EXPECT_EQ(capacity, block.capacity);
    EXPECT_EQ(0u, mem_.refused);
}

TEST_F(MemTest, UsedIsTheSumOfWhatIsMapped)
{
    Choices choose(1);
    const size_t widths[] = {1, 4, 16, 20, 48};
    std::vector<std::unique_ptr<Block>> blocks;
    for (size_t width : widths) blocks.push_back(std::make_unique<Block>(&mem_, width));
    size_t peak = 0;
    for (int i = 0; i < 2000; i++) {
        Block &block = *blocks[choose.Below(blocks.size())];
        if (choose.OneIn(8)) {
            block.Release();
        }
        else {
            ASSERT_TRUE(block.Grow(1 + choose.Below(50000)));
        }
        size_t mapped = 0;
        for (const auto &each : blocks) mapped += each->MappedBytes();
        peak = std::max(peak, mapped);
        ASSERT_EQ(mapped, mem_.used_bytes);
        ASSERT_EQ(peak, mem_.peak_bytes);
    }
    blocks.clear();
    EXPECT_EQ(0u, mem_.used_bytes);
    EXPECT_EQ(peak, mem_.peak_bytes);
}

TEST_F(MemTest, BudgetIsUsedToTheLastPageAndNotBeyond)
{
    mem_.budget_bytes = 8 * kPage;
    Block first(&mem_, kPage), second(&mem_, kPage);
    ASSERT_TRUE(first.Grow(4));
    EXPECT_FALSE(second.Grow(5));
    EXPECT_TRUE(second.Grow(4));
    EXPECT_EQ(mem_.budget_bytes, mem_.used_bytes);
    EXPECT_FALSE(first.Grow(5));
    second.Release();
    EXPECT_TRUE(first.Grow(5));
    EXPECT_EQ(8u, first.capacity);
    EXPECT_EQ(2u, mem_.refused);
}

TEST_F(MemTest, RefusalLeavesAllAsItWas)
{
    mem_.budget_bytes = 2 * kPage;
    Block block(&mem_, 4);
    ASSERT_TRUE(block.Grow(kPage / 4));
    memset(block.pages, 0x5a, kPage);
    void *pages = block.pages;
    errno = ENOTTY;
    EXPECT_FALSE(block.Grow(kPage));
    EXPECT_EQ(ENOTTY, errno);
    EXPECT_EQ(pages, block.pages);
    EXPECT_EQ(kPage / 4, block.capacity);
    EXPECT_EQ(0x5a, block.EveryByte(0, block.capacity));
    EXPECT_EQ(kPage, mem_.used_bytes);
    EXPECT_EQ(1u, mem_.refused);
}

TEST_F(MemTest, WhatTheKernelCannotMapIsRefusedAndErrnoKept)
{
    Block block(&mem_, 16);
    ASSERT_TRUE(block.Grow(1));
    memset(block.pages, 0x5a, block.capacity * 16);
    errno = ENOTTY;
    for (size_t count : {SIZE_MAX / 32, SIZE_MAX / 16, SIZE_MAX / 8, SIZE_MAX}) {
        EXPECT_FALSE(block.Grow(count)) << count;
        EXPECT_EQ(ENOTTY, errno);
    }
    EXPECT_EQ(kPage, mem_.used_bytes);
    EXPECT_EQ(0x5a, block.EveryByte(0, block.capacity));
    EXPECT_EQ(4u, mem_.refused);
}

// Half goes while no more than a third is used; what is used stays, and room that is made later is
// zero again, the part of an element at the end included.
TEST_F(MemTest, ShrinkGivesHalfBackAndAgainWhileAThirdIsEnough)
{
    for (size_t element_bytes : {size_t{4}, size_t{20}, size_t{24}}) {
        Block block(&mem_, element_bytes);
        ASSERT_TRUE(block.Grow(1));
        while (block.MappedBytes() < 64 * kPage) ASSERT_TRUE(block.Grow(block.capacity + 1));
        memset(block.pages, 7, block.capacity * element_bytes);
        size_t third = 64 * kPage / 3 / element_bytes;
        block.Shrink(third + 1);
        EXPECT_EQ(64 * kPage, block.MappedBytes());
        block.Shrink(third - 1);
        EXPECT_EQ(32 * kPage, block.MappedBytes());
        EXPECT_EQ(7, block.EveryByte(0, third - 1));
        block.Shrink(10);
        EXPECT_EQ(kPage, block.MappedBytes());
        EXPECT_EQ(kPage, mem_.used_bytes);
        EXPECT_EQ(7, block.EveryByte(0, 10));
        size_t before = block.capacity;
        ASSERT_TRUE(block.Grow(before + 1));
        EXPECT_EQ(7, block.EveryByte(0, before));
        EXPECT_EQ(0, block.EveryByte(before, block.capacity));
    }
}

TEST_F(MemTest, ShrinkOfNothingOrOfAPageChangesNothing)
{
    Block block(&mem_, 8);
    block.Shrink(0);
    EXPECT_EQ(nullptr, block.pages);
    ASSERT_TRUE(block.Grow(1));
    block.Shrink(0);
    EXPECT_EQ(kPage, block.MappedBytes());
}

TEST_F(MemTest, RefusalTellsTheBudgetFromTheKernel)
{
    Block block(&mem_, kPage);
    mem_.budget_bytes = kPage;
    EXPECT_FALSE(block.Grow(2));
    EXPECT_TRUE(mem_.over_budget);
    mem_.budget_bytes = SIZE_MAX;
    EXPECT_FALSE(block.Grow(SIZE_MAX / kPage / 4));
    EXPECT_FALSE(mem_.over_budget);
}

TEST_F(MemTest, ReleaseOfNothingIsAllowed)
{
    Block block(&mem_, 4);
    block.Release();
    EXPECT_EQ(nullptr, block.pages);
    EXPECT_EQ(0u, mem_.used_bytes);
}

TEST_F(MemTest, ReleasedBlockIsEmptyAndGrowsAgain)
{
    Block block(&mem_, 4);
    ASSERT_TRUE(block.Grow(1));
    memset(block.pages, 0xff, kPage);
    block.Release();
    EXPECT_EQ(nullptr, block.pages);
    EXPECT_EQ(0u, block.capacity);
    ASSERT_TRUE(block.Grow(1));
    EXPECT_EQ(0, block.EveryByte(0, block.capacity));
}

#if HEAPPROF_MEM_GUARD

TEST_F(MemTest, AGuardedBlockEndsAtAPageNobodyMayTouch)
{
    for (size_t element_bytes : {size_t{1}, size_t{4}, size_t{64}, kPage}) {
        Block block(&mem_, element_bytes);
        for (int i = 0; i < 4; i++) {
            ASSERT_TRUE(block.Grow(block.capacity + 1));
            volatile char *end = static_cast<char *>(block.pages) + block.capacity * element_bytes;
            end[-1] = 1;
            EXPECT_DEATH(end[0] = 1, "") << element_bytes;
        }
    }
}

TEST_F(MemTest, AGuardedBlockMovesWheneverItGrows)
{
    Block block(&mem_, 4);
    ASSERT_TRUE(block.Grow(1));
    for (int i = 0; i < 4; i++) {
        volatile char *old = static_cast<char *>(block.pages);
        ASSERT_TRUE(block.Grow(block.capacity + 1));
        EXPECT_NE(old, block.pages);
        EXPECT_DEATH(old[0] = 1, "");
    }
}

#endif

TEST_F(MemTest, ResidentBytesAreThoseTouched)
{
    Block first(&mem_, 1), second(&mem_, 1);
    EXPECT_EQ(0u, rb_heapprof_resident_mem_bytes(&mem_));
    ASSERT_TRUE(first.Grow(100 * kPage));
    ASSERT_TRUE(second.Grow(10 * kPage));
    memset(first.pages, 1, 7 * kPage);
    memset(static_cast<char *>(second.pages) + 9 * kPage, 1, 1);
    EXPECT_EQ(8 * kPage, rb_heapprof_resident_mem_bytes(&mem_));
    ASSERT_TRUE(first.Grow(5000 * kPage));
    madvise(first.pages, 5000 * kPage, MADV_NOHUGEPAGE);
    memset(first.pages, 1, 3000 * kPage);
    EXPECT_EQ(3001 * kPage, rb_heapprof_resident_mem_bytes(&mem_));
    first.Release();
    EXPECT_EQ(kPage, rb_heapprof_resident_mem_bytes(&mem_));
}

TEST_F(MemTest, TouchedPagesAreResidentAndHoldWhatTheyDid)
{
    Block first(&mem_, 1), second(&mem_, 1);
    ASSERT_TRUE(first.Grow(100 * kPage));
    ASSERT_TRUE(second.Grow(10 * kPage));
    memset(first.pages, 7, 3 * kPage);
    rb_heapprof_mem_touch(&mem_);
    EXPECT_EQ(110 * kPage, rb_heapprof_resident_mem_bytes(&mem_));
    EXPECT_EQ(7, first.EveryByte(0, 3 * kPage));
    EXPECT_EQ(0, first.EveryByte(3 * kPage, 100 * kPage));
}

} // namespace
