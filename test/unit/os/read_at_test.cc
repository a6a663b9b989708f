// read_at_test.cc - bytes of a file at an offset.

#include <gtest/gtest.h>

#include <cstdint>
#include <cstdio>
#include <string>
#include <unistd.h>

extern "C" {
#include "os/read_at.h"
}

namespace {

class ReadAt : public testing::Test {
  protected:
    FILE *file_ = tmpfile();
    int fd_ = fileno(file_);

    void
    SetUp() override
    {
        ASSERT_NE(file_, nullptr);
        ASSERT_EQ(write(fd_, "0123456789", 10), 10);
    }

    void
    TearDown() override
    {
        fclose(file_);
    }
};

TEST_F(ReadAt, AllOfItAndThePlaceInTheFileStays)
{
    char bytes[4] = {};

    ASSERT_EQ(lseek(fd_, 2, SEEK_SET), 2);
    ASSERT_TRUE(rb_heapprof_read_at(fd_, 6, bytes, 4));
    EXPECT_EQ(std::string(bytes, 4), "6789");
    EXPECT_EQ(lseek(fd_, 0, SEEK_CUR), 2);
    EXPECT_TRUE(rb_heapprof_read_at(fd_, 1000, bytes, 0));
}

TEST_F(ReadAt, AFileThatHasFewerIsRefused)
{
    char bytes[4];

    EXPECT_FALSE(rb_heapprof_read_at(fd_, 7, bytes, 4));
    EXPECT_FALSE(rb_heapprof_read_at(fd_, 10, bytes, 1));
    ASSERT_EQ(ftruncate(fd_, 3), 0);
    EXPECT_FALSE(rb_heapprof_read_at(fd_, 0, bytes, 4));
    EXPECT_TRUE(rb_heapprof_read_at(fd_, 0, bytes, 3));
}

TEST_F(ReadAt, AnOffsetThatNoFileHasIsRefused)
{
    char byte;

    EXPECT_FALSE(rb_heapprof_read_at(fd_, UINT64_MAX, &byte, 1));
    EXPECT_FALSE(rb_heapprof_read_at(fd_, UINT64_C(1) << 63, &byte, 1));
}

TEST_F(ReadAt, AnErrorIsRefused)
{
    char byte;
    int ends[2];

    EXPECT_FALSE(rb_heapprof_read_at(-1, 0, &byte, 1));
    ASSERT_EQ(pipe(ends), 0); // has no offsets
    EXPECT_FALSE(rb_heapprof_read_at(ends[0], 0, &byte, 1));
    close(ends[0]);
    close(ends[1]);
}

} // namespace
