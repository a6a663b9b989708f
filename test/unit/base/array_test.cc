// array_test.cc - arrays of malloc that grow.

#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>

extern "C" {
#include "base/array.h"
}

namespace {

struct Wide {
    uint64_t numbers[5];
};

TEST(Array, GrowsAsElementsAreAddedAndKeepsThem)
{
    Wide *all = nullptr;
    size_t capacity = 0, moves = 0;

    for (size_t count = 0; count < 100000; count++) {
        size_t before = capacity;
        ASSERT_TRUE(HEAPPROF_ARRAY_GROW(all, capacity, count + 1));
        ASSERT_GT(capacity, count);
        moves += capacity != before;
        all[count].numbers[4] = count;
    }
    EXPECT_LE(moves, 14u); // 16 * 2^13 > 100000
    for (size_t i = 0; i < 100000; i++) ASSERT_EQ(all[i].numbers[4], i);
    free(all);
}

TEST(Array, WhoHasRoomKeepsTheArray)
{
    int *all = nullptr;
    size_t capacity = 0;

    ASSERT_TRUE(HEAPPROF_ARRAY_GROW(all, capacity, 3));
    int *was = all;
    size_t room = capacity;
    ASSERT_TRUE(HEAPPROF_ARRAY_GROW(all, capacity, room));
    ASSERT_TRUE(HEAPPROF_ARRAY_GROW(all, capacity, room - 1));
    EXPECT_EQ(all, was);
    EXPECT_EQ(capacity, room);
    free(all);
}

TEST(Array, ManyAtOnceGetRoom)
{
    char *all = nullptr;
    size_t capacity = 0;

    ASSERT_TRUE(HEAPPROF_ARRAY_GROW(all, capacity, 12345));
    EXPECT_GE(capacity, 12345u);
    free(all);
}

TEST(Array, ASizeWithoutANumberIsRefusedAndNothingChanges)
{
    Wide *all = nullptr;
    size_t capacity = 0;

    ASSERT_TRUE(HEAPPROF_ARRAY_GROW(all, capacity, 1));
    all[0].numbers[0] = 7;
    Wide *was = all;
    size_t room = capacity;
    EXPECT_FALSE(HEAPPROF_ARRAY_GROW(
        all, capacity, SIZE_MAX / sizeof(Wide) + 1)); // the product wraps to a few bytes
    EXPECT_FALSE(HEAPPROF_ARRAY_GROW(all, capacity, SIZE_MAX));
    EXPECT_EQ(all, was);
    EXPECT_EQ(capacity, room);
    EXPECT_EQ(all[0].numbers[0], 7u);
    free(all);
}

#ifndef __SANITIZE_ADDRESS__ // its malloc ends the program instead

// The capacity alone is so large that twice of it has no number. The array itself is none: nothing
// of it is read.
TEST(Array, ACapacityThatCannotDoubleAsksForNoFewBytes)
{
    void *all = nullptr;
    size_t capacity = SIZE_MAX / 8 / 2 + 1;

    EXPECT_FALSE(rb_heapprof_array_grow(&all, &capacity, capacity + 1, 8));
    EXPECT_EQ(all, nullptr);
    EXPECT_EQ(capacity, SIZE_MAX / 8 / 2 + 1);
}

TEST(Array, MemoryThatIsRefusedChangesNothing)
{
    Wide *all = nullptr;
    size_t capacity = 0;

    ASSERT_TRUE(HEAPPROF_ARRAY_GROW(all, capacity, 1));
    Wide *was = all;
    size_t room = capacity;
    EXPECT_FALSE(HEAPPROF_ARRAY_GROW(all, capacity, SIZE_MAX / sizeof(Wide)));
    EXPECT_EQ(all, was);
    EXPECT_EQ(capacity, room);
    free(all);
}
#endif

} // namespace
