// ahead_test.cc - reads of the last look are made in one go, and say what is there now.

#include "test/unit/attach/memory.h"
#include <gtest/gtest.h>

namespace {

constexpr uint64_t kAt = 0x10000;

class Ahead : public ::testing::Test {
  protected:
    Memory memory_;

    void SetUp() override { memory_.Put(kAt, std::string(65536, 'a')); }

    // Another program, which writes.
    void Change(size_t at, char to) { memory_.pieces[kAt].bytes[at] = to; }

    char
    Read(size_t at, size_t bytes = 1)
    {
        std::string to(bytes, '?');
        EXPECT_TRUE(attach_target_read(memory_.target(), kAt + at, &to[0], bytes));
        return to[0];
    }

    void
    Look(const std::vector<size_t> &places)
    {
        attach_target_ahead_begin(memory_.target(), ATTACH_AHEAD_FULL);
        for (size_t at : places) Read(at);
        attach_target_ahead_pause(memory_.target());
    }
};

TEST_F(Ahead, WhatWasReadTheLastTimeIsOfTheMomentOfTheBeginning) {
    Look({1, 2, 3});
    Change(2, 'b');
    attach_target_ahead_begin(memory_.target(), ATTACH_AHEAD_FULL);
    uint64_t reads = memory_.reads;
    Change(3, 'c');
    EXPECT_EQ('a', Read(1));
    EXPECT_EQ('b', Read(2));
    EXPECT_EQ('a', Read(3));
    EXPECT_EQ(reads, memory_.reads);
    attach_target_ahead_pause(memory_.target());
    EXPECT_EQ('c', Read(3));
}

TEST_F(Ahead, WhatWasNotForeseenIsReadAndForeseenTheNextTime) {
    Look({1, 2, 3});
    attach_target_ahead_begin(memory_.target(), ATTACH_AHEAD_FULL);
    uint64_t reads = memory_.reads;
    Read(1);
    Read(7);
    Read(3); // 2 was left out
    EXPECT_EQ(reads + 1, memory_.reads);
    Look({1, 7, 3});
    EXPECT_EQ(reads + 1 + 3, memory_.reads);
}

TEST_F(Ahead, ARangeOfAnotherLengthIsAnotherOne) {
    Look({1});
    attach_target_ahead_begin(memory_.target(), ATTACH_AHEAD_FULL);
    Change(1, 'b');
    EXPECT_EQ('b', Read(1, 2));
}

TEST_F(Ahead, NothingIsServedInAPauseAndAllThatGoesOnIs) {
    Look({1, 2});
    attach_target_ahead_begin(memory_.target(), ATTACH_AHEAD_FULL);
    Change(2, 'b');
    attach_target_ahead_pause(memory_.target());
    EXPECT_EQ('b', Read(2));
    attach_target_ahead_resume(memory_.target());
    EXPECT_EQ('a', Read(2));
}

TEST_F(Ahead, WhatIsGoneMakesAllOfItVoid) {
    Look({1, 60000});
    memory_.pieces[kAt].bytes.resize(100);
    attach_target_ahead_begin(memory_.target(), ATTACH_AHEAD_FULL);
    Change(1, 'b');
    EXPECT_EQ('b', Read(1));
    char to;
    EXPECT_FALSE(attach_target_read(memory_.target(), kAt + 60000, &to, 1));
}

TEST_F(Ahead, ItHasBounds) {
    std::vector<size_t> places;
    for (size_t i = 0; i < 5000; i++) places.push_back(i);
    Look(places);
    EXPECT_EQ(1024u, memory_.target()->ahead.now.count);
    attach_target_ahead_begin(memory_.target(), ATTACH_AHEAD_FULL);
    for (int i = 0; i < 40; i++) Read(0, 65536);
    EXPECT_LE(memory_.target()->ahead.now.bytes, 1u << 20);
    attach_target_ahead_begin(memory_.target(), ATTACH_AHEAD_FULL);
    EXPECT_EQ('a', Read(0, 65536));
}

TEST_F(Ahead, ACoreIsReadAsEver) {
    memory_.runs = false;
    Look({1});
    attach_target_ahead_begin(memory_.target(), ATTACH_AHEAD_FULL);
    attach_target_ahead_resume(memory_.target());
    Change(1, 'b');
    EXPECT_EQ('b', Read(1));
}

} // namespace
