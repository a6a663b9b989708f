// callers_test.cc - keys that are no object's address, and return addresses by identity.

#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <set>
#include <vector>

#include "table_testing.h"

extern "C" {
#include "callers.h"
}

namespace {

heapprof_caller
Caller(const std::vector<uintptr_t> &frames)
{
    heapprof_caller caller = {};
    for (size_t i = 0; i < frames.size(); i++) caller.frames[i] = frames[i];
    return caller;
}

class CallersTest : public testing::Test {
  protected:
    heapprof_mem mem_;
    heapprof_callers callers_;
    std::map<uint32_t, heapprof_caller> model_;

    void
    SetUp() override
    {
        rb_heapprof_mem_init(&mem_, SIZE_MAX);
        rb_heapprof_callers_init(&callers_, &mem_);
    }

    void
    TearDown() override
    {
        rb_heapprof_callers_free(&callers_);
        EXPECT_EQ(0u, mem_.used_bytes);
    }

    bool
    Set(uint32_t identity, const heapprof_caller &caller)
    {
        if (!rb_heapprof_callers_set(&callers_, identity, &caller)) return false;
        model_[identity] = caller;
        return true;
    }

    void
    ExpectSame(uint32_t identities) const
    {
        for (uint32_t id = 0; id < identities; id++) {
            const heapprof_caller *caller = rb_heapprof_callers_get(&callers_, id);
            auto known = model_.find(id);
            ASSERT_EQ(known != model_.end(), caller != nullptr) << id;
            if (!caller) continue;
            ASSERT_EQ(0, memcmp(caller, &known->second, sizeof(*caller))) << id;
        }
    }
};

// ---- keys ----

TEST(CallerKeys, AreNoAddressesOfObjectsAndNoSmallNumbers)
{
    Choices choose(1);
    for (int i = 0; i < 100000; i++) {
        heapprof_caller caller = Caller({choose.Below(UINT64_MAX), choose.Below(1000)});
        EXPECT_TRUE(rb_heapprof_callers_key_p(rb_heapprof_callers_key(&caller)));
    }
    for (uintptr_t address : {uintptr_t{1}, uintptr_t{65536}, uintptr_t{0x7fffffffffff},
                              uintptr_t{INTPTR_MAX}}) {
        EXPECT_FALSE(rb_heapprof_callers_key_p(address));
    }
}

TEST(CallerKeys, AreEqualForEqualCallersAlone)
{
    std::set<uintptr_t> keys;
    std::vector<heapprof_caller> callers = {
        Caller({1}), Caller({2}), Caller({1, 2}), Caller({2, 1}), Caller({1, 2, 3, 4, 5, 6}),
        Caller({1, 2, 3, 4, 5, 7}), Caller({7, 2, 3, 4, 5, 6}), Caller({3}), Caller({0, 1}),
    };
    for (const heapprof_caller &caller : callers) {
        heapprof_caller same = caller;
        EXPECT_EQ(rb_heapprof_callers_key(&same), rb_heapprof_callers_key(&caller));
        keys.insert(rb_heapprof_callers_key(&caller));
    }
    EXPECT_EQ(callers.size(), keys.size());
}

TEST(CallerKeys, OfCallsThatLieNextToEachOtherDiffer)
{
    std::set<uintptr_t> keys;
    for (uintptr_t outer = 0; outer < 300; outer++) {
        for (uintptr_t inner = 0; inner < 300; inner++) {
            heapprof_caller caller = Caller({0x7f0000001000 + inner, 0x7f0000002000 + outer});
            keys.insert(rb_heapprof_callers_key(&caller));
        }
    }
    EXPECT_EQ(300u * 300u, keys.size());
}

// ---- the table ----

TEST_F(CallersTest, IsWhatWasSetAndNothingElse)
{
    Choices choose(2);
    for (int i = 0; i < 2000; i++) {
        ASSERT_TRUE(Set(static_cast<uint32_t>(1 + choose.Below(5000)),
                        Caller({1 + choose.Below(UINT64_MAX - 1), choose.Below(UINT64_MAX)})));
    }
    ExpectSame(20000);
}

TEST_F(CallersTest, NobodyIsKnownToANewTable)
{
    ExpectSame(100);
    EXPECT_EQ(nullptr, rb_heapprof_callers_get(&callers_, UINT32_MAX));
}

TEST_F(CallersTest, RefusedSetLeavesAllAsItWas)
{
    int refusals = 0;
    mem_.budget_bytes = 0;
    for (uint32_t id = 1; id <= 3000; id++) {
        refusals += AddPageByPage(
            &mem_, [&] { return Set(id, Caller({id})); }, [&] { ExpectSame(id + 1); });
    }
    ExpectSame(4000);
    EXPECT_GT(refusals, 3);
}

TEST_F(CallersTest, FreeLeavesAnEmptyTable)
{
    ASSERT_TRUE(Set(3, Caller({1})));
    rb_heapprof_callers_free(&callers_);
    model_.clear();
    ExpectSame(10);
    ASSERT_TRUE(Set(4, Caller({2})));
    ExpectSame(10);
}

} // namespace
