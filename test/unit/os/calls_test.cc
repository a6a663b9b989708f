// calls_test.cc - calls of the C library are counted from start to stop, with their bytes.

#include <gtest/gtest.h>

#include <cerrno>
#include <cstring>

#include <malloc.h>
#include <poll.h>
#include <unistd.h>

extern "C" {
#include "os/calls.h"
}

namespace {

heapprof_call_counts
Counts(const char *name)
{
    heapprof_call_counts counts;
    for (size_t i = 0; rb_heapprof_calls_read(i, &counts); i++) {
        if (strcmp(counts.name, name) == 0) return counts;
    }
    ADD_FAILURE() << name;
    return {};
}

// What a function has been called for since this was made.
class Since {
public:
    explicit Since(const char *name) : before_(Counts(name)) {}
    uint64_t Calls() const { return Counts(before_.name).calls - before_.calls; }
    uint64_t Bytes() const { return Counts(before_.name).bytes - before_.bytes; }
    uint64_t ActualBytes() const
    {
        return Counts(before_.name).actual_bytes - before_.actual_bytes;
    }
    uint64_t TimeNs() const { return Counts(before_.name).time_ns - before_.time_ns; }

private:
    heapprof_call_counts before_;
};

class Calls : public testing::Test {
protected:
    void SetUp() override
    {
        ASSERT_STREQ(nullptr, rb_heapprof_calls_refusal());
        ASSERT_EQ(0, pipe(pipe_));
        rb_heapprof_calls_start();
    }

    void TearDown() override
    {
        rb_heapprof_calls_stop();
        for (int fd : pipe_) close(fd);
    }

    int In() const { return pipe_[0]; }
    int Out() const { return pipe_[1]; }

private:
    int pipe_[2] = {-1, -1};
};

TEST_F(Calls, ReadsAndWritesHaveTheirBytes)
{
    Since writes("write"), reads("read");
    char data[10];
    ASSERT_EQ(7, write(Out(), "1234567", 7));
    ASSERT_EQ(7, read(In(), data, sizeof(data)));
    EXPECT_EQ(1u, writes.Calls());
    EXPECT_EQ(7u, writes.Bytes());
    EXPECT_EQ(1u, reads.Calls());
    EXPECT_EQ(7u, reads.Bytes());
}

TEST_F(Calls, ACallThatFailsHasNoBytesAndKeepsErrno)
{
    Since writes("write");
    errno = 0;
    EXPECT_EQ(-1, write(-1, "1", 1));
    EXPECT_EQ(EBADF, errno);
    EXPECT_EQ(1u, writes.Calls());
    EXPECT_EQ(0u, writes.Bytes());
}

TEST_F(Calls, WaitingHasItsTime)
{
    Since polls("poll");
    pollfd waited = {In(), POLLIN, 0};
    EXPECT_EQ(0, poll(&waited, 1, 20));
    EXPECT_EQ(1u, polls.Calls());
    EXPECT_GE(polls.TimeNs(), 19000000u);
}

TEST_F(Calls, MemoryHasWhatWasAskedForAndWhatWasGiven)
{
    Since mallocs("malloc"), reallocs("realloc"), frees("free");
    void *mem = malloc(1000001);
    uint64_t given = malloc_usable_size(mem);
    EXPECT_EQ(1000001u, mallocs.Bytes());
    EXPECT_EQ(given, mallocs.ActualBytes());
    mem = realloc(mem, 3000001);
    given = malloc_usable_size(mem);
    EXPECT_EQ(3000001u, reallocs.Bytes());
    EXPECT_EQ(given, reallocs.ActualBytes());
    free(mem);
    EXPECT_EQ(1u, frees.Calls());
    EXPECT_EQ(given, frees.ActualBytes());
}

TEST_F(Calls, EachStartAfterAStopIsARunOfItsOwn)
{
    unsigned int run = rb_heapprof_calls_run();
    EXPECT_GT(run, 0u);
    rb_heapprof_calls_start();
    EXPECT_EQ(run, rb_heapprof_calls_run());
    rb_heapprof_calls_stop();
    EXPECT_EQ(0u, rb_heapprof_calls_run());

    Since writes("write");
    ASSERT_EQ(1, write(Out(), "1", 1));
    EXPECT_EQ(0u, writes.Calls());

    rb_heapprof_calls_start();
    EXPECT_EQ(run + 1, rb_heapprof_calls_run());
    ASSERT_EQ(1, write(Out(), "1", 1));
    EXPECT_EQ(1u, writes.Calls());
}

}  // namespace
