// thinning_test.cc - thinned samples, statistically.
//
// All seeds are fixed. A sum of thinned weights is allowed 5.7 sigma of a sample at the larger
// interval (a false alarm in 10^8); means and standard deviations over runs as test/accuracy
// allows them.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "test/unit/support/table_testing.h"

extern "C" {
#include "profiler/options.h"
#include "profiler/thinning.h"
}

namespace {

constexpr double kSigmas = 5.7;
constexpr unsigned kSamples = HEAPPROF_FULL_OBJECTS | HEAPPROF_FULL_BLOCKS;

uint32_t heads[1 << 16]; // of pages of 64 KiB
std::vector<uintptr_t> forgotten;

uint32_t *
PageHead(uintptr_t address)
{
    return &heads[address >> 16 & 0xffff];
}

void
Forget(uintptr_t address)
{
    forgotten.push_back(address);
}

double
Sigma(double count, size_t size, uint64_t interval)
{
    double p = 1 / rb_heapprof_sampler_weight(interval, size);
    return std::sqrt(count * (1 - p) / p);
}

// A program whose objects are sampled as the collector does it, one coin each.
class ThinningTest : public testing::Test {
  protected:
    heapprof_mem mem_;
    heapprof_tables tables_;
    uint8_t block_filter_[HEAPPROF_BLOCK_FILTER_SIZE] = {};
    heapprof_sampler sampler_;
    uint64_t interval_ = 1;
    uintptr_t next_ = 0;

    void
    SetUp() override
    {
        Start(1, 1);
    }

    void
    TearDown() override
    {
        rb_heapprof_tables_free(&tables_);
        EXPECT_EQ(0u, mem_.used_bytes);
    }

    void
    Start(uint64_t interval, uint64_t seed)
    {
        rb_heapprof_mem_init(&mem_, SIZE_MAX);
        rb_heapprof_tables_init(&tables_, &mem_, block_filter_);
        rb_heapprof_sampler_init(&sampler_, interval, seed);
        std::fill(std::begin(heads), std::end(heads), 0);
        forgotten.clear();
        interval_ = interval;
        next_ = 0;
    }

    void
    Restart(uint64_t interval, uint64_t seed)
    {
        rb_heapprof_tables_free(&tables_);
        Start(interval, seed);
    }

    uint32_t
    Site(uint32_t line, bool of_blocks = false, uint32_t label = 0)
    {
        uint32_t stack = rb_heapprof_stacks_push(&tables_.stacks, 0, Function(), line);
        return rb_heapprof_sites_intern(&tables_.sites, stack,
                                        of_blocks ? HEAPPROF_SITE_OF_BLOCKS : 0, label);
    }

    uint32_t
    Label(uint32_t number)
    {
        std::string text = std::string("endpoint\0", 9) + std::to_string(number) + '\0';
        return rb_heapprof_strings_intern(&tables_.strings, text.data(), text.size());
    }

    uint32_t
    Function()
    {
        uint32_t number = rb_heapprof_functions_find(&tables_.functions, HEAPPROF_ORIGIN_C | 1, 0);
        heapprof_function function = {};
        function.origin = HEAPPROF_ORIGIN_C | 1;
        return number ? number : rb_heapprof_functions_add(&tables_.functions, &function);
    }

    bool
    Chosen(size_t size)
    {
        return rb_heapprof_sampler_uniform(&sampler_) *
                   rb_heapprof_sampler_weight(interval_, size) <=
               1;
    }

    // The object's address, 0 when it is no sample.
    uintptr_t
    Object(uint32_t site, uint16_t size)
    {
        uintptr_t address = 0x10000 + 640 * ++next_;
        if (!Chosen(size)) return 0;
        float weight = static_cast<float>(rb_heapprof_sampler_weight(interval_, size));
        heapprof_sample sample = {site, 0, weight, size, size};
        uint32_t entry = next_ % 3 == 0
            ? rb_heapprof_live_table_add_young(&tables_.live, address, &sample)
            : rb_heapprof_live_table_add(&tables_.live, PageHead(address), address, &sample);
        EXPECT_TRUE(entry);
        rb_heapprof_sites_count_alloc(&tables_.sites, site, weight, size);
        return address;
    }

    // As when marking has ended, with nothing dead.
    void
    SettleYoung()
    {
        heapprof_address_table *live = &tables_.live.addresses;
        while (uint32_t entry = live->young) {
            uintptr_t address = rb_heapprof_address_table_address(live, entry);
            rb_heapprof_address_table_settle(live, PageHead(address), entry);
        }
    }

