// record_test.cc - the time for which looks stand, by a clock that the test holds; and whose it is.

#include "test/unit/attach/memory.h"
#include <gtest/gtest.h>

extern "C" {
#include "attach/pace.h"
#include "attach/record.h"
}

namespace {

constexpr int64_t kMs = 1000000, kPeriod = 10 * kMs;
constexpr uint64_t kString = 0x10000; // Strings of 64 bytes: flags, length, text

struct Thread {
    uint64_t address, serial;
    const char *function = "work"; // of its only frame; "": it has none; nullptr: it is not wanted
    attach_thread_state state = ATTACH_THREAD_RUNNING;
    int tid = 0;
    uint64_t name = 8;
    uint64_t ran_ns = 0, queued_ns = 0;
    std::map<std::string, std::string> labels = {};
    uint64_t ractor_name = 8;
};

class Record : public ::testing::Test {
  protected:
    Memory memory_;
    attach_vm vm_ = {};
    attach_looks looks_ = {};
    attach_record record_ = {};
    attach_record_options options_ = {};
    std::vector<attach_look_stack> stacks_;
    std::vector<attach_look_frame> frames_;
    heapprof_model *model_ = nullptr;
    heapprof_mem label_mem_;

    void
    SetUp() override
    {
        memory_.Put(kString, std::string(4096, '\0'));
        vm_.target = memory_.target();
        vm_.basic_flags = {0, 8, 64, HEAPPROF_DESCRIPTOR_UNSIGNED};
        vm_.string_length = {8, 8, 64, HEAPPROF_DESCRIPTOR_UNSIGNED};
        vm_.string_embedded.offset = 16;
        vm_.type_mask = 31;
        vm_.t_string = 5;
        looks_.number = 1;
        looks_.target = memory_.target();
        looks_.vm = &vm_;
        options_.period_ns = kPeriod;
        options_.threads = true;
        attach_record_init(&record_, &options_, 0);
        rb_heapprof_mem_init(&label_mem_, SIZE_MAX);
        rb_heapprof_label_sets_init(&looks_.label_sets.ours, &label_mem_);
    }

    void
    TearDown() override
    {
        rb_heapprof_model_free(model_);
        attach_record_free(&record_);
        rb_heapprof_label_sets_free(&looks_.label_sets.ours);
    }

    void
    Begin(void (*change)(attach_record_options *))
    {
        attach_record_free(&record_);
        change(&options_);
        attach_record_init(&record_, &options_, 0);
    }

    uint64_t
    Name(int number, const std::string &text)
    {
        uint64_t address = kString + 64 * number, words[] = {5, text.size()};
        std::string &bytes = memory_.pieces[kString].bytes;
        memcpy(&bytes[address - kString], words, sizeof(words));
        memcpy(&bytes[address - kString + 16], text.data(), text.size());
        return address;
    }

    uint32_t
    Set(const std::map<std::string, std::string> &labels)
    {
        uint32_t set = 0;
        for (const auto &[key, value] : labels) {
            heapprof_label label = {key.data(), value.data(), key.size(), value.size()};
            set = rb_heapprof_label_sets_with(&looks_.label_sets.ours, set, &label);
        }
        return set;
    }

    void
    Look(int64_t now_ns, const std::vector<Thread> &threads)
    {
        stacks_.clear();
        frames_.clear();
        for (const Thread &thread : threads) {
            attach_look_stack stack = {};
            stack.thread.address = thread.address;
            stack.thread.serial = thread.serial;
            stack.thread.state = thread.state;
            stack.thread.tid = thread.tid;
            stack.thread.name = thread.name;
            stack.thread.ractor_name = thread.ractor_name;
            stack.thread.main = thread.serial == 1;
            stack.wanted = thread.function;
            stack.waits = thread.state == ATTACH_THREAD_SLEEPING ? ATTACH_WAITS_SLEEP
                                                                 : ATTACH_WAITS_NOT;
            stack.ran_ns = thread.ran_ns;
            stack.queued_ns = thread.queued_ns;
            stack.label_set = Set(thread.labels);
            stack.first = frames_.size();
            if (thread.function && *thread.function) {
                attach_look_frame frame = {};
                frame.function = attach_names_mark(&record_.names, thread.function);
                frames_.push_back(frame);
                stack.count = 1;
            }
            stacks_.push_back(stack);
        }
        looks_.stacks = stacks_.data();
        looks_.stack_count = stacks_.size();
        looks_.frames = frames_.data();
        ASSERT_TRUE(attach_record_add(&record_, &looks_, now_ns));
    }

