// redirect_test.cc - a function in the place of another, and back.
#include <gtest/gtest.h>

extern "C" {
#include "os/redirect.h"
}

namespace {

volatile int calls;

__attribute__((noinline, noclone)) int Twice(int value)
{
    calls = calls + 1;
    return value * 2;
}

__attribute__((noinline, noclone)) int Thrice(int value)
{
    calls = calls + 10;
    return value * 3;
}

heapprof_code *Code(int (*function)(int))
{
    return reinterpret_cast<heapprof_code *>(function);
}

int (*volatile twice)(int) = Twice;
int (*volatile thrice)(int) = Thrice;

TEST(Redirect, CallersArriveAtTheOtherUntilItIsUndone)
{
    heapprof_redirect redirect = {};

    ASSERT_STREQ(nullptr, rb_heapprof_redirect(&redirect, Code(twice), Code(thrice)));
    EXPECT_EQ(21, twice(7));
    EXPECT_EQ(21, thrice(7));
    rb_heapprof_redirect_undo(&redirect);
    EXPECT_EQ(14, twice(7));
    EXPECT_EQ(21, thrice(7));
    rb_heapprof_redirect_undo(&redirect);
    EXPECT_EQ(14, twice(7));
}

TEST(Redirect, WhatIsTooFarAwayIsRefusedAndNothingChanges)
{
    heapprof_redirect redirect = {};
    auto *far = reinterpret_cast<heapprof_code *>(reinterpret_cast<uintptr_t>(Code(twice)) ^
                                                  (uintptr_t(1) << 45));

    EXPECT_STREQ("the two functions are too far apart",
                 rb_heapprof_redirect(&redirect, Code(twice), far));
    EXPECT_EQ(nullptr, redirect.place);
    EXPECT_EQ(14, twice(7));
}

}  // namespace
