// peek_test.cc - ranges with a hole, and addresses that are none.

#include <gtest/gtest.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <sys/mman.h>
#include <unistd.h>

extern "C" {
#include "os/peek.h"
}

namespace {

const size_t kPage = static_cast<size_t>(sysconf(_SC_PAGESIZE));

class Peek : public testing::Test {
  protected:
    int fd_ = rb_heapprof_peek_open();

    void
    TearDown() override
    {
        rb_heapprof_peek_close(fd_);
    }
};

TEST_F(Peek, CopiesWhatIsMapped)
{
    const char text[] = "memory of our own";
    char copy[sizeof(text)] = {};
    EXPECT_EQ(sizeof(text),
              rb_heapprof_peek(fd_, reinterpret_cast<uintptr_t>(text), copy, sizeof(text)));
    EXPECT_STREQ(text, copy);
}

TEST_F(Peek, EndsWhereNothingIsMapped)
{
    char *pages = static_cast<char *>(mmap(nullptr, 2 * kPage, PROT_READ | PROT_WRITE,
                                           MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    ASSERT_NE(MAP_FAILED, static_cast<void *>(pages));
    memset(pages, 'x', 2 * kPage);
    munmap(pages + kPage, kPage);

    char copy[64];
    errno = EDOM;
    uintptr_t end = reinterpret_cast<uintptr_t>(pages) + kPage;
    EXPECT_EQ(16u, rb_heapprof_peek(fd_, end - 16, copy, sizeof(copy)));
    EXPECT_EQ(0, memcmp(copy, "xxxxxxxxxxxxxxxx", 16));
    EXPECT_EQ(0u, rb_heapprof_peek(fd_, end, copy, sizeof(copy)));
    EXPECT_EQ(EDOM, errno);
    munmap(pages, kPage);
}

TEST_F(Peek, ReadsNothingAtWildAddresses)
{
    char copy[8];
    for (uintptr_t address :
         { UINT64_C(0), UINT64_C(1), UINT64_C(0x5a5a5a5a5a5a5a5a), UINT64_MAX - 3 }) {
        EXPECT_EQ(0u, rb_heapprof_peek(fd_, address, copy, sizeof(copy)));
    }
}

TEST_F(Peek, WithoutADescriptorReadsNothing)
{
    char copy[8];
    EXPECT_EQ(0u, rb_heapprof_peek(-1, reinterpret_cast<uintptr_t>(this), copy, sizeof(copy)));
    rb_heapprof_peek_close(-1);
}

} // namespace
