// leak_totals_test.cc - how much of each site is left, by fate, and whose it is.

#include <gtest/gtest.h>

#include <cstdlib>
#include <memory>
#include <vector>

#include "test/unit/support/snapshot_builder.h"

extern "C" {
#include "profiler/leaks/totals.h"
}

namespace {

using Values = std::vector<int64_t>; // blocks, bytes, indirect blocks, indirect bytes

class LeakTotalsTest : public testing::Test {
  protected:
    SnapshotBuilder builder_;
    uint32_t function_ = builder_.Function("f"), c_function_ = builder_.CFunction("C.f");
    uint32_t stack_ = builder_.Stack({{function_, 1}});
    uint32_t caller_ = builder_.Caller("lib_work", "lib.so");
    std::vector<heapprof_lost_block> blocks_;

    uint32_t Site(uint32_t stack, uint32_t caller)
    {
        return builder_.Dead(stack, caller | HEAPPROF_SITE_OF_BLOCKS, 1, 1, true);
    }

    // Its place, for those that it leads to.
    uint32_t Left(uint32_t site, heapprof_fate fate, size_t bytes, uint32_t leader = 0) {
        blocks_.push_back({0x1000 * (blocks_.size() + 1), bytes, site, fate, leader, false});
        return uint32_t(blocks_.size() - 1);
    }

    std::unique_ptr<heapprof_leak_totals[], decltype(&std::free)> Totals() {
        heapprof_lost lost = {};
        lost.blocks = blocks_.data();
        lost.block_count = blocks_.size();
        return {rb_heapprof_leak_totals(builder_.Tables(), &lost), std::free};
    }

