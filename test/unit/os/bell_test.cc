// bell_test.cc - what wakes the thread of ours: a call, a signal, or the time.

#include <gtest/gtest.h>

#include <cerrno>
#include <csignal>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

extern "C" {
#include "os/bell.h"
}

namespace {

constexpr int64_t kLong = INT64_C(3600) * 1000000000;

class Bell : public testing::Test {
protected:
    Bell() { rb_heapprof_bell_init(); }
    ~Bell() override
    {
        rb_heapprof_bell_give_signal(0);
        rb_heapprof_bell_give_signal(1);
        signal(SIGURG, SIG_DFL);
    }
};

bool
IsDefault()
{
    struct sigaction now;
    sigaction(SIGURG, nullptr, &now);
    return now.sa_handler == SIG_DFL;
}

void
Theirs(int) {}

TEST_F(Bell, WhatHasRungBeforeIsHeard)
{
    rb_heapprof_bell_ring();
    rb_heapprof_bell_ring();
    rb_heapprof_bell_wait(rb_heapprof_bell_now() + kLong);
    rb_heapprof_bell_wait(rb_heapprof_bell_now() + kLong);
}

TEST_F(Bell, WaitEndsWithItsTime)
{
    int64_t until = rb_heapprof_bell_now() + 10000000;
    rb_heapprof_bell_wait(until);
    EXPECT_GE(rb_heapprof_bell_now(), until);
    rb_heapprof_bell_wait(until);
    rb_heapprof_bell_wait(0);
}

TEST_F(Bell, AnotherThreadIsWoken)
{
    std::thread waiting([] { rb_heapprof_bell_wait(rb_heapprof_bell_now() + kLong); });
    rb_heapprof_bell_ring();
    waiting.join();
}

// What a child of fork answers: its exit status.
template <typename Answer> int
Forked(Answer answer)
{
    pid_t child = fork();
    int status = 0;
    if (child == 0) _exit(answer());
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST_F(Bell, WhatRangBeforeAForkIsTheParents)
{
    ASSERT_EQ(0, rb_heapprof_bell_take_signal(0, SIGURG, false));
    raise(SIGURG);
    EXPECT_EQ(2, Forked([] {
        rb_heapprof_bell_init();
        if (rb_heapprof_bell_signalled_p(0)) return 1;
        int64_t until = rb_heapprof_bell_now() + 1000000;
        rb_heapprof_bell_wait(until);
        return rb_heapprof_bell_now() >= until ? 2 : 3;
    }));
    EXPECT_TRUE(rb_heapprof_bell_signalled_p(0));
}

TEST_F(Bell, WhatComesToAChildBeforeItBeginsAnewIsNotLost)
{
    ASSERT_EQ(0, rb_heapprof_bell_take_signal(0, SIGURG, false));
    EXPECT_EQ(1, Forked([] {
        raise(SIGURG);
        rb_heapprof_bell_init();
        return rb_heapprof_bell_signalled_p(0) ? 1 : 2;
    }));
    EXPECT_FALSE(rb_heapprof_bell_signalled_p(0));
}

TEST_F(Bell, ASignalRingsAndIsToldOnce)
{
    ASSERT_EQ(0, rb_heapprof_bell_take_signal(0, SIGURG, false));
    EXPECT_TRUE(rb_heapprof_bell_has_signal_p(0));
    EXPECT_FALSE(rb_heapprof_bell_signalled_p(0));
    errno = ENOENT;
    raise(SIGURG);
    EXPECT_EQ(ENOENT, errno);
    rb_heapprof_bell_wait(rb_heapprof_bell_now() + kLong);
    EXPECT_TRUE(rb_heapprof_bell_signalled_p(0));
    EXPECT_FALSE(rb_heapprof_bell_signalled_p(0));
}

TEST_F(Bell, TwoSignalsAreToldApart)
{
    ASSERT_EQ(0, rb_heapprof_bell_take_signal(0, SIGURG, false));
    ASSERT_EQ(0, rb_heapprof_bell_take_signal(1, SIGWINCH, false));
    raise(SIGWINCH);
    EXPECT_FALSE(rb_heapprof_bell_signalled_p(0));
    EXPECT_TRUE(rb_heapprof_bell_signalled_p(1));
    rb_heapprof_bell_give_signal(1);
    EXPECT_TRUE(rb_heapprof_bell_has_signal_p(0));
    EXPECT_FALSE(rb_heapprof_bell_has_signal_p(1));
}

TEST_F(Bell, OneSignalRingsAsOne)
{
    ASSERT_EQ(0, rb_heapprof_bell_take_signal(0, SIGURG, false));
    EXPECT_EQ(0, rb_heapprof_bell_take_signal(0, SIGURG, false));
    EXPECT_EQ(EBUSY, rb_heapprof_bell_take_signal(1, SIGURG, true));
    EXPECT_FALSE(rb_heapprof_bell_has_signal_p(1));
    rb_heapprof_bell_give_signal(0);
    EXPECT_TRUE(IsDefault());
}

TEST_F(Bell, ASignalIsGivenBackAsItWas)
{
    ASSERT_EQ(0, rb_heapprof_bell_take_signal(0, SIGURG, false));
    EXPECT_FALSE(IsDefault());
    rb_heapprof_bell_give_signal(0);
    EXPECT_TRUE(IsDefault());
    EXPECT_FALSE(rb_heapprof_bell_has_signal_p(0));
}

TEST_F(Bell, ASignalThatSomebodyElseHandlesIsLeftToIt)
{
    signal(SIGURG, Theirs);
    EXPECT_EQ(EBUSY, rb_heapprof_bell_take_signal(0, SIGURG, false));
    EXPECT_FALSE(rb_heapprof_bell_has_signal_p(0));
    EXPECT_EQ(0, rb_heapprof_bell_take_signal(0, SIGURG, true));
    EXPECT_TRUE(rb_heapprof_bell_has_signal_p(0));
}

TEST_F(Bell, ASignalThatIsTakenFromUsStaysWithWhoTookIt)
{
    ASSERT_EQ(0, rb_heapprof_bell_take_signal(0, SIGURG, false));
    signal(SIGURG, Theirs);
    EXPECT_FALSE(rb_heapprof_bell_has_signal_p(0));
    rb_heapprof_bell_give_signal(0);
    struct sigaction now;
    sigaction(SIGURG, nullptr, &now);
    EXPECT_EQ(&Theirs, now.sa_handler);
}

TEST_F(Bell, ASignalThatCannotBeTakenIsRefused)
{
    EXPECT_EQ(EINVAL, rb_heapprof_bell_take_signal(0, SIGKILL, true));
    EXPECT_FALSE(rb_heapprof_bell_has_signal_p(0));
}

} // namespace
