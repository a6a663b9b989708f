// cpu_test.cc - the kernel's accounts of threads: of a child that computes when it is told to.

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern "C" {
#include "attach/cpu.h"
}

namespace {

constexpr int64_t kMs = 1000000;

class Cpu : public ::testing::Test {
  protected:
    int orders_[2], answers_[2];
    pid_t child_ = -1;
    attach_target *target_ = nullptr;
    heapprof_mem mem_;
    attach_cpus cpus_ = {};
    attach_alarms alarms_ = {};

    void
    SetUp() override
    {
        ASSERT_EQ(0, pipe(orders_));
        ASSERT_EQ(0, pipe(answers_));
        child_ = fork();
        if (child_ == 0) Obey();
        char error[ATTACH_TARGET_ERROR_MAX];
        target_ = attach_target_open_pid(child_, error);
        if (!target_) GTEST_SKIP() << error;
        rb_heapprof_mem_init(&mem_, SIZE_MAX);
        attach_cpus_init(&cpus_, target_, &mem_);
        Sleeps();
    }

    void
    TearDown() override
    {
        if (target_) attach_cpus_free(&cpus_);
        if (cpus_.alarms) attach_alarms_close(&alarms_);
        attach_target_close(target_);
        kill(child_, SIGKILL);
        waitpid(child_, nullptr, 0);
        for (int fd : {orders_[0], orders_[1], answers_[0], answers_[1]}) close(fd);
    }

    [[noreturn]] void
    Obey()
    {
        char order;
        while (read(orders_[0], &order, 1) == 1) {
            timespec ran;
            do clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ran);
            while (ran.tv_sec * 1000 + ran.tv_nsec / kMs < 20 * (order - '0'));
            if (write(answers_[1], &order, 1) != 1) break;
        }
        _exit(0);
    }

    // Until the child waits for an order.
    void
    Sleeps() const
    {
        char path[64], text[256], *state;
        snprintf(path, sizeof(path), "/proc/%d/stat", static_cast<int>(child_));
        do {
            int fd = open(path, O_RDONLY);
            ssize_t got = read(fd, text, sizeof(text) - 1);
            close(fd);
            text[got > 0 ? got : 0] = 0;
            state = strrchr(text, ')');
        } while (state && state[2] != 'S');
    }

    // The child has an alarm each 5 ms, or so. Returns its account.
    attach_cpu *
    WithAlarm()
    {
        attach_alarms_open(&alarms_, 5 * kMs);
        cpus_.alarms = &alarms_;
        attach_cpus_begin(&cpus_, true, false);
        Compute('1');
        attach_cpus_begin(&cpus_, true, false);
        return attach_cpus_read(&cpus_, child_);
    }

    // The child has used so many times 20 ms, since it began.
    void
    Compute(char times)
    {
        ASSERT_EQ(1, write(orders_[1], &times, 1));
        ASSERT_EQ(1, read(answers_[0], &times, 1));
        Sleeps();
    }
};

TEST_F(Cpu, WhatRanBeforeTheFirstLookDoesNotCount) {
    Compute('1');
    attach_cpus_begin(&cpus_, true, false);
    attach_cpu *cpu = attach_cpus_find(&cpus_, child_);
    ASSERT_TRUE(cpu);
    EXPECT_LE(20u * kMs, cpu->ran_ns);
    EXPECT_EQ(0u, cpu->ran_new_ns);
}

TEST_F(Cpu, WhatRanSinceIsWhatTheClockOfTheProcessSays) {
    for (bool many : {false, true}) {
        attach_cpus_begin(&cpus_, true, many);
        uint64_t before = cpus_.process_ns;
        attach_cpus_read(&cpus_, child_)->ran_new_ns = 0;
        Compute(many ? '3' : '2');
        attach_cpus_begin(&cpus_, true, many);
        EXPECT_TRUE(attach_cpus_rest_ran_p(&cpus_)) << many;
        EXPECT_EQ(cpus_.process_ns - before, attach_cpus_read(&cpus_, child_)->ran_new_ns) << many;
        EXPECT_FALSE(attach_cpus_rest_ran_p(&cpus_)) << many;
        EXPECT_EQ(many, cpus_.timed);
    }
}

TEST_F(Cpu, WithoutAnAccountFileTicksAreCounted) {
    attach_cpus_begin(&cpus_, false, false);
    cpus_.no_schedstat = true;
    attach_cpus_read(&cpus_, child_);
    Compute('3');
    attach_cpus_begin(&cpus_, false, false);
    attach_cpu *cpu = attach_cpus_read(&cpus_, child_);
    EXPECT_NEAR(60.0 * kMs, static_cast<double>(cpu->ran_ns), 20.0 * kMs); // a tick is 10 ms
    EXPECT_EQ('S', attach_cpus_state(&cpus_, cpu));
}

TEST_F(Cpu, AThreadThatHasEndedIsTakenOut) {
    attach_cpus_begin(&cpus_, true, false);
    ASSERT_TRUE(attach_cpus_find(&cpus_, child_));
    uint64_t ran = attach_cpus_find(&cpus_, child_)->ran_ns;
    kill(child_, SIGKILL);
    waitpid(child_, nullptr, 0);
    attach_cpus_begin(&cpus_, true, false);
    EXPECT_FALSE(attach_cpus_read(&cpus_, child_));
    EXPECT_FALSE(attach_cpus_find(&cpus_, child_));
    EXPECT_EQ(ran, cpus_.gone_ns);
    EXPECT_EQ(0u, cpus_.fds);
}

