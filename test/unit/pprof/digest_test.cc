// digest_test.cc - digests of several threads. Under ThreadSanitizer (check-tsan) a secret that is
// drawn twice is a race.

#include <gtest/gtest.h>

#include <thread>
#include <vector>

extern "C" {
#include "pprof/digest.h"
}

namespace {

TEST(Digest, AllThreadsHaveOneSecret)
{
    std::vector<heapprof_digest> digests(8);
    std::vector<std::thread> threads;
    for (heapprof_digest &digest : digests)
        threads.emplace_back([&digest] { digest = rb_heapprof_digest_begin(); });
    for (std::thread &thread : threads) thread.join();
    for (const heapprof_digest &digest : digests) {
        EXPECT_EQ(digests[0].a, digest.a);
        EXPECT_EQ(digests[0].b, digest.b);
        EXPECT_NE(0u, digest.a | digest.b);
    }
}

} // namespace
