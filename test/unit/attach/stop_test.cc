// stop_test.cc - threads that spin, sleep, are born, are stopped already, die, or call exec,
// stopped and let go.

#include <gtest/gtest.h>

#include <fstream>
#include <set>
#include <sys/ptrace.h>
#include <vector>

#include "test/unit/attach/subject.h"

extern "C" {
#include "attach/stop.h"
}

namespace {

const uint64_t kLong = UINT64_C(20000000000), kShort = 20000000; // ns

// The subject is compiled once for all tests.
class Stop : public testing::Test {
  protected:
    static Scratch *scratch_;
    char error_[ATTACH_TARGET_ERROR_MAX] = "";

    static void
    SetUpTestSuite()
    {
        scratch_ = new Scratch;
        scratch_->Compile("subject");
    }

    static void
    TearDownTestSuite()
    {
        delete scratch_;
    }

    static std::string Program() { return *scratch_ / "subject"; }
};

Scratch *Stop::scratch_;

// A running subject with the means to stop it.
class Subject : public Child {
  public:
    attach_target *target;
    attach_stop *stop;

    explicit Subject(const std::string &program) : Child(program)
    {
        char error[ATTACH_TARGET_ERROR_MAX] = "";
        Ready();
        target = attach_target_open_pid(pid(), error);
        stop = attach_stop_new(pid());
        if (!target || !stop) abort();
    }

    ~Subject()
    {
        attach_stop_free(stop);
        attach_target_close(target);
    }

    attach_stopped One(pid_t tid, uint64_t limit = kLong)
    {
        return attach_stop_thread(stop, tid, limit);
    }
    attach_stopped All(uint64_t limit = kLong) { return attach_stop_all(stop, target, limit); }
    void Resume() { attach_stop_resume(stop); }

    std::vector<pid_t>
    Threads()
    {
        std::vector<pid_t> tids;
        attach_target_threads(target);
        for (size_t i = 0; i < target->thread_count; i++) tids.push_back(target->threads[i].tid);
        return tids;
    }

    // The states of its threads, each once.
    std::string
    States()
    {
        std::set<char> states;
        for (pid_t tid : Threads()) states.insert(State(tid));
        return std::string(states.begin(), states.end());
    }

