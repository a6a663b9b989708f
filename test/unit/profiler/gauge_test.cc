// gauge_test.cc - marks ring when memory crosses them upwards, and not too often.

#include <gtest/gtest.h>

#include <random>

extern "C" {
#include "profiler/gauge.h"
}

namespace {

constexpr int64_t kSecond = 1000000000, kMinute = 60 * kSecond;
constexpr uint64_t kMega = 1 << 20;

class Gauge : public testing::Test {
  protected:
    struct heapprof_gauge gauge_;
    int64_t now_ = 0, wait_ = 0;

    void Marks(uint64_t one, uint64_t two = 0, uint64_t three = 0)
    {
        const uint64_t values[HEAPPROF_MARKS] = {one, two, three};
        rb_heapprof_gauge_init(&gauge_, values);
    }

    uint64_t Look(uint64_t used, uint64_t limit, uint64_t resident = 0)
    {
        struct heapprof_level level = {resident, used, limit};
        return rb_heapprof_gauge_look(&gauge_, &level, now_, &wait_);
    }
};

TEST_F(Gauge, AMarkRingsOnceWhileMemoryStaysAbove)
{
    Marks(85);
    EXPECT_EQ(0u, Look(849, 1000));
    EXPECT_EQ(85u, Look(850, 1000));
    for (int i = 0; i < 10; i++) {
        now_ += kMinute;
        EXPECT_EQ(0u, Look(900, 1000));
    }
}

TEST_F(Gauge, MemoryHasToFallByATwentiethBeforeItRingsAgain)
{
    Marks(85);
    EXPECT_EQ(85u, Look(850, 1000));
    now_ = kMinute;
    Look(801, 1000);
    EXPECT_EQ(0u, Look(900, 1000));
    Look(800, 1000);
    EXPECT_EQ(85u, Look(850, 1000));
}

TEST_F(Gauge, AMarkRingsAtMostOnceAMinute)
{
    Marks(85);
    EXPECT_EQ(85u, Look(850, 1000));
    now_ = kSecond;
    Look(100, 1000);
    EXPECT_EQ(0u, Look(900, 1000));
    now_ = kMinute - 1;
    EXPECT_EQ(0u, Look(900, 1000));
    now_ = kMinute;
    EXPECT_EQ(85u, Look(900, 1000)) << "what it has missed rings at the end of the minute";
}

TEST_F(Gauge, OtherMarksDoNotWaitForTheMinute)
{
    Marks(70, 90);
    EXPECT_EQ(70u, Look(700, 1000));
    EXPECT_EQ(90u, Look(900, 1000));
}

TEST_F(Gauge, OfSeveralTheHighestRingsAlone)
{
    Marks(70, 900 * kMega, 90);
    EXPECT_EQ(90u, Look(950 * kMega, 1000 * kMega, 10));
    EXPECT_EQ(0u, Look(950 * kMega, 1000 * kMega, 10));
    EXPECT_EQ(900 * kMega, Look(950 * kMega, 1000 * kMega, 900 * kMega));
}

TEST_F(Gauge, ASizeIsOfTheProcessWhateverTheLimit)
{
    Marks(64 * kMega);
    EXPECT_EQ(0u, Look(1000, 1000, 64 * kMega - 1));
    EXPECT_EQ(64 * kMega, Look(0, 0, 64 * kMega));
}

TEST_F(Gauge, WithoutALimitNoShareRings)
{
    Marks(1);
    EXPECT_EQ(0u, Look(1000, 0));
    EXPECT_EQ(kSecond, wait_);
    EXPECT_EQ(1u, Look(1000, 1000)) << "a limit that comes later counts";
}

TEST_F(Gauge, TheNearerTheSoonerItLooks)
{
    Marks(100);
    Look(0, UINT64_C(1) << 40);
    EXPECT_EQ(kSecond, wait_);
    Look((UINT64_C(1) << 30) - 200 * kMega, UINT64_C(1) << 30);
    EXPECT_EQ((int64_t)(100 * kMega), wait_);
    Look((UINT64_C(1) << 30) - 1, UINT64_C(1) << 30);
    EXPECT_EQ(kSecond / 100, wait_);
    Look(UINT64_C(1) << 30, UINT64_C(1) << 30);
    EXPECT_EQ(kSecond, wait_) << "above the mark there is nothing to hurry for";
}

TEST_F(Gauge, LargeNumbersDoNotOverflow)
{
    Marks(99, UINT64_MAX);
    EXPECT_EQ(99u, Look(UINT64_MAX, UINT64_MAX, UINT64_MAX - 1));
    EXPECT_EQ(UINT64_MAX, Look(0, UINT64_MAX, UINT64_MAX));
}

TEST_F(Gauge, AChildDoesNotWaitForItsParentsMinute)
{
    Marks(85);
    EXPECT_EQ(85u, Look(850, 1000));
    Look(0, 1000);
    EXPECT_EQ(0u, Look(850, 1000));
    rb_heapprof_gauge_fork(&gauge_);
    EXPECT_EQ(85u, Look(850, 1000));
}

// Whatever memory does: rings of one mark are a minute apart, memory is above at each, and it was
// 5 % below between two.
TEST_F(Gauge, HoldsAtRandom)
{
    std::mt19937 random(7);
    for (int run = 0; run < 50; run++) {
        Marks(80);
        now_ = 0;
        int64_t last = -kMinute;
        uint64_t lowest = 0;
        for (int i = 0; i < 2000; i++) {
            uint64_t used = random() % 1001;
            now_ += random() % (20 * kSecond);
            uint64_t rang = Look(used, 1000);
            if (used < lowest) lowest = used;
            if (!rang) continue;
            EXPECT_GE(used, 800u);
            EXPECT_GE(now_ - last, kMinute);
            EXPECT_LE(lowest, 750u);
            last = now_;
            lowest = used;
        }
        EXPECT_GE(last, 0);
    }
}

} // namespace