    void
    Die(uintptr_t address)
    {
        SettleYoung();
        uint32_t entry = rb_heapprof_address_table_find(&tables_.live.addresses, address);
        if (!entry) return;
        rb_heapprof_sites_count_free(&tables_.sites,
                                     rb_heapprof_live_table_sample(&tables_.live, entry)->site);
        rb_heapprof_address_table_remove(&tables_.live.addresses, PageHead(address), entry);
    }

    void
    Piece(uint32_t site, uintptr_t address, size_t begin, size_t size)
    {
        if (!Chosen(size)) return;
        heapprof_piece piece = {};
        piece.begin = begin;
        piece.asked_bytes = size;
        piece.site = site;
        piece.weight = static_cast<float>(rb_heapprof_sampler_weight(interval_, size));
        ASSERT_TRUE(rb_heapprof_blocks_add(&tables_.blocks, address, &piece));
        if (site != HEAPPROF_SITE_WAITING) {
            rb_heapprof_sites_count_alloc(&tables_.sites, site, piece.weight, size);
        }
    }

    heapprof_thinning
    Thinning(uint64_t interval)
    {
        return {interval, interval, &sampler_, PageHead, Forget, {}, {}};
    }

    void
    Thin(uint64_t interval)
    {
        heapprof_thinning thinning = Thinning(interval);
        rb_heapprof_thin(&tables_, &thinning);
        interval_ = interval;
        rb_heapprof_tables_check(&tables_);
    }

    // Entries of both kinds at a time; between is called after each step.
    void
    ThinInSteps(uint64_t interval, uint32_t count, const std::function<void()> &between)
    {
        heapprof_thinning thinning = Thinning(interval);
        rb_heapprof_thinning_begin(&thinning, &tables_);
        interval_ = interval;
        while (rb_heapprof_thinning_left_p(&thinning, kSamples)) {
            rb_heapprof_thinning_step(&tables_, &thinning, kSamples, count);
            between();
        }
        rb_heapprof_tables_check(&tables_);
    }

    double
    InUse(uint32_t site) const
    {
        const heapprof_address_table *addresses = &tables_.live.addresses;
        double sum = 0;
        for (uint32_t entry = 1; entry < addresses->numbers.end; entry++) {
            const heapprof_sample *sample = rb_heapprof_live_table_sample(&tables_.live, entry);
            if (rb_heapprof_address_table_address(addresses, entry) && sample->site == site) {
                sum += sample->weight;
            }
        }
        return sum;
    }

    double
    Allocated(uint32_t site) const
    {
        return rb_heapprof_sites_get(&tables_.sites, site)->alloc_objects;
    }

