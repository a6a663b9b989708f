// numbers_test.cc - the numbers of entries against std::map over random operations; what is
// refused; and what check sees.

#include <gtest/gtest.h>

#include <future>
#include <map>
#include <thread>
#include <vector>

#include "test/unit/support/table_testing.h"

extern "C" {
#include "base/numbers.h"
}

namespace {

struct Entry {
    uint64_t value; // 0: free
    uint32_t link;
};

// A table as the profiler's are: entries by number.
class NumbersTest : public testing::Test {
  protected:
    heapprof_mem mem_;
    heapprof_numbers numbers_;
    Entry *all_ = nullptr;
    std::map<uint32_t, uint64_t> model_; // of those in use
    std::vector<uint32_t> free_;         // the one given back last at the end

    void
    SetUp() override
    {
        rb_heapprof_mem_init(&mem_, SIZE_MAX);
        rb_heapprof_numbers_init(&numbers_);
    }

    void
    TearDown() override
    {
        HEAPPROF_NUMBERS_RELEASE(&numbers_, &mem_, all_);
        EXPECT_EQ(nullptr, all_);
        EXPECT_EQ(0u, mem_.used_bytes);
    }

    static uint32_t
    LinkI(const void *owner, uint32_t number)
    {
        const Entry *entry = &static_cast<const NumbersTest *>(owner)->all_[number];
        return entry->value ? HEAPPROF_NUMBER_USED : entry->link;
    }

    void
    Check() const
    {
        rb_heapprof_numbers_check(&numbers_, LinkI, this);
    }

    // The number an entry of that value has, 0 when memory is refused.
    uint32_t
    Add(uint64_t value)
    {
        if (!HEAPPROF_NUMBERS_RESERVE(&numbers_, &mem_, all_)) return 0;
        uint32_t number = rb_heapprof_numbers_next(&numbers_);
        rb_heapprof_numbers_take(&numbers_, &all_[number].link);
        all_[number].value = value;
        model_[number] = value;
        if (!free_.empty()) free_.pop_back();
        return number;
    }

    void
    Remove(uint32_t number)
    {
        all_[number].value = 0;
        rb_heapprof_numbers_give_back(&numbers_, number, &all_[number].link);
        model_.erase(number);
        free_.push_back(number);
    }

