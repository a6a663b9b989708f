// memory_limit_test.cc - how much memory this process may use.

#include <gtest/gtest.h>

#include <cstdio>
#include <string>
#include <sys/resource.h>
#include <unistd.h>

extern "C" {
#include "os/memory_limit.h"
}

namespace {

TEST(MemoryLimit, IsNoMoreThanTheMachineHas) {
    uint64_t machine = (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE);
    EXPECT_LE(rb_heapprof_memory_limit(), machine);
    EXPECT_GT(rb_heapprof_memory_limit(), 0u);
}

TEST(MemoryLimit, IsNoMoreThanTheLimitOfAddressSpace) {
    const rlim_t least = 1 << 20;  // less than any machine has
    struct rlimit before, less;

    ASSERT_EQ(0, getrlimit(RLIMIT_AS, &before));
    less = before;
    less.rlim_cur = least;
    ASSERT_EQ(0, setrlimit(RLIMIT_AS, &less));
    uint64_t found = rb_heapprof_memory_limit();
    ASSERT_EQ(0, setrlimit(RLIMIT_AS, &before));
    EXPECT_EQ(least, found);
}

class KernelNumber : public testing::Test {
  protected:
    std::string path_ = testing::TempDir() + "/kernel_number." + std::to_string(getpid());

    void TearDown() override { unlink(path_.c_str()); }

    uint64_t Read(const std::string &text) {
        FILE *file = fopen(path_.c_str(), "w");
        fputs(text.c_str(), file);
        fclose(file);
        return rb_heapprof_kernel_number(path_.c_str(), 7);
    }
};

TEST_F(KernelNumber, IsWhatTheFileSays) {
    EXPECT_EQ(65530u, Read("65530\n"));
    EXPECT_EQ(0u, Read("0"));
}

TEST_F(KernelNumber, WithoutOneItIsTheOther) {
    EXPECT_EQ(7u, rb_heapprof_kernel_number("/nowhere/at/all", 7));
    EXPECT_EQ(7u, Read("max\n"));
    EXPECT_EQ(7u, Read(""));
}

}  // namespace
