// difference_test.cc - later minus earlier, whatever numbers each has for the same.

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <string>
#include <tuple>

#include "test/unit/support/snapshot_builder.h"

extern "C" {
#include "profiler/difference.h"
}

namespace {

using Key = std::tuple<std::string, std::string, std::string>; // stack, class or caller, owner
using Values = std::tuple<double, double, double, double>;     // objects and bytes, alloc and inuse

std::string
Text(const heapprof_snapshot *snapshot, uint32_t string)
{
    return rb_heapprof_strings_get(&snapshot->strings, string, nullptr);
}

std::string
Frames(const heapprof_snapshot *snapshot, uint32_t stack)
{
    heapprof_frame frames[16];
    std::string text;
    size_t count = rb_heapprof_snapshot_frames(snapshot, stack, frames, 16);
    for (size_t i = 0; i < count; i++) {
        text += Text(snapshot, frames[i].name) + ":" + std::to_string(frames[i].line) + "<";
    }
    return text;
}

std::map<Key, Values>
Rows(const heapprof_snapshot *snapshot)
{
    std::map<Key, Values> rows;
    for (size_t i = 0; i < snapshot->row_count; i++) {
        const heapprof_row &row = snapshot->rows[i];
        std::string name =
            (row.kind == HEAPPROF_ROW_BLOCKS ? "by " : "") + Text(snapshot, row.subject);
        auto &values = rows[{Frames(snapshot, row.stack), name, Text(snapshot, row.owner)}];
        std::get<0>(values) += row.alloc_objects;
        std::get<1>(values) += row.alloc_slot_bytes + row.alloc_malloc_bytes;
        std::get<2>(values) += row.inuse_objects;
        std::get<3>(values) += row.inuse_slot_bytes + row.inuse_malloc_bytes;
    }
    return rows;
}

Snapshot
Difference(const Snapshot &later, const Snapshot &earlier)
{
    return Snapshot(rb_heapprof_snapshot_difference(later.get(), earlier.get()),
                    rb_heapprof_snapshot_free);
}

// Functions and classes are entered in random order, so that numbers mean nothing.
void
Fill(SnapshotBuilder &builder, unsigned seed, int samples)
{
    std::mt19937 random(seed);
    for (int i = 0; i < samples; i++) {
        uint32_t stack = builder.Stack({{builder.Function(std::string(1, 'a' + random() % 5)), 1},
                                        {builder.Function(std::string(1, 'f' + random() % 5)), 2}});
        std::string name(1, 'A' + random() % 4);
        uint32_t age = 1u << random() % 4;
        if (random() % 3 == 0) {
            uintptr_t block =
                builder.Block(stack, builder.Caller(name), 1 + random() % 8, 100, age);
            if (random() % 2) builder.Own(block, builder.Class("Owner" + name));
        }
        else if (random() % 3 == 0) {
            builder.Dead(stack, builder.Class(name), 1 + random() % 8, 40);
        }
        else {
            builder.Live(stack, builder.Class(name), 1 + random() % 8, 40, age);
        }
    }
}

TEST(Difference, AddsUpAsMapsByTextDo)
{
    for (unsigned seed = 0; seed < 20; seed++) {
        SnapshotBuilder builders[2];
        Fill(builders[0], seed, 300);
        Fill(builders[1], seed + 1000, 200);
        Snapshot later = builders[0].Take(), earlier = builders[1].Take();
        std::map<Key, Values> expected = Rows(later.get());
        for (auto &[key, values] : Rows(earlier.get())) {
            auto &sum = expected[key];
            std::get<0>(sum) -= std::get<0>(values);
            std::get<1>(sum) -= std::get<1>(values);
            std::get<2>(sum) -= std::get<2>(values);
            std::get<3>(sum) -= std::get<3>(values);
        }
        for (auto row = expected.begin(); row != expected.end();) {
            row = row->second == Values{} ? expected.erase(row) : std::next(row);
        }
        Snapshot difference = Difference(later, earlier);
        EXPECT_EQ(expected, Rows(difference.get()));
        rb_heapprof_functions_check(&difference->functions);
        rb_heapprof_stacks_check(&difference->stacks);
    }
}

TEST(Difference, HasTheOriginOfTheLaterOne)
{
    SnapshotBuilder builders[2];
    Snapshot later = builders[0].Take(), earlier = builders[1].Take();
    EXPECT_EQ(0u, Difference(later, earlier)->origin);
    later->origin = rb_heapprof_strings_intern(&later->strings, "pid: 2", 6);
    earlier->origin = rb_heapprof_strings_intern(&earlier->strings, "pid: 1", 6);
    Snapshot difference = Difference(later, earlier);
    EXPECT_STREQ("pid: 2",
                 rb_heapprof_strings_get(&difference->strings, difference->origin, nullptr));
}

TEST(Difference, OfASnapshotWithItselfIsEmpty)
{
    SnapshotBuilder builder;
    Fill(builder, 7, 200);
    Snapshot snapshot = builder.Take();
    EXPECT_EQ(0u, Difference(snapshot, snapshot)->row_count);
}

TEST(Difference, EmptySnapshots)
{
    SnapshotBuilder empty, builder;
    empty.facts.owners = true;
    Fill(builder, 3, 50);
    Snapshot none = empty.Take(), some = builder.Take();
    EXPECT_EQ(0u, Difference(none, none)->row_count);
    EXPECT_EQ(Rows(some.get()), Rows(Difference(some, none).get()));
    for (auto &[key, values] : Rows(Difference(none, some).get()))
        EXPECT_LT(std::get<0>(values) + std::get<1>(values), 0);
}

TEST(Difference, ObjectsThatOnlyAgedHaveNotChanged)
{
    SnapshotBuilder builders[2];
    for (int i = 0; i < 2; i++) {
        uint32_t stack = builders[i].Stack({{builders[i].Function("f"), 1}});
        builders[i].Live(stack, builders[i].Class("A"), 3, 40, i ? 1 : 8);
    }
    EXPECT_EQ(0u, Difference(builders[0].Take(), builders[1].Take())->row_count);
}

// One object and one block of 100 bytes that it holds.
Snapshot
Holder(bool owners)
{
    SnapshotBuilder builder;
    builder.memsize = 40;
    uint32_t stack = builder.Stack({{builder.Function("f"), 1}});
    uint32_t entry = builder.Live(stack, builder.Class("A"), 1, 40);
    uintptr_t block = builder.Block(stack, builder.Caller("new (ruby)"), 1, 100);
    if (owners) builder.Own(block, builder.Class("A"), entry);
    else builder.memsize = 0;
    return builder.Take();
}

TEST(Difference, WhatOnlyOneSideWasAskedForIsNoChange)
{
    Snapshot with = Holder(true), without = Holder(false);
    EXPECT_EQ(0u, Difference(with, without)->row_count);
    EXPECT_EQ(0u, Difference(without, with)->row_count);
    EXPECT_EQ(0u, Difference(with, with)->row_count);
    EXPECT_TRUE(Difference(with, with)->facts.owners);
    EXPECT_FALSE(Difference(with, without)->facts.owners);
}

TEST(Difference, OwnersThatBothKnowStay)
{
    SnapshotBuilder nothing;
    nothing.facts.owners = true;
    Snapshot difference = Difference(Holder(true), nothing.Take());
    ASSERT_EQ(2u, difference->row_count);
    EXPECT_TRUE(difference->rows[0].owner || difference->rows[1].owner);
    EXPECT_EQ(40, difference->rows[0].memsize_bytes + difference->rows[1].memsize_bytes);
}

TEST(Difference, RungsAreComparedWithRungs)
{
    heapprof_ladder ladder = {};
    ladder.rss = ladder.slots = 1000;
    Snapshot none = Holder(false), first = Holder(false), second = Holder(false);
    ASSERT_TRUE(rb_heapprof_ladder_add_rows(first.get(), &ladder));
    ladder.rss = ladder.slots = 3000;
    ASSERT_TRUE(rb_heapprof_ladder_add_rows(second.get(), &ladder));
    EXPECT_EQ(0u, Difference(first, none)->row_count);
    EXPECT_EQ(0u, Difference(none, first)->row_count);
    Snapshot difference = Difference(second, first);
    ASSERT_EQ(1u, difference->row_count);
    EXPECT_EQ(2000, difference->rows[0].resident_bytes);
    EXPECT_EQ(HEAPPROF_ROW_RUNG, difference->rows[0].kind);
}

TEST(Difference, VariancesAddUp)
{
    SnapshotBuilder later, earlier;
    for (SnapshotBuilder *builder : {&later, &earlier}) {
        uint32_t stack = builder->Stack({{builder->Function("f"), 1}});
        builder->Live(stack, builder->Class("A"), builder == &later ? 5 : 3, 40);
    }
    Snapshot difference = Difference(later.Take(), earlier.Take());
    ASSERT_EQ(1u, difference->row_count);
    EXPECT_EQ((5.0 * 4 + 3 * 2) * 40 * 40, difference->rows[0].inuse_variance);
}

// As old as the GCs between, and older: with the same weight in both.
TEST(Difference, WhatBothHaveOfOneRunIsNoPartOfTheVariance)
{
    auto variance = [](int64_t start_ns, uint64_t doublings, double kept, double gone,
                       double more) {
        SnapshotBuilder later, earlier;
        later.facts.gc_count = earlier.facts.gc_count + 4;
        later.facts.start_ns = start_ns;
        later.facts.time_ns = 1;
        later.facts.doublings = doublings;
        for (SnapshotBuilder *builder : {&later, &earlier}) {
            uint32_t stack = builder->Stack({{builder->Function("f"), 1}}), a = builder->Class("A");
            if (kept) builder->Live(stack, a, kept, 40, builder == &later ? 8 : 4);
            if (gone && builder == &earlier) builder->Live(stack, a, gone, 40, 4);
            if (more && builder == &later) builder->Live(stack, a, more, 40, 2);
        }
        Snapshot difference = Difference(later.Take(), earlier.Take());
        EXPECT_EQ(1u, difference->row_count);
        return difference->rows[0].inuse_variance / (40 * 40);
    };
    EXPECT_EQ(5 * 4, variance(0, 0, 3, 0, 5));
    EXPECT_EQ(7 * 6 + 5 * 4, variance(0, 0, 3, 7, 5));
    EXPECT_EQ(2 * 3 * 2 + 7 * 6 + 5 * 4, variance(1, 0, 3, 7, 5)) << "of two runs";
    EXPECT_EQ(2 * 3 * 2 + 7 * 6 + 5 * 4, variance(0, 1, 3, 7, 5)) << "thinned in between";
}

// Born between the earlier moment and the next GC.
TEST(Difference, WhatTheEarlierHadNothingOfIsNotKept)
{
    SnapshotBuilder later, earlier;
    later.facts.gc_count = earlier.facts.gc_count + 4;
    later.Live(later.Stack({{later.Function("f"), 1}}), later.Class("A"), 5, 40, 4);
    EXPECT_EQ(5.0 * 4 * 40 * 40, Difference(later.Take(), earlier.Take())->rows[0].inuse_variance);
}

TEST(Difference, IsOfTheLaterMomentSinceTheEarlier)
{
    SnapshotBuilder later, earlier;
    later.facts.time_ns = 50;
    earlier.facts.time_ns = 20;
    Snapshot difference = Difference(later.Take(), earlier.Take());
    EXPECT_EQ(50, difference->facts.time_ns);
    EXPECT_EQ(20, difference->facts.start_ns);
}

// ---- equality ----

bool
EqualP(const Snapshot &one, const Snapshot &other)
{
    bool equal = false;
    EXPECT_TRUE(rb_heapprof_snapshot_equal_p(one.get(), other.get(), &equal));
    return equal;
}

TEST(Equality, SameRowsInAnyOrderAreEqual)
{
    SnapshotBuilder one, other;
    uint32_t a = one.Stack({{one.Function("a"), 1}}), b = one.Stack({{one.Function("b"), 2}});
    one.Live(a, one.Class("A"), 2, 40, 1);
    one.Live(b, one.Class("B"), 2, 40, 4);
    uint32_t y = other.Stack({ { other.Function("b"), 2 } }),
             x = other.Stack({ { other.Function("a"), 1 } });
    other.Live(y, other.Class("B"), 2, 40, 4);
    other.Live(x, other.Class("A"), 1, 40, 1); // the other of two classes of a name
    other.Live(x, other.Class("A"), 1, 40, 1);
    other.facts.time_ns = 17;
    EXPECT_TRUE(EqualP(one.Take(), other.Take()));
}

TEST(Equality, AnotherAgeValueOwnerOrKindIsAnotherProfile)
{
    auto build = [](int what) {
        SnapshotBuilder builder;
        uint32_t stack = builder.Stack({{builder.Function("a"), what == 1 ? 2u : 1u}});
        builder.Live(stack, builder.Class(what == 2 ? "B" : "A"), what == 3 ? 3 : 2, 40,
                     what == 4 ? 2 : 1);
        uintptr_t block = builder.Block(stack, builder.Caller("c (d)", "d"), 2, 100);
        if (what == 5) builder.Own(block, builder.Class("O"));
        if (what == 6) builder.DeadBlock(stack, builder.Caller("c (d)", "d"), 2, 100);
        return builder.Take();
    };
    auto base = build(0);
    EXPECT_TRUE(EqualP(base, build(0)));
    for (int what = 1; what <= 6; what++) {
        EXPECT_FALSE(EqualP(base, build(what))) << what;
        EXPECT_FALSE(EqualP(build(what), base)) << what;
    }
}

} // namespace
