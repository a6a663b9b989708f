// lost_test.cc - which blocks nobody leads to, against a plain search over random memory.

#include <gtest/gtest.h>

#include <array>
#include <random>
#include <set>
#include <vector>

extern "C" {
#include "os/peek.h"
#include "profiler/leaks/lost.h"
}

namespace {

constexpr size_t kWords = 4096;
alignas(4096) uintptr_t memory[kWords]; // blocks are cut of it
uintptr_t roots[64];

uintptr_t At(size_t word) { return reinterpret_cast<uintptr_t>(&memory[word]); }

class LostTest : public testing::Test {
  protected:
    heapprof_mem mem_;
    heapprof_lost lost_;
    int fd_ = rb_heapprof_peek_open();

    void SetUp() override {
        std::fill(std::begin(memory), std::end(memory), 0);
        std::fill(std::begin(roots), std::end(roots), 0);
        rb_heapprof_mem_init(&mem_, SIZE_MAX);
        rb_heapprof_lost_init(&lost_, &mem_, fd_, 0);
    }

    void TearDown() override {
        rb_heapprof_lost_free(&lost_);
        EXPECT_EQ(0u, mem_.used_bytes);
        rb_heapprof_peek_close(fd_);
    }

    void BeginAgain() {
        rb_heapprof_lost_free(&lost_);
        SetUp();
    }

    void Block(size_t word, size_t words)
    {
        rb_heapprof_lost_add(&lost_, At(word), words * sizeof(uintptr_t), (uint32_t)word);
    }

    bool Settle() {
        rb_heapprof_lost_sort(&lost_);
        rb_heapprof_lost_root(&lost_, reinterpret_cast<uintptr_t>(std::begin(roots)),
                              reinterpret_cast<uintptr_t>(std::end(roots)));
        return rb_heapprof_lost_settle(&lost_);
    }

    const heapprof_lost_block &Found(size_t word) {
        for (size_t i = 0; i < lost_.block_count; i++) {
            if (lost_.blocks[i].address == At(word)) return lost_.blocks[i];
        }
        ADD_FAILURE() << "no block at " << word;
        return lost_.blocks[0];
    }

