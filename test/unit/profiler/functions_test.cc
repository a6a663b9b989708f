// functions_test.cc - functions by origin and owner against std::map.

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <utility>

#include "test/unit/support/table_testing.h"

extern "C" {
#include "profiler/functions.h"
}

namespace {

class FunctionsTest : public testing::Test {
  protected:
    using Key = std::pair<uint64_t, uint32_t>;

    heapprof_mem mem_;
    heapprof_functions functions_;
    std::map<Key, uint32_t> model_;
    std::set<uint32_t> numbers_; // in use

    void
    SetUp() override
    {
        rb_heapprof_mem_init(&mem_, SIZE_MAX);
        rb_heapprof_functions_init(&functions_, &mem_);
    }

    void
    TearDown() override
    {
        rb_heapprof_functions_free(&functions_);
        EXPECT_EQ(0u, mem_.used_bytes);
    }

    // What a test function says of itself follows from its key.
    static heapprof_function
    Function(Key key)
    {
        heapprof_function function = {};
        function.origin = key.first;
        function.owner = key.second;
        function.name = static_cast<uint32_t>(key.first * 7 + key.second);
        function.path = function.name + 1;
        function.first_line = function.name + 2;
        function.cfunc = (key.first & HEAPPROF_ORIGIN_C) != 0;
        function.provisional = key.second % 2;
        return function;
    }

    bool
    Add(Key key)
    {
        heapprof_function function = Function(key);
        uint32_t number = rb_heapprof_functions_add(&functions_, &function);
        if (number == 0) return false;
        EXPECT_EQ(0u, numbers_.count(number));
        numbers_.insert(number);
        model_[key] = number;
        return true;
    }

    // Sweeps, after keep(key) has said of each whether it is needed.
    template <typename Keep>
    void
    Sweep(Keep keep)
    {
        size_t before = model_.size();
        for (auto each = model_.begin(); each != model_.end();) {
            if (keep(each->first)) {
                rb_heapprof_functions_get(&functions_, each->second)->needed = true;
                ++each;
            }
            else {
                numbers_.erase(each->second);
                each = model_.erase(each);
            }
        }
        EXPECT_EQ(before - model_.size(), rb_heapprof_functions_sweep(&functions_));
    }

    uint32_t
    Find(Key key) const
    {
        return rb_heapprof_functions_find(&functions_, key.first, key.second);
    }

    static void
    ExpectEqual(const heapprof_function &expected, const heapprof_function &actual)
    {
        EXPECT_EQ(expected.origin, actual.origin);
        EXPECT_EQ(expected.owner, actual.owner);
        EXPECT_EQ(expected.name, actual.name);
        EXPECT_EQ(expected.path, actual.path);
        EXPECT_EQ(expected.first_line, actual.first_line);
        EXPECT_EQ(expected.cfunc, actual.cfunc);
        EXPECT_EQ(expected.provisional, actual.provisional);
    }

