// sampler_test.cc - the estimator, statistically.
//
// All seeds are fixed: a test that passes goes on passing until the sampler changes. The
// limits say what a change risks: a false alarm in 10^8 for 5.7 sigma, and in 5000 for each
// of the 20 Anderson-Darling tests (both tails of 10^-4).

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "test/unit/support/table_testing.h"

extern "C" {
#include "profiler/sampler.h"
}

namespace {

constexpr double kSigmas = 5.7;

// What 5.7 sigma of a normal law leave out, of a sum of independent variables each within
// limit of its mean, Bernstein's inequality leaves out at this distance, however few they
// are: exp(-c) with c = 5.7^2 / 2. The second term matters only where hardly any object
// is missed, or hardly any sampled.
double
Allowed(double sigma, double limit)
{
    return kSigmas * sigma + kSigmas * kSigmas / 3 * limit;
}

double
Probability(uint64_t interval, size_t size)
{
    double ratio = static_cast<double>(size) / static_cast<double>(interval);
    return interval <= 1 ? 1 : -std::expm1(-ratio);
}

heapprof_sampler
Sampler(uint64_t interval, uint64_t seed)
{
    heapprof_sampler sampler;
    rb_heapprof_sampler_init(&sampler, interval, seed);
    return sampler;
}

// ---- gaps ----

// Where the Anderson-Darling statistic of n uniforms lies in its law: the limiting law and
// its correction for finite n, as approximated by Marsaglia and Marsaglia (2004), to 10^-5.
double
AndersonDarlingLaw(double a)
{
    if (a < 2) {
        double tail = 2.00012 +
            (0.247105 - (0.0649821 - (0.0347962 - (0.011672 - 0.00168691 * a) * a) * a) * a) * a;
        return std::exp(-1.2337141 / a) / std::sqrt(a) * tail;
    }
    return std::exp(-std::exp(
        1.0776 - (2.30695 - (0.43424 - (0.082433 - (0.008056 - 0.0003146 * a) * a) * a) * a) * a));
}

double
AndersonDarlingCorrection(double n, double x)
{
    double c = 0.01265 + 0.1757 / n;
    if (x > 0.8) {
        double tail = 1705.091 - (1950.646 - (1116.360 - 255.7844 * x) * x) * x;
        return (-130.2137 + (745.2337 - tail * x) * x) / n;
    }
    if (x < c) {
        double t = x / c;
        double head = std::sqrt(t) * (1 - t) * (49 * t - 102);
        return head * (0.0037 / (n * n) + 0.00078 / n + 0.00006) / n;
    }
    double t = (x - c) / (0.8 - c);
    double middle = 14.6538 - (14.458 - (8.259 - 1.91864 * t) * t) * t;
    return (-0.00022633 + (6.54034 - middle * t) * t) * (0.04213 + 0.01365 / n) / n;
}

// P(a statistic this small or smaller) of gaps against the exponential with this mean.
double
AndersonDarling(std::vector<double> gaps, double mean)
{
    std::sort(gaps.begin(), gaps.end());
    size_t n = gaps.size();
    double sum = 0;
    for (size_t i = 0; i < n; i++) {
        double below = std::log(-std::expm1(-gaps[i] / mean));
        double above = -gaps[n - 1 - i] / mean;
        sum += static_cast<double>(2 * i + 1) * (below + above);
    }
    double x = AndersonDarlingLaw(-static_cast<double>(n) - sum / static_cast<double>(n));
    return x + AndersonDarlingCorrection(static_cast<double>(n), x);
}

std::vector<double>
Gaps(heapprof_sampler *sampler, size_t n)
{
    std::vector<double> gaps(n);
    for (double &gap : gaps) gap = rb_heapprof_sampler_gap_bytes(sampler);
    return gaps;
}

TEST(Sampler, GapsAreExponential)
{
    for (uint64_t interval : {2, 4096, 524288, 1 << 30}) {
        for (size_t n : {10, 100, 1000, 10000}) {
            heapprof_sampler sampler = Sampler(interval, 11 * interval + n);
            double p = AndersonDarling(Gaps(&sampler, n), static_cast<double>(interval));
            EXPECT_GT(p, 1e-4) << interval << " " << n;
            EXPECT_LT(p, 1 - 1e-4) << interval << " " << n;
        }
    }
}

// The streams of ractors and heaps are seeded alike; put together they must look like one.
TEST(Sampler, FirstGapsOfNeighbouringSeedsAreExponential)
{
    for (size_t n : {10, 100, 1000, 10000}) {
        std::vector<double> gaps;
        for (uint64_t seed = 0; seed < n; seed++) {
            heapprof_sampler sampler = Sampler(4096, seed);
            gaps.push_back(rb_heapprof_sampler_gap_bytes(&sampler));
        }
        double p = AndersonDarling(gaps, 4096);
        EXPECT_GT(p, 1e-4) << n;
        EXPECT_LT(p, 1 - 1e-4) << n;
    }
}

// The test itself can tell: a mean 5 % off, and uniform gaps, are seen at n = 10000.
TEST(Sampler, AndersonDarlingSeesGapsThatAreNotExponential)
{
    heapprof_sampler sampler = Sampler(4096, 3);
    std::vector<double> gaps = Gaps(&sampler, 10000);
    EXPECT_GT(AndersonDarling(gaps, 4096 * 1.05), 1 - 1e-4);
    for (double &gap : gaps) gap = -std::expm1(-gap / 4096) * 8192;
    EXPECT_GT(AndersonDarling(gaps, 4096), 1 - 1e-4);
}

TEST(Sampler, ConsecutiveGapsAreUncorrelated)
{
    const size_t n = 1000000;
    heapprof_sampler sampler = Sampler(4096, 4);
    std::vector<double> gaps = Gaps(&sampler, n + 1);
    double sum = 0;
    for (size_t i = 0; i < n; i++) sum += (gaps[i] / 4096 - 1) * (gaps[i + 1] / 4096 - 1);
    EXPECT_LT(std::fabs(sum), kSigmas * std::sqrt(static_cast<double>(n)));
}

TEST(Sampler, EqualSeedsGiveEqualGapsAndOthersDoNot)
{
    heapprof_sampler a = Sampler(4096, 0), b = Sampler(4096, 0), c = Sampler(4096, 1);
    std::vector<double> gaps = Gaps(&a, 100);
    EXPECT_EQ(gaps, Gaps(&b, 100));
    EXPECT_NE(gaps, Gaps(&c, 100));
}

TEST(Sampler, GapsAreFiniteAndNotNegative)
{
    heapprof_sampler sampler = Sampler(UINT64_C(1) << 40, 5);
    for (int i = 0; i < 1000000; i++) {
        double gap = rb_heapprof_sampler_gap_bytes(&sampler);
        ASSERT_GE(gap, 0);
        ASSERT_LE(gap, 37 * std::ldexp(1, 40)); // -ln 2^-53 = 36.7
    }
}

// ---- slots ----

// How many of n slots are sampled.
uint64_t
CountSampled(heapprof_sampler *sampler, size_t slot, uint64_t n)
{
    uint64_t sampled = 0;
    for (uint64_t at = rb_heapprof_sampler_skip_slots(sampler, slot); at < n;
         at += 1 + rb_heapprof_sampler_skip_slots(sampler, slot)) sampled++;
    return sampled;
}

TEST(Sampler, SampledSlotsAreBinomialAndTheirWeightsUnbiased)
{
    for (uint64_t interval : {4096, 524288}) {
        for (size_t size = 8; size <= (size_t{1} << 30); size *= 2) {
            double p = Probability(interval, size);
            uint64_t n = static_cast<uint64_t>(200000 / p);
            heapprof_sampler sampler = Sampler(interval, size + interval);
            double sampled = static_cast<double>(CountSampled(&sampler, size, n));
            double objects = static_cast<double>(n);
            double sigma = std::sqrt(objects * p * (1 - p));
            double weight = rb_heapprof_sampler_weight(interval, size);
            SCOPED_TRACE(testing::Message() << size << " " << interval);
            EXPECT_LE(std::fabs(sampled - objects * p), Allowed(sigma, 1));
            EXPECT_LE(std::fabs(sampled * weight - objects), Allowed(sigma, 1) * weight);
        }
    }
}

TEST(Sampler, SkipsBeyondAnyCountSaturateFarFromOverflow)
{
    heapprof_sampler sampler = Sampler(UINT64_MAX, 6);
    uint64_t largest = 0;
    for (int i = 0; i < 1000; i++) {
        largest = std::max(largest, rb_heapprof_sampler_skip_slots(&sampler, 1));
    }
    EXPECT_EQ(UINT64_C(1) << 62, largest);
}

TEST(Sampler, WeightIsTheInverseOfTheProbability)
{
    EXPECT_NEAR(102.9008138, rb_heapprof_sampler_weight(4096, 40), 1e-6);
    EXPECT_NEAR(13107.7000064, rb_heapprof_sampler_weight(524288, 40), 1e-6);
    EXPECT_NEAR(1.5819767, rb_heapprof_sampler_weight(4096, 4096), 1e-6);
    EXPECT_EQ(1.0, rb_heapprof_sampler_weight(4096, size_t{1} << 30));
}

// R/S + 1/2 + S/12R - ...: where 1 - exp(-S/R) would keep 5 of its digits.
TEST(Sampler, WeightKeepsItsDigitsWhereSizeIsTiny)
{
    double ratio = std::ldexp(1, 40) / 8;
    EXPECT_NEAR(ratio + 0.5, rb_heapprof_sampler_weight(UINT64_C(1) << 40, 8), ratio * 1e-15);
}

TEST(Sampler, WeightIsNeverBelowOne)
{
    for (uint64_t interval : {0, 1, 2, 100, 4096, 524288}) {
        for (size_t size = 1; size <= (size_t{1} << 30); size += 1 + size / 7) {
            double weight = rb_heapprof_sampler_weight(interval, size);
            ASSERT_GE(weight, 1) << interval << " " << size;
            ASSERT_GE(static_cast<float>(weight), 1) << interval << " " << size;
        }
    }
}

TEST(Sampler, IntervalOneIsExact)
{
    for (uint64_t interval : {0, 1}) {
        heapprof_sampler sampler = Sampler(interval, 7);
        for (size_t size = 1; size <= (size_t{1} << 30); size *= 2) {
            EXPECT_EQ(0, rb_heapprof_sampler_gap_bytes(&sampler));
            EXPECT_EQ(0u, rb_heapprof_sampler_skip_slots(&sampler, size));
            EXPECT_EQ(1.0, rb_heapprof_sampler_weight(interval, size));
        }
        EXPECT_EQ(1000u, CountSampled(&sampler, 40, 1000));
    }
}

// ---- as the collector uses it ----

// What was allocated and what the samples say: sums of weights, with their variance.
struct Tally {
    double objects = 0;
    double estimate = 0;
    double variance = 0;
    double largest_weight = 0;

