// roots_test.cc - where pointers of this process may be: its variables, and the stacks of threads
// that there are.

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <string>
#include <sys/mman.h>
#include <thread>
#include <unistd.h>
#include <vector>

extern "C" {
#include "os/peek.h"
#include "os/roots.h"
}

namespace {

uintptr_t variable = 1;
const uintptr_t constant = 1;
thread_local uintptr_t of_a_thread = 1;

class Roots : public testing::Test {
  protected:
    std::vector<heapprof_memory> all_;

    static void Add(const heapprof_memory *memory, void *data) {
        static_cast<Roots *>(data)->all_.push_back(*memory);
    }

    __attribute__((noinline)) void
    Read(size_t ended_bytes = 0, const std::vector<uintptr_t> &pointers = {})
    {
        heapprof_root_stacks stacks = { reinterpret_cast<uintptr_t>(__builtin_frame_address(0)),
                                        ended_bytes, pointers.data(), pointers.size() };
        int fd = rb_heapprof_peek_open();
        all_.clear();
        all_.reserve(10000); // what is asked for meanwhile would be in the list
        EXPECT_TRUE(rb_heapprof_roots_read(fd, &stacks, Add, this));
        rb_heapprof_peek_close(fd);
    }

    const heapprof_memory *At(const volatile void *place) {
        auto address = reinterpret_cast<uintptr_t>(place);
        for (const auto &memory : all_) {
            if (memory.begin <= address && address < memory.end) return &memory;
        }
        return nullptr;
    }