    unsigned long Turns() { return strtoul(Tell('t').c_str(), nullptr, 10); }
    int Signals() { return atoi(Tell('c').c_str()); }
};

bool
BlockedP(int signal)
{
    sigset_t now;
    pthread_sigmask(SIG_SETMASK, nullptr, &now);
    return sigismember(&now, signal);
}

// ---- one thread ----

TEST_F(Stop, AThreadThatSpinsStandsStill)
{
    Subject subject(Program());
    subject.Tell('s');
    pid_t spinner = subject.Threads()[1];
    ASSERT_EQ(ATTACH_STOPPED, subject.One(spinner));
    EXPECT_EQ('t', Child::State(spinner));
    unsigned long turns = subject.Turns();
    EXPECT_EQ(turns, subject.Turns());
    subject.Resume();
    EXPECT_EQ('R', Child::State(spinner));
    Child::Until([&] { return subject.Turns() > turns; });
    EXPECT_EQ(0u, attach_stop_late(subject.stop));
}

TEST_F(Stop, AThreadThatSleepsSleepsOn)
{
    Subject subject(Program());
    subject.Tell('n');
    pid_t sleeper = subject.Threads()[1];
    for (int times = 0; times < 100; times++) {
        ASSERT_EQ(ATTACH_STOPPED, subject.One(sleeper));
        EXPECT_EQ('t', Child::State(sleeper));
        EXPECT_NE('t', Child::State(subject.pid()));
        subject.Resume();
    }
    Child::Until([&] { return Child::State(sleeper) == 'S'; });
    EXPECT_EQ(2u, subject.Threads().size());
}

TEST_F(Stop, SeveralAreLetGoAtOnce)
{
    Subject subject(Program());
    subject.Tell('s');
    subject.Tell('n');
    for (pid_t tid : subject.Threads()) EXPECT_EQ(ATTACH_STOPPED, subject.One(tid));
    EXPECT_EQ(ATTACH_STOPPED, subject.One(subject.pid()));
    EXPECT_EQ("t", subject.States());
    subject.Resume();
    Child::Until([&] { return subject.States() == "RS"; });
}

TEST_F(Stop, WhatIsGoneIsToldSo)
{
    Subject subject(Program());
    EXPECT_EQ(ATTACH_STOP_GONE, subject.One(INT32_MAX));
    EXPECT_FALSE(BlockedP(SIGINT));
    kill(subject.pid(), SIGKILL);
    Child::Until([&] { return Child::State(subject.pid()) == 'Z'; });
    EXPECT_EQ(ATTACH_STOP_GONE, subject.One(subject.pid()));
    EXPECT_EQ(ATTACH_STOP_GONE, subject.All());
    EXPECT_EQ(SIGKILL, WTERMSIG(subject.Wait()));
    EXPECT_EQ(ATTACH_STOP_GONE, subject.One(subject.pid()));
}

// ---- all threads ----

TEST_F(Stop, AllStandStill)
{
    Subject subject(Program());
    for (int i = 0; i < 4; i++) subject.Tell(i % 2 ? 's' : 'n');
    for (int times = 0; times < 20; times++) {
        ASSERT_EQ(ATTACH_STOPPED, subject.All());
        EXPECT_EQ("t", subject.States());
        EXPECT_EQ(5u, subject.Threads().size());
        subject.Resume();
        EXPECT_EQ(std::string::npos, subject.States().find('t'));
    }
}

TEST_F(Stop, ThreadsThatAreBornMeanwhileToo)
{
    Subject subject(Program());
    for (int i = 0; i < 3; i++) subject.Tell('b');
    for (int times = 0; times < 500; times++) {
        ASSERT_EQ(ATTACH_STOPPED, subject.All());
        for (pid_t tid : subject.Threads()) {
            char state = Child::State(tid);
            EXPECT_TRUE(state == 't' || state == 'X' || state == 'Z' || state == 0) << state;
        }
        subject.Resume();
    }
    Child::Until([&] {
        attach_stop_resume(subject.stop);
        return attach_stop_late(subject.stop) == 0;
    });
    EXPECT_EQ("", subject.Tell('n'));
}

// ---- signals ----

TEST_F(Stop, ASignalThatComesMeanwhileIsDelivered)
{
    Subject subject(Program());
    for (int times = 1; times <= 200; times++) {
        ASSERT_EQ(ATTACH_STOPPED, subject.One(subject.pid()));
        kill(subject.pid(), SIGUSR1);
        subject.Resume();
        ASSERT_EQ(times, subject.Signals());
    }
}

TEST_F(Stop, ASignalThatIsOnItsWayIsDelivered)
{
    Subject subject(Program());
    for (int times = 1; times <= 200; times++) {
        kill(subject.pid(), SIGUSR1);
        ASSERT_EQ(ATTACH_STOPPED, subject.One(subject.pid()));
        subject.Resume();
        ASSERT_EQ(times, subject.Signals());
    }
}

TEST_F(Stop, AProcessThatIsStoppedStaysSo)
{
    Subject subject(Program());
    subject.Tell('s');
    kill(subject.pid(), SIGSTOP);
    Child::Until([&] { return subject.States() == "T"; });
    ASSERT_EQ(ATTACH_STOPPED, subject.All());
    EXPECT_EQ("t", subject.States());
    subject.Resume();
    Child::Until([&] { return subject.States() == "T"; });
    kill(subject.pid(), SIGCONT);
    Child::Until([&] { return subject.States() == "RS"; });
    subject.Turns();
}

TEST_F(Stop, AProcessThatIsStoppedMeanwhileStaysSo)
{
    Subject subject(Program());
    ASSERT_EQ(ATTACH_STOPPED, subject.All());
    kill(subject.pid(), SIGSTOP);
    subject.Resume();
    Child::Until([&] { return subject.States() == "T"; });
    kill(subject.pid(), SIGCONT);
    EXPECT_EQ(0, subject.Signals());
}

TEST_F(Stop, OursWaitUntilItGoesOn)
{
    Subject subject(Program());
    sigset_t none;
    sigemptyset(&none);
    pthread_sigmask(SIG_SETMASK, &none, nullptr);
    ASSERT_EQ(ATTACH_STOPPED, subject.One(subject.pid()));
    for (int signal : {SIGINT, SIGTERM, SIGTSTP, SIGALRM}) EXPECT_TRUE(BlockedP(signal));
    subject.Resume();
    for (int signal : {SIGINT, SIGTERM, SIGTSTP, SIGALRM}) EXPECT_FALSE(BlockedP(signal));
    subject.Resume();
    EXPECT_FALSE(BlockedP(SIGINT));
}

// ---- ends ----

TEST_F(Stop, ATargetThatIsKilledMeanwhileIsGone)
{
    Subject subject(Program());
    subject.Tell('s');
    ASSERT_EQ(ATTACH_STOPPED, subject.All());
    kill(subject.pid(), SIGKILL);
    subject.Resume();
    Child::Until([&] {
        subject.Resume();
        return attach_stop_late(subject.stop) == 0 && subject.All(kShort) == ATTACH_STOP_GONE;
    });
    EXPECT_EQ(SIGKILL, WTERMSIG(subject.Wait())); // which is the parent's to know
}

TEST_F(Stop, WhereTheReaderIsKilledTheTargetGoesOn)
{
    Subject subject(Program());
    subject.Tell('s');
    Child reader([&] {
        attach_stop *stop = attach_stop_new(subject.pid());
        char error[ATTACH_TARGET_ERROR_MAX];
        attach_target *target = attach_target_open_pid(subject.pid(), error);
        printf("%d\n", attach_stop_all(stop, target, kLong));
        fflush(stdout);
        for (;;) pause();
    });
    ASSERT_EQ("0", reader.Line());
    EXPECT_EQ("t", subject.States());
    reader.Kill(SIGKILL);
    Child::Until([&] { return subject.States() == "RS"; });
    unsigned long turns = subject.Turns();
    Child::Until([&] { return subject.Turns() > turns; });
}

// At any moment of any stop.
TEST_F(Stop, ReadersThatAreKilledAtRandomLeaveItRunning)
{
    Subject subject(Program());
    subject.Tell('s');
    subject.Tell('n');
    subject.Tell('b');
    for (int times = 0; times < 50; times++) {
        Child reader([&] {
            attach_stop *stop = attach_stop_new(subject.pid());
            char error[ATTACH_TARGET_ERROR_MAX];
            attach_target *target = attach_target_open_pid(subject.pid(), error);
            for (;;) {
                if (attach_stop_all(stop, target, kLong) == ATTACH_STOPPED)
                    attach_stop_resume(stop);
            }
        });
        usleep(2000 + static_cast<unsigned int>(times) * 137);
        reader.Kill(SIGKILL);
    }
    Child::Until([&] { return subject.States().find_first_of("tT") == std::string::npos; });
    kill(subject.pid(), SIGUSR1);
    Child::Until([&] { return subject.Signals() == 1; });
}

// The thread that calls exec takes the process's number, stopped or about to be.
TEST_F(Stop, ExecByAnyThreadLeavesNothingStopped)
{
    Subject subject(Program());
    for (int times = 0; times < 40; times++) {
        subject.Tell(times % 4 ? 'e' : 'x');
        for (int stops = 0; stops < 1 + times % 7; stops++) {
            subject.All(kLong);
            subject.Resume();
        }
        Child::Until([&] { subject.Resume(); return attach_stop_late(subject.stop) == 0; });
        subject.Ready();
    }
    EXPECT_EQ(0, subject.Signals());
    EXPECT_EQ(std::string::npos, subject.States().find('t'));
}

TEST_F(Stop, ExecByTheThreadThatIsStoppedLeavesNothingStopped)
{
    Subject subject(Program());
    for (int times = 0; times < 100; times++) {
        subject.Tell('e');
        std::vector<pid_t> tids = subject.Threads();
        for (int tries = 0; tids.size() < 2 && tries < times; tries++) tids = subject.Threads();
        subject.One(tids.back());
        subject.Resume();
        Child::Until([&] { subject.Resume(); return attach_stop_late(subject.stop) == 0; });
        subject.Ready();
    }
    EXPECT_EQ(0, subject.Signals());
}

// It ends at any moment of a stop, and is the reader's child.
TEST(StopOfAChild, ItsEndIsToldWheneverItComes)
{
    for (int times = 0; times < 300; times++) {
        pid_t pid = fork();
        if (pid == 0) {
            usleep(static_cast<useconds_t>(times) * 3);
            _exit(times % 100 + 1);
        }
        attach_stop *stop = attach_stop_new(pid);
        int status = 0;
        do {
            attach_stop_thread(stop, pid, kLong);
            attach_stop_resume(stop);
        } while (waitpid(pid, &status, WNOHANG) != pid && !attach_stop_child_end(pid, &status));
        ASSERT_TRUE(WIFEXITED(status));
        ASSERT_EQ(times % 100 + 1, WEXITSTATUS(status)) << times;
        attach_stop_free(stop);
    }
}

// A reader that stops all, again and again, and is not the parent, as in all other tests.
void
StopAgainAndAgain(pid_t pid)
{
    char error[ATTACH_TARGET_ERROR_MAX];
    attach_stop *stop = attach_stop_new(pid);
    attach_target *target = attach_target_open_pid(pid, error);
    puts("ready");
    fflush(stdout);
    for (;;) {
        attach_stop_all(stop, target, kLong);
        attach_stop_resume(stop);
        usleep(300); // without it, a clone that is interrupted begins anew for ever
    }
}

TEST_F(Stop, ExecWhileAStrangerReadsLeavesNothingStopped)
{
    Subject subject(Program());
    Child reader([&] { StopAgainAndAgain(subject.pid()); });
    reader.Line();
    for (int times = 1; times <= 40; times++) {
        subject.Tell(times % 4 ? 'e' : 'x');
        subject.Ready();
        subject.Tell('n');
        kill(subject.pid(), SIGUSR1);
        Child::Until([&] { return subject.Signals() == 1; });
    }
}

TEST_F(Stop, TheEndIsTheParentsToKnow)
{
    for (int times = 0; times < 20; times++) {
        Subject subject(Program());
        subject.Tell('s');
        Child reader([&] { StopAgainAndAgain(subject.pid()); });
        reader.Line();
        EXPECT_EQ(SIGKILL, WTERMSIG(subject.Kill()));
    }
}

// ---- what cannot be stopped ----

TEST_F(Stop, WhatAnotherTracerHasIsToldSo)
{
    Subject subject(Program());
    Child other([&] {
        if (ptrace(PTRACE_SEIZE, subject.pid(), nullptr, nullptr) != 0) _exit(1);
        puts("ready");
        fflush(stdout);
        for (;;) pause();
    });
    ASSERT_EQ("ready", other.Line());
    EXPECT_EQ(ATTACH_STOP_TRACED, subject.One(subject.pid()));
    EXPECT_EQ(ATTACH_STOP_TRACED, subject.All());
    EXPECT_EQ(other.pid(), attach_stop_tracer(subject.stop, subject.pid()));
    EXPECT_FALSE(BlockedP(SIGINT));
    other.Kill();
    EXPECT_EQ(0, attach_stop_tracer(subject.stop, subject.pid()));
    EXPECT_EQ(ATTACH_STOPPED, subject.One(subject.pid()));
}

TEST_F(Stop, WhereOneIsTracedNoneIsStopped)
{
    Subject subject(Program());
    subject.Tell('n');
    Child other([&] {
        if (ptrace(PTRACE_SEIZE, subject.Threads()[1], nullptr, nullptr) != 0) _exit(1);
        puts("ready");
        fflush(stdout);
        for (;;) pause();
    });
    ASSERT_EQ("ready", other.Line());
    EXPECT_EQ(ATTACH_STOP_TRACED, subject.All());
    Child::Until([&] { subject.Resume(); return attach_stop_late(subject.stop) == 0; });
    Child::Until([&] { return subject.States() == "S"; });
}

TEST_F(Stop, WhatIsNotPermittedIsToldSo)
{
    if (geteuid() != 0) GTEST_SKIP() << "needs root, to become somebody else";
    Subject subject(Program());
    Child reader([&] {
        if (setresuid(65534, 65534, 65534) != 0) _exit(1);
        attach_stop *stop = attach_stop_new(subject.pid());
        printf("%d\n", attach_stop_thread(stop, subject.pid(), kLong));
        fflush(stdout);
    });
    EXPECT_EQ(std::to_string(ATTACH_STOP_REFUSED), reader.Line());
}

TEST_F(Stop, OneThatWaitsInTheKernelIsLateAndLetGoLater)
{
    Subject subject(Program());
    subject.Tell('v');
    pid_t waiter = subject.Threads()[1];
    Child::Until([&] { return Child::State(waiter) == 'D'; });
    ASSERT_EQ(ATTACH_STOP_LATE, subject.One(waiter, kShort));
    EXPECT_EQ(1u, attach_stop_late(subject.stop));
    EXPECT_FALSE(BlockedP(SIGINT));
    EXPECT_EQ(ATTACH_STOP_LATE, subject.All(kShort));
    EXPECT_NE('t', Child::State(subject.pid()));
    pid_t inner = 0;
    std::ifstream("/proc/" + std::to_string(subject.pid()) + "/task/" + std::to_string(waiter) +
                  "/children") >>
        inner;
    if (inner == 0) GTEST_SKIP() << "the kernel does not list children";
    kill(inner, SIGKILL);
    Child::Until([&] { subject.Resume(); return attach_stop_late(subject.stop) == 0; });
    Child::Until([&] { return subject.States() == "S"; });
}

} // namespace
