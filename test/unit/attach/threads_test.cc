// threads_test.cc - the lists of Ractors and threads, while their nodes come and go.

#include "test/unit/attach/memory.h"
#include <gtest/gtest.h>

extern "C" {
#include "attach/threads.h"
}

namespace {

constexpr uint64_t kGlobal = 0x1000, kVM = 0x2000, kRactors = 0x100000, kThreads = 0x200000;
constexpr uint64_t kBytes = 256;                                  // of each structure
constexpr uint64_t kNode = 16, kSet = 32, kId = 64, kContext = 72; // where things are in it

class Threads : public ::testing::Test {
  protected:
    Memory memory_;
    attach_vm vm_ = {};
    heapprof_mem mem_;
    attach_threads threads_ = {};

    void
    SetUp() override
    {
        rb_heapprof_mem_init(&mem_, SIZE_MAX);
        memory_.Put(kGlobal, std::string(8, '\0'));
        memory_.Put(kVM, std::string(kBytes, '\0'));
        memory_.Put(kRactors, std::string(16 * kBytes, '\0'));
        memory_.Put(kThreads, std::string(64 * kBytes, '\0'));
        Write(kGlobal, kVM);
        Link({kVM + kSet});
        vm_.current_vm = {kGlobal, 8, HEAPPROF_DESCRIPTOR_UNSIGNED};
        vm_.thread_bytes = vm_.ractor_bytes = kBytes;
        vm_.vm_ractors.offset = vm_.ractor_threads.offset = kSet;
        vm_.ractor_node.offset = vm_.thread_node.offset = kNode;
        vm_.ractor_id = {kId, 8, kBytes, HEAPPROF_DESCRIPTOR_UNSIGNED};
        vm_.thread_ec = {kContext, 8, kBytes, HEAPPROF_DESCRIPTOR_UNSIGNED};
    }

    void
    TearDown() override
    {
        attach_threads_free(&threads_, &mem_);
    }

    void
    Write(uint64_t address, uint64_t word)
    {
        auto piece = std::prev(memory_.pieces.upper_bound(address));
        memcpy(&piece->second.bytes[address - piece->first], &word, sizeof(word));
    }

    // A list of these nodes, the first of which is its head.
    void
    Link(const std::vector<uint64_t> &nodes)
    {
        for (size_t i = 0; i < nodes.size(); i++) {
            uint64_t next = nodes[(i + 1) % nodes.size()];
            Write(nodes[i], next);
            Write(next + 8, nodes[i]);
        }
    }

    static uint64_t Ractor(int i) { return kRactors + i * kBytes; }
    static uint64_t Thread(int i) { return kThreads + i * kBytes; }

    void
    LinkRactors(const std::vector<int> &ractors)
    {
        std::vector<uint64_t> nodes = {kVM + kSet};
        for (int i : ractors) {
            Write(Ractor(i) + kId, i);
            nodes.push_back(Ractor(i) + kNode);
        }
        Link(nodes);
    }

    void
    LinkThreads(int ractor, const std::vector<int> &threads)
    {
        std::vector<uint64_t> nodes = {Ractor(ractor) + kSet};
        for (int i : threads) {
            Write(Thread(i) + kContext, i);
            nodes.push_back(Thread(i) + kNode);
        }
        Link(nodes);
    }

    // Which threads, each by its number, as its context says.
    std::vector<int>
    Read()
    {
        std::vector<int> found;
        vm_.target = memory_.target();
        EXPECT_TRUE(attach_threads_read(&threads_, &vm_, &mem_));
        for (size_t i = 0; i < threads_.count; i++)
            found.push_back(static_cast<int>(threads_.all[i].ec));
        return found;
    }