#define REQUIRE_ALARMS(cpu) \
    if ((cpu)->alarm == ATTACH_NO_ALARM) GTEST_SKIP() << "the kernel does not allow alarms"

TEST_F(Cpu, AnAlarmRingsWhenTheThreadHasRun) {
    attach_cpu *cpu = WithAlarm();
    REQUIRE_ALARMS(cpu);
    EXPECT_FALSE(attach_cpus_rang_p(&cpus_));
    EXPECT_FALSE(attach_cpus_counts_p(&cpus_, cpu, true));
    uint64_t first = cpu->ran_new_ns;
    EXPECT_LT(0u, first);
    Compute('2');
    EXPECT_TRUE(attach_alarms_sleep(&alarms_, INT64_MAX));
    EXPECT_TRUE(attach_cpus_rang_p(&cpus_));
    attach_cpus_begin(&cpus_, true, false);
    cpu = attach_cpus_read(&cpus_, child_);
    EXPECT_TRUE(attach_cpus_counts_p(&cpus_, cpu, false));
    EXPECT_EQ(first + cpu->alarm_ns, cpu->ran_new_ns);
    EXPECT_LT(0u, cpu->alarm_ns);
    attach_cpus_settle(&cpus_, cpu);
    EXPECT_EQ(0u, cpu->ran_new_ns);
    EXPECT_FALSE(attach_cpus_rang_p(&cpus_));
}

TEST_F(Cpu, WithoutAnAlarmTheThreadCountsIfItComputes) {
    attach_cpus_begin(&cpus_, true, false);
    attach_cpu *cpu = attach_cpus_find(&cpus_, child_);
    EXPECT_EQ(ATTACH_NO_ALARM, cpu->alarm);
    EXPECT_TRUE(attach_cpus_counts_p(&cpus_, cpu, true));
    EXPECT_FALSE(attach_cpus_counts_p(&cpus_, cpu, false));
    cpu->queued = true;
    EXPECT_FALSE(attach_cpus_counts_p(&cpus_, cpu, true));
}

TEST_F(Cpu, AtTheEndWhatWasRunSinceTheAlarmCountsToo) {
    attach_cpu *cpu = WithAlarm();
    REQUIRE_ALARMS(cpu);
    attach_alarms_ring(&alarms_);
    attach_cpus_begin(&cpus_, true, false);
    EXPECT_TRUE(attach_cpus_counts_p(&cpus_, attach_cpus_read(&cpus_, child_), false));
}

TEST_F(Cpu, WhatAnEndedThreadHasRunSinceItsAlarmIsUnknown) {
    attach_cpu *cpu = WithAlarm();
    uint64_t unknown = attach_cpus_unknown_ns(&cpus_), ran = cpu->ran_new_ns;
    EXPECT_LT(0u, ran);
    kill(child_, SIGKILL);
    waitpid(child_, nullptr, 0);
    attach_cpus_begin(&cpus_, true, false);
    EXPECT_FALSE(attach_cpus_read(&cpus_, child_));
    EXPECT_EQ(0u, alarms_.count);
    EXPECT_EQ(ran, cpus_.uncounted_ns);
    EXPECT_EQ(unknown + ran, attach_cpus_unknown_ns(&cpus_));
}

TEST_F(Cpu, TheEndOfAThreadDoesNotWakeTheReader) {
    attach_cpu *cpu = WithAlarm();
    REQUIRE_ALARMS(cpu);
    while (attach_alarms_sleep(&alarms_, 1)) continue; // it may have rung meanwhile
    kill(child_, SIGKILL);
    waitpid(child_, nullptr, 0);
    timespec begun, ended;
    clock_gettime(CLOCK_MONOTONIC, &begun);
    int64_t until = begun.tv_sec * 1000 * kMs + begun.tv_nsec + 20 * kMs;
    EXPECT_FALSE(attach_alarms_sleep(&alarms_, until));
    clock_gettime(CLOCK_MONOTONIC, &ended);
    EXPECT_LE(until, ended.tv_sec * 1000 * kMs + ended.tv_nsec);
}

TEST_F(Cpu, WithoutAlarmsTheReaderSleeps) {
    attach_alarms_open(&alarms_, 0);
    cpus_.alarms = &alarms_;
    EXPECT_EQ(ATTACH_NO_ALARM, attach_alarms_set(&alarms_, child_));
    EXPECT_FALSE(attach_alarms_sleep(&alarms_, 1));
}

TEST_F(Cpu, AThreadThatSleepsIsAskedOnce) {
    attach_cpus_begin(&cpus_, true, false);
    attach_cpu *cpu = attach_cpus_find(&cpus_, child_);
    EXPECT_EQ('S', attach_cpus_state(&cpus_, cpu));
    EXPECT_EQ(cpu->turns, cpu->state_turns);
    cpu->state_turns--;
    cpu->state = 'R';
    EXPECT_EQ('S', attach_cpus_state(&cpus_, cpu));
}

TEST_F(Cpu, AThreadHasAnAge) {
    int64_t age = attach_cpu_age_ns(target_, child_);
    EXPECT_LE(0, age);
    EXPECT_EQ(-1, attach_cpu_age_ns(target_, 0));
}

} // namespace