    // z of many runs of a program that returns how far off it was, in sigma.
    static void
    ExpectStandard(const std::vector<double> &z)
    {
        double n = static_cast<double>(z.size()), sum = 0, squares = 0;
        for (double each : z) sum += each;
        for (double each : z) squares += (each - sum / n) * (each - sum / n);
        EXPECT_LE(std::fabs(sum / n), 3.5 / std::sqrt(n));
        EXPECT_LE(std::fabs(std::sqrt(squares / (n - 1)) - 1), 3 / std::sqrt(2 * n));
    }
};

// ---- estimates ----

TEST_F(ThinningTest, WhatIsLeftIsASampleOfTheLargerInterval)
{
    std::vector<double> z;
    for (uint64_t seed = 1; seed <= 400; seed++) {
        Restart(50, seed);
        uint32_t site = Site(1);
        for (int i = 0; i < 2000; i++) Object(site, 40);
        Thin(200);
        z.push_back((InUse(site) - 2000) / Sigma(2000, 40, 200));
    }
    ExpectStandard(z);
}

TEST_F(ThinningTest, ThinnedFiveTimesIsAsThinnedOnce)
{
    std::vector<double> z;
    for (uint64_t seed = 1; seed <= 400; seed++) {
        Restart(1, seed);
        uint32_t site = Site(1);
        for (int i = 0; i < 2000; i++) Object(site, 160);
        for (uint64_t interval = 64; interval <= 1024; interval *= 2) Thin(interval);
        z.push_back((InUse(site) - 2000) / Sigma(2000, 160, 1024));
    }
    ExpectStandard(z);
}

// The newest are no worse off than the oldest: each part of the run is known as well as the others.
TEST_F(ThinningTest, EarlyAndLateAreKnownAlike)
{
    std::vector<double> z[3];
    for (uint64_t seed = 1; seed <= 300; seed++) {
        Restart(1, seed);
        for (uint32_t part = 1; part <= 3; part++) {
            uint32_t site = Site(part);
            for (int i = 0; i < 2000; i++) Object(site, 40);
            Thin(uint64_t{100} << part);
        }
        for (uint32_t part = 1; part <= 3; part++) {
            z[part - 1].push_back((InUse(Site(part)) - 2000) / Sigma(2000, 40, 800));
        }
    }
    for (const auto &each : z) ExpectStandard(each);
}

TEST_F(ThinningTest, SizesAreThinnedByTheirOwnChance)
{
    std::vector<double> z;
    for (uint64_t seed = 1; seed <= 300; seed++) {
        Restart(1, seed);
        double estimate = 0, truth = 0, variance = 0;
        for (uint16_t size = 40; size <= 640; size = static_cast<uint16_t>(size * 2)) {
            uint32_t site = Site(size);
            for (int i = 0; i < 400; i++) Object(site, size);
            truth += 400 * size;
            variance += std::pow(Sigma(400, size, 500) * size, 2);
        }
        Thin(500);
        for (uint16_t size = 40; size <= 640; size = static_cast<uint16_t>(size * 2)) {
            estimate += InUse(Site(size)) * size;
        }
        z.push_back((estimate - truth) / std::sqrt(variance));
    }
    ExpectStandard(z);
}

TEST_F(ThinningTest, SamplesOfALargerIntervalStayAsTheyAre)
{
    uint32_t coarse = Site(1), fine = Site(2);
    interval_ = 4000;
    for (int i = 0; i < 100000; i++) Object(coarse, 40);
    double before = InUse(coarse);
    interval_ = 1;
    for (int i = 0; i < 10000; i++) Object(fine, 40);
    Thin(1000);
    EXPECT_EQ(before, InUse(coarse));
    EXPECT_NEAR(10000, InUse(fine), kSigmas * Sigma(10000, 40, 1000));
}

// ---- in steps ----

TEST_F(ThinningTest, InStepsIsAsAtOnce)
{
    std::vector<double> objects, blocks;
    for (uint64_t seed = 1; seed <= 400; seed++) {
        Restart(1, seed);
        uint32_t site = Site(1), of_blocks = Site(1, true);
        for (uint32_t i = 1; i <= 2000; i++) {
            Object(site, 160);
            Piece(of_blocks, 4096 * i, 0, 160);
        }
        for (uint64_t interval : { 200, 1000 })
            ThinInSteps(interval, 1 + static_cast<uint32_t>(seed), [] {});
        objects.push_back((InUse(site) - 2000) / Sigma(2000, 160, 1000));
        blocks.push_back((rb_heapprof_blocks_in_use(&tables_.blocks) / 160 - 2000) /
                         Sigma(2000, 160, 1000));
        EXPECT_NEAR(Allocated(site), InUse(site), 0.01);
    }
    ExpectStandard(objects);
    ExpectStandard(blocks);
}

// Between any two steps an estimate is without bias: of what was there, of what has died, of what
// came since.
TEST_F(ThinningTest, BetweenStepsEstimatesAreWithoutBias)
{
    std::vector<double> half_way, alive, dead, born;
    for (uint64_t seed = 1; seed <= 400; seed++) {
        Restart(1, seed);
        uint32_t site = Site(1), late = Site(2);
        std::vector<uintptr_t> objects;
        for (int i = 0; i < 3000; i++) objects.push_back(Object(site, 40));
        size_t steps = 0, deaths = 0, births = 0;
        ThinInSteps(200, 50, [&] {
            steps++;
            for (int i = 0; i < 25; i++)
                Die(objects[3000 - ++deaths]); // those that are still to come, too
            for (int i = 0; i < 50; i++, births++) Object(late, 40);
            if (steps == 30) half_way.push_back((InUse(site) - 2250) / Sigma(1500, 40, 200));
        });
        alive.push_back((InUse(site) - 3000 + static_cast<double>(deaths)) /
                        Sigma(3000 - static_cast<double>(deaths), 40, 200));
        // The first thousand that died were known one by one.
        dead.push_back((Allocated(site) - InUse(site) - static_cast<double>(deaths)) /
                       Sigma(static_cast<double>(deaths) - 1000, 40, 200));
        born.push_back((InUse(late) - static_cast<double>(births)) /
                       Sigma(static_cast<double>(births), 40, 200));
    }
    for (const auto &each : {half_way, alive, born}) ExpectStandard(each);
    double sum = 0;
    for (double z : dead) sum += z;
    EXPECT_LE(std::fabs(sum / 400), 3.5 / std::sqrt(400));
}

TEST_F(ThinningTest, RoomIsThereAfterTheFirstSteps)
{
    for (uint32_t i = 1; i <= 20000; i++) {
        Object(Site(1), 40);
        Piece(Site(1, true), 4096 * i, 0, 40);
    }
    uint32_t objects = tables_.live.addresses.numbers.count, pieces = tables_.blocks.live_count;
    mem_.budget_bytes = mem_.used_bytes;
    heapprof_sample sample = {Site(1), 0, 1, 40, 40};
    for (uintptr_t address = 640;
         rb_heapprof_live_table_add(&tables_.live, &heads[0], address, &sample); address += 40) {
        rb_heapprof_sites_count_alloc(&tables_.sites, Site(1), 1, 40);
        objects++;
    }
    heapprof_thinning thinning = Thinning(64);
    rb_heapprof_thinning_begin(&thinning, &tables_);
    EXPECT_FALSE(rb_heapprof_address_table_room_p(&tables_.live.addresses));
    rb_heapprof_thinning_step(&tables_, &thinning, HEAPPROF_FULL_OBJECTS, 256);
    EXPECT_TRUE(rb_heapprof_address_table_room_p(&tables_.live.addresses));
    EXPECT_EQ(pieces, tables_.blocks.live_count);
    rb_heapprof_thinning_step(&tables_, &thinning, HEAPPROF_FULL_BLOCKS, 256);
    EXPECT_TRUE(rb_heapprof_blocks_room_p(&tables_.blocks));
    EXPECT_GE(tables_.live.addresses.numbers.count, objects - 256); // and no more has been thinned
    EXPECT_GE(tables_.blocks.live_count, pieces - 256);
    EXPECT_TRUE(rb_heapprof_thinning_left_p(&thinning, HEAPPROF_FULL_OBJECTS));
    EXPECT_TRUE(rb_heapprof_thinning_left_p(&thinning, HEAPPROF_FULL_BLOCKS));
    rb_heapprof_tables_check(&tables_);
}

TEST_F(ThinningTest, ASiteGoesWithTheStepThatLeavesNothingOfIt)
{
    constexpr uint32_t kSites = 5000;
    for (uint32_t line = 1; line <= kSites; line++) Object(Site(line), 40);
    ThinInSteps(400, 100, [] {});
    EXPECT_EQ(tables_.live.addresses.numbers.count, tables_.sites.numbers.count);
    EXPECT_LT(tables_.sites.numbers.count, kSites / 5);
}

TEST_F(ThinningTest, WhatStepsHaveLeftIsThinnedAtOnce)
{
    std::vector<double> z;
    for (uint64_t seed = 1; seed <= 400; seed++) {
        Restart(1, seed);
        uint32_t site = Site(1);
        for (int i = 0; i < 2000; i++) Object(site, 40);
        heapprof_thinning thinning = Thinning(200);
        rb_heapprof_thinning_begin(&thinning, &tables_);
        rb_heapprof_thinning_step(&tables_, &thinning, kSamples, 700);
        rb_heapprof_thin(&tables_, &thinning);
        EXPECT_FALSE(rb_heapprof_thinning_left_p(&thinning, kSamples));
        rb_heapprof_tables_check(&tables_);
        z.push_back((InUse(site) - 2000) / Sigma(2000, 40, 200));
    }
    ExpectStandard(z);
}

// ---- allocated, dead and in use ----

TEST_F(ThinningTest, WhatIsDeadStaysAsItWasKnown)
{
    uint32_t site = Site(1);
    for (int i = 0; i < 5000; i++) {
        uintptr_t object = Object(site, 40);
        if (i % 2) Die(object);
    }
    Thin(100);
    EXPECT_EQ(2500, Allocated(site) - InUse(site));
    EXPECT_NEAR(2500, InUse(site), kSigmas * Sigma(2500, 40, 100));
    EXPECT_NE(2500, InUse(site));
}

TEST_F(ThinningTest, WhatDiesBetweenTwoThinningsIsWithoutBias)
{
    std::vector<double> allocated, dead;
    for (uint64_t seed = 1; seed <= 300; seed++) {
        Restart(1, seed);
        uint32_t site = Site(1);
        std::vector<uintptr_t> objects;
        for (int i = 0; i < 3000; i++) objects.push_back(Object(site, 40));
        double variance_dead = 0, variance = 0;
        for (size_t part = 0; part < 3; part++) {
            uint64_t interval = uint64_t{50} << part;
            Thin(interval);
            for (size_t i = part * 1000; i < part * 1000 + 500; i++) Die(objects[i]);
            variance_dead += std::pow(Sigma(500, 40, interval), 2);
        }
        variance = variance_dead + std::pow(Sigma(1500, 40, 200), 2);
        allocated.push_back((Allocated(site) - 3000) / std::sqrt(variance));
        dead.push_back((Allocated(site) - InUse(site) - 1500) / std::sqrt(variance_dead));
    }
    ExpectStandard(allocated);
    ExpectStandard(dead);
}

TEST_F(ThinningTest, SitesThatNothingIsLeftOfGoAndTheirStacksWithThem)
{
    constexpr uint32_t kSites = 20000;
    for (uint32_t line = 1; line <= kSites; line++) Object(Site(line), 40);
    uintptr_t dead = Object(Site(kSites + 1), 40);
    Die(dead);
    Thin(400);
    rb_heapprof_tables_trim(&tables_, nullptr);
    EXPECT_EQ(tables_.live.addresses.numbers.count + 1,
              tables_.sites.numbers.count); // whose dead stay
    EXPECT_EQ(tables_.sites.numbers.count, tables_.stacks.numbers.count);
    EXPECT_EQ(1, Allocated(Site(kSites + 1)));
    double estimate = 0;
    for (uint32_t site = 1; site < tables_.sites.numbers.end; site++) estimate += Allocated(site);
    EXPECT_NEAR(kSites + 1, estimate, kSigmas * Sigma(kSites, 40, 400));
}

TEST_F(ThinningTest, WhoIsASampleNoMoreIsTold)
{
    std::set<uintptr_t> objects;
    for (int i = 0; i < 5000; i++) objects.insert(Object(Site(1), 40));
    Thin(100);
    SettleYoung();
    EXPECT_EQ(5000u, forgotten.size() + tables_.live.addresses.numbers.count);
    for (uintptr_t address : forgotten) {
        EXPECT_EQ(1u, objects.erase(address));
        EXPECT_EQ(0u, rb_heapprof_address_table_find(&tables_.live.addresses, address));
    }
    for (uintptr_t address : objects) {
        EXPECT_NE(0u, rb_heapprof_address_table_find(&tables_.live.addresses, address));
    }
}

TEST_F(ThinningTest, ChainsOfPagesHaveWhatIsLeft)
{
    for (int i = 0; i < 5000; i++) Object(Site(1), 40);
    Thin(100);
    SettleYoung();
    uint32_t chained = 0;
    for (uint32_t page = 0; page < 1 << 16; page++) {
        for (uint32_t entry = heads[page]; entry;
             entry = rb_heapprof_address_table_next(&tables_.live.addresses, entry)) {
            uintptr_t address = rb_heapprof_address_table_address(&tables_.live.addresses, entry);
            EXPECT_EQ(&heads[page], PageHead(address));
            chained++;
        }
    }
    EXPECT_EQ(tables_.live.addresses.numbers.count, chained);
    EXPECT_GT(chained, 1000u);
}

// Of each third of the sites, whose dead have allocated the less the more there are of them. Each
// third has a label of its own: so what each label has allocated is known without bias, too.
TEST_F(ThinningTest, SitesOfTheDeadStandForThoseThatWereGivenUp)
{
    std::vector<double> z[3], objects;
    for (uint64_t seed = 1; seed <= 400; seed++) {
        Restart(1, seed);
        uint32_t labels[3] = {Label(0), Label(1), Label(2)};
        double truth[3] = {}, variance[3] = {}, found[3] = {}, all = 0, all_objects = 0;
        for (uint32_t line = 1; line <= 900; line++) {
            uint32_t site = Site(line, false, labels[line % 3]);
            for (uint32_t i = 0; i <= line % 7; i++) Die(Object(site, 40));
            truth[line % 3] += 40 * (line % 7 + 1);
            all += 40 * (line % 7 + 1);
        }
        double threshold = 2 * all / 900;
        for (uint32_t line = 1; line <= 900; line++) {
            double bytes = 40 * (line % 7 + 1);
            if (bytes < threshold) variance[line % 3] += bytes * (threshold - bytes);
        }
        uint32_t sites = tables_.sites.numbers.count;
        uint32_t freed = rb_heapprof_thin_dead(&tables_, &sampler_);
        EXPECT_GE(freed, 450u);
        EXPECT_EQ(sites - freed, tables_.sites.numbers.count);
        EXPECT_EQ(freed, tables_.sites.folded_count);
        rb_heapprof_tables_check(&tables_);
        for (uint32_t number = 1; number < tables_.sites.numbers.end; number++) {
            const heapprof_site *site = rb_heapprof_sites_get(&tables_.sites, number);
            if (!site->used) continue;
            found[std::find(labels, labels + 3, site->label) - labels] += site->alloc_bytes;
            all -= site->alloc_bytes;
            all_objects += site->alloc_objects;
        }
        EXPECT_LE(std::fabs(all), threshold * 1.001);
        objects.push_back(all_objects);
        for (int third = 0; third < 3; third++) {
            z[third].push_back((found[third] - truth[third]) / std::sqrt(variance[third]));
        }
    }
    for (const auto &each : z) { // chosen one every T bytes, they scatter less than by coins
        double sum = 0, squares = 0;
        for (double one : each) sum += one;
        for (double one : each) squares += one * one;
        EXPECT_LE(std::fabs(sum), 3.5 * std::sqrt(squares));
        EXPECT_LE(squares, 400 * 1.1);
    }
    for (double count : objects) EXPECT_NEAR(3600, count, 3600 * 0.01);
}

TEST_F(ThinningTest, FewSitesOfTheDeadAreLeftAlone)
{
    for (uint32_t line = 1; line <= 100; line++) Object(Site(line), 40);
    for (uint32_t line = 101; line <= 105; line++) Die(Object(Site(line), 40));
    EXPECT_EQ(0u, rb_heapprof_thin_dead(&tables_, &sampler_));
    EXPECT_EQ(105u, tables_.sites.numbers.count);
}

TEST_F(ThinningTest, TheDeadOfBlocksStandForBlocksAlone)
{
    for (uint32_t line = 1; line <= 100; line++) {
        Die(Object(Site(line), 40));
        Piece(Site(line, true), 4096 * line, 0, 1000);
        rb_heapprof_blocks_remove(&tables_.blocks, 4096 * line);
    }
    while (uint32_t site = rb_heapprof_blocks_take_retired(&tables_.blocks)) {
        rb_heapprof_sites_count_free(&tables_.sites, site);
    }
    EXPECT_GE(rb_heapprof_thin_dead(&tables_, &sampler_), 98u);
    double bytes[2] = {};
    for (uint32_t number = 1; number < tables_.sites.numbers.end; number++) {
        const heapprof_site *site = rb_heapprof_sites_get(&tables_.sites, number);
        if (site->used) bytes[rb_heapprof_site_of_blocks_p(site)] += site->alloc_bytes;
    }
    EXPECT_NEAR(4000, bytes[0], 81);
    EXPECT_NEAR(100000, bytes[1], 2001);
}

// ---- blocks ----

TEST_F(ThinningTest, PiecesOfBlocksAreThinnedAsObjectsAre)
{
    std::vector<double> z, held;
    for (uint64_t seed = 1; seed <= 300; seed++) {
        Restart(200, seed);
        uint32_t site = Site(1, true);
        double variance = 0, held_variance = 0, truth = 0, half = 0;
        for (uintptr_t block = 1; block <= 300; block++) {
            size_t begin = 0;
            for (size_t size = 100; size <= 1600; size *= 2) {
                Piece(site, block * 4096, begin, size);
                begin += size;
                truth += static_cast<double>(size);
                variance += std::pow(Sigma(1, size, 2000) * static_cast<double>(size), 2);
            }
            rb_heapprof_blocks_cut(&tables_.blocks, block * 4096, begin - 800);
            half += static_cast<double>(begin) - 800;
            for (size_t size = 100; size <= 1600; size *= 2) {
                double left = static_cast<double>(size == 1600 ? 800 : size);
                held_variance += std::pow(Sigma(1, size, 2000) * left, 2);
            }
        }
        Thin(2000);
        double bytes = rb_heapprof_sites_get(&tables_.sites, site)->alloc_bytes;
        z.push_back((bytes - truth) / std::sqrt(variance));
        held.push_back((rb_heapprof_blocks_in_use(&tables_.blocks) - half) /
                       std::sqrt(held_variance));
    }
    ExpectStandard(z);
    ExpectStandard(held);
}

TEST_F(ThinningTest, ABlockThatNoPieceIsLeftOfIsNotKnownAnyMore)
{
    for (uintptr_t block = 1; block <= 1000; block++) Piece(Site(1, true), block * 4096, 0, 100);
    Thin(1000);
    EXPECT_EQ(tables_.blocks.live_count, tables_.blocks.addresses.numbers.count);
    EXPECT_LT(tables_.blocks.live_count, 150u);
    for (uintptr_t block = 1; block <= 1000; block++) {
        rb_heapprof_blocks_remove(&tables_.blocks, block * 4096);
    }
    EXPECT_EQ(0, std::count_if(std::begin(block_filter_), std::end(block_filter_),
                               [](uint8_t count) { return count != 0 && count != 255; }));
    while (rb_heapprof_blocks_take_retired(&tables_.blocks)) {
        rb_heapprof_sites_count_free(&tables_.sites, Site(1, true));
    }
    rb_heapprof_tables_check(&tables_);
}

TEST_F(ThinningTest, ABlockThatIsBeingReallocatedKeepsItsPlace)
{
    for (uintptr_t block = 1; block <= 100; block++) Piece(Site(1, true), block * 4096, 0, 16);
    uint32_t lifted = rb_heapprof_blocks_lift(&tables_.blocks, 4096);
    Thin(1000000);
    for (uintptr_t block = 1001; block <= 1100; block++) {
        interval_ = 1;
        Piece(Site(1, true), block * 4096, 0, 16);
    }
    rb_heapprof_blocks_put(&tables_.blocks, lifted, 0x99990000);
    EXPECT_EQ(16u, rb_heapprof_blocks_end(&tables_.blocks, 0x99990000));
    rb_heapprof_tables_check(&tables_);
}

TEST_F(ThinningTest, APieceThatWaitsForItsSiteIsLeftAlone)
{
    Piece(HEAPPROF_SITE_WAITING, 4096, 0, 16);
    uint32_t retired = Site(1, true);
    Piece(retired, 8192, 0, 16);
    rb_heapprof_blocks_remove(&tables_.blocks, 8192);
    Thin(1 << 20);
    EXPECT_EQ(16u, rb_heapprof_blocks_end(&tables_.blocks, 4096));
    EXPECT_EQ(1, rb_heapprof_blocks_in_use(&tables_.blocks) / 16);
    EXPECT_EQ(retired, rb_heapprof_blocks_take_retired(&tables_.blocks));
    EXPECT_EQ(1, Allocated(retired));
}

// k of N stay binomial, so what is given back later takes as many along as it should.
TEST_F(ThinningTest, WhatIsOnlyReportedStaysWithoutBiasWhenItIsGivenBack)
{
    constexpr size_t kSize = 1000;
    std::vector<double> z;
    for (uint64_t seed = 1; seed <= 300; seed++) {
        Restart(500, seed);
        uint32_t site = Site(1, true);
        uintptr_t block = rb_heapprof_reported_block(kSize);
        for (int i = 0; i < 1000; i++) {
            ASSERT_TRUE(rb_heapprof_reported_reserve(&tables_.reported));
            rb_heapprof_reported_add(&tables_.reported, kSize);
            Piece(site, block, rb_heapprof_blocks_end(&tables_.blocks, block), kSize);
        }
        Thin(3000);
        EXPECT_EQ(tables_.blocks.live_count * kSize,
                  rb_heapprof_blocks_end(&tables_.blocks, block));
        for (int i = 0; i < 400; i++) {
            rb_heapprof_reported_give_back(&tables_.reported, kSize, &tables_.blocks, &sampler_);
        }
        double found = rb_heapprof_blocks_in_use(&tables_.blocks) / kSize;
        z.push_back((found - 600) / Sigma(600, kSize, 3000));
    }
    ExpectStandard(z);
}

// ---- how far, and what it gives back ----

TEST_F(ThinningTest, DoublesUntilAboutHalfIsLeft)
{
    for (uint64_t interval : {1, 10, 1000, 100000}) {
        Restart(interval, 7);
        for (int i = 0; i < 200000; i++) Object(Site(1), 40);
        for (uintptr_t block = 1; block <= 100; block++)
            Piece(Site(2, true), block << 20, 0, 1 << 20);
        heapprof_thinning now = Thinning(interval);
        unsigned int doublings =
            rb_heapprof_thinning_doublings(&tables_, &now, HEAPPROF_FULL_OBJECTS);
        double before = tables_.live.addresses.numbers.count;
        double weight = rb_heapprof_sampler_weight(interval, 40);
        EXPECT_LE(weight / rb_heapprof_sampler_weight(interval << doublings, 40), 0.52);
        EXPECT_GT(weight / rb_heapprof_sampler_weight(interval << (doublings - 1), 40), 0.52);
        Thin(interval << doublings);
        EXPECT_LT(tables_.live.addresses.numbers.count, before * 0.6);
        EXPECT_EQ(100u, tables_.blocks.live_count) << "which need a much larger one";
        EXPECT_LT(doublings, rb_heapprof_thinning_doublings(&tables_, &now, HEAPPROF_FULL_BLOCKS));
    }
}

TEST_F(ThinningTest, WithoutSamplesOrBeyondTheLargestIntervalThereIsNothingToDouble)
{
    heapprof_thinning now = Thinning(1);
    EXPECT_EQ(0u, rb_heapprof_thinning_doublings(&tables_, &now, HEAPPROF_FULL_STACKS));
    Object(Site(1), 40);
    EXPECT_LT(0u, rb_heapprof_thinning_doublings(&tables_, &now, HEAPPROF_FULL_STACKS));
    now.malloc_interval_bytes = HEAPPROF_INTERVAL_MAX;
    EXPECT_EQ(0u, rb_heapprof_thinning_doublings(&tables_, &now, HEAPPROF_FULL_STACKS));
}

TEST_F(ThinningTest, LiveTableGivesMemoryBackWhenLittleIsLeft)
{
    for (int i = 0; i < 200000; i++) Object(Site(1), 40);
    size_t before = mem_.used_bytes;
    Thin(64);
    EXPECT_GT(mem_.used_bytes, before * 3 / 4) << "room is kept for more to come";
    Thin(1000);
    EXPECT_LT(mem_.used_bytes, before / 4);
    double estimate = InUse(Site(1));
    EXPECT_NEAR(200000, estimate, kSigmas * Sigma(200000, 40, 1000));
    for (int i = 0; i < 10000; i++) Object(Site(1), 40);
    rb_heapprof_tables_check(&tables_);
}

TEST_F(ThinningTest, FullTablesAreToldApart)
{
    EXPECT_EQ(0u, rb_heapprof_tables_full(&tables_));
    uint32_t site = Site(1), blocks = Site(2, true);
    Object(site, 40);
    Piece(blocks, 4096, 0, 40);
    EXPECT_EQ(0u, rb_heapprof_tables_full(&tables_));
    mem_.budget_bytes = mem_.used_bytes;
    auto until_refused = [&](const std::function<bool()> &add) {
        while (add()) {}
        EXPECT_TRUE(mem_.over_budget);
        return rb_heapprof_tables_full(&tables_);
    };
    heapprof_sample sample = {site, 0, 1, 40, 40};
    EXPECT_EQ(unsigned{HEAPPROF_FULL_OBJECTS}, until_refused([&] {
        uintptr_t address = 0x10000 + 640 * ++next_;
        if (!rb_heapprof_live_table_add(&tables_.live, PageHead(address), address, &sample))
            return false;
        rb_heapprof_sites_count_alloc(&tables_.sites, site, 1, 40);
        return true;
    }));
    heapprof_piece piece = {};
    piece.asked_bytes = 40;
    piece.weight = 1;
    piece.site = blocks;
    EXPECT_EQ(unsigned{HEAPPROF_FULL_OBJECTS | HEAPPROF_FULL_BLOCKS}, until_refused([&] {
        if (!rb_heapprof_blocks_add(&tables_.blocks, 4096 * ++next_, &piece)) return false;
        rb_heapprof_sites_count_alloc(&tables_.sites, blocks, 1, 40);
        return true;
    }));
    uint32_t line = 0;
    EXPECT_EQ(unsigned { HEAPPROF_FULL_OBJECTS | HEAPPROF_FULL_BLOCKS | HEAPPROF_FULL_STACKS },
              until_refused([&] {
                  return rb_heapprof_stacks_push(&tables_.stacks, 0, 1, ++line) !=
                         HEAPPROF_NO_STACK;
              }));
    Thin(100);
    EXPECT_EQ(0u, rb_heapprof_tables_full(&tables_) & HEAPPROF_FULL_OBJECTS);
}

} // namespace
