// live_table_test.cc - samples stay with their objects. Addresses and chains themselves are
// tested in address_table_test.cc.

#include <gtest/gtest.h>

#include <map>

#include "test/unit/support/table_testing.h"

extern "C" {
#include "profiler/live_table.h"
}

namespace {

bool
operator==(const heapprof_sample &one, const heapprof_sample &other)
{
    return one.site == other.site && one.birth_gc == other.birth_gc &&
           one.birth_bytes == other.birth_bytes && one.slot_bytes == other.slot_bytes &&
           one.weight == other.weight;
}

class LiveTableTest : public testing::Test {
  protected:
    heapprof_mem mem_;
    heapprof_live_table table_;
    uint32_t head_ = 0;
    std::map<uintptr_t, heapprof_sample> model_;

    void
    SetUp() override
    {
        rb_heapprof_mem_init(&mem_, SIZE_MAX);
        rb_heapprof_live_table_init(&table_, &mem_);
    }

    void
    TearDown() override
    {
        rb_heapprof_live_table_free(&table_);
        EXPECT_EQ(0u, mem_.used_bytes);
    }

    static heapprof_sample
    RandomSample(Choices *choose)
    {
        heapprof_sample sample;
        sample.site = static_cast<uint32_t>(choose->Below(1000));
        sample.birth_gc = static_cast<uint32_t>(choose->Below(50));
        sample.birth_bytes = static_cast<uint16_t>(40u << choose->Below(5));
        sample.slot_bytes = static_cast<uint16_t>(40u << choose->Below(5));
        sample.weight = 1.0f + static_cast<float>(choose->Below(20000));
        return sample;
    }

    bool
    Add(uintptr_t address, const heapprof_sample &sample)
    {
        uint32_t entry = rb_heapprof_live_table_add(&table_, &head_, address, &sample);
        if (entry) model_[address] = sample;
        return entry != 0;
    }

    uint32_t
    Find(uintptr_t address) const
    {
        return rb_heapprof_address_table_find(&table_.addresses, address);
    }

    void
    Remove(uintptr_t address)
    {
        rb_heapprof_address_table_remove(&table_.addresses, &head_, Find(address));
        model_.erase(address);
    }

    void
    Move(uintptr_t from, uintptr_t to)
    {
        rb_heapprof_address_table_move(&table_.addresses, Find(from), &head_, &head_, to);
        model_[to] = model_.at(from);
        model_.erase(from);
    }

    void
    ExpectSame() const
    {
        rb_heapprof_live_table_check(&table_);
        ASSERT_EQ(model_.size(), table_.addresses.numbers.count);
        for (const auto &each : model_) {
            uint32_t entry = Find(each.first);
            ASSERT_NE(0u, entry);
            ASSERT_TRUE(each.second == *rb_heapprof_live_table_sample(&table_, entry));
        }
    }
};

TEST_F(LiveTableTest, AgreesWithAMapOverRandomOperations)
{
    Choices choose(40);
    for (int i = 0; i < kOperations; i++) {
        uintptr_t address = 0x1000 + 40 * choose.Below(3000);
        uintptr_t other = 0x1000 + 40 * choose.Below(3000);
        if (!model_.count(address)) {
            ASSERT_TRUE(Add(address, RandomSample(&choose)));
        }
        else if (!model_.count(other)) {
            Move(address, other);
        }
        else {
            Remove(address);
        }
        if (i % kFullLook == 0) ExpectSame();
    }
    ExpectSame();
    EXPECT_GT(model_.size(), 500u);
}

TEST_F(LiveTableTest, RefusedAddLeavesAllAsItWas)
{
    Choices choose(41);
    int refusals = 0;
    mem_.budget_bytes = 0;
    for (uintptr_t address = 0x1000; address < 0x1000 + 40 * 3000; address += 40) {
        heapprof_sample sample = RandomSample(&choose);
        refusals += AddPageByPage(
            &mem_, [&] { return Add(address, sample); }, [&] { ExpectSame(); });
    }
    ExpectSame();
    EXPECT_GE(refusals, 3 * 3);
}

TEST_F(LiveTableTest, FreeLeavesAnEmptyTable)
{
    Choices choose(42);
    ASSERT_TRUE(Add(0x1000, RandomSample(&choose)));
    rb_heapprof_live_table_free(&table_);
    EXPECT_EQ(0u, mem_.used_bytes);
    model_.clear();
    head_ = 0;
    ASSERT_TRUE(Add(0x2000, RandomSample(&choose)));
    ExpectSame();
}

using LiveTableDeathTest = LiveTableTest;

TEST_F(LiveTableDeathTest, CheckSeesAWeightBelowOne)
{
    ASSERT_TRUE(Add(0x1000, {1, 0, 0.5f, 40, 40}));
    EXPECT_DEATH(rb_heapprof_live_table_check(&table_), "broken");
}

TEST_F(LiveTableDeathTest, CheckSeesASampleWithoutSize)
{
    ASSERT_TRUE(Add(0x1000, {1, 0, 1.0f, 0, 40}));
    EXPECT_DEATH(rb_heapprof_live_table_check(&table_), "broken");
}

} // namespace
