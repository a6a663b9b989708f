// stacks_test.cc - the trie against a std::map from whole stacks.

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "test/unit/support/table_testing.h"

extern "C" {
#include "profiler/stacks.h"
}

namespace {

using Frame = std::pair<uint32_t, uint32_t>; // function, line
using Path = std::vector<Frame>;             // from the outermost

class StacksTest : public testing::Test {
  protected:
    struct Known {
        uint32_t number;
        uint32_t holds;
    };

    heapprof_mem mem_;
    heapprof_stacks stacks_;
    std::map<Path, Known> model_;

    void
    SetUp() override
    {
        rb_heapprof_mem_init(&mem_, SIZE_MAX);
        rb_heapprof_stacks_init(&stacks_, &mem_);
    }

    void
    TearDown() override
    {
        rb_heapprof_stacks_free(&stacks_);
        EXPECT_EQ(0u, mem_.used_bytes);
    }

    // Pushes a path frame by frame; true when it went all the way.
    bool
    Push(const Path &path)
    {
        uint32_t stack = 0;
        Path pushed;
        for (const Frame &frame : path) {
            stack = rb_heapprof_stacks_push(&stacks_, stack, frame.first, frame.second);
            if (stack == HEAPPROF_NO_STACK) return false;
            pushed.push_back(frame);
            auto known = model_.emplace(pushed, Known{stack, 0});
            EXPECT_EQ(known.first->second.number, stack);
        }
        return true;
    }

    void
    Hold(const Path &path)
    {
        rb_heapprof_stacks_hold(&stacks_, model_.at(path).number);
        model_.at(path).holds++;
    }

    void
    Unhold(const Path &path)
    {
        rb_heapprof_stacks_unhold(&stacks_, model_.at(path).number);
        model_.at(path).holds--;
    }

    // Paths sort before what begins with them, so going backwards meets all that is deeper
    // before it comes to a path.
    void
    Trim()
    {
        rb_heapprof_stacks_trim(&stacks_);
        Path kept;
        for (auto each = model_.end(); each != model_.begin();) {
            --each;
            const Path &path = each->first;
            bool outer = path.size() <= kept.size() &&
                         std::equal(path.begin(), path.end(), kept.begin());
            if (outer || each->second.holds) {
                kept = path;
            }
            else {
                each = model_.erase(each);
            }
        }
    }

    Path
    PathOf(uint32_t stack) const
    {
        Path path;
        while (stack) {
            const heapprof_stack_node *node = rb_heapprof_stacks_node(&stacks_, stack);
            path.insert(path.begin(), Frame(node->function, node->line));
            stack = node->parent;
        }
        return path;
    }

    void
    ExpectSame() const
    {
        rb_heapprof_stacks_check(&stacks_);
        ASSERT_EQ(model_.size(), stacks_.numbers.count);
        for (const auto &each : model_) {
            uint32_t stack = each.second.number;
            ASSERT_EQ(each.first, PathOf(stack));
            ASSERT_EQ(each.first.size(), rb_heapprof_stacks_node(&stacks_, stack)->depth);
        }
    }

    // Any path of the model, which is not empty.
    const Path &
    RandomPath(Choices *choose) const
    {
        Path from;
        for (int i = 0; i < 6; i++) from.push_back(RandomFrame(choose));
        auto path = model_.lower_bound(from);
        return path == model_.end() ? model_.begin()->first : path->first;
    }

