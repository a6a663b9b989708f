// pprof_memory_test.cc - encoding and compressing when memory runs out.
//
// The C library's allocation functions are replaced for this program by ones that refuse
// the request a test asks them to. Every request is refused once, in turn.

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

#include "test/unit/support/refusing_malloc.h"
#include "test/unit/support/snapshot_builder.h"

extern "C" {
#include "pprof/gzip.h"
#include "profiler/pprof.h"
}

namespace {

Snapshot
SomeSnapshot(SnapshotBuilder &builder)
{
    uint32_t main = builder.Function("<main>"), a = builder.Class("A");
    uint32_t g = builder.Caller("g (libg.so)");
    for (int i = 0; i < 3000; i++) {
        std::string number = std::to_string(i);
        uint32_t f = builder.Function("f" + number, "/f" + number + ".rb");
        builder.Live(builder.Stack({{main, 1u + i}, {f, 2}}), a, 10, 40, i % 3);
        builder.Block(builder.Stack({{main, 1u + i}, {f, 3}}), g, 10, 100, i % 3);
    }
    return builder.Take();
}

// The block that make returns, "" for NULL. The copy is made while nothing is refused or
// watched.
template <typename Make>
std::string
Take(Make make)
{
    size_t size = 0;
    char *block = make(&size);
    long left = requests_left, counted = blocks;
    bool watched = watching;
    requests_left = -1;
    watching = false;
    std::string copy(block ? block : "", size);
    requests_left = left;
    watching = watched;
    blocks = counted;
    free(block);
    return copy;
}

// Calls make, which returns a block from malloc and its size, with its first, second, ...
// request refused, until one call is not refused any. A refusal may be got over (qsort
// does without its extra memory): then the block is as ever. Returns how many were not.
template <typename Make>
int
RefuseEachInTurn(Make make)
{
    int given_up = 0;
    std::string expected = Take(make);

    for (long granted = 0;; granted++) {
        blocks = 0;
        watching = true;
        requests_left = granted;
        std::string result = Take(make);
        bool refused = requests_left < 0;
        requests_left = -1;
        watching = false;
        EXPECT_EQ(0, blocks) << "blocks lost after " << granted << " requests";
        if (result.empty()) given_up++;
        else EXPECT_EQ(expected, result) << "after " << granted << " requests";
        if (!refused) return given_up;
    }
}

TEST(PprofMemory, EncodingIsGivenUpWholeWhenARequestIsRefused)
{
    SnapshotBuilder builder;
    Snapshot snapshot = SomeSnapshot(builder);
    EXPECT_GT(RefuseEachInTurn([&](size_t *size) {
        return rb_heapprof_pprof_encode(snapshot.get(), "/opt/bin/ruby", "c0ffee", size);
    }), 20);
}

TEST(PprofMemory, CompressingIsGivenUpWholeWhenARequestIsRefused)
{
    std::string data(100000, 'x');
    EXPECT_GE(RefuseEachInTurn([&](size_t *size) {
        return rb_heapprof_gzip(data.data(), data.size(), size);
    }), 2);
}

} // namespace