    // Before a number of reads more this happens, once.
    void
    After(uint64_t reads, const std::function<void()> &change)
    {
        uint64_t when = memory_.reads + reads;
        memory_.before_read = [=] {
            if (memory_.reads == when) change();
        };
    }
};

using Numbers = std::vector<int>;

TEST_F(Threads, AllOfAllRactors) {
    LinkRactors({1, 2});
    LinkThreads(1, {1, 2, 3});
    LinkThreads(2, {4});
    EXPECT_EQ((Numbers{1, 2, 3, 4}), Read());
    EXPECT_FALSE(threads_.cut);
    EXPECT_EQ(2u, threads_.all[3].ractor);
}

// Threads 10 to 29 have ended; each still leads to the one that left the list after it.
TEST_F(Threads, OnesThatHaveLeftTheListAreNotFollowed) {
    Numbers ended;
    for (int i = 10; i < 30; i++) ended.push_back(i);
    LinkRactors({1});
    LinkThreads(1, ended);
    LinkThreads(1, {1, 2, 3});
    vm_.target = memory_.target();
    for (uint64_t reads = 0; reads < 8; reads++) {
        LinkThreads(1, {1, 2, 3});
        After(reads, [this] {
            LinkThreads(1, {1, 3});
            Write(Thread(2) + kNode, Thread(10) + kNode); // its memory is another's now
        });
        Numbers found = Read();
        EXPECT_FALSE(threads_.cut) << reads;
        EXPECT_TRUE((found == Numbers { 1, 3 }) || (found == Numbers { 1, 2, 3 }))
            << reads << ": " << found.size();
    }
}

TEST_F(Threads, AListThatStaysBrokenIsReadUpToThere) {
    LinkRactors({1, 2});
    LinkThreads(1, {1, 2, 3});
    LinkThreads(2, {4});
    Write(Thread(3) + kNode + 8, Thread(1) + kNode);
    EXPECT_EQ((Numbers{1, 2, 4}), Read());
    EXPECT_TRUE(threads_.cut);
}

TEST_F(Threads, ARactorThatHasLeftTheListEndsIt) {
    LinkRactors({1, 2});
    LinkThreads(1, {1});
    LinkThreads(2, {2});
    Write(Ractor(2) + kNode + 8, Ractor(5) + kNode);
    EXPECT_EQ((Numbers{1}), Read());
    EXPECT_TRUE(threads_.cut);
}

constexpr uint64_t kRunning = 80, kCount = 88;

class ManyThreads : public Threads {
  protected:
    void
    SetUp() override
    {
        Threads::SetUp();
        vm_.ractor_running = {kRunning, 8, kBytes, HEAPPROF_DESCRIPTOR_UNSIGNED};
        vm_.ractor_count = {kCount, 8, kBytes, HEAPPROF_DESCRIPTOR_UNSIGNED};
        vm_.status_killed = 3; // the others sleep
        LinkRactors({1});
        Numbers all;
        for (int i = 1; i <= 40; i++) all.push_back(i);
        LinkThreads(1, all);
        Write(Ractor(1) + kRunning, Thread(7));
        EXPECT_EQ(all, Read());
    }
};

TEST_F(ManyThreads, OnlyThoseAtWorkAreReadAgainIfTheRactorSaysTheSame) {
    uint64_t before = memory_.reads;
    Write(Thread(7) + kContext, 700);
    Write(Thread(8) + kContext, 800);
    EXPECT_TRUE(attach_threads_refresh(&threads_, &vm_));
    EXPECT_GT(10u, memory_.reads - before);
    EXPECT_EQ(700u, threads_.all[6].ec);
    EXPECT_EQ(8u, threads_.all[7].ec);
    EXPECT_EQ(ATTACH_THREAD_SLEEPING, threads_.all[7].state);
}

TEST_F(ManyThreads, ThoseThatAreIdleSleepUntilAllAreReadAgain) {
    EXPECT_EQ(40u, threads_.awake_count);
    for (size_t i = 0; i < 40; i++) threads_.all[i].idle = i != 6 && i != 30;
    attach_threads_let_sleep(&threads_);
    ASSERT_EQ(2u, threads_.awake_count);
    EXPECT_EQ(6u, threads_.awake[0]);
    EXPECT_EQ(30u, threads_.awake[1]);
    Write(Thread(7) + kContext, 700);
    EXPECT_TRUE(attach_threads_refresh(&threads_, &vm_));
    EXPECT_EQ(700u, threads_.all[6].ec);
    threads_.all[30].idle = true;
    attach_threads_let_sleep(&threads_);
    EXPECT_EQ(1u, threads_.awake_count);
    Read();
    EXPECT_EQ(40u, threads_.awake_count);
}

TEST_F(ManyThreads, AllAreReadAgainIfTheRactorHasAnother) {
    Write(Ractor(1) + kRunning, Thread(8));
    EXPECT_FALSE(attach_threads_refresh(&threads_, &vm_));
    Write(Ractor(1) + kRunning, Thread(7));
    EXPECT_TRUE(attach_threads_refresh(&threads_, &vm_));
    Write(Ractor(1) + kCount, 41);
    EXPECT_FALSE(attach_threads_refresh(&threads_, &vm_));
}

// There nothing changes, and what is wrong with a node is why there is a core.
TEST_F(Threads, InACoreTheyLeadOn) {
    memory_.runs = false;
    LinkRactors({1});
    LinkThreads(1, {1, 2, 3});
    Write(Thread(3) + kNode + 8, 0);
    EXPECT_EQ((Numbers{1, 2, 3}), Read());
    EXPECT_FALSE(threads_.cut);
}

TEST_F(Threads, ACircleWithoutItsHeadEnds) {
    memory_.runs = false;
    LinkRactors({1});
    LinkThreads(1, {1, 2});
    Write(Thread(2) + kNode, Thread(1) + kNode);
    EXPECT_EQ(100000u, Read().size());
    EXPECT_TRUE(threads_.cut);
}

} // namespace