    void
    ExpectSame() const
    {
        Check();
        ASSERT_EQ(model_.size(), numbers_.count);
        ASSERT_EQ(model_.size() + free_.size() + 1, numbers_.end);
        for (const auto &each : model_) ASSERT_EQ(each.second, all_[each.first].value);
        ASSERT_EQ(free_.empty() ? numbers_.end : free_.back(), rb_heapprof_numbers_next(&numbers_));
    }
};

TEST_F(NumbersTest, AgreesWithAMapOverRandomOperations)
{
    Choices choose(90);
    for (int i = 0; i < kOperations; i++) {
        uint64_t value = 1 + choose.Below(1000000);
        uint32_t near = static_cast<uint32_t>(choose.Below(5000));
        auto some = model_.lower_bound(near);
        // Grows and shrinks by turns.
        if (some == model_.end() || choose.Below(10) < (i / 20000 % 2 ? 4 : 6)) {
            ASSERT_NE(0u, Add(value));
        }
        else {
            Remove(some->first);
        }
        if (i % kFullLook == 0) ExpectSame();
    }
    ExpectSame();
    EXPECT_GT(numbers_.end, 2000u);
}

TEST_F(NumbersTest, CountFromOneAndTheOneGivenBackLastComesFirst)
{
    for (uint32_t number = 1; number <= 4; number++) EXPECT_EQ(number, Add(7));
    Remove(2);
    Remove(4);
    EXPECT_EQ(4u, Add(8));
    EXPECT_EQ(2u, Add(9));
    EXPECT_EQ(5u, Add(10));
    ExpectSame();
}

TEST_F(NumbersTest, AnEntryIsZeroWhenItsNumberIsNew)
{
    for (int i = 0; i < 5000; i++) {
        ASSERT_TRUE(HEAPPROF_NUMBERS_RESERVE(&numbers_, &mem_, all_));
        uint32_t next = rb_heapprof_numbers_next(&numbers_);
        ASSERT_EQ(0u, all_[next].value);
        ASSERT_EQ(0u, all_[next].link);
        ASSERT_EQ(next, Add(1));
    }
}

TEST_F(NumbersTest, RefusedGrowthLeavesAllAsItWas)
{
    int refusals = 0;
    mem_.budget_bytes = 0;
    for (uint64_t value = 1; value <= 2000; value++) {
        refusals += AddPageByPage(
            &mem_, [&] { return Add(value) != 0; }, [&] { ExpectSame(); });
    }
    ExpectSame();
    EXPECT_GE(refusals, 4);
}

TEST_F(NumbersTest, ANumberGivenBackNeedsNoMemory)
{
    while (Add(1) < 100) continue;
    while (rb_heapprof_numbers_room_p(&numbers_)) Add(1);
    mem_.budget_bytes = mem_.used_bytes;
    EXPECT_EQ(0u, Add(2));
    EXPECT_EQ(1u, mem_.refused);
    Remove(50);
    EXPECT_TRUE(rb_heapprof_numbers_room_p(&numbers_));
    EXPECT_EQ(50u, Add(2));
    EXPECT_EQ(1u, mem_.refused);
    ExpectSame();
}

TEST_F(NumbersTest, ReserveMoreMakesRoomForSoMany)
{
    ASSERT_NE(0u, Add(1));
    Remove(Add(2)); // one that is free does not count
    ASSERT_TRUE(HEAPPROF_NUMBERS_RESERVE_MORE(&numbers_, &mem_, all_, 3000));
    mem_.budget_bytes = mem_.used_bytes;
    for (int i = 0; i < 3001; i++) ASSERT_NE(0u, Add(3));
    ExpectSame();
    EXPECT_EQ(0u, mem_.refused);
}

TEST_F(NumbersTest, PackedEntriesAreTheFirstAndTheRestIsNewAgain)
{
    for (uint64_t value = 1; value <= 5000; value++) ASSERT_EQ(value, Add(value));
    Remove(4);
    Remove(5000);
    uint64_t used_bytes = mem_.used_bytes;
    for (uint32_t number = 1; number <= 100; number++) all_[number].value = 1000 + number;
    HEAPPROF_NUMBERS_PACK(&numbers_, &mem_, all_, 100);
    EXPECT_LT(mem_.used_bytes, used_bytes);
    model_.clear();
    free_.clear();
    for (uint32_t number = 1; number <= 100; number++) model_[number] = 1000 + number;
    ExpectSame();
    for (size_t number = 101; number < numbers_.capacity; number++) {
        ASSERT_EQ(0u, all_[number].value + all_[number].link);
    }
    ASSERT_EQ(101u, Add(7));
    HEAPPROF_NUMBERS_PACK(&numbers_, &mem_, all_, 0);
    EXPECT_EQ(1u, rb_heapprof_numbers_next(&numbers_));
    model_.clear();
    ExpectSame();
}

TEST_F(NumbersTest, MoreThanTheMostAreRefused)
{
    ASSERT_NE(0u, Add(1));
    uint64_t used_bytes = mem_.used_bytes;
    EXPECT_FALSE(HEAPPROF_NUMBERS_RESERVE_MORE(&numbers_, &mem_, all_, HEAPPROF_NUMBERS_MOST));
    EXPECT_FALSE(HEAPPROF_NUMBERS_RESERVE_MORE(&numbers_, &mem_, all_, UINT32_MAX));
    EXPECT_EQ(2u, mem_.refused);
    EXPECT_EQ(used_bytes, mem_.used_bytes);
    ExpectSame();

    heapprof_numbers full;
    rb_heapprof_numbers_init(&full);
    full.capacity = full.end = HEAPPROF_NUMBERS_MOST;
    Entry *none = nullptr;
    EXPECT_FALSE(HEAPPROF_NUMBERS_RESERVE(&full, &mem_, none));
    EXPECT_EQ(3u, mem_.refused);
    EXPECT_EQ(nullptr, none);
}

TEST_F(NumbersTest, ReleaseCountsFromOneAgain)
{
    for (int i = 0; i < 500; i++) ASSERT_NE(0u, Add(1));
    Remove(3);
    HEAPPROF_NUMBERS_RELEASE(&numbers_, &mem_, all_);
    model_.clear();
    free_.clear();
    EXPECT_EQ(0u, mem_.used_bytes);
    EXPECT_FALSE(rb_heapprof_numbers_room_p(&numbers_));
    ExpectSame();
    EXPECT_EQ(1u, Add(1));
}

using NumbersDeathTest = NumbersTest;

TEST_F(NumbersDeathTest, CheckSeesAUsedEntryOnTheFreeChain)
{
    for (int i = 0; i < 5; i++) ASSERT_NE(0u, Add(1));
    Remove(2);
    Remove(3);
    all_[2].value = 1;
    EXPECT_DEATH(Check(), "broken");
}

TEST_F(NumbersDeathTest, CheckSeesALostEntry)
{
    for (int i = 0; i < 5; i++) ASSERT_NE(0u, Add(1));
    Remove(2);
    Remove(3);
    all_[3].link = 0;
    EXPECT_DEATH(Check(), "broken");
}

TEST_F(NumbersDeathTest, CheckSeesAFreeChainThatIsARing)
{
    for (int i = 0; i < 5; i++) ASSERT_NE(0u, Add(1));
    Remove(2);
    Remove(3);
    all_[2].link = 3;
    EXPECT_DEATH(Check(), "broken");
}

TEST_F(NumbersDeathTest, CheckSeesAWrongCount)
{
    ASSERT_NE(0u, Add(1));
    numbers_.count++;
    EXPECT_DEATH(Check(), "broken");
}

// The copying thread is in its step; the other one is about to have the array grow.
struct Meeting {
    Entry **all = nullptr;
    uint64_t sum = 0;
    std::promise<void> in_step, growing;
};

// ThreadSanitizer sees an array that moves under the step.
TEST_F(NumbersTest, AnArrayGrowsAfterTheStepOfASharedStill)
{
    constexpr uint64_t kCount = 100;
    for (uint64_t value = 1; value <= kCount; value++) ASSERT_NE(0u, Add(value));
    Meeting meeting;
    meeting.all = &all_;
    heapprof_still still = {};
    still.shared = true;
    still.data = &meeting;
    still.copy = [](heapprof_still *of, uint32_t first, uint32_t end) {
        Meeting *met = static_cast<Meeting *>(of->data);
        if (first == 0) met->in_step.set_value();
        if (first == 0) met->growing.get_future().wait();
        for (uint32_t i = first; i < end; i++) met->sum += (*met->all)[i].value;
    };
    ASSERT_TRUE(rb_heapprof_still_begin(&still, &mem_, numbers_.end));
    numbers_.still = &still;
    std::thread copier([&still] { rb_heapprof_still_step(&still); });
    meeting.in_step.get_future().wait();
    meeting.growing.set_value();
    EXPECT_TRUE(HEAPPROF_NUMBERS_RESERVE_MORE(&numbers_, &mem_, all_, 100000));
    copier.join();
    EXPECT_EQ(kCount * (kCount + 1) / 2, meeting.sum);
    numbers_.still = nullptr;
    rb_heapprof_still_free(&still, &mem_);
}

} // namespace