    heapprof_fate Fate(size_t word) { return Found(word).fate; }
    size_t Leader(size_t word) { return lost_.blocks[Found(word).leader].site; }
};

TEST_F(LostTest, ByABeginningReachableByAMiddlePossibleByNothingLost) {
    for (size_t word : {100, 200, 300, 400, 500}) Block(word, 10);
    roots[3] = At(100);
    roots[4] = At(205);
    memory[103] = At(300);
    memory[209] = At(400);
    ASSERT_TRUE(Settle());
    EXPECT_EQ(HEAPPROF_REACHABLE, Fate(100));
    EXPECT_EQ(HEAPPROF_POSSIBLE, Fate(200));
    EXPECT_EQ(HEAPPROF_REACHABLE, Fate(300));
    EXPECT_EQ(HEAPPROF_POSSIBLE, Fate(400));
    EXPECT_EQ(HEAPPROF_LOST, Fate(500));
}

TEST_F(LostTest, TheBestWayCounts) {
    Block(100, 10);
    Block(200, 10);
    roots[0] = At(101);
    roots[1] = At(100);
    memory[105] = At(200);
    ASSERT_TRUE(Settle());
    EXPECT_EQ(HEAPPROF_REACHABLE, Fate(100));
    EXPECT_EQ(HEAPPROF_REACHABLE, Fate(200));
}

TEST_F(LostTest, NeitherItsEndNorWhatLiesBeforeIsTheBlock) {
    Block(100, 10);
    roots[0] = At(110);
    roots[1] = At(99);
    ASSERT_TRUE(Settle());
    EXPECT_EQ(HEAPPROF_LOST, Fate(100));
}

TEST_F(LostTest, WhatOnlyTheLostLeadsToIsIndirect) {
    for (size_t word : {100, 200, 300}) Block(word, 10);
    memory[300] =
        At(100); // the leader has the highest address: the others have been taken for lost before
    memory[101] = At(205);
    ASSERT_TRUE(Settle());
    EXPECT_EQ(HEAPPROF_LOST, Fate(300));
    EXPECT_EQ(HEAPPROF_INDIRECT, Fate(100));
    EXPECT_EQ(HEAPPROF_INDIRECT, Fate(200));
    EXPECT_EQ(300u, Leader(100));
    EXPECT_EQ(300u, Leader(200));
}

TEST_F(LostTest, OfARingOneIsLost) {
    for (size_t word : {100, 200, 300}) Block(word, 10);
    memory[100] = At(200);
    memory[200] = At(300);
    memory[300] = At(100);
    ASSERT_TRUE(Settle());
    EXPECT_EQ(HEAPPROF_LOST, Fate(100));
    EXPECT_EQ(HEAPPROF_INDIRECT, Fate(200));
    EXPECT_EQ(100u, Leader(300));
}

// 100 -> 200 -> 300 -> 100, and 400 -> 200: one leak, whatever the order of addresses.
TEST_F(LostTest, WhatLeadsIntoARingIsLostAndTheRingIsNot) {
    for (size_t entry : {50, 400}) {
        BeginAgain();
        for (size_t word : {100, 200, 300}) Block(word, 10);
        Block(entry, 10);
        memory[100] = At(200);
        memory[200] = At(300);
        memory[300] = At(100);
        memory[entry] = At(200);
        ASSERT_TRUE(Settle());
        EXPECT_EQ(HEAPPROF_LOST, Fate(entry));
        for (size_t word : {100, 200, 300}) {
            EXPECT_EQ(HEAPPROF_INDIRECT, Fate(word)) << word;
            EXPECT_EQ(entry, Leader(word)) << word;
        }
    }
}

// Against all ways in a random graph: a block is lost if whatever leads to it, it leads to as well,
// and it is the only one so of all that are led to both ways.
TEST_F(LostTest, OneBlockIsLostOfEachPartThatNothingElseLeadsTo) {
    std::mt19937 random(7);
    constexpr size_t kBlocks = 12;

    for (int round = 0; round < 200; round++) {
        bool leads[kBlocks][kBlocks] = {};
        BeginAgain();
        for (size_t i = 0; i < kBlocks; i++) {
            Block(100 + 20 * i, 20);
            leads[i][i] = true;
        }
        for (size_t edge = 0; edge < random() % 20; edge++) {
            size_t from = random() % kBlocks, to = random() % kBlocks;
            memory[100 + 20 * from + random() % 20] = At(100 + 20 * to);
        }
        for (size_t i = 0; i < kBlocks; i++) {
            for (size_t word = 0; word < 20; word++) {
                for (size_t to = 0; to < kBlocks; to++)
                    if (memory[100 + 20 * i + word] == At(100 + 20 * to)) leads[i][to] = true;
            }
        }
        for (size_t by = 0; by < kBlocks; by++)
            for (size_t from = 0; from < kBlocks; from++)
                for (size_t to = 0; to < kBlocks; to++)
                    leads[from][to] |= leads[from][by] && leads[by][to];
        ASSERT_TRUE(Settle());
        for (size_t i = 0; i < kBlocks; i++) {
            size_t lost = 0;
            bool from_outside = false;
            for (size_t other = 0; other < kBlocks; other++) {
                if (!leads[other][i]) continue;
                if (leads[i][other]) lost += Fate(100 + 20 * other) == HEAPPROF_LOST;
                else from_outside = true;
            }
            EXPECT_EQ(from_outside ? 0u : 1u, lost) << round << ", " << i;
            if (Fate(100 + 20 * i) != HEAPPROF_INDIRECT) continue;
            size_t leader = Leader(100 + 20 * i);
            EXPECT_EQ(HEAPPROF_LOST, Fate(leader));
            EXPECT_TRUE(leads[(leader - 100) / 20][i]);
        }
    }
}

TEST_F(LostTest, ABlockOnlyItselfLeadsToIsLost) {
    Block(100, 10);
    memory[104] = At(100);
    ASSERT_TRUE(Settle());
    EXPECT_EQ(HEAPPROF_LOST, Fate(100));
}

TEST_F(LostTest, BlocksAndRangesAreNoRoots) {
    Block(100, 10);
    Block(200, 10);
    const heapprof_lost_range tables = {At(1000), At(1010), false};
    memory[100] = At(200);
    memory[1005] = At(100);
    rb_heapprof_lost_add_range(&lost_, &tables);
    rb_heapprof_lost_sort(&lost_);
    rb_heapprof_lost_root(&lost_, At(0), At(kWords));
    ASSERT_TRUE(rb_heapprof_lost_settle(&lost_));
    EXPECT_EQ(HEAPPROF_LOST, Fate(100));
    EXPECT_EQ(HEAPPROF_INDIRECT, Fate(200));
}

TEST_F(LostTest, WhatLiesBetweenThemIsARoot) {
    Block(100, 10);
    Block(110, 10);
    const heapprof_lost_range tables = {At(1000), At(1010), false};
    memory[1010] = At(100);
    memory[99] = At(110);
    rb_heapprof_lost_add_range(&lost_, &tables);
    rb_heapprof_lost_sort(&lost_);
    rb_heapprof_lost_root(&lost_, At(0), At(kWords));
    ASSERT_TRUE(rb_heapprof_lost_settle(&lost_));
    EXPECT_EQ(HEAPPROF_REACHABLE, Fate(100));
    EXPECT_EQ(HEAPPROF_REACHABLE, Fate(110));
}

// In a heap of glibc's: a block nobody told of, of 6 words at 1002.
class LostInAHeapTest : public LostTest {
  protected:
    void SetUp() override {
        LostTest::SetUp();
        const heapprof_lost_range heap = {At(1000), At(2000), true};
        rb_heapprof_lost_add_range(&lost_, &heap);
        memory[1001] = 8 * sizeof(uintptr_t) | 1;
        memory[1009] = 8 * sizeof(uintptr_t) | 1;
        memory[1004] = At(100);
        Block(100, 10);
    }
};

TEST_F(LostInAHeapTest, ABlockThatIsNotKnownLeadsToOthers) {
    roots[0] = At(1002);
    ASSERT_TRUE(Settle());
    EXPECT_EQ(HEAPPROF_REACHABLE, Fate(100));
}

TEST_F(LostInAHeapTest, IfSomethingLeadsToItsBeginning) {
    roots[0] = At(1004);
    ASSERT_TRUE(Settle());
    EXPECT_EQ(HEAPPROF_LOST, Fate(100));
}

TEST_F(LostInAHeapTest, OneInACacheOfFreedOnesLeadsNowhere) {
    lost_.freed_key = UINT64_C(0xfedcba9876543210);
    memory[1003] = lost_.freed_key;
    roots[0] = At(1002);
    ASSERT_TRUE(Settle());
    EXPECT_EQ(HEAPPROF_LOST, Fate(100));
}

TEST_F(LostInAHeapTest, AListOfFreeChunksDoesNotLeadIntoTheBlockBefore) {
    Block(1500, 11);
    memory[1499] = memory[1511] = 12 * sizeof(uintptr_t) | 1;
    roots[0] = At(1510); // the chunk behind it has its header there
    ASSERT_TRUE(Settle());
    EXPECT_EQ(HEAPPROF_LOST, Fate(1500));
}

TEST_F(LostInAHeapTest, WhatIsFreeIsNoBlockAnyMore) {
    Block(1500, 11);
    Block(1600, 11);
    Block(1700, 11);
    for (size_t block : { 1500, 1600, 1700 })
        memory[block - 1] = memory[block + 11] = 12 * sizeof(uintptr_t) | 1;
    memory[1611] = 12 * sizeof(uintptr_t); // the next says that it is free
    lost_.freed_key = memory[1701] = UINT64_C(0xfedcba9876543210);
    ASSERT_TRUE(Settle());
    EXPECT_EQ(2u, lost_.block_count);
    EXPECT_EQ(HEAPPROF_LOST, Fate(1500));
    EXPECT_EQ(HEAPPROF_LOST, Fate(100)); // in no heap of glibc's
}

TEST_F(LostTest, WithoutMemoryNothingIsKnown) {
    rb_heapprof_lost_free(&lost_);
    rb_heapprof_mem_init(&mem_, 4096);
    rb_heapprof_lost_init(&lost_, &mem_, fd_, 0);
    Block(100, 10);
    EXPECT_FALSE(Settle());
}

// 100 and 400 to 500 are of sites that no report has.
TEST_F(LostTest, WhatOnlyHiddenBlocksLeadToIsLostItself) {
    for (size_t word : { 100, 200, 300, 400, 500, 600, 610, 700, 800 }) Block(word, 10);
    memory[100] = At(200);
    memory[200] = At(300);
    memory[400] = At(500);
    memory[500] = At(600);
    memory[600] = At(610);
    memory[610] = At(600);
    memory[700] = At(800);
    ASSERT_TRUE(Settle());
    EXPECT_EQ(HEAPPROF_INDIRECT, Fate(200));
    EXPECT_EQ(HEAPPROF_INDIRECT, Fate(600));
    auto hidden = [](uint32_t site, void *) { return site == 100 || site == 400 || site == 500; };
    ASSERT_TRUE(rb_heapprof_lost_uncover(&lost_, hidden, nullptr));
    for (size_t word : { 100, 200, 400, 700 }) EXPECT_EQ(HEAPPROF_LOST, Fate(word)) << word;
    EXPECT_EQ(HEAPPROF_INDIRECT, Fate(300));
    EXPECT_EQ(200u, Leader(300));
    EXPECT_EQ(HEAPPROF_INDIRECT, Fate(500));
    EXPECT_EQ(400u, Leader(500));
    EXPECT_EQ(HEAPPROF_INDIRECT, Fate(800));
    EXPECT_EQ(700u, Leader(800));
    EXPECT_NE(Fate(600), Fate(610)); // a ring: one of them leads
    size_t leads = Fate(600) == HEAPPROF_LOST ? 600 : 610, follows = 1210 - leads;
    EXPECT_EQ(leads, Leader(follows));
}

TEST_F(LostTest, WithoutAWayToReadMemoryNothingIsKnown) {
    rb_heapprof_lost_free(&lost_);
    rb_heapprof_lost_init(&lost_, &mem_, -1, 0);
    Block(100, 10);
    EXPECT_FALSE(Settle());
}

// ---- random memory ----

constexpr size_t kBlocks = 120, kBlockWords = 8;

struct Graph {
    std::array<std::set<size_t>, kBlocks> to_beginning, to_any;

