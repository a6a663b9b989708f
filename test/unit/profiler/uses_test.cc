// uses_test.cc - uses of dead objects: each different one is an entry.

#include <gtest/gtest.h>

extern "C" {
#include "profiler/uses.h"
}

namespace {

class UsesTest : public testing::Test {
  protected:
    heapprof_mem mem_;
    heapprof_stacks stacks_;
    heapprof_uses uses_;
    uint32_t one_ = 0, other_ = 0, third_ = 0;

    void SetUp() override {
        rb_heapprof_mem_init(&mem_, SIZE_MAX);
        rb_heapprof_stacks_init(&stacks_, &mem_);
        rb_heapprof_uses_init(&uses_, &mem_, &stacks_);
        one_ = rb_heapprof_stacks_push(&stacks_, 0, 1, 1);
        other_ = rb_heapprof_stacks_push(&stacks_, 0, 2, 2);
        third_ = rb_heapprof_stacks_push(&stacks_, 0, 3, 3);
    }

    void TearDown() override {
        rb_heapprof_uses_free(&uses_);
        rb_heapprof_stacks_free(&stacks_);
        EXPECT_EQ(0u, mem_.used_bytes);
    }

    heapprof_use Use() {
        heapprof_use use = {};
        use.used.stack = one_;
        use.object.stack = other_;
        use.gc.stack = third_;
        use.gc.count = 1;
        return use;
    }
};

TEST_F(UsesTest, EachDifferentUseIsOneEntry) {
    heapprof_use uses[7];
    for (heapprof_use &use : uses) use = Use();
    uses[1].used.stack = other_;
    uses[2].used.c_path = 7;
    uses[3].access = HEAPPROF_WRITE;
    uses[4].object.stack = one_;
    uses[5].object.moved = 1;
    uses[6].gc.stack = 0;
    for (int times = 0; times < 3; times++) {
        for (heapprof_use &use : uses) {
            use.object.address += 40;  // another object, used in the same way
            use.gc.count++;
            rb_heapprof_uses_add(&uses_, &use);
        }
    }
    ASSERT_EQ(7u, uses_.count);
    for (uint32_t i = 0; i < uses_.count; i++) EXPECT_EQ(3u, uses_.all[i].times);
    EXPECT_EQ(0u, uses_.unknown);
}

TEST_F(UsesTest, ItsStacksStay) {
    heapprof_use use = Use();
    rb_heapprof_uses_add(&uses_, &use);
    EXPECT_EQ(0u, rb_heapprof_stacks_trim(&stacks_));
}

TEST_F(UsesTest, WhatHasNoRoomIsCounted) {
    heapprof_use use = Use();
    for (uint32_t i = 0; i < 1030; i++) {
        use.used.c_path = i;
        rb_heapprof_uses_add(&uses_, &use);
    }
    EXPECT_EQ(1024u, uses_.count);
    EXPECT_EQ(6u, uses_.unknown);
}

TEST_F(UsesTest, WithoutMemoryAUseIsCounted) {
    heapprof_use use = Use();
    mem_.budget_bytes = mem_.used_bytes;
    rb_heapprof_uses_add(&uses_, &use);
    EXPECT_EQ(0u, uses_.count);
    EXPECT_EQ(1u, uses_.unknown);
}

}  // namespace