    std::string
    Text(uint32_t string) const
    {
        return rb_heapprof_model_string(model_, string, nullptr);
    }

    using Rows = std::map<std::string, int64_t>;

    // "thread stack" -> a value of it; by another label, or with the time at which it began.
    Rows
    Values(int type, const char *key = "thread", bool start = false)
    {
        Rows rows;
        heapprof_samples samples;
        rb_heapprof_model_free(model_);
        model_ = attach_record_model(&record_, 0);
        EXPECT_TRUE(model_ && rb_heapprof_samples_begin(&samples, model_));
        while (rb_heapprof_samples_next(&samples)) {
            std::string row;
            for (uint32_t i = 0; i < samples.label_count; i++) {
                const auto &label = samples.labels[i];
                if (start && Text(label.key) == "start") row += std::to_string(label.num / kMs);
                if (Text(label.key) != key) continue;
                row += label.str ? Text(label.str) : std::to_string(label.num);
            }
            for (uint32_t i = samples.location_count; i-- > 0;) {
                uint32_t line = model_->locations[samples.locations[i]].first_line;
                row += " " + Text(model_->functions[model_->lines[line].function].name);
            }
            rows[row] += samples.values[type];
        }
        rb_heapprof_samples_end(&samples);
        return rows;
    }

    bool
    Says(const std::string &comment) const
    {
        for (uint32_t i = 0; i < model_->comment_count; i++) {
            if (Text(model_->comments[i]).find(comment) != std::string::npos) return true;
        }
        return false;
    }
};

TEST_F(Record, ALookStandsForTheTimeSinceTheLookBefore) {
    Look(10 * kMs, {{0x100, 1}});
    Look(20 * kMs, {{0x100, 1}});
    Look(520 * kMs, {{0x100, 1}}); // late
    Look(530 * kMs, {{0x100, 1, "rest"}});
    EXPECT_EQ((Rows{{"main [#1] work", 520 * kMs}, {"main [#1] rest", 10 * kMs}}), Values(1));
    EXPECT_EQ((Rows{{"main [#1] work", 3}, {"main [#1] rest", 1}}), Values(0));
    EXPECT_TRUE(Says("longest time without a look: 0.500000 s"));
}

TEST_F(Record, ASampleHasTheLabelsThatItsThreadHadThen) {
    Begin([](attach_record_options *options) { options->threads = false; });
    Thread one = {0x100, 1}, two = {0x200, 2}, three = {0x300, 3};
    one.labels = three.labels = {{"endpoint", "/cart"}, {"tenant", "b2b"}};
    Look(10 * kMs, {one, two, three});
    one.labels["tenant"] = "b2c";
    Look(20 * kMs, {one, two, three});
    EXPECT_EQ((Rows{{"/cart work", 40 * kMs}, {" work", 20 * kMs}}), Values(1, "endpoint"));
    EXPECT_EQ((Rows{{"b2b work", 30 * kMs}, {"b2c work", 10 * kMs}, {" work", 20 * kMs}}),
              Values(1, "tenant"));
    Look(5020 * kMs, {one}); // what it was doing then is not known
    EXPECT_EQ(5020 * kMs, Values(1, "endpoint")[" (not looked at)"] + 20 * kMs);
}

// Keys that the profile has itself are its own.
TEST_F(Record, ALabelOfAProgramIsNoneOfOurs) {
    Thread thread = {0x100, 1};
    thread.labels = {{"pid", "1"}, {"thread", "x"}, {"waits", "x"}, {"class", "x"}, {"job", "x"}};
    Look(10 * kMs, {thread});
    EXPECT_EQ((Rows{{"main [#1] work", 10 * kMs}}), Values(1));
    EXPECT_EQ((Rows{{"x work", 10 * kMs}}), Values(1, "job"));
    for (const char *key : {"pid", "waits", "class"})
        EXPECT_EQ((Rows{{" work", 10 * kMs}}), Values(1, key));
}

TEST_F(Record, AThreadWithoutAFrameHasAName) {
    Look(10 * kMs, {{0x100, 1, ""}});
    EXPECT_EQ((Rows{{"main [#1] (no Ruby method)", 10 * kMs}}), Values(1));
}

// A reader that was stopped does not know what went on.
TEST_F(Record, NobodyKnowsWhatWasDoneInALongGap) {
    Look(10 * kMs, {{0x100, 1}});
    Look(5010 * kMs, {{0x100, 1}});
    Look(5020 * kMs, {{0x100, 1}});
    EXPECT_EQ((Rows{{"main [#1] work", 20 * kMs}, {"main [#1] (not looked at)", 5000 * kMs}}),
              Values(1));
}

TEST_F(Record, AThreadAtTheAddressOfAnotherIsAThreadOfItsOwn) {
    for (uint64_t serial = 1; serial <= 190; serial++) {
        int64_t now = static_cast<int64_t>(serial) * 20 * kMs;
        Look(now, {{0x100, serial, "work", ATTACH_THREAD_RUNNING, static_cast<int>(serial)}});
        Look(now + 10 * kMs,
             {{0x100, serial, "work", ATTACH_THREAD_RUNNING, static_cast<int>(serial)}});
    }
    Rows rows = Values(1);
    EXPECT_EQ(190u, rows.size());
    EXPECT_EQ(20 * kMs, rows["thread [2] work"]); // half a gap before and behind, one between
    EXPECT_EQ(190u, record_.roster.who_count);
    EXPECT_EQ(1u, record_.roster.live);
}

TEST_F(Record, ANameThatComesLaterIsTheNameOfAllItsTime) {
    Look(10 * kMs, {{0x100, 2, "work", ATTACH_THREAD_RUNNING, 7}});
    Look(20 * kMs, {{0x100, 2, "work", ATTACH_THREAD_RUNNING, 7, Name(1, "worker")}});
    EXPECT_EQ((Rows{{"worker [7] work", 20 * kMs}}), Values(1));
}

// The String of the same name may be elsewhere after a compaction.
TEST_F(Record, ANewNameBeginsARowOfItsOwn) {
    Look(10 * kMs, {{0x100, 2, "work", ATTACH_THREAD_RUNNING, 7, Name(1, "job 1")}});
    Look(20 * kMs, {{0x100, 2, "work", ATTACH_THREAD_RUNNING, 7, Name(2, "job 1")}});
    Look(30 * kMs, {{0x100, 2, "work", ATTACH_THREAD_RUNNING, 7, Name(3, "job 2")}});
    Look(40 * kMs, {{0x100, 2, "work", ATTACH_THREAD_RUNNING, 7, 8}});
    EXPECT_EQ((Rows{{"job 1 [7] work", 20 * kMs}, {"job 2 [7] work", 20 * kMs}}), Values(1));
}

TEST_F(Record, AMillionNamesAreNotAMillionLabels) {
    for (int i = 1; i <= ATTACH_ROSTER_WHOS_MOST + 500; i++)
        Look(i * kPeriod, {{0x100, 2, "work", ATTACH_THREAD_RUNNING, 7,
                            Name(1 + i % 2, "job " + std::to_string(i))}});
    Rows rows = Values(0);
    EXPECT_EQ(ATTACH_ROSTER_WHOS_MOST + 1u, rows.size());
    EXPECT_EQ(500, rows["(other threads) work"]);
}

TEST_F(Record, AThreadOfARactorHasTheNameOfThat) {
    Thread thread{0x100, 2, "work", ATTACH_THREAD_RUNNING, 7};
    thread.ractor_name = Name(1, "mailer");
    Look(10 * kMs, {thread});
    EXPECT_EQ((Rows{{"mailer [7] work", 10 * kMs}}), Values(1));
    thread.name = Name(2, "sends");
    Look(20 * kMs, {thread});
    EXPECT_EQ((Rows{{"sends [7] work", 20 * kMs}}), Values(1));
}

// A format without labels shows the thread as a frame.
TEST_F(Record, AFrameHasTheNameOfAllItsTime) {
    Begin([](attach_record_options *options) {
        options->threads = false;
        options->thread_frames = true;
    });
    Look(10 * kMs, {{0x100, 2, "work", ATTACH_THREAD_RUNNING, 7}});
    Look(20 * kMs, {{0x100, 2, "work", ATTACH_THREAD_RUNNING, 7, Name(1, "worker")}});
    EXPECT_EQ((Rows{{" worker [7] work", 20 * kMs}}), Values(1));
}

// It has no native thread yet when it is seen first.
TEST_F(Record, ANumberThatComesLaterIsTaken) {
    Look(10 * kMs, {{0x100, 2}});
    Look(20 * kMs, {{0x100, 2, "work", ATTACH_THREAD_RUNNING, 7}});
    EXPECT_EQ((Rows{{"thread [7] work", 20 * kMs}}), Values(1));
}

TEST_F(Record, AThreadThatEndsHasHalfOfTheGap) {
    Look(10 * kMs, {{0x100, 1}, {0x200, 2}});
    Look(20 * kMs, {{0x100, 1}});
    Look(520 * kMs, {{0x100, 1}, {0x300, 3}});
    Look(1020 * kMs, {{0x100, 1}});
    EXPECT_EQ((Rows{{"main [#1] work", 1020 * kMs}, {"thread [#2] work", 15 * kMs},
                    {"thread [#3] work", 255 * kMs}}),
              Values(1));
}

TEST_F(Record, AnIdleThreadThatEndsHasNothing) {
    Look(10 * kMs, {{0x100, 1}, {0x200, 2}});
    Look(20 * kMs, {{0x100, 1}, {0x200, 2, nullptr, ATTACH_THREAD_SLEEPING}});
    Look(30 * kMs, {{0x100, 1}});
    EXPECT_EQ((Rows{{"main [#1] work", 30 * kMs}, {"thread [#2] work", 10 * kMs}}), Values(1));
}

TEST_F(Record, AMillionThreadsAreNotAMillionLabels) {
    for (uint64_t serial = 1; serial <= ATTACH_ROSTER_WHOS_MOST + 500; serial++)
        Look(static_cast<int64_t>(serial) * kPeriod, {{0x100, serial}});
    Rows rows = Values(0);
    EXPECT_EQ(ATTACH_ROSTER_WHOS_MOST + 1u, rows.size());
    EXPECT_EQ(500, rows["(other threads) work"]);
    EXPECT_TRUE(Says("threads: 500 more than 10000"));
    EXPECT_EQ(1u, record_.roster.live);
    EXPECT_EQ(2u, record_.roster.thread_count);
}

TEST_F(Record, ProcessTimeThatNoThreadAccountsForIsCounted) {
    Begin([](attach_record_options *options) { options->mode = ATTACH_RECORD_CPU; });
    looks_.cpus.process_ns = 1000 * kMs; // what it ran before
    Look(10 * kMs, {{0x100, 1, nullptr}});
    looks_.cpus.process_ns = 1009 * kMs;
    Look(20 * kMs, {{0x100, 1, "work", ATTACH_THREAD_RUNNING, 0, 8, 6 * kMs}});
    EXPECT_EQ((Rows{{"main [#1] work", 6 * kMs},
                    {"(other threads) (ran when nobody looked)", 3 * kMs}}),
              Values(1));
}

// As a rule it is one thread that ended, and it went on with what it did.
TEST_F(Record, WhatAThreadRanBeforeItEndedIsItsOwn) {
    Begin([](attach_record_options *options) { options->mode = ATTACH_RECORD_CPU; });
    Look(10 * kMs, {{0x100, 1, nullptr}});
    looks_.cpus.process_ns = looks_.cpus.sum_ns = 6 * kMs;
    Look(20 * kMs, {{0x100, 1, nullptr},
                    {0x200, 2, "work", ATTACH_THREAD_RUNNING, 0, 8, 6 * kMs}});
    looks_.cpus = {};
    looks_.cpus.process_ns = 10 * kMs;
    looks_.cpus.gone_ns = 6 * kMs;
    Look(30 * kMs, {{0x100, 1, nullptr}});
    EXPECT_EQ((Rows{{"thread [#2] work", 10 * kMs}}), Values(1));
}

TEST_F(Record, WhatIsWaitedForIsAFrameAndALabel) {
    Begin([](attach_record_options *options) { options->mode = ATTACH_RECORD_OFF; });
    Look(10 * kMs, {{0x100, 1, "rest", ATTACH_THREAD_SLEEPING}});
    Look(20 * kMs, {{0x100, 1, "rest", ATTACH_THREAD_SLEEPING, 0, 8, 0, 3 * kMs}});
    Look(30 * kMs, {{0x100, 1, "work", ATTACH_THREAD_RUNNING, 0, 8, 0, 4 * kMs}});
    EXPECT_EQ((Rows{{"sleep rest (sleeps)", 17 * kMs},
                    {"run queue rest (waits for a processor)", 3 * kMs},
                    {"run queue work (waits for a processor)", 4 * kMs}}),
              Values(1, "waits"));
}

TEST_F(Record, InOrderAllThreadsHaveOneAxis) {
    Begin([](attach_record_options *options) { options->in_order = true; });
    Look(10 * kMs, {{0x100, 1}});
    Look(20 * kMs, {{0x100, 1, nullptr}});
    Look(520 * kMs, {{0x100, 1, nullptr}, {0x200, 2}}); // late
    Look(530 * kMs, {{0x100, 1, nullptr}, {0x200, 2}});
    EXPECT_EQ((Rows{{"main [#1]0 work", 10 * kMs}, {"main [#1]10 (idle)", 520 * kMs},
                    {"thread [#2]270 work", 260 * kMs}}),
              Values(1, "thread", true));
}

TEST_F(Record, InOrderAThreadThatDoesNotWaitIsNotIdle) {
    Begin([](attach_record_options *options) {
        options->mode = ATTACH_RECORD_OFF;
        options->in_order = true;
    });
    Look(10 * kMs, {{0x100, 1, "rest", ATTACH_THREAD_SLEEPING}});
    Look(20 * kMs, {{0x100, 1, nullptr}});
    Look(30 * kMs, {{0x100, 1, "work", ATTACH_THREAD_RUNNING, 0, 8, 0, 4 * kMs}});
    Look(40 * kMs, {{0x100, 1, "rest", ATTACH_THREAD_SLEEPING, 0, 8, 0, 3 * kMs}});
    EXPECT_EQ((Rows{{"main [#1]0 rest (sleeps)", 10 * kMs},
                    {"main [#1]10 (does not wait)", 16 * kMs},
                    {"main [#1]26 work (waits for a processor)", 4 * kMs},
                    {"main [#1]30 rest (sleeps)", 7 * kMs},
                    {"main [#1]37 rest (waits for a processor)", 3 * kMs}}),
              Values(1, "thread", true));
}

// Idle threads are left out of a look at which nothing has changed.
TEST_F(Record, InOrderAnIdleThreadGoesOnThroughQuietLooks) {
    Begin([](attach_record_options *options) { options->in_order = true; });
    Look(10 * kMs, {{0x100, 1}, {0x200, 2, nullptr}});
    looks_.quiet = true;
    Look(20 * kMs, {{0x100, 1}});
    Look(30 * kMs, {{0x100, 1}});
    looks_.quiet = false;
    Look(40 * kMs, {{0x100, 1}, {0x200, 2}});
    EXPECT_EQ((Rows{{"main [#1]0 work", 40 * kMs}, {"thread [#2]0 (idle)", 30 * kMs},
                    {"thread [#2]30 work", 10 * kMs}}),
              Values(1, "thread", true));
}

// After exec the serials begin anew.
TEST_F(Record, AnotherProgramInTheSameProcessHasOtherThreads) {
    Look(10 * kMs, {{0x100, 2, "work", ATTACH_THREAD_RUNNING, 7}});
    attach_record_end(&record_, looks_.number, 10 * kMs);
    looks_.number = 2;
    Look(30 * kMs, {{0x100, 2, "work", ATTACH_THREAD_RUNNING, 8}});
    EXPECT_EQ((Rows{{"thread [7] work", 10 * kMs}, {"thread [8] work", 20 * kMs}}), Values(1));
}

TEST_F(Record, AProcessHasLabels) {
    Begin([](attach_record_options *options) { options->threads = false; });
    ASSERT_TRUE(attach_record_label(&record_, &looks_, ATTACH_ROSTER_PID, "4242"));
    Look(10 * kMs, {{0x100, 1}});
    EXPECT_EQ((Rows{{"4242 work", 10 * kMs}}), Values(1, "pid"));
}

TEST(Pace, LooksThatAreDueDuringALookAreLate) {
    attach_pace pace;
    attach_pace_begin(&pace, kPeriod, 0);
    EXPECT_EQ(10 * kMs, attach_pace_next(&pace, 1 * kMs, true, true));
    EXPECT_EQ(20 * kMs, attach_pace_next(&pace, 20 * kMs, true, true));
    EXPECT_EQ(60 * kMs, attach_pace_next(&pace, 51 * kMs, true, false));
    EXPECT_EQ(6u, pace.asked);
    EXPECT_EQ(2u, pace.taken);
    EXPECT_EQ(3u, pace.late);
}

// Before the target has begun.
TEST(Pace, WithoutALookNothingIsDue) {
    attach_pace pace;
    attach_pace_begin(&pace, kPeriod, 0);
    EXPECT_EQ(100 * kMs, attach_pace_next(&pace, 95 * kMs, false, false));
    EXPECT_EQ(0u, pace.asked);
    EXPECT_EQ(0u, pace.late);
}

} // namespace
