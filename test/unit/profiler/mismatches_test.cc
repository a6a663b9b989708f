// mismatches_test.cc - blocks given to the wrong allocator, by who asked and who freed.

#include <gtest/gtest.h>

#include <vector>

extern "C" {
#include "profiler/mismatches.h"
}

namespace {

class MismatchesTest : public testing::Test {
  protected:
    heapprof_mem mem_;
    heapprof_stacks stacks_;
    heapprof_mismatches mismatches_;
    uint32_t one_ = 0, other_ = 0;

    void SetUp() override {
        rb_heapprof_mem_init(&mem_, SIZE_MAX);
        rb_heapprof_stacks_init(&stacks_, &mem_);
        rb_heapprof_mismatches_init(&mismatches_, &mem_, &stacks_);
        one_ = rb_heapprof_stacks_push(&stacks_, 0, 1, 1);
        other_ = rb_heapprof_stacks_push(&stacks_, 0, 2, 2);
    }

    void TearDown() override {
        rb_heapprof_mismatches_free(&mismatches_);
        rb_heapprof_stacks_free(&stacks_);
        EXPECT_EQ(0u, mem_.used_bytes);
    }

    void Add(heapprof_mismatch_end asked, heapprof_mismatch_end freed, bool of_ruby,
             uint64_t bytes) {
        heapprof_mismatch one = {};
        one.asked = asked;
        one.freed = freed;
        one.of_ruby = of_ruby;
        one.bytes = bytes;
        rb_heapprof_mismatches_add(&mismatches_, &one);
    }
};

TEST_F(MismatchesTest, EachPairOfEndsIsOneEntry) {
    for (int i = 0; i < 3; i++) {
        Add({one_, 1}, {other_, 2}, true, 10);
        Add({other_, 2}, {one_, 1}, true, 20);
        Add({one_, 1}, {other_, 2}, false, 30);
        Add({one_, 1}, {other_, 3}, true, 40);
    }
    ASSERT_EQ(4u, mismatches_.count);
    for (uint32_t i = 0; i < 4; i++) {
        EXPECT_EQ(3u, mismatches_.all[i].blocks);
        EXPECT_EQ(30u * (i + 1), mismatches_.all[i].bytes);
    }
}

TEST_F(MismatchesTest, ItsStacksStay) {
    Add({one_, 0}, {other_, 0}, true, 1);
    EXPECT_EQ(0u, rb_heapprof_stacks_trim(&stacks_));
}

TEST_F(MismatchesTest, OfManyTheRestIsNotKept) {
    for (uint32_t i = 0; i < 10000; i++) Add({one_, i}, {0, 0}, true, 1);
    EXPECT_EQ(256u, mismatches_.count);
    Add({one_, 0}, {0, 0}, true, 1);
    EXPECT_EQ(2u, mismatches_.all[0].blocks);
}

TEST_F(MismatchesTest, WithoutMemoryNothingIsKept) {
    mem_.budget_bytes = mem_.used_bytes;
    Add({one_, 0}, {0, 0}, true, 1);
    EXPECT_EQ(0u, mismatches_.count);
}

} // namespace