    void
    ExpectSame() const
    {
        rb_heapprof_functions_check(&functions_);
        ASSERT_EQ(model_.size(), functions_.numbers.count);
        for (const auto &each : model_) {
            ASSERT_EQ(each.second, Find(each.first));
            ExpectEqual(Function(each.first), *rb_heapprof_functions_get(&functions_, each.second));
        }
    }
};

TEST_F(FunctionsTest, AgreesWithAMapOverRandomOperations)
{
    Choices choose(60);
    for (int i = 0; i < kOperations; i++) {
        uint64_t origin = 1 + choose.Below(400);
        if (choose.OneIn(2)) origin |= HEAPPROF_ORIGIN_C;
        Key key(origin, static_cast<uint32_t>(choose.Below(40)));
        auto known = model_.find(key);
        ASSERT_EQ(known == model_.end() ? 0 : known->second, Find(key));
        ASSERT_TRUE(known != model_.end() || Add(key));
        if (i % (10 * kFullLook) == 0) ExpectSame();
        if (choose.OneIn(kOperations / 10)) Sweep([&](Key) { return choose.OneIn(3); });
    }
    ExpectSame();
    EXPECT_GT(model_.size(), 5000u);
}

TEST_F(FunctionsTest, SweepFreesWhatIsNotNeededAndNumbersAreUsedAgain)
{
    for (uint64_t origin = 1; origin <= 1000; origin++) ASSERT_TRUE(Add({origin, 1}));
    size_t used_bytes = mem_.used_bytes;
    for (uint64_t round = 1; round <= 100; round++) {
        Sweep([&](Key key) { return key.first % 2; });
        ExpectSame();
        for (uint64_t i = 1; i <= 500; i++) ASSERT_TRUE(Add({round * 10000 + 2 * i, 1}));
        ExpectSame();
    }
    EXPECT_EQ(used_bytes, mem_.used_bytes);
}

TEST_F(FunctionsTest, WhatOneSweepKeptTheNextFrees)
{
    ASSERT_TRUE(Add({7, 1}));
    Sweep([](Key) { return true; });
    Sweep([](Key) { return false; });
    ExpectSame();
}

TEST_F(FunctionsTest, OneOriginUnderTwoOwnersIsTwoFunctions)
{
    ASSERT_TRUE(Add({7, 1}) && Add({7, 2}));
    EXPECT_NE(Find({7, 1}), Find({7, 2}));
    EXPECT_EQ(0u, Find({7, 0}));
}

TEST_F(FunctionsTest, AnIseqAndAMethodIdOfOneNumberAreTwoFunctions)
{
    ASSERT_TRUE(Add({7, 1}) && Add({7 | HEAPPROF_ORIGIN_C, 1}));
    EXPECT_NE(Find({7, 1}), Find({7 | HEAPPROF_ORIGIN_C, 1}));
}

TEST_F(FunctionsTest, WhatIsNotAKeyMayBeChanged)
{
    ASSERT_TRUE(Add({7, 1}));
    rb_heapprof_functions_get(&functions_, 1)->name = 99;
    EXPECT_EQ(1u, Find({7, 1}));
    EXPECT_EQ(99u, rb_heapprof_functions_get(&functions_, 1)->name);
    rb_heapprof_functions_check(&functions_);
}

TEST_F(FunctionsTest, RefusedAddLeavesAllAsItWas)
{
    int refusals = 0;
    mem_.budget_bytes = 0;
    for (uint64_t origin = 1; origin <= 3000; origin++) {
        refusals += AddPageByPage(
            &mem_, [&] { return Add({origin, 1}); },
            [&] {
                EXPECT_EQ(0u, Find({origin, 1}));
                ExpectSame();
            });
    }
    ExpectSame();
    EXPECT_GE(refusals, 2 * 3);
}

TEST_F(FunctionsTest, FreeLeavesAnEmptyTable)
{
    ASSERT_TRUE(Add({7, 1}) && Add({8, 1}));
    rb_heapprof_functions_free(&functions_);
    EXPECT_EQ(0u, mem_.used_bytes);
    EXPECT_EQ(0u, Find({7, 1}));
    model_.clear();
    numbers_.clear();
    ASSERT_TRUE(Add({8, 1}));
    ExpectSame();
}

using FunctionsDeathTest = FunctionsTest;

TEST_F(FunctionsDeathTest, AddOfAKnownKeyIsSeen)
{
    ASSERT_TRUE(Add({7, 1}));
    EXPECT_DEATH(Add({7, 1}), "broken");
}

TEST_F(FunctionsDeathTest, CheckSeesAChangedKey)
{
    ASSERT_TRUE(Add({7, 1}) && Add({8, 1}));
    rb_heapprof_functions_get(&functions_, 1)->owner = 5;
    EXPECT_DEATH(rb_heapprof_functions_check(&functions_), "broken");
}

} // namespace
