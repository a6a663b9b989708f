// forks_test.cc - a process that begins is told, whichever way it is found.

extern "C" {
#include "attach/forks.h"
}
#include <gtest/gtest.h>

#include <set>
#include <sys/wait.h>
#include <unistd.h>

namespace {

// A child that lives until it is let go.
class Child {
  public:
    Child()
    {
        EXPECT_EQ(pipe(ends_), 0);
        pid_ = fork();
        if (pid_ == 0) {
            char byte;
            close(ends_[1]);
            _exit(read(ends_[0], &byte, 1) != 0);
        }
        close(ends_[0]);
    }

    ~Child() { End(); }

    void
    End()
    {
        if (!pid_) return;
        close(ends_[1]);
        waitpid(pid_, NULL, 0);
        pid_ = 0;
    }

    pid_t pid() const { return pid_; }

  private:
    int ends_[2];
    pid_t pid_;
};

// What is told now: our children.
std::set<pid_t>
Told(attach_forks *forks)
{
    std::set<pid_t> told;
    attach_fork fork;

    while (attach_forks_next(forks, &fork)) {
        if (fork.pid && fork.parent == getpid()) told.insert(fork.pid);
    }
    return told;
}

class Forks : public ::testing::TestWithParam<bool> {
  protected:
    attach_forks forks_;

    void
    SetUp() override
    {
        attach_forks_open(&forks_, GetParam());
        if (GetParam() && forks_.way != ATTACH_FORKS_EVENTS)
            GTEST_SKIP() << "the kernel tells events to root outside of containers";
        ASSERT_EQ(forks_.way, GetParam() ? ATTACH_FORKS_EVENTS : ATTACH_FORKS_NUMBERS);
    }

    void TearDown() override { attach_forks_close(&forks_); }
};

TEST_P(Forks, AProcessThatBeginsIsTold) {
    Child before;
    Told(&forks_);
    Child one, other;
    std::set<pid_t> told = Told(&forks_);
    EXPECT_TRUE(told.count(one.pid()) && told.count(other.pid()));
    Told(&forks_); // a number is tried twice
    EXPECT_TRUE(Told(&forks_).empty());
}

TEST_P(Forks, AProcessThatHasEndedIsToldOrCounted) {
    Told(&forks_);
    pid_t pid;
    {
        Child child;
        pid = child.pid();
    }
    bool told = Told(&forks_).count(pid);
    Told(&forks_);
    EXPECT_TRUE(GetParam() ? told : forks_.lost > 0);
}

INSTANTIATE_TEST_SUITE_P(BothWays, Forks, ::testing::Values(true, false));

TEST(ForksParent, OfAProcessAndOfNone) {
    Child child;
    EXPECT_EQ(attach_forks_parent(child.pid()), getpid());
    pid_t pid = child.pid();
    child.End();
    EXPECT_EQ(attach_forks_parent(pid), 0);
}

} // namespace
