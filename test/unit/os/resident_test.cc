// resident_test.cc - ranges of which we know what was touched.

#include <gtest/gtest.h>

#include <cerrno>
#include <cstdint>
#include <sys/mman.h>
#include <unistd.h>

extern "C" {
#include "os/resident.h"
}

namespace {

const size_t kPage = static_cast<size_t>(sysconf(_SC_PAGESIZE));

class Resident : public testing::Test {
  protected:
    static const size_t kPages = 3000; // more than are asked for at once
    char *pages_ = nullptr;

    void
    SetUp() override
    {
        void *pages = mmap(nullptr, kPages * kPage, PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        ASSERT_NE(MAP_FAILED, pages);
        madvise(pages, kPages * kPage, MADV_NOHUGEPAGE);
        pages_ = static_cast<char *>(pages);
    }

    void
    TearDown() override
    {
        munmap(pages_, kPages * kPage);
    }

    size_t
    Bytes(size_t first, size_t bytes)
    {
        return rb_heapprof_resident_bytes(reinterpret_cast<uintptr_t>(pages_) + first, bytes);
    }
};

TEST_F(Resident, CountsTouchedPages)
{
    EXPECT_EQ(0u, Bytes(0, kPages * kPage));
    for (size_t page = 0; page < kPages; page += 3) pages_[page * kPage] = 1;
    EXPECT_EQ(kPages / 3 * kPage, Bytes(0, kPages * kPage));
}

TEST_F(Resident, CountsWholePagesThatTheRangeTouches)
{
    pages_[0] = pages_[kPage] = pages_[2 * kPage] = 1;
    EXPECT_EQ(kPage, Bytes(1, 10));
    EXPECT_EQ(2 * kPage, Bytes(kPage - 1, 2));
    EXPECT_EQ(3 * kPage, Bytes(1, 2 * kPage));
}

TEST_F(Resident, WhatIsNotMappedIsNotInMemory)
{
    for (size_t page = 0; page < 10; page++) pages_[page * kPage] = 1;
    ASSERT_EQ(0, munmap(pages_ + 3 * kPage, 2 * kPage));
    errno = EXDEV;
    EXPECT_EQ(8 * kPage, Bytes(0, 20 * kPage));
    EXPECT_EQ(EXDEV, errno);
    EXPECT_EQ(0u, Bytes(3 * kPage, 2 * kPage));
}

} // namespace
