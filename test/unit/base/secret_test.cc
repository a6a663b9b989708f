// secret_test.cc - numbers that the writer of a file cannot foresee.

#include <gtest/gtest.h>

#include <cstdint>
#include <set>

extern "C" {
#include "base/secret.h"
}

namespace {

// The clock may stand still between two calls; between a thousand it does not.
TEST(Secret, ChangesFromCallToCall)
{
    std::set<uint64_t> seen;

    for (int i = 0; i < 1000; i++) seen.insert(rb_heapprof_secret());
    EXPECT_GT(seen.size(), 1u);
}

// No half of the number is always the same, as that of a bare clock would be.
TEST(Secret, FillsAllBits)
{
    uint64_t ever_set = 0, always_set = UINT64_MAX;

    for (int i = 0; i < 100000; i++) {
        uint64_t secret = rb_heapprof_secret();
        ever_set |= secret;
        always_set &= secret;
    }
    EXPECT_EQ(ever_set, UINT64_MAX);
    EXPECT_EQ(always_set, 0u);
}

} // namespace
