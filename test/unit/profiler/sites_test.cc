// sites_test.cc - totals by stack and class against std::map.

#include <gtest/gtest.h>

#include <map>
#include <utility>

#include "test/unit/support/table_testing.h"

extern "C" {
#include "profiler/sites.h"
}

namespace {

class SitesTest : public testing::Test {
  protected:
    using Key = std::pair<uint32_t, uint32_t>; // stack, class

    struct Totals {
        uint32_t live_samples = 0;
        double objects = 0;
        double bytes = 0;
    };

    heapprof_mem mem_;
    heapprof_stacks stacks_;
    heapprof_sites sites_;
    std::map<Key, Totals> model_;
    Totals folded_[2]; // of objects, of blocks

    void
    SetUp() override
    {
        rb_heapprof_mem_init(&mem_, SIZE_MAX);
        rb_heapprof_stacks_init(&stacks_, &mem_);
        rb_heapprof_sites_init(&sites_, &mem_, &stacks_);
    }

    void
    TearDown() override
    {
        rb_heapprof_sites_free(&sites_);
        rb_heapprof_stacks_free(&stacks_);
        EXPECT_EQ(0u, mem_.used_bytes);
    }

    // A stack of one frame, so that the number of stacks kept is the number of sites' stacks.
    uint32_t
    Stack(uint32_t line)
    {
        return line ? rb_heapprof_stacks_push(&stacks_, 0, 1, line) : 0;
    }

    bool
    Alloc(Key key, double weight, size_t size)
    {
        uint32_t site = rb_heapprof_sites_intern(&sites_, key.first, key.second, 0);
        if (!site) return false;
        rb_heapprof_sites_count_alloc(&sites_, site, weight, size);
        Totals &totals = model_[key];
        totals.live_samples++;
        totals.objects += weight;
        totals.bytes += weight * static_cast<double>(size);
        return true;
    }

    uint32_t
    Site(Key key)
    {
        return rb_heapprof_sites_intern(&sites_, key.first, key.second, 0);
    }

    void
    Free(Key key)
    {
        rb_heapprof_sites_count_free(&sites_, Site(key));
        model_.at(key).live_samples--;
    }

    void
    Fold()
    {
        uint32_t expected = 0;
        for (auto each = model_.begin(); each != model_.end();) {
            if (each->second.live_samples) {
                ++each;
                continue;
            }
            Totals &folded = folded_[each->first.second >> 31];
            folded.objects += each->second.objects;
            folded.bytes += each->second.bytes;
            each = model_.erase(each);
            expected++;
        }
        EXPECT_EQ(expected, rb_heapprof_sites_fold(&sites_));
    }

    void
    ExpectSame()
    {
        rb_heapprof_sites_check(&sites_);
        rb_heapprof_stacks_check(&stacks_);
        ASSERT_EQ(model_.size(), sites_.numbers.count);
        for (const auto &each : model_) {
            const heapprof_site *site = rb_heapprof_sites_get(&sites_, Site(each.first));
            ASSERT_EQ(each.first, Key(site->stack, site->class_id));
            ASSERT_EQ(each.second.live_samples, site->live_samples);
            ASSERT_EQ(each.second.objects, site->alloc_objects);
            ASSERT_EQ(each.second.bytes, site->alloc_bytes);
        }
        ASSERT_EQ(folded_[0].objects, sites_.folded.alloc_objects);
        ASSERT_EQ(folded_[0].bytes, sites_.folded.alloc_bytes);
        ASSERT_EQ(folded_[1].objects, sites_.folded_blocks.alloc_objects);
        ASSERT_EQ(folded_[1].bytes, sites_.folded_blocks.alloc_bytes);
    }

