// pages_test.cc - reads through pages that are kept say what the target has, and ask it once for
// each page.

#include <gtest/gtest.h>

#include "test/unit/attach/memory.h"

extern "C" {
#include "attach/pages.h"
}

namespace {

const uint64_t kBegin = 0x10000, kPage = ATTACH_PAGES_BYTES;

class Pages : public testing::Test {
  protected:
    Memory memory_;
    std::string bytes_;
    attach_pages *pages_ = new attach_pages();

    void
    SetUp() override
    {
        for (size_t i = 0; i < 3 * kPage; i++) bytes_ += (char)(i * 31 + i / kPage);
        memory_.Put(kBegin, bytes_);
        attach_pages_begin(pages_, memory_.target());
        memory_.reads = 0;
    }

    void TearDown() override { delete pages_; }

    bool
    Read(uint64_t address, size_t bytes, std::string *read)
    {
        read->assign(bytes, '?');
        return attach_target_read(&pages_->target, address, &(*read)[0], bytes);
    }
};

TEST_F(Pages, ReadsSayWhatTheTargetHas)
{
    std::string read;

    for (size_t at :
         { size_t(0), size_t(1), size_t(kPage - 3), size_t(kPage), size_t(2 * kPage - 1) }) {
        for (size_t count : {size_t(0), size_t(1), size_t(8), size_t(kPage)}) {
            ASSERT_TRUE(Read(kBegin + at, count, &read)) << at << " " << count;
            EXPECT_EQ(bytes_.substr(at, count), read) << at << " " << count;
        }
    }
    EXPECT_EQ(3u, memory_.reads);
}

TEST_F(Pages, OfPagesAtOnePlaceTheLastIsKept)
{
    const uint64_t other = kBegin + kPage * ATTACH_PAGES_KEPT;
    std::string read;

    memory_.Put(other, std::string(kPage, 'o'));
    attach_pages_begin(pages_, memory_.target());
    for (int i = 0; i < 3; i++) {
        ASSERT_TRUE(Read(kBegin, 4, &read));
        EXPECT_EQ(bytes_.substr(0, 4), read);
        ASSERT_TRUE(Read(other, 4, &read));
        EXPECT_EQ("oooo", read);
    }
}

TEST_F(Pages, WhatHasNoWholePageCannotBeRead)
{
    std::string read;

    EXPECT_FALSE(Read(kBegin + 3 * kPage - 1, 2, &read));
    EXPECT_FALSE(Read(0, 8, &read));
    EXPECT_FALSE(Read(UINT64_MAX - 7, 8, &read));
    EXPECT_FALSE(Read(UINT64_MAX, 8, &read));
    EXPECT_TRUE(Read(kBegin + 3 * kPage - 1, 1, &read));
}

TEST_F(Pages, WhatChangesIsSeenAfterItHasBegunAnew)
{
    std::string read;

    ASSERT_TRUE(Read(kBegin, 4, &read));
    memory_.pieces[kBegin].bytes.replace(0, 4, "anew");
    ASSERT_TRUE(Read(kBegin, 4, &read));
    EXPECT_EQ(bytes_.substr(0, 4), read);
    attach_pages_begin(pages_, memory_.target());
    ASSERT_TRUE(Read(kBegin, 4, &read));
    EXPECT_EQ("anew", read);
}

} // namespace
