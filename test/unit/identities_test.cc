// identities_test.cc - numbers that are never given twice.

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "table_testing.h"

extern "C" {
#include "identities.h"
}

namespace {

class IdentitiesTest : public testing::Test {
  protected:
    heapprof_mem mem_;
    heapprof_identities identities_;
    uint32_t head_ = 0;
    std::map<uintptr_t, uint32_t> model_; // address -> identity
    uint32_t given_ = 0;

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

    // Whether an identity was given: always the next number, never an old one.
    bool
    Add(uintptr_t address)
    {
        uint32_t id = rb_heapprof_identities_add(&identities_, &head_, address);
        if (id == 0) return false;
        EXPECT_EQ(++given_, id);
        EXPECT_EQ(HEAPPROF_UNNAMED, identities_.names[id]);
        identities_.names[id] = Name(id);
        model_[address] = id;
        return true;
    }

    static uint32_t
    Name(uint32_t id)
    {
        return id * 3;
    }

    void
    Remove(uintptr_t address)
    {
        uint32_t entry = rb_heapprof_address_table_find(&identities_.addresses, address);
        rb_heapprof_address_table_remove(&identities_.addresses, &head_, entry);
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
        ASSERT_EQ(given_, identities_.count);
        ASSERT_EQ(model_.size(), identities_.addresses.count);
        for (const auto &each : model_) {
            ASSERT_EQ(each.second, rb_heapprof_identities_find(&identities_, each.first));
        }
        for (uint32_t id = 1; id <= given_; id++) ASSERT_EQ(Name(id), identities_.names[id]);
    }
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
    }
    ExpectSame();
    EXPECT_GT(given_, 10000u);
}

TEST_F(IdentitiesTest, AnAddressUsedAgainGetsANewIdentityAndTheOldNameStays)
{
    ASSERT_TRUE(Add(0x1000));
    Remove(0x1000);
    EXPECT_EQ(0u, rb_heapprof_identities_find(&identities_, 0x1000));
    ASSERT_TRUE(Add(0x1000));
    EXPECT_EQ(2u, rb_heapprof_identities_find(&identities_, 0x1000));
    EXPECT_EQ(Name(1), identities_.names[1]);
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
    head_ = given_ = 0;
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
