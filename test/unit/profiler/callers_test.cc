// callers_test.cc - who asks the allocator, among return addresses.

#include <gtest/gtest.h>

#include <vector>

extern "C" {
#include "profiler/callers.h"
}

namespace {

class CallersTest : public testing::Test {
  protected:
    heapprof_mem mem_;
    heapprof_callers callers_;

    void SetUp() override {
        rb_heapprof_mem_init(&mem_, SIZE_MAX);
        rb_heapprof_callers_init(&callers_, &mem_);
    }

    void TearDown() override {
        rb_heapprof_callers_free(&callers_);
        EXPECT_EQ(0u, mem_.used_bytes);
    }

    void Passing(const std::vector<uintptr_t> &starts) {
        for (uintptr_t start : starts) {
            rb_heapprof_callers_add(&callers_, start, 0x10,
                                    start == 0x300 ? HEAPPROF_ROLE_XMALLOC : HEAPPROF_ROLE_WRAPPER);
        }
        rb_heapprof_callers_sort(&callers_);
    }

    uintptr_t Find(const std::vector<uintptr_t> &addresses, size_t own_count = 0) {
        return rb_heapprof_callers_find(&callers_, addresses.data(), addresses.size(), own_count);
    }
};

TEST_F(CallersTest, FirstBehindThoseThatPass) {
    Passing({0x500, 0x100, 0x300});
    EXPECT_EQ(0x900u, Find({0x50, 0x60, 0x108, 0x304, 0x900, 0x105, 0x901}));
}

TEST_F(CallersTest, ReturnAddressAtTheEndBelongsToTheFunction) {
    Passing({0x100, 0x110});
    EXPECT_EQ(0x121u, Find({0x110, 0x120, 0x121}));
    EXPECT_EQ(0x100u, Find({0x105, 0x100})); // it follows a call in what lies before
}

TEST_F(CallersTest, EachFunctionHasItsRole) {
    Passing({0x500, 0x100, 0x300});
    rb_heapprof_callers_add(&callers_, 0x400, 0x10, HEAPPROF_ROLE_MARKER);
    rb_heapprof_callers_sort(&callers_);
    // as of a call at its end
    EXPECT_EQ(HEAPPROF_ROLE_XMALLOC, rb_heapprof_callers_role(&callers_, 0x310));
    EXPECT_EQ(HEAPPROF_ROLE_MARKER, rb_heapprof_callers_role(&callers_, 0x401));
    EXPECT_EQ(HEAPPROF_ROLE_WRAPPER, rb_heapprof_callers_role(&callers_, 0x505));
    for (uintptr_t address : {0x50, 0x300, 0x311, 0x400, 0x600})
        EXPECT_EQ(HEAPPROF_ROLE_NONE, rb_heapprof_callers_role(&callers_, address)) << address;
    EXPECT_EQ(0x405u, Find({0x105, 0x405}));
}

TEST_F(CallersTest, WithoutPassingFunctionsOurOwnAreCounted) {
    EXPECT_EQ(0x30u, Find({0x10, 0x20, 0x30, 0x40}, 2));
    Passing({0x900});
    EXPECT_EQ(0x30u, Find({0x10, 0x20, 0x30, 0x40}, 2));
}

TEST_F(CallersTest, NobodyLeft) {
    Passing({0x100});
    EXPECT_EQ(0u, Find({}));
    EXPECT_EQ(0u, Find({0x105}));
    EXPECT_EQ(0u, Find({0x50}, 2));
}

TEST_F(CallersTest, RefusedMemoryLeavesWhatThereIs) {
    Passing({0x100});
    mem_.budget_bytes = mem_.used_bytes;
    for (uintptr_t start = 0x1000; start < 0x100000; start += 0x20) {
        rb_heapprof_callers_add(&callers_, start, 0x10, HEAPPROF_ROLE_WRAPPER);
    }
    rb_heapprof_callers_sort(&callers_);
    EXPECT_EQ(0x900u, Find({0x108, 0x900}));
}

TEST(CallersKey, IsNoObjectsAddressAndLeadsBack) {
    for (uintptr_t caller : {uintptr_t(0x10), uintptr_t(0x7fffffffffff)}) {
        uintptr_t key = rb_heapprof_callers_key(caller);
        EXPECT_TRUE(rb_heapprof_callers_key_p(key));
        EXPECT_FALSE(rb_heapprof_callers_key_p(caller));
        EXPECT_EQ(caller, rb_heapprof_callers_of_key(key));
    }
}

// MRI is 0x1000 to 0x2000, and runs Ruby code at 0x1800 to 0x1880.
class BehalfTest : public CallersTest {
  protected:
    void SetUp() override {
        CallersTest::SetUp();
        callers_.core = {0x1000, 0x2000, HEAPPROF_ROLE_NONE};
        rb_heapprof_callers_add(&callers_, 0x1800, 0x80, HEAPPROF_ROLE_EDGE);
        Passing({0x5000});
    }

    uintptr_t Behalf(const std::vector<uintptr_t> &addresses) {
        return rb_heapprof_callers_behalf(&callers_, addresses.data(), addresses.size());
    }
};

TEST_F(BehalfTest, WhoCalledMRI) {
    EXPECT_EQ(0x9000u, Behalf({0x1100, 0x1200, 0x9000, 0x9100, 0x1810}));
}

TEST_F(BehalfTest, RubyCodeInBetweenEndsIt) {
    EXPECT_EQ(0u, Behalf({0x1100, 0x1810, 0x9000}));
    EXPECT_EQ(0u, Behalf({0x1880, 0x9000})); // as of a call at its end
    EXPECT_EQ(0x9000u, Behalf({0x1800, 0x9000}));
}

TEST_F(BehalfTest, AWrapperIsNobody) {
    EXPECT_EQ(0x9000u, Behalf({0x1100, 0x5008, 0x9000}));
    EXPECT_EQ(0u, Behalf({0x1100, 0x5008}));
    EXPECT_EQ(0u, Behalf({}));
}

TEST_F(BehalfTest, WhereMRIIsNotKnownNothingIsItsOwn) {
    EXPECT_TRUE(rb_heapprof_callers_core_p(&callers_, 0x1001));
    EXPECT_FALSE(rb_heapprof_callers_core_p(&callers_, 0x1000));
    callers_.core = {};
    EXPECT_FALSE(rb_heapprof_callers_core_p(&callers_, 0x1001));
}

} // namespace
