// memory_use_test.cc - how full the limits of this process are: groups of both versions, in a
// directory that looks as the kernel's.

#include <gtest/gtest.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>
#include <sys/resource.h>
#include <unistd.h>

extern "C" {
#include "os/memory_use.h"
}

namespace {

class MemoryUse : public testing::Test {
  protected:
    std::string top_ = testing::TempDir() + "/memory_use." + std::to_string(getpid());
    std::string self_ = top_ + "/self";
    struct heapprof_memory_use use_;

    void SetUp() override { std::filesystem::create_directories(top_); }
    void TearDown() override { std::filesystem::remove_all(top_); }

    void Write(const std::string &path, const std::string &text) {
        std::filesystem::create_directories(std::filesystem::path(top_ + "/" + path).parent_path());
        std::ofstream(top_ + "/" + path) << text;
    }

    void Look(const std::string &lines) {
        std::ofstream(self_) << lines;
        struct heapprof_memory_places places = {self_.c_str(), top_.c_str()};
        rb_heapprof_memory_use(&use_, &places);
    }
};

TEST_F(MemoryUse, WithoutALimitThereIsNone)
{
    Write("a/memory.current", "1000\n");
    Write("a/memory.max", "max\n");
    Write("a/memory.high", "max\n");
    Look("0::/a\n");
    EXPECT_EQ(0u, use_.limit);
    EXPECT_GT(use_.resident, 1u << 20);
}

TEST_F(MemoryUse, TheFullestOfMaxAndHighCounts)
{
    Write("a/memory.current", "800\n");
    Write("a/memory.max", "2000\n");
    Write("a/memory.high", "1000\n");
    Look("0::/a\n");
    EXPECT_EQ(800u, use_.used);
    EXPECT_EQ(1000u, use_.limit);
    EXPECT_STREQ("memory.high", use_.name);
    EXPECT_EQ(top_ + "/a", use_.group);
}

TEST_F(MemoryUse, AGroupAboveMayBeFuller)
{
    Write("a/memory.current", "900\n");
    Write("a/memory.max", "1000\n");
    Write("a/b/memory.current", "100\n");
    Write("a/b/memory.max", "1000\n");
    Look("0::/a/b\n");
    EXPECT_EQ(900u, use_.used);
    EXPECT_EQ(top_ + "/a", use_.group);
}

TEST_F(MemoryUse, InAContainerTheMountIsItsOwn)
{
    Write("memory.current", "10\n");
    Write("memory.max", "100\n");
    Look("0::/docker/0123\n");
    EXPECT_EQ(100u, use_.limit);
    EXPECT_EQ(top_, use_.group);
}

TEST_F(MemoryUse, PageCacheDoesNotCount)
{
    Write("a/memory.current", "900\n");
    Write("a/memory.max", "1000\n");
    Write("a/memory.stat", "anon 100\nfile 700\nactive_file 500\ninactive_file 200\n");
    Look("0::/a\n");
    EXPECT_EQ(200u, use_.used);
}

TEST_F(MemoryUse, TheFirstVersionHasOtherNames)
{
    Write("memory/a/memory.usage_in_bytes", "900\n");
    Write("memory/a/memory.limit_in_bytes", "1000\n");
    Write("memory/a/memory.stat", "active_file 9\ntotal_active_file 100\ntotal_inactive_file 50\n");
    Write("memory/memory.usage_in_bytes", "990\n");
    Write("memory/memory.limit_in_bytes", "9223372036854771712\n");
    Look("12:pids:/x\n4:cpu,memory:/a\n0::/\n");
    EXPECT_EQ(750u, use_.used);
    EXPECT_EQ(1000u, use_.limit);
    EXPECT_STREQ("memory.limit_in_bytes", use_.name);
}

TEST_F(MemoryUse, NamesThatOnlyContainMemoryAreOthers)
{
    Write("memory/a/memory.usage_in_bytes", "900\n");
    Write("memory/a/memory.limit_in_bytes", "1000\n");
    Look("4:name=memory:/a\n5:memoryx,cpu:/a\nmemory\n:\n");
    EXPECT_EQ(0u, use_.limit);
}

TEST_F(MemoryUse, AddressSpaceIsALimit)
{
    struct rlimit before, less;

    ASSERT_EQ(0, getrlimit(RLIMIT_AS, &before));
    less = before;
    less.rlim_cur = UINT64_C(1) << 46;
    ASSERT_EQ(0, setrlimit(RLIMIT_AS, &less));
    Look("");
    ASSERT_EQ(0, setrlimit(RLIMIT_AS, &before));
    EXPECT_STREQ("RLIMIT_AS", use_.name);
    EXPECT_EQ(less.rlim_cur, use_.limit);
    EXPECT_GE(use_.used, use_.resident);
    EXPECT_STREQ("", use_.group);
}

TEST_F(MemoryUse, FactsAreThoseOfTheGroup)
{
    struct heapprof_memory_facts facts;

    Write("a/memory.current", "900\n");
    Write("a/memory.max", "1000\n");
    Write("a/memory.events", "low 1\nhigh 2\nmax 3\noom 4\noom_kill 5\n");
    Write("a/memory.pressure", "some avg10=12.34 avg60=1.0 avg300=0.0 total=1\nfull avg10=9.00\n");
    Write("a/cgroup.procs", std::to_string(getpid()) + "\n" + std::to_string(getppid()) + "\n");
    Look("0::/a\n");
    rb_heapprof_memory_facts(&facts, &use_, 0);
    EXPECT_EQ(2u, facts.high);
    EXPECT_EQ(3u, facts.max);
    EXPECT_EQ(5u, facts.killed);
    EXPECT_EQ(12u, facts.stalled_percent);
    EXPECT_EQ(1u, facts.others);
    EXPECT_EQ((uint64_t)getppid(), facts.largest);
    EXPECT_GT(facts.largest_bytes, 0u);
    EXPECT_STRNE("", facts.largest_name);
    rb_heapprof_memory_facts(&facts, &use_, getppid());
    EXPECT_EQ(0u, facts.others);
    EXPECT_EQ(0u, facts.other_bytes);
}

TEST_F(MemoryUse, FactsOfTheFirstVersion)
{
    struct heapprof_memory_facts facts;

    Write("memory/a/memory.usage_in_bytes", "900\n");
    Write("memory/a/memory.limit_in_bytes", "1000\n");
    Write("memory/a/memory.failcnt", "7\n");
    Write("memory/a/memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 2\n");
    Look("4:memory:/a\n");
    rb_heapprof_memory_facts(&facts, &use_, 0);
    EXPECT_EQ(7u, facts.max);
    EXPECT_EQ(2u, facts.killed);
    EXPECT_EQ(0u, facts.others);
}

} // namespace