    void
    Allocate(uint64_t interval, size_t slot)
    {
        double p = Probability(interval, slot);
        objects++;
        variance += (1 - p) / p;
        largest_weight = std::max(largest_weight, 1 / p);
    }

    void
    ExpectUnbiased() const
    {
        EXPECT_LE(std::fabs(estimate - objects), Allowed(std::sqrt(variance), largest_weight));
    }
};

TEST(Sampler, SitesInStrictRotationGetEqualShares)
{
    for (uint64_t interval : {64, 1024, 4096, 65536, 524288}) {
        double p = Probability(interval, 40);
        uint64_t n = static_cast<uint64_t>(60000 / p) / 6 * 6;
        heapprof_sampler sampler = Sampler(interval, interval);
        double estimates[6] = {0};
        for (uint64_t at = rb_heapprof_sampler_skip_slots(&sampler, 40); at < n;
             at += 1 + rb_heapprof_sampler_skip_slots(&sampler, 40)) {
            estimates[at % 6] += rb_heapprof_sampler_weight(interval, 40);
        }
        double share = static_cast<double>(n) / 6;
        double sigma = std::sqrt(share * (1 - p) / p);
        for (double estimate : estimates) {
            EXPECT_LE(std::fabs(estimate - share), kSigmas * sigma) << interval;
        }
    }
}

TEST(Sampler, ChangingTheIntervalMidwayStaysUnbiased)
{
    const uint64_t intervals[] = {256, 4096, 1024, 65536, 1, 8192};
    Choices choose(8);
    heapprof_sampler sampler = Sampler(4096, 9);
    Tally tally;
    for (int i = 0; i < 3000; i++) {
        sampler.interval_bytes = intervals[i % 6];
        uint64_t skip = rb_heapprof_sampler_skip_slots(&sampler, 80);
        for (uint64_t left = choose.Below(3000); left > 0; left--) {
            tally.Allocate(sampler.interval_bytes, 80);
            if (skip-- > 0) continue;
            tally.estimate += rb_heapprof_sampler_weight(sampler.interval_bytes, 80);
            skip = rb_heapprof_sampler_skip_slots(&sampler, 80);
        }
    }
    EXPECT_GT(tally.objects, 4e6);
    tally.ExpectUnbiased();
}

// One slot-size heap as its pages are taken over: each page's free list, of any length, is
// cut where the sample falls, the rest hangs aside; at any allocation the cache may be
// cleared, which gives both lists back unused and draws again.
class CutFreeList {
  public:
    CutFreeList(uint64_t interval, size_t slot, uint64_t clear_one_in, uint64_t seed)
        : slot_(slot), clear_one_in_(clear_one_in), sampler_(Sampler(interval, seed)),
          choose_(seed + 1)
    {
        Redraw();
    }