    std::set<size_t> From(std::set<size_t> open, bool beginnings) const {
        std::set<size_t> seen;
        while (!open.empty()) {
            size_t one = *open.begin();
            open.erase(open.begin());
            if (!seen.insert(one).second) continue;
            for (size_t next : beginnings ? to_beginning[one] : to_any[one]) open.insert(next);
        }
        return seen;
    }
};

class RandomLost : public LostTest, public testing::WithParamInterface<int> {
};

TEST_P(RandomLost, AsAPlainSearch) {
    std::mt19937 random(GetParam());
    Graph graph;
    std::set<size_t> by_beginning, by_any;
    auto some = [&random](size_t count) { return random() % count; };

    for (size_t i = 0; i < kBlocks; i++) Block(i * kBlockWords, kBlockWords);
    for (size_t edges = some(2 * kBlocks); edges > 0; edges--) {
        size_t from = some(kBlocks), to = some(kBlocks), offset = some(3) ? 0 : some(kBlockWords);
        uintptr_t &word = memory[from * kBlockWords + some(kBlockWords)];
        if (word) continue;
        word = At(to * kBlockWords + offset);
        if (offset == 0) graph.to_beginning[from].insert(to);
        graph.to_any[from].insert(to);
    }
    for (size_t i = some(20); i > 0; i--) {
        size_t to = some(kBlocks), offset = some(2) ? 0 : some(kBlockWords);
        roots[i] = At(to * kBlockWords + offset);
        if (offset == 0) by_beginning.insert(to);
        by_any.insert(to);
    }
    ASSERT_TRUE(Settle());

    std::set<size_t> reachable = graph.From(by_beginning, true),
                     possible = graph.From(by_any, false);
    std::set<size_t> lost;
    for (size_t i = 0; i < kBlocks; i++) {
        if (Fate(i * kBlockWords) == HEAPPROF_LOST) lost.insert(i);
    }
    for (size_t i = 0; i < kBlocks; i++) {
        heapprof_fate fate = Fate(i * kBlockWords);
        if (reachable.count(i)) EXPECT_EQ(HEAPPROF_REACHABLE, fate) << i;
        else if (possible.count(i)) EXPECT_EQ(HEAPPROF_POSSIBLE, fate) << i;
        else if (fate == HEAPPROF_INDIRECT) {
            size_t leader = Leader(i * kBlockWords) / kBlockWords;
            EXPECT_TRUE(lost.count(leader)) << i;
            EXPECT_TRUE(graph.From({leader}, false).count(i)) << i;
        }
        else EXPECT_EQ(HEAPPROF_LOST, fate) << i;
    }
    for (size_t one : lost) {
        for (size_t other : lost)
            EXPECT_TRUE(one == other || !graph.to_any[one].count(other))
                << one << " leads to " << other;
    }
}

INSTANTIATE_TEST_SUITE_P(Seeds, RandomLost, testing::Range(0, 200));

} // namespace
