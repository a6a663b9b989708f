// touched_test.cc - pages that somebody has written to, and others.

#include <gtest/gtest.h>

#include <cerrno>
#include <sys/mman.h>
#include <unistd.h>
#include <utility>
#include <vector>

extern "C" {
#include "os/touched.h"
}

namespace {

const uintptr_t kPage = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
const size_t kPages = 2000; // more than are asked for at once
using Parts = std::vector<std::pair<uintptr_t, uintptr_t>>;

class Touched : public testing::Test {
  protected:
    int fd_ = rb_heapprof_touched_open();
    char *pages_ = static_cast<char *>(
        mmap(nullptr, kPages *kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));

    void SetUp() override {
        ASSERT_NE(MAP_FAILED, static_cast<void *>(pages_));
        madvise(pages_, kPages * kPage, MADV_NOHUGEPAGE);
    }

    void TearDown() override {
        munmap(pages_, kPages * kPage);
        rb_heapprof_touched_close(fd_);
    }

    void Write(size_t first, size_t end) {
        for (size_t i = first; i < end; i++) pages_[i * kPage] = 1;
    }

    // From begin to end, which are bytes; as such.
    Parts Find(int fd, uintptr_t begin, uintptr_t end) {
        auto start = reinterpret_cast<uintptr_t>(pages_);
        uintptr_t at = start + begin, part_end;
        Parts parts;
        while (at < start + end && rb_heapprof_touched(fd, &at, start + end, &part_end)) {
            parts.emplace_back(at - start, part_end - start);
            at = part_end;
        }
        return parts;
    }
};

TEST_F(Touched, WhatWasWrittenIsFoundAndNothingElse) {
    if (fd_ < 0) GTEST_SKIP() << "no /proc/self/pagemap";
    EXPECT_EQ(Parts{}, Find(fd_, 0, kPages * kPage));
    Write(3, 4);
    Write(500, 1100);
    Write(kPages - 1, kPages);
    EXPECT_EQ((Parts { { 3 * kPage, 4 * kPage },
                       { 500 * kPage, 1100 * kPage },
                       { (kPages - 1) * kPage, kPages * kPage } }),
              Find(fd_, 0, kPages * kPage));
}

TEST_F(Touched, PartsKeepWithinWhatWasAskedFor) {
    if (fd_ < 0) GTEST_SKIP() << "no /proc/self/pagemap";
    Write(1, 3);
    EXPECT_EQ((Parts{{kPage + 8, 2 * kPage + 16}}), Find(fd_, kPage + 8, 2 * kPage + 16));
    EXPECT_EQ(Parts{}, Find(fd_, 8, kPage));
}

TEST_F(Touched, WhereTheSystemDoesNotTellAllCounts) {
    EXPECT_EQ((Parts{{8, kPages * kPage}}), Find(-1, 8, kPages * kPage));
}

TEST_F(Touched, WhetherAPageIsMappedIsToldWithoutTouchingIt) {
    auto begin = reinterpret_cast<uintptr_t>(pages_);
    munmap(pages_ + kPage, kPage);
    errno = EINTR;
    EXPECT_TRUE(rb_heapprof_mapped_p(begin + 100));
    EXPECT_FALSE(rb_heapprof_mapped_p(begin + kPage + 100));
    EXPECT_TRUE(rb_heapprof_mapped_p(begin + 2 * kPage));
    EXPECT_EQ(EINTR, errno);
    if (fd_ >= 0) {
        EXPECT_EQ(Parts{}, Find(fd_, 0, kPages * kPage));
    }
}

} // namespace