    // Of all sites and of what was folded.
    Totals
    Sum() const
    {
        Totals sum;
        sum.objects = sites_.folded.alloc_objects + sites_.folded_blocks.alloc_objects;
        sum.bytes = sites_.folded.alloc_bytes + sites_.folded_blocks.alloc_bytes;
        for (uint32_t number = 1; number < sites_.numbers.end; number++) {
            sum.objects += rb_heapprof_sites_get(&sites_, number)->alloc_objects;
            sum.bytes += rb_heapprof_sites_get(&sites_, number)->alloc_bytes;
        }
        return sum;
    }
};

// Weights are quarters, which doubles add without rounding: sums must be equal, not near.
TEST_F(SitesTest, AgreesWithAMapOverRandomOperations)
{
    Choices choose(80);
    Totals counted;
    uint64_t folds = 0;
    for (int i = 0; i < kOperations; i++) {
        uint32_t class_id = static_cast<uint32_t>(choose.Below(20));
        if (choose.OneIn(3)) class_id |= HEAPPROF_SITE_OF_BLOCKS;
        Key key(Stack(static_cast<uint32_t>(choose.Below(100))), class_id);
        auto known = model_.find(key);
        if (known != model_.end() && known->second.live_samples && choose.OneIn(2)) {
            Free(key);
        }
        else {
            double weight = 1 + static_cast<double>(choose.Below(50000)) / 4;
            size_t size = size_t{40} << choose.Below(5);
            ASSERT_TRUE(Alloc(key, weight, size));
            counted.objects += weight;
            counted.bytes += weight * static_cast<double>(size);
        }
        if (choose.OneIn(5000)) {
            Fold();
            folds++;
            rb_heapprof_stacks_trim(&stacks_);
        }
        if (i % (5 * kFullLook) == 0) ExpectSame();
    }
    ExpectSame();
    EXPECT_GT(folds, 20u);
    EXPECT_EQ(counted.objects, Sum().objects);
    EXPECT_EQ(counted.bytes, Sum().bytes);
}

TEST_F(SitesTest, FoldKeepsTheSumOfAllTotals)
{
    for (uint32_t line = 1; line <= 100; line++) ASSERT_TRUE(Alloc({Stack(line), 1}, 100.25, 40));
    for (uint32_t line = 1; line <= 60; line++) Free({Stack(line), 1});
    Totals before = Sum();
    Fold();
    EXPECT_EQ(before.objects, Sum().objects);
    EXPECT_EQ(before.bytes, Sum().bytes);
    EXPECT_EQ(60 * 100.25, sites_.folded.alloc_objects);
    EXPECT_EQ(60u, sites_.folded_count);
    EXPECT_EQ(40u, sites_.numbers.count);
}

TEST_F(SitesTest, FoldLetsGoOfTheStack)
{
    Key dead(Stack(1), 1), live(Stack(2), 1);
    ASSERT_TRUE(Alloc(dead, 1, 40) && Alloc(live, 1, 40));
    Free(dead);
    rb_heapprof_stacks_trim(&stacks_);
    EXPECT_EQ(2u, stacks_.numbers.count);
    Fold();
    rb_heapprof_stacks_trim(&stacks_);
    EXPECT_EQ(1u, stacks_.numbers.count);
    ExpectSame();
}

// Labels 1 to 5 of each line; those above 3 have a live sample, and the one that waits is dead.
TEST_F(SitesTest, LabelsOfTheDeadFoldBeforeWholeSitesDo)
{
    for (uint32_t line = 1; line <= 10; line++) {
        for (uint32_t label = 1; label <= 5; label++) {
            uint32_t waits = label == 1 ? HEAPPROF_LABEL_LATE(7) : 0;
            uint32_t site = rb_heapprof_sites_intern(&sites_, Stack(line), 1, label | waits);
            rb_heapprof_sites_count_alloc(&sites_, site, label, 40);
            if (label <= 3) rb_heapprof_sites_count_free(&sites_, site);
        }
    }
    ASSERT_TRUE(Alloc({Stack(1), 1}, 100, 40)); // is there without labels, and alive
    EXPECT_EQ(21u, rb_heapprof_sites_fold(&sites_));
    EXPECT_EQ(21u, sites_.folded_count);
    EXPECT_EQ(0, sites_.folded.alloc_objects);
    rb_heapprof_sites_check(&sites_);
    for (uint32_t line = 1; line <= 10; line++) {
        const heapprof_site *dead = rb_heapprof_sites_get(&sites_, Site({Stack(line), 1}));
        EXPECT_EQ((line == 1 ? 100 : 0) + 1 + 2 + 3, dead->alloc_objects);
        EXPECT_EQ(line == 1, dead->live_samples == 1);
        for (uint32_t label = 4; label <= 5; label++) {
            uint32_t site = rb_heapprof_sites_intern(&sites_, Stack(line), 1, label);
            EXPECT_EQ(label, rb_heapprof_sites_get(&sites_, site)->alloc_objects);
        }
    }
    EXPECT_EQ(30u, sites_.numbers.count);
    EXPECT_EQ(9u, rb_heapprof_sites_fold(&sites_)); // no labels are left, so whole sites go
    EXPECT_EQ(9 * 6, sites_.folded.alloc_objects);
    rb_heapprof_sites_check(&sites_);
    rb_heapprof_stacks_check(&stacks_);
}

// A sixteenth is not enough: the caller would have to come again at once.
TEST_F(SitesTest, WholeSitesFoldWhereLabelsFreeTooLittle)
{
    for (uint32_t line = 1; line <= 32; line++) ASSERT_TRUE(Alloc({Stack(line), 1}, 1, 40));
    for (uint32_t line = 1; line <= 32; line++) Free({Stack(line), 1});
    uint32_t site = rb_heapprof_sites_intern(&sites_, Stack(1), 1, 5);
    rb_heapprof_sites_count_alloc(&sites_, site, 1, 40);
    rb_heapprof_sites_count_free(&sites_, site);
    EXPECT_EQ(33u, rb_heapprof_sites_fold(&sites_));
    EXPECT_EQ(33, sites_.folded.alloc_objects);
    EXPECT_EQ(0u, sites_.numbers.count);
}

TEST_F(SitesTest, AFoldedSiteStartsAgainFromNothing)
{
    Key key(Stack(1), 1);
    ASSERT_TRUE(Alloc(key, 7, 40));
    Free(key);
    Fold();
    ASSERT_TRUE(Alloc(key, 2, 40));
    EXPECT_EQ(2, rb_heapprof_sites_get(&sites_, Site(key))->alloc_objects);
    ExpectSame();
}

TEST_F(SitesTest, EqualStacksOfTwoClassesAreTwoSites)
{
    EXPECT_NE(Site({Stack(1), 1}), Site({Stack(1), 2}));
    EXPECT_EQ(Site({Stack(1), 1}), Site({Stack(1), 1}));
}

TEST_F(SitesTest, AClassAndACallerOfOneNumberAreTwoSites)
{
    uint32_t objects = Site({Stack(1), 7}), blocks = Site({Stack(1), 7 | HEAPPROF_SITE_OF_BLOCKS});
    EXPECT_NE(objects, blocks);
    EXPECT_FALSE(rb_heapprof_site_of_blocks_p(rb_heapprof_sites_get(&sites_, objects)));
    EXPECT_TRUE(rb_heapprof_site_of_blocks_p(rb_heapprof_sites_get(&sites_, blocks)));
    for (uint32_t site : {objects, blocks}) {
        EXPECT_EQ(7u, rb_heapprof_site_identity(rb_heapprof_sites_get(&sites_, site)));
    }
}

TEST_F(SitesTest, BlocksAreFoldedApartFromObjects)
{
    Key objects(Stack(1), 7), blocks(Stack(1), 7 | HEAPPROF_SITE_OF_BLOCKS);
    ASSERT_TRUE(Alloc(objects, 2, 40) && Alloc(blocks, 3, 1000));
    Free(objects);
    Free(blocks);
    Fold();
    EXPECT_EQ(2, sites_.folded.alloc_objects);
    EXPECT_EQ(80, sites_.folded.alloc_bytes);
    EXPECT_EQ(3, sites_.folded_blocks.alloc_objects);
    EXPECT_EQ(3000, sites_.folded_blocks.alloc_bytes);
    EXPECT_EQ(2u, sites_.folded_count);
    ExpectSame();
}

// 13107.7 has no exact float: what a site counts must be what its samples, kept as floats,
// add up to, or a site with nothing dead would seem to have some.
TEST_F(SitesTest, TotalsAreSumsOfWeightsAsSamplesKeepThem)
{
    uint32_t site = Site({Stack(1), 1});
    double expected = 0;
    for (int i = 0; i < 100000; i++) {
        rb_heapprof_sites_count_alloc(&sites_, site, 13107.7, 40);
        expected += 13107.7f;
    }
    EXPECT_EQ(expected, rb_heapprof_sites_get(&sites_, site)->alloc_objects);
    EXPECT_NE(13107.7 * 100000, expected);
}

// A sample that counts more, and one that is none any more: what is dead stays as it was.
TEST_F(SitesTest, ReweighedSamplesLeaveWhatIsDead)
{
    uint32_t site = Site({Stack(1), 1});
    for (int i = 0; i < 3; i++) rb_heapprof_sites_count_alloc(&sites_, site, 2.5, 40);
    rb_heapprof_sites_count_free(&sites_, site);
    rb_heapprof_sites_reweigh(&sites_, site, 2.5f, 5.25f, 40);
    rb_heapprof_sites_reweigh(&sites_, site, 2.5f, 0, 40);
    rb_heapprof_sites_count_free(&sites_, site);
    const heapprof_site *reweighed = rb_heapprof_sites_get(&sites_, site);
    EXPECT_EQ(2.5 + 5.25, reweighed->alloc_objects);
    EXPECT_EQ((2.5 + 5.25) * 40, reweighed->alloc_bytes);
    EXPECT_EQ(1u, reweighed->live_samples);
    EXPECT_EQ(0u, rb_heapprof_sites_forget_empty(&sites_));
}

TEST_F(SitesTest, OnlySitesWithoutAnythingAreForgotten)
{
    Key alive(Stack(1), 1), dead(Stack(2), 1), empty(Stack(3), 1);
    ASSERT_TRUE(Alloc(alive, 1, 40) && Alloc(dead, 1, 40) && Alloc(empty, 13107.7f, 40));
    Free(dead);
    rb_heapprof_sites_reweigh(&sites_, Site(empty), 13107.7f, 0, 40);
    Free(empty);
    EXPECT_EQ(1u, rb_heapprof_sites_forget_empty(&sites_));
    model_.erase(empty);
    ExpectSame();
    rb_heapprof_stacks_trim(&stacks_);
    EXPECT_EQ(2u, stacks_.numbers.count);
    EXPECT_EQ(0u, sites_.folded_count);
}

TEST_F(SitesTest, RefusedInternLeavesAllAsItWas)
{
    int refusals = 0;
    uint32_t stack = Stack(1);
    mem_.budget_bytes = mem_.used_bytes;
    for (uint32_t class_id = 1; class_id <= 3000; class_id++) {
        refusals += AddPageByPage(
            &mem_, [&] { return Alloc({stack, class_id}, 1, 40); },
            [&] {
                ASSERT_EQ(class_id - 1, rb_heapprof_stacks_node(&stacks_, stack)->holds);
                ExpectSame();
            });
    }
    ExpectSame();
    EXPECT_GE(refusals, 2 * 4);
}

TEST_F(SitesTest, FreeLeavesAnEmptyTable)
{
    ASSERT_TRUE(Alloc({Stack(1), 1}, 7, 40));
    rb_heapprof_sites_free(&sites_);
    model_.clear();
    ASSERT_TRUE(Alloc({Stack(2), 1}, 7, 40));
    ExpectSame();
}

using SitesDeathTest = SitesTest;

TEST_F(SitesDeathTest, FreeOfASiteWithoutLiveSamplesIsSeen)
{
    uint32_t site = Site({Stack(1), 1});
    EXPECT_DEATH(rb_heapprof_sites_count_free(&sites_, site), "broken");
}

TEST_F(SitesDeathTest, CheckSeesAStackNobodyHolds)
{
    ASSERT_TRUE(Alloc({Stack(1), 1}, 1, 40));
    rb_heapprof_stacks_unhold(&stacks_, Stack(1));
    EXPECT_DEATH(rb_heapprof_sites_check(&sites_), "broken");
}

TEST_F(SitesDeathTest, CheckSeesFewerObjectsThanLiveSamples)
{
    ASSERT_TRUE(Alloc({Stack(1), 1}, 1, 40));
    sites_.all[1].live_samples = 2;
    EXPECT_DEATH(rb_heapprof_sites_check(&sites_), "broken");
}

} // namespace
