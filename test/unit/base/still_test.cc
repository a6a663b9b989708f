// still_test.cc - an array that changes while a still of it is made.

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

#include "test/unit/support/table_testing.h"

extern "C" {
#include "base/numbers.h"
}

namespace {

struct Copies {
    std::vector<uint64_t> from, to;
    std::vector<int> times;
};

class StillTest : public testing::Test {
  protected:
    heapprof_mem mem_;
    heapprof_still still_ = {};
    Copies copies_;

    void
    Begin(uint32_t end)
    {
        rb_heapprof_mem_init(&mem_, SIZE_MAX);
        copies_.from.resize(end);
        for (uint32_t i = 0; i < end; i++) copies_.from[i] = i * 7;
        copies_.to.assign(end, UINT64_MAX);
        copies_.times.assign(end, 0);
        still_.data = &copies_;
        still_.copy = [](heapprof_still *still, uint32_t first, uint32_t last) {
            Copies *copies = static_cast<Copies *>(still->data);
            for (uint32_t i = first; i < last; i++) {
                copies->to[i] = copies->from[i];
                copies->times[i]++;
            }
        };
        ASSERT_TRUE(rb_heapprof_still_begin(&still_, &mem_, end));
    }

    void
    Change(uint32_t number)
    {
        rb_heapprof_still_keep(&still_, number);
        if (number < copies_.from.size()) copies_.from[number] = 1;
    }

    void
    TearDown() override
    {
        rb_heapprof_still_free(&still_, &mem_);
        EXPECT_EQ(0u, mem_.used_bytes);
    }
};

TEST_F(StillTest, IsWhatThereWasWhateverChangesInBetween)
{
    for (uint32_t end : {0u, 1u, 63u, 64u, 65u, 256u, 257u, 20000u}) {
        Choices choose(end);
        Begin(end);
        do {
            for (int i = 0; i < 100; i++) Change(static_cast<uint32_t>(choose.Below(end + 10)));
        } while (rb_heapprof_still_step(&still_));
        for (uint32_t i = 0; i < end; i++) ASSERT_EQ(i * 7, copies_.to[i]) << i << " of " << end;
        EXPECT_EQ(std::vector<int>(end, 1), copies_.times) << end;
        rb_heapprof_still_free(&still_, &mem_);
    }
}

// ThreadSanitizer sees whether an entry is read while it changes, or the array while it moves.
TEST_F(StillTest, OneThatIsSharedIsCopiedBesideChangesAndMoves)
{
    constexpr uint32_t kEnd = 200000;
    Begin(kEnd);
    still_.shared = true;
    std::atomic<bool> copied{false};
    std::thread copier([&] {
        while (rb_heapprof_still_step(&still_)) continue;
        copied = true;
    });
    Choices choose(1);
    for (int i = 0; !copied || i < 1000; i++) {
        Change(static_cast<uint32_t>(choose.Below(kEnd)));
        if (i % 100) continue;
        rb_heapprof_still_hold(&still_);
        copies_.from = std::vector<uint64_t>(copies_.from);
        rb_heapprof_still_release(&still_);
    }
    copier.join();
    EXPECT_FALSE(rb_heapprof_still_left_p(&still_));
    for (uint32_t i = 0; i < kEnd; i++) ASSERT_EQ(i * 7, copies_.to[i]);
    EXPECT_EQ(std::vector<int>(kEnd, 1), copies_.times);
}

// As in the child of a fork: the copier's turn never ends there, and its step has copied a part.
TEST_F(StillTest, AStepThatIsCutOffIsMadeAgainAlone)
{
    Begin(1000);
    still_.shared = true;
    rb_heapprof_still_step(&still_);
    rb_heapprof_still_hold(&still_);
    still_.copy(&still_, HEAPPROF_STILL_STEP, HEAPPROF_STILL_STEP + 10);
    rb_heapprof_still_alone(&still_);
    Change(HEAPPROF_STILL_STEP + 20);
    while (rb_heapprof_still_step(&still_)) continue;
    for (uint32_t i = 0; i < 1000; i++) ASSERT_EQ(i * 7, copies_.to[i]);
}

// So that a slice knows how long it takes.
TEST_F(StillTest, AStepIsOfSoManyEntries)
{
    Begin(1000);
    for (uint32_t step = 1; step < 4; step++) {
        EXPECT_TRUE(rb_heapprof_still_step(&still_));
        EXPECT_EQ(step * HEAPPROF_STILL_STEP, still_.next);
    }
    EXPECT_FALSE(rb_heapprof_still_step(&still_));
}

TEST_F(StillTest, RefusedMemoryIsFalse)
{
    rb_heapprof_mem_init(&mem_, 0);
    EXPECT_FALSE(rb_heapprof_still_begin(&still_, &mem_, 10));
}

} // namespace