    bool OfAStack(const volatile void *place) {
        auto address = reinterpret_cast<uintptr_t>(place);
        return std::any_of(all_.begin(), all_.end(), [address](const heapprof_memory &memory) {
            return memory.kind == HEAPPROF_MEMORY_STACK && memory.begin <= address &&
                   address < memory.end;
        });
    }
};

TEST_F(Roots, VariablesTheStackAndMappings) {
    volatile uintptr_t local = 1;
    auto *page = static_cast<char *>(
        mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    page[0] = 1;
    of_a_thread++;
    variable++; // a page of the program's file that nobody touches holds no pointer of ours
    Read();
    for (const volatile void *place :
         { (const volatile void *)&variable, (const volatile void *)&of_a_thread,
           (const volatile void *)&local, (const volatile void *)page }) {
        ASSERT_TRUE(At(place)) << const_cast<const void *>(place) << " of\n"
                               << std::ifstream("/proc/self/maps").rdbuf();
        EXPECT_NE(HEAPPROF_MEMORY_HEAP, At(place)->kind);
    }
    EXPECT_TRUE(OfAStack(__builtin_frame_address(0))); // local may be elsewhere with a sanitizer
    EXPECT_FALSE(OfAStack(page));
    EXPECT_FALSE(At(&constant));
    munmap(page, 4096);
    Read();
    EXPECT_FALSE(At(page));
}

TEST_F(Roots, WhatLiesFurtherInOnTheStackIsNotTold) {
    int fd = rb_heapprof_peek_open();
    volatile uintptr_t inner[64] = {1};
    const heapprof_root_stacks stacks = {reinterpret_cast<uintptr_t>(&inner[64]), 0, nullptr, 0};
    all_.reserve(10000);
    rb_heapprof_roots_read(fd, &stacks, Add, this);
    EXPECT_FALSE(At(&inner[0]));
    rb_heapprof_peek_close(fd);
}

TEST_F(Roots, StacksThatNobodyUsesAnyMoreAreKnownByTheirLength) {
    const size_t page = static_cast<size_t>(sysconf(_SC_PAGESIZE)), bytes = 7 * page;
    auto *pages = static_cast<char *>(
        mmap(nullptr, bytes + 3 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    auto *stack = pages + 2 * page; // with a page before the guard that is another mapping
    mprotect(pages, page, PROT_READ);
    mprotect(stack, bytes, PROT_READ | PROT_WRITE);
    stack[0] = 1;
    Read();
    EXPECT_TRUE(At(stack));
    Read(bytes + page);
    EXPECT_TRUE(At(stack));
    Read(bytes);
    EXPECT_FALSE(At(stack));
    mprotect(pages, page, PROT_NONE); // a guard of two pages is another's
    Read(bytes);
    EXPECT_TRUE(At(stack));
    munmap(pages, bytes + 3 * page);
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__) // their own malloc, stacks
TEST_F(Roots, GlibcsHeapsAreTold) {
    std::vector<char> small(100);
    Read();
    ASSERT_TRUE(At(small.data()));
    EXPECT_EQ(HEAPPROF_MEMORY_HEAP, At(small.data())->kind);

    void *of_another_arena = nullptr;
    std::thread([&of_another_arena] { of_another_arena = malloc(100); }).join();
    Read();
    ASSERT_TRUE(At(of_another_arena));
    EXPECT_EQ(HEAPPROF_MEMORY_HEAP, At(of_another_arena)->kind);
    free(of_another_arena);
}

// Whether the kernel says that the thread sleeps.
bool
Sleeping(pid_t thread)
{
    std::ifstream stat("/proc/self/task/" + std::to_string(thread) + "/stat");
    std::string text((std::istreambuf_iterator<char>(stat)), {});
    return text.find(") S ") != std::string::npos;
}

struct Waiting {
    sem_t is_there, may_go;
    pid_t thread;
    volatile uintptr_t *stack, *variable, *vector; // where the thread's variables are
};

TEST_F(Roots, OfAThreadsStackWhatIsInUse) {
    Waiting waiting = {};
    sem_init(&waiting.is_there, 0, 0);
    sem_init(&waiting.may_go, 0, 0);
    std::thread thread([&waiting] {
        volatile uintptr_t local = 1;
        of_a_thread = 2;
        waiting.stack = &local;
        waiting.variable = &of_a_thread;
#ifdef __x86_64__
        waiting.vector = reinterpret_cast<volatile uintptr_t **>(pthread_self())[1];
#else
        waiting.vector = waiting.variable;
#endif
        waiting.thread = gettid();
        sem_post(&waiting.is_there);
        while (sem_wait(&waiting.may_go) != 0) continue;
    });
    sem_wait(&waiting.is_there);
    while (!Sleeping(waiting.thread))
        sched_yield(); // the stack of one that runs is a root as a whole
    Read();
    for (const volatile void *place : { waiting.stack, waiting.variable, waiting.vector })
        EXPECT_TRUE(OfAStack(place));
    EXPECT_FALSE(At(reinterpret_cast<char *>(const_cast<uintptr_t *>(waiting.stack)) - 1000000));
    sem_post(&waiting.may_go);
    thread.join();
    Read();
    EXPECT_FALSE(At(waiting.stack)); // glibc keeps it for the next thread
    EXPECT_FALSE(At(waiting.variable));
    Read(0, { reinterpret_cast<uintptr_t>(
                waiting.stack) }); // as if it were in use while its thread uses another
    EXPECT_TRUE(At(waiting.stack));
    EXPECT_TRUE(At(waiting.variable));
    EXPECT_FALSE(At(reinterpret_cast<char *>(const_cast<uintptr_t *>(waiting.stack)) - 1000000));
}

TEST_F(Roots, GlibcsListsOfFreeChunksAreNotTold) {
    int fd = rb_heapprof_peek_open();
    auto first = reinterpret_cast<uintptr_t>(malloc(5000)),
         behind = reinterpret_cast<uintptr_t>(malloc(5000));
    free(reinterpret_cast<void *>(first));
    uintptr_t head = 0;
    rb_heapprof_peek(fd, first + sizeof(head), &head, sizeof(head));
    free(reinterpret_cast<void *>(behind));
    Read();
    auto *last_remainder = reinterpret_cast<const volatile void *>(head + sizeof(head));
    EXPECT_FALSE(At(last_remainder));
    EXPECT_TRUE(At(reinterpret_cast<const volatile void *>(head - sizeof(head))));
    rb_heapprof_peek_close(fd);
}

TEST_F(Roots, AFreedBlockInACacheHasTheKey) {
    int fd = rb_heapprof_peek_open();
    uintptr_t key = rb_heapprof_roots_freed_key(fd);
    auto address =
        reinterpret_cast<uintptr_t>(malloc(200)); // as a number, which may be asked about later
    uintptr_t found = key;
    rb_heapprof_peek(fd, address + sizeof(found), &found, sizeof(found));
    EXPECT_NE(0u, key);
    EXPECT_NE(key, found);
    free(reinterpret_cast<void *>(address));
    rb_heapprof_peek(fd, address + sizeof(found), &found, sizeof(found));
    EXPECT_EQ(key, found);
    rb_heapprof_peek_close(fd);
}
#endif

} // namespace
