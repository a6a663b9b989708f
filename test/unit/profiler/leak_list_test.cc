// leak_list_test.cc - what extensions have lost, as fields.

#include <gtest/gtest.h>

#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "test/unit/support/snapshot_builder.h"

extern "C" {
#include "profiler/leaks/list.h"
}

namespace {

using Fields = std::vector<std::string>;

class LeakListTest : public testing::Test {
  protected:
    SnapshotBuilder builder_;
    uint32_t main_ = builder_.Function("<main>", "/app/main.rb"),
             run_ = builder_.Function("Job#run", "/app/job.rb");
    uint32_t c_function_ = builder_.CFunction("Lib.work");
    uint32_t caller_ = builder_.Caller("lib_work", "lib.so"),
             rubys_ = builder_.Caller("rb_new", "ruby");
    std::vector<heapprof_lost_block> blocks_;

    uint32_t
    Left(uint32_t stack, uint32_t caller, heapprof_fate fate, size_t bytes, uint32_t leader = 0)
    {
        uint32_t site = builder_.Dead(stack, caller | HEAPPROF_SITE_OF_BLOCKS, 1, bytes, true);
        blocks_.push_back({0x1000 * (blocks_.size() + 1), bytes, site, fate, leader, false});
        return uint32_t(blocks_.size() - 1);
    }

    Fields List() {
        heapprof_lost lost = {};
        size_t size = 0;

        lost.blocks = blocks_.data();
        lost.block_count = blocks_.size();
        std::unique_ptr<char, decltype(&std::free)> text(
            rb_heapprof_leak_list(builder_.Tables(), &lost, "ruby", &size), std::free);
        Fields fields;
        for (size_t at = 0; text && at < size; at += fields.back().size() + 1)
            fields.push_back(text.get() + at);
        return fields;
    }
};

TEST_F(LeakListTest, ALeakIsItsAmountsItsFunctionAndItsStack) {
    uint32_t stack = builder_.Stack({{main_, 9}, {run_, 4}, {c_function_, 0}});

    uint32_t first = Left(stack, caller_, HEAPPROF_LOST, 100);
    Left(stack, caller_, HEAPPROF_LOST, 50);
    Left(stack, caller_, HEAPPROF_INDIRECT, 7, first);
    EXPECT_EQ(
        (Fields { "2", "150", "1", "7", "lib_work", "lib.so", "3", "/app/job.rb:4:in 'Lib.work'",
                  "/app/job.rb:4:in 'Job#run'", "/app/main.rb:9:in '<main>'", "end" }),
        List());
}

TEST_F(LeakListTest, OfAStackAndAFunctionThereIsOneLeak) {
    uint32_t one = builder_.Stack({{main_, 1}}), other = builder_.Stack({{main_, 2}});
    uint32_t also = builder_.Caller("lib_more", "lib.so");

    for (uint32_t stack : {one, other}) Left(stack, caller_, HEAPPROF_LOST, 10);
    Left(one, also, HEAPPROF_LOST, 20);
    EXPECT_EQ(
        (Fields { "1",  "10", "0", "0", "lib_work", "lib.so", "1", "/app/main.rb:1:in '<main>'",
                  "1",  "10", "0", "0", "lib_work", "lib.so", "1", "/app/main.rb:2:in '<main>'",
                  "1",  "20", "0", "0", "lib_more", "lib.so", "1", "/app/main.rb:1:in '<main>'",
                  "end" }),
        List());
}

TEST_F(LeakListTest, WhatIsNotLostOrIsRubysOwnIsLeftOut) {
    uint32_t stack = builder_.Stack({{main_, 1}});

    for (heapprof_fate fate : { HEAPPROF_POSSIBLE, HEAPPROF_REACHABLE })
        Left(stack, caller_, fate, 10);
    for (uint32_t caller : { rubys_, builder_.UnnamedCaller(), 0u })
        Left(stack, caller, HEAPPROF_LOST, 10);
    EXPECT_EQ(Fields{"end"}, List());
    blocks_.clear();
    EXPECT_EQ(Fields{"end"}, List());
}

TEST_F(LeakListTest, AStackOfCFunctionsAloneHasNoPlaceAndOfNoneNoFrames) {
    Left(builder_.Stack({{c_function_, 0}}), caller_, HEAPPROF_LOST, 10);
    Left(0, caller_, HEAPPROF_LOST, 20);
    EXPECT_EQ((Fields{"1", "10", "0", "0", "lib_work", "lib.so", "1", "Lib.work",
                      "1", "20", "0", "0", "lib_work", "lib.so", "0", "end"}), List());
}

} // namespace
