// identities_test.cc - numbers that are never given twice.

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>
#include <vector>

#include "test/unit/support/table_testing.h"

extern "C" {
#include "profiler/identities.h"
}

namespace {

class IdentitiesTest : public testing::Test {
  protected:
    heapprof_mem mem_;
    heapprof_identities identities_;
    uint32_t head_ = 0;
    std::map<uintptr_t, uint32_t> model_; // address -> identity
    std::map<uint32_t, uint32_t> names_;  // of all identities in use

    void
    SetUp() override
    {
        rb_heapprof_mem_init(&mem_, SIZE_MAX);
        rb_heapprof_identities_init(&identities_, &mem_);
    }

    void
    TearDown() override
    {
        rb_heapprof_identities_free(&identities_);
        EXPECT_EQ(0u, mem_.used_bytes);
    }

    // Whether an identity was given: never one in use.
    bool
    Add(uintptr_t address)
    {
        uint32_t id = rb_heapprof_identities_add(&identities_, &head_, address);
        if (id == 0) return false;
        EXPECT_EQ(0u, names_.count(id));
        EXPECT_EQ(HEAPPROF_UNNAMED, identities_.all[id].name);
        names_[id] = identities_.all[id].name = ++last_name_;
        model_[address] = id;
        return true;
    }

    // Sweeps, after keep(id) has said of each whether it is needed; the living stay anyway.
    template <typename Keep>
    void
    Sweep(Keep keep)
    {
        std::set<uint32_t> living;
        for (const auto &each : model_) living.insert(each.second);
        for (auto each = names_.begin(); each != names_.end();) {
            bool kept = keep(each->first);
            identities_.all[each->first].needed = kept;
            each = kept || living.count(each->first) ? std::next(each) : names_.erase(each);
        }
        rb_heapprof_identities_sweep(&identities_, nullptr);
    }

    void
    Remove(uintptr_t address)
    {
        uint32_t entry = rb_heapprof_address_table_find(&identities_.addresses, address);
        rb_heapprof_identities_died(&identities_, &head_, entry);
        model_.erase(address);
    }

    void
    Move(uintptr_t from, uintptr_t to)
    {
        uint32_t entry = rb_heapprof_address_table_find(&identities_.addresses, from);
        rb_heapprof_address_table_move(&identities_.addresses, entry, &head_, &head_, to);
        model_[to] = model_.at(from);
        model_.erase(from);
    }

    void
    ExpectSame() const
    {
        rb_heapprof_identities_check(&identities_);
        ASSERT_EQ(model_.size(), identities_.addresses.numbers.count);
        for (const auto &each : model_) {
            ASSERT_EQ(each.second, rb_heapprof_identities_find(&identities_, each.first));
        }
        for (uint32_t id = 1; id < identities_.numbers.end; id++) {
            auto known = names_.find(id);
            ASSERT_EQ(known != names_.end(), identities_.all[id].used);
            ASSERT_TRUE(known == names_.end() || known->second == identities_.all[id].name);
        }
    }

  private:
    uint32_t last_name_ = 0;
};

TEST_F(IdentitiesTest, AgreesWithAMapOverRandomOperations)
{
    Choices choose(50);
    for (int i = 0; i < kOperations; i++) {
        uintptr_t address = 0x1000 + 40 * choose.Below(1000);
        uintptr_t other = 0x1000 + 40 * choose.Below(1000);
        if (!model_.count(address)) {
            ASSERT_EQ(0u, rb_heapprof_identities_find(&identities_, address));
            ASSERT_TRUE(Add(address));
        }
        else if (!model_.count(other)) {
            Move(address, other);
        }
        else {
            Remove(address);
        }
        if (i % (10 * kFullLook) == 0) ExpectSame();
        if (choose.OneIn(kOperations / 10)) Sweep([&](uint32_t) { return choose.OneIn(3); });
    }
    ExpectSame();
    EXPECT_GT(names_.size(), 5000u);
}

TEST_F(IdentitiesTest, SweepFreesWhatIsDeadAndNotNeeded)
{
    for (uintptr_t address : {0x1000, 0x2000, 0x3000}) ASSERT_TRUE(Add(address));
    Remove(0x1000);
    Remove(0x2000);
    Sweep([](uint32_t id) { return id == 2; });
    ExpectSame();
    EXPECT_EQ(2u, names_.size());
    ASSERT_TRUE(Add(0x4000));
    EXPECT_EQ(1u, rb_heapprof_identities_find(&identities_, 0x4000));
    Sweep([](uint32_t) { return false; });
    ExpectSame();
    EXPECT_EQ(2u, names_.size());
}

TEST_F(IdentitiesTest, SweptIdentitiesKeepMemoryFlat)
{
    for (int i = 0; i < 1000; i++) ASSERT_TRUE(Add(0x1000 + 40 * i));
    size_t used_bytes = mem_.used_bytes;
    for (int round = 0; round < 100; round++) {
        for (int i = 0; i < 1000; i++) Remove(0x1000 + 40 * i);
        Sweep([](uint32_t) { return false; });
        for (int i = 0; i < 1000; i++) ASSERT_TRUE(Add(0x1000 + 40 * i));
        ExpectSame();
    }
    EXPECT_EQ(used_bytes, mem_.used_bytes);
}

TEST_F(IdentitiesTest, AnAddressUsedAgainGetsANewIdentityAndTheOldNameStays)
{
    ASSERT_TRUE(Add(0x1000));
    Remove(0x1000);
    EXPECT_EQ(0u, rb_heapprof_identities_find(&identities_, 0x1000));
    ASSERT_TRUE(Add(0x1000));
    EXPECT_EQ(2u, rb_heapprof_identities_find(&identities_, 0x1000));
    EXPECT_EQ(names_.at(1), identities_.all[1].name);
}

TEST_F(IdentitiesTest, RefusedAddLeavesAllAsItWas)
{
    int refusals = 0;
    mem_.budget_bytes = 0;
    for (uintptr_t address = 0x1000; address < 0x1000 + 40 * 3000; address += 40) {
        refusals += AddPageByPage(
            &mem_, [&] { return Add(address); }, [&] { ExpectSame(); });
    }
    ExpectSame();
    EXPECT_GE(refusals, 4 * 2);
}

TEST_F(IdentitiesTest, FreeLeavesAnEmptyTableThatCountsFromOne)
{
    ASSERT_TRUE(Add(0x1000) && Add(0x2000));
    rb_heapprof_identities_free(&identities_);
    EXPECT_EQ(0u, mem_.used_bytes);
    model_.clear();
    names_.clear();
    head_ = 0;
    ASSERT_TRUE(Add(0x2000));
    ExpectSame();
}

using IdentitiesDeathTest = IdentitiesTest;

TEST_F(IdentitiesDeathTest, CheckSeesAnIdentityThatWasNotGiven)
{
    ASSERT_TRUE(Add(0x1000));
    identities_.ids[1] = 2;
    EXPECT_DEATH(rb_heapprof_identities_check(&identities_), "broken");
}

} // namespace