    void
    Allocate()
    {
        if (choose_.OneIn(clear_one_in_)) Clear();
        while (list_ == 0 && !at_sample_) TakePage();
        tally.Allocate(sampler_.interval_bytes, slot_);
        if (list_ > 0) {
            list_--;
            return;
        }
        tally.estimate += rb_heapprof_sampler_weight(sampler_.interval_bytes, slot_);
        Redraw();
        Cut(aside_);
    }

    Tally tally;

  private:
    size_t slot_;
    uint64_t clear_one_in_;
    heapprof_sampler sampler_;
    Choices choose_;
    uint64_t gap_ = 0;       // slots to pass over beyond what list_ holds
    uint64_t list_ = 0;      // what the allocator sees
    uint64_t aside_ = 0;     // slots behind the sampled one
    bool at_sample_ = false; // the slot behind list_ is the sampled one

    void
    Redraw()
    {
        gap_ = rb_heapprof_sampler_skip_slots(&sampler_, slot_);
    }

    void
    Cut(uint64_t free_slots)
    {
        at_sample_ = gap_ < free_slots;
        list_ = at_sample_ ? gap_ : free_slots;
        aside_ = at_sample_ ? free_slots - gap_ - 1 : 0;
        gap_ -= list_;
    }

    void
    TakePage()
    {
        Cut(choose_.OneIn(3) ? choose_.Below(4) : choose_.Below(400));
    }

    void
    Clear()
    {
        list_ = aside_ = 0;
        at_sample_ = false;
        Redraw();
    }
};

TEST(Sampler, FreeListsCutAtRandomStayUnbiased)
{
    uint64_t seed = 100;
    for (uint64_t interval : {1, 256, 4096, 32768}) {
        for (size_t slot : {40, 160, 640}) {
            for (uint64_t clear_one_in : {20, 1000, 1000000}) {
                CutFreeList heap(interval, slot, clear_one_in, seed++);
                for (int i = 0; i < 1000000; i++) heap.Allocate();
                SCOPED_TRACE(testing::Message() << interval << " " << slot << " " << clear_one_in);
                heap.tally.ExpectUnbiased();
            }
        }
    }
}

} // namespace
