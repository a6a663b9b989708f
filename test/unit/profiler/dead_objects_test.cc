// dead_objects_test.cc - the queue of dead objects: in order, found by each address of a slot,
// and let go at the other end.

#include <gtest/gtest.h>

extern "C" {
#include "profiler/dead_objects.h"
}

namespace {

class DeadObjectsTest : public testing::Test {
  protected:
    heapprof_mem mem_;
    heapprof_stacks stacks_;
    heapprof_dead_objects dead_;
    uint32_t stack_ = 0;

    void SetUp() override {
        rb_heapprof_mem_init(&mem_, SIZE_MAX);
        rb_heapprof_stacks_init(&stacks_, &mem_);
        rb_heapprof_dead_objects_init(&dead_, &mem_, &stacks_);
        stack_ = rb_heapprof_stacks_push(&stacks_, 0, 1, 1);
    }

    void TearDown() override {
        rb_heapprof_dead_objects_free(&dead_);
        rb_heapprof_stacks_free(&stacks_);
        EXPECT_EQ(0u, mem_.used_bytes);
    }

    void BeginGc(uint64_t count) {
        heapprof_dead_gc gc = {};
        gc.count = count;
        rb_heapprof_dead_objects_begin_gc(&dead_, &gc);
    }

    bool Add(uintptr_t address, uint32_t bytes) {
        heapprof_dead_object one = {};
        one.address = address;
        one.bytes = bytes;
        one.memory_bytes = 2 * bytes;
        one.stack = stack_;
        return rb_heapprof_dead_objects_add(&dead_, &one);
    }
};

TEST_F(DeadObjectsTest, ObjectsBelongToTheGcThatBeganLast) {
    EXPECT_FALSE(Add(1000, 40)) << "no GC has begun";
    BeginGc(7);
    ASSERT_TRUE(Add(1000, 40));
    BeginGc(9);
    ASSERT_TRUE(Add(2000, 80));
    EXPECT_EQ(7u, dead_.gcs[rb_heapprof_dead_objects_find(&dead_, 1000)->gc].count);
    EXPECT_EQ(9u, dead_.gcs[rb_heapprof_dead_objects_find(&dead_, 2000)->gc].count);
}

TEST_F(DeadObjectsTest, AnObjectIsFoundByEachAddressOfItsSlot) {
    BeginGc(1);
    ASSERT_TRUE(Add(1000, 40));
    EXPECT_EQ(nullptr, rb_heapprof_dead_objects_find(&dead_, 999));
    EXPECT_EQ(1000u, rb_heapprof_dead_objects_find(&dead_, 1000)->address);
    EXPECT_EQ(1000u, rb_heapprof_dead_objects_find(&dead_, 1039)->address);
    EXPECT_EQ(nullptr, rb_heapprof_dead_objects_find(&dead_, 1040));
}

TEST_F(DeadObjectsTest, TheOldestGoesFirstAndBytesAreThoseThatAreHeld) {
    const uintptr_t many = 10000;

    BeginGc(1);
    EXPECT_EQ(nullptr, rb_heapprof_dead_objects_oldest(&dead_));
    uintptr_t next = 0;
    for (uintptr_t i = 0; i < many; i++) {
        ASSERT_TRUE(Add(i * 40, 40));
        if (i % 3 == 0) continue;
        ASSERT_EQ(next++ * 40, rb_heapprof_dead_objects_oldest(&dead_)->address);
        rb_heapprof_dead_objects_drop_oldest(&dead_);
    }
    EXPECT_EQ((many - next) * 80, dead_.held_bytes);
    EXPECT_EQ(many, dead_.died);
    EXPECT_EQ(nullptr, rb_heapprof_dead_objects_find(&dead_, (next - 1) * 40));
    EXPECT_NE(nullptr, rb_heapprof_dead_objects_find(&dead_, next * 40));
    EXPECT_LT(dead_.capacity, many) << "room that is free again was used";
}

TEST_F(DeadObjectsTest, ItsStackIsHeldMeanwhile) {
    BeginGc(1);
    ASSERT_TRUE(Add(1000, 40));
    EXPECT_EQ(0u, rb_heapprof_stacks_trim(&stacks_));
    rb_heapprof_dead_objects_drop_oldest(&dead_);
    EXPECT_EQ(1u, rb_heapprof_stacks_trim(&stacks_));
}

}  // namespace