    static Frame
    RandomFrame(Choices *choose)
    {
        uint32_t function = 1 + static_cast<uint32_t>(choose->Below(5));
        return {function, static_cast<uint32_t>(choose->Below(2))};
    }
};

TEST_F(StacksTest, AgreesWithAMapOverRandomOperations)
{
    Choices choose(70);
    int trims = 0;
    for (int i = 0; i < kOperations; i++) {
        if (model_.empty() || choose.OneIn(2)) {
            Path path(choose.Below(7));
            for (Frame &frame : path) frame = RandomFrame(&choose);
            ASSERT_TRUE(Push(path));
        }
        else {
            const Path &path = RandomPath(&choose);
            if (model_.at(path).holds) {
                Unhold(path);
            }
            else {
                Hold(path);
            }
        }
        if (choose.OneIn(2000)) {
            Trim();
            trims++;
            ExpectSame();
        }
        if (i % (10 * kFullLook) == 0) ExpectSame();
    }
    Trim();
    ExpectSame();
    EXPECT_GT(model_.size(), 1000u);
    EXPECT_GT(trims, 50);
}

TEST_F(StacksTest, EqualStacksHaveEqualNumbersAndShareNodes)
{
    ASSERT_TRUE(Push({{1, 9}, {2, 3}, {3, 0}}));
    ASSERT_TRUE(Push({{1, 9}, {2, 3}, {4, 0}}));
    ASSERT_TRUE(Push({{1, 9}, {2, 3}, {3, 0}}));
    EXPECT_EQ(4u, stacks_.numbers.count);
    ExpectSame();
}

TEST_F(StacksTest, AnotherLineIsAnotherStack)
{
    ASSERT_TRUE(Push({{1, 9}}) && Push({{1, 10}}));
    EXPECT_EQ(2u, stacks_.numbers.count);
    ExpectSame();
}

TEST_F(StacksTest, TrimKeepsWhatIsHeldWithAllThatIsOutside)
{
    ASSERT_TRUE(Push({{1, 0}, {2, 0}, {3, 0}}) && Push({{1, 0}, {4, 0}}));
    Hold({{1, 0}, {2, 0}});
    Trim();
    ExpectSame();
    EXPECT_EQ(2u, stacks_.numbers.count);
}

TEST_F(StacksTest, HoldsAddUp)
{
    ASSERT_TRUE(Push({{1, 0}}));
    Hold({{1, 0}});
    Hold({{1, 0}});
    Unhold({{1, 0}});
    Trim();
    EXPECT_EQ(1u, stacks_.numbers.count);
    Unhold({{1, 0}});
    Trim();
    EXPECT_EQ(0u, stacks_.numbers.count);
}

TEST_F(StacksTest, TrimTakesADeepStackFromItsInnermostFrame)
{
    Path path;
    for (uint32_t depth = 0; depth < 2000; depth++) path.push_back({1 + depth % 7, depth});
    ASSERT_TRUE(Push(path));
    Trim();
    ExpectSame();
    EXPECT_EQ(0u, stacks_.numbers.count);
}

TEST_F(StacksTest, NumbersOfTrimmedNodesAreUsedAgain)
{
    for (uint32_t line = 0; line < 100; line++) ASSERT_TRUE(Push({{1, line}}));
    uint32_t end = stacks_.numbers.end;
    Trim();
    for (uint32_t line = 0; line < 100; line++) ASSERT_TRUE(Push({{2, line}}));
    EXPECT_EQ(end, stacks_.numbers.end);
    ExpectSame();
}

TEST_F(StacksTest, HoldsOnTheEmptyStackAreIgnored)
{
    rb_heapprof_stacks_unhold(&stacks_, 0);
    rb_heapprof_stacks_hold(&stacks_, 0);
    rb_heapprof_stacks_trim(&stacks_);
    ExpectSame();
    EXPECT_EQ(0u, mem_.used_bytes);
}

// What was pushed before the refusal stays, holds nothing and goes at the next trim.
TEST_F(StacksTest, RefusedPushLeavesAllAsItWas)
{
    int refusals = 0;
    mem_.budget_bytes = 0;
    for (uint32_t i = 0; i < 3000; i++) {
        Path path = {{1, 0}, {2, i % 3}, {3, i}, {4, i}};
        refusals += AddPageByPage(
            &mem_, [&] { return Push(path); }, [&] { ExpectSame(); });
    }
    EXPECT_GE(refusals, 2 * 4);
    Trim();
    ExpectSame();
    EXPECT_EQ(0u, stacks_.numbers.count);
}

TEST_F(StacksTest, FreeLeavesAnEmptyTable)
{
    ASSERT_TRUE(Push({{1, 0}, {2, 0}}));
    rb_heapprof_stacks_free(&stacks_);
    EXPECT_EQ(0u, mem_.used_bytes);
    model_.clear();
    ASSERT_TRUE(Push({{2, 0}}));
    ExpectSame();
}

using StacksDeathTest = StacksTest;

TEST_F(StacksDeathTest, UnholdOfWhatNobodyHoldsIsSeen)
{
    ASSERT_TRUE(Push({{1, 0}}));
    EXPECT_DEATH(rb_heapprof_stacks_unhold(&stacks_, 1), "broken");
}

TEST_F(StacksDeathTest, HoldOfATrimmedStackIsSeen)
{
    ASSERT_TRUE(Push({{1, 0}}));
    rb_heapprof_stacks_trim(&stacks_);
    EXPECT_DEATH(rb_heapprof_stacks_hold(&stacks_, 1), "broken");
}

TEST_F(StacksDeathTest, CheckSeesAParentThatForgotItsChild)
{
    ASSERT_TRUE(Push({{1, 0}, {2, 0}}));
    rb_heapprof_stacks_unhold(&stacks_, 1);
    EXPECT_DEATH(rb_heapprof_stacks_check(&stacks_), "broken");
}

TEST_F(StacksDeathTest, CheckSeesAWrongDepth)
{
    ASSERT_TRUE(Push({{1, 0}, {2, 0}}));
    stacks_.nodes[2].depth = 5;
    EXPECT_DEATH(rb_heapprof_stacks_check(&stacks_), "broken");
}

} // namespace
