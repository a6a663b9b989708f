// aside_test.cc - memory from malloc, or from what was set aside. The second cannot be undone, so
// each such test is a process of its own.

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <map>
#include <random>
#include <string>
#include <vector>

extern "C" {
#include "base/aside.h"
}

namespace {

alignas(16) char memory[1 << 20];

bool Inside(const void *block)
{
    const char *at = static_cast<const char *>(block);
    return at >= memory && at < memory + sizeof(memory);
}

TEST(Aside, ComesFromMallocAtFirst)
{
    char *block = static_cast<char *>(rb_heapprof_aside_alloc(100));
    memset(block, 1, 100);
    EXPECT_FALSE(Inside(block));
    block = static_cast<char *>(rb_heapprof_aside_realloc(block, 1000));
    EXPECT_EQ(1, block[99]);
    rb_heapprof_aside_free(block);
    char *zeroed = static_cast<char *>(rb_heapprof_aside_zeroed(10, 10));
    EXPECT_EQ(std::string(100, '\0'), std::string(zeroed, 100));
    rb_heapprof_aside_free(zeroed);
}

// A model keeps what each block holds: nothing may overlap, and all of a block is kept.
void Compare(unsigned seed)
{
    std::mt19937 random(seed);
    std::map<char *, std::string> model;

    memset(memory, 0xee, sizeof(memory));
    rb_heapprof_aside_begin(memory, sizeof(memory));
    for (int i = 0; i < 4000; i++) {
        size_t bytes = random() % 200;
        bool change = !model.empty() && random() % 2;
        auto old = model.begin();
        if (change) std::advance(old, random() % 4 ? model.size() - 1 : random() % model.size());
        std::string kept = change ? old->second : "";
        char *block = static_cast<char *>(change ? rb_heapprof_aside_realloc(old->first, bytes)
                                          : random() % 2 ? rb_heapprof_aside_alloc(bytes)
                                                         : rb_heapprof_aside_zeroed(bytes, 1));
        if (!block) break;
        if (!Inside(block) || reinterpret_cast<uintptr_t>(block) % 16) _exit(1);
        if (change) model.erase(old);
        size_t same = std::min(kept.size(), bytes);
        if (std::string(block, same) != kept.substr(0, same)) _exit(2);
        std::string content(bytes, static_cast<char>(random()));
        memcpy(block, content.data(), bytes);
        model[block] = content;
    }
    for (const auto &[block, content] : model)
        if (std::string(block, content.size()) != content) _exit(3);
    _exit(0);
}

TEST(Aside, BlocksAreApartAndKeepWhatTheyHold)
{
    for (unsigned seed = 1; seed <= 5; seed++)
        EXPECT_EXIT(Compare(seed), testing::ExitedWithCode(0), "") << seed;
}

TEST(Aside, WhatDoesNotFitIsRefused)
{
    EXPECT_EXIT({
        rb_heapprof_aside_begin(memory, 100);
        bool refused = !rb_heapprof_aside_alloc(81) && !rb_heapprof_aside_alloc(SIZE_MAX) &&
                       !rb_heapprof_aside_zeroed(SIZE_MAX / 2, 4);
        void *block = rb_heapprof_aside_alloc(80);
        bool full = block && !rb_heapprof_aside_alloc(0) && !rb_heapprof_aside_realloc(block, 81);
        _exit(refused && full && rb_heapprof_aside_realloc(block, 0) == block ? 0 : 1);
    }, testing::ExitedWithCode(0), "");
}

TEST(Aside, ZeroedMemoryIsZero)
{
    EXPECT_EXIT({
        memset(memory, 1, sizeof(memory));
        rb_heapprof_aside_begin(memory, sizeof(memory));
        char *block = static_cast<char *>(rb_heapprof_aside_zeroed(100, 3));
        _exit(std::string(block, 300) == std::string(300, '\0') ? 0 : 1);
    }, testing::ExitedWithCode(0), "");
}

} // namespace