    Values Of(uint32_t site, heapprof_fate fate) {
        auto totals = Totals();
        const int64_t *values = totals[site].of[fate].values;
        return Values(values, values + HEAPPROF_LEAK_VALUES);
    }
};

TEST_F(LeakTotalsTest, BlocksAreAddedUpBySiteAndFate) {
    uint32_t one = Site(stack_, caller_), other = Site(0, caller_);

    Left(one, HEAPPROF_LOST, 100);
    Left(other, HEAPPROF_LOST, 5);
    Left(one, HEAPPROF_LOST, 28);
    Left(one, HEAPPROF_REACHABLE, 7);
    Left(other, HEAPPROF_POSSIBLE, 9);
    EXPECT_EQ((Values{2, 128, 0, 0}), Of(one, HEAPPROF_LOST));
    EXPECT_EQ((Values{1, 7, 0, 0}), Of(one, HEAPPROF_REACHABLE));
    EXPECT_EQ((Values{0, 0, 0, 0}), Of(one, HEAPPROF_POSSIBLE));
    EXPECT_EQ((Values{1, 5, 0, 0}), Of(other, HEAPPROF_LOST));
    EXPECT_EQ((Values{1, 9, 0, 0}), Of(other, HEAPPROF_POSSIBLE));
}

TEST_F(LeakTotalsTest, IndirectBlocksAreTheirOwnSitesAndCountForTheirLeaders) {
    uint32_t head = Site(stack_, caller_), node = Site(0, caller_);

    uint32_t first = Left(head, HEAPPROF_LOST, 16), second = Left(head, HEAPPROF_LOST, 16);
    Left(node, HEAPPROF_INDIRECT, 30, first);
    Left(node, HEAPPROF_INDIRECT, 40, second);
    Left(head, HEAPPROF_INDIRECT, 50, second); // as in a tree, whose nodes are all of one site
    EXPECT_EQ((Values{2, 32, 3, 120}), Of(head, HEAPPROF_LOST));
    EXPECT_EQ((Values{1, 50, 0, 0}), Of(head, HEAPPROF_INDIRECT));
    EXPECT_EQ((Values{2, 70, 0, 0}), Of(node, HEAPPROF_INDIRECT));
    EXPECT_EQ((Values{0, 0, 0, 0}), Of(node, HEAPPROF_LOST));
}

TEST_F(LeakTotalsTest, WhatNobodyIsKnownToHaveAskedForIsOfNoSite) {
    Left(0, HEAPPROF_LOST, 10);
    EXPECT_EQ((Values{1, 10, 0, 0}), Of(0, HEAPPROF_LOST));
}

TEST_F(LeakTotalsTest, WithoutBlocksThereIsNothing) {
    uint32_t site = Site(stack_, caller_);
    for (int fate = HEAPPROF_UNSEEN; fate < HEAPPROF_FATES; fate++)
        EXPECT_EQ((Values { 0, 0, 0, 0 }), Of(site, heapprof_fate(fate)));
}

// ---- whose it is ----

TEST_F(LeakTotalsTest, ACallerThatHasANameIsKnown) {
    const heapprof_identity *all = builder_.Tables()->identities.all;

    EXPECT_EQ(nullptr, rb_heapprof_leak_site_caller(builder_.Tables(), 0).identity);
    EXPECT_EQ(nullptr, rb_heapprof_leak_site_caller(builder_.Tables(), Site(stack_, 0)).identity);
    EXPECT_EQ(&all[caller_],
              rb_heapprof_leak_site_caller(builder_.Tables(), Site(stack_, caller_)).identity);
    uint32_t unnamed = Site(stack_, builder_.UnnamedCaller());
    EXPECT_EQ(nullptr, rb_heapprof_leak_site_caller(builder_.Tables(), unnamed).identity);
}

TEST_F(LeakTotalsTest, WhatTheStandardLibraryAsksForIsOfItsFirstCallerThatIsNotOfIt) {
    heapprof_tables *tables = builder_.Tables();
    uint32_t grow = builder_.Caller("std::vector<int>::_M_grow() (ext.so)", "ext.so"),
             push = builder_.Caller("std::vector<int>::push_back() (ext.so)", "ext.so"),
             fill = builder_.Caller("fill() (ext.so)", "ext.so");
    uint32_t outer = rb_heapprof_stacks_push(&tables->c_paths, 0, caller_, 0),
             middle = rb_heapprof_stacks_push(&tables->c_paths, outer, fill, 0),
             inner = rb_heapprof_stacks_push(&tables->c_paths, middle, push, 0),
             alone = rb_heapprof_stacks_push(&tables->c_paths, 0, push, 0);
    auto site = [&](uint32_t caller, uint32_t along) {
        return rb_heapprof_sites_intern_called(&tables->sites, stack_,
                                               caller | HEAPPROF_SITE_OF_BLOCKS, 0, along);
    };
    auto expect = [&](uint32_t caller, uint32_t path, heapprof_leak_caller found) {
        EXPECT_EQ(&tables->identities.all[caller], found.identity);
        EXPECT_EQ(path, found.c_path);
    };

    expect(fill, outer, rb_heapprof_leak_site_caller(tables, site(grow, inner)));
    expect(fill, outer, rb_heapprof_leak_site_caller(tables, site(fill, outer)));
    expect(fill, outer, rb_heapprof_leak_end_caller(tables, inner));
    // there is nobody else
    expect(grow, alone, rb_heapprof_leak_site_caller(tables, site(grow, alone)));
    EXPECT_EQ(nullptr, rb_heapprof_leak_end_caller(tables, 0).identity);
    EXPECT_NE(site(grow, inner), site(grow, alone));
    EXPECT_EQ(site(grow, inner), site(grow, inner));
}

TEST_F(LeakTotalsTest, CoreIsWhatIsInRubysFileOrNobodys) {
    auto core = [&](uint32_t caller) {
        const heapprof_tables *tables = builder_.Tables();
        return rb_heapprof_leak_core_p(tables, caller ? &tables->identities.all[caller] : nullptr,
                                       "ruby");
    };
    EXPECT_TRUE(core(0));
    EXPECT_TRUE(core(builder_.UnnamedCaller())); // of no file
    EXPECT_TRUE(core(builder_.Caller("rb_new", "ruby")));
    EXPECT_FALSE(core(caller_));
    EXPECT_FALSE(core(builder_.Caller("rb_new", "ruby.so")));
}

TEST_F(LeakTotalsTest, ACMethodIsPlacedWhereRubyCodeCalledIt) {
    uint32_t called = builder_.Stack({{function_, 3}, {c_function_, 0}, {c_function_, 0}});

    EXPECT_EQ(builder_.Stack({{function_, 3}}), rb_heapprof_leak_placed(builder_.Tables(), called));
    EXPECT_EQ(stack_, rb_heapprof_leak_placed(builder_.Tables(), stack_));
    EXPECT_EQ(0u, rb_heapprof_leak_placed(builder_.Tables(), builder_.Stack({{c_function_, 0}})));
    EXPECT_EQ(0u, rb_heapprof_leak_placed(builder_.Tables(), 0));
}

} // namespace
