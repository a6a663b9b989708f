// alike_test.cc - a snapshot has a row for each sample that a file of it has: rows that look
// alike are one, and nothing is lost by that.

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "test/unit/support/snapshot_builder.h"
#include "test/unit/support/table_testing.h"

extern "C" {
#include "profiler/pprof_tables.h"
}

namespace {

using Frames = std::vector<SnapshotBuilder::Frame>;

// What can be seen of a row.
struct Key {
    std::string frames, subject, library, owner, owner_frames;
    int kind;
    uint32_t age;
    bool native_leak;

    bool
    operator<(const Key &other) const
    {
        return Tie() < other.Tie();
    }

    std::tuple<std::string, std::string, std::string, std::string, std::string, int, uint32_t, bool>
    Tie() const
    {
        return {frames, subject, library, owner, owner_frames, kind, age, native_leak};
    }
};

struct Values {
    double alloc_objects = 0, alloc_bytes = 0, inuse_objects = 0, inuse_bytes = 0, variance = 0,
           memsize = 0;
};

std::string
Text(const heapprof_snapshot *snapshot, uint32_t number)
{
    size_t length;
    const char *text = rb_heapprof_strings_get(&snapshot->strings, number, &length);
    return std::string(text, length);
}

std::string
FramesOf(const heapprof_snapshot *snapshot, uint32_t stack)
{
    std::vector<heapprof_frame> frames(rb_heapprof_snapshot_frames(snapshot, stack, nullptr, 0));
    std::string text;
    rb_heapprof_snapshot_frames(snapshot, stack, frames.data(), frames.size());
    for (const heapprof_frame &frame : frames) {
        text += Text(snapshot, frame.name) + " " + Text(snapshot, frame.path) + ":" +
                std::to_string(frame.line) + "\n";
    }
    return text;
}

std::map<Key, Values>
Rows(const heapprof_snapshot *snapshot)
{
    std::map<Key, Values> rows;
    for (size_t i = 0; i < snapshot->row_count; i++) {
        const heapprof_row &row = snapshot->rows[i];
        Values &values =
            rows[{ FramesOf(snapshot, row.stack), Text(snapshot, row.subject),
                   Text(snapshot, row.library), Text(snapshot, row.owner),
                   FramesOf(snapshot, row.owner_stack), row.kind, row.gc_age, row.native_leak }];
        values.alloc_objects += row.alloc_objects;
        values.alloc_bytes += row.alloc_slot_bytes + row.alloc_malloc_bytes;
        values.inuse_objects += row.inuse_objects;
        values.inuse_bytes += row.inuse_slot_bytes + row.inuse_malloc_bytes;
        values.variance += row.inuse_variance;
        values.memsize += row.memsize_bytes;
    }
    return rows;
}

// No two rows look alike, and a file has as many samples, also one whose writer looks for such as
// do.
void
ExpectOneOfEach(heapprof_snapshot *snapshot)
{
    heapprof_pprof_tables tables;
    EXPECT_EQ(snapshot->row_count, Rows(snapshot).size());
    EXPECT_TRUE(snapshot->distinct);
    for (bool distinct : {false, true}) {
        snapshot->distinct = distinct;
        EXPECT_TRUE(rb_heapprof_pprof_tables_build(&tables, snapshot));
        EXPECT_EQ(snapshot->row_count, tables.sample_count);
        rb_heapprof_pprof_tables_free(&tables);
    }
}

// It is shown at its caller's line, or at none.
TEST(Alike, LineOfItsOwnOfACFunctionIsNotSeen)
{
    SnapshotBuilder builder;
    for (uint32_t line : {1, 2}) {
        uint32_t outermost = builder.Stack({{builder.CFunction("call"), line}});
        uint32_t within = builder.Stack(
            { { builder.Function("<main>"), 9 }, { builder.CFunction("new"), line } });
        builder.Live(outermost, builder.Class("A"), 2, 40);
        builder.Live(within, builder.Class("A"), 2, 40);
    }
    Snapshot snapshot = builder.Take();
    ExpectOneOfEach(snapshot.get());
    EXPECT_EQ(2u, snapshot->row_count);
}

TEST(Alike, CodeThatWasEvaluatedTwiceIsOneRow)
{
    SnapshotBuilder builder;
    for (int i = 0; i < 3; i++) {
        uint32_t stack =
            builder.Stack({ { builder.Function("<main>"), 9 }, { builder.Function("f"), 4 } });
        builder.Live(stack, builder.Class("A"), 2, 40);
        builder.Dead(stack, builder.Class("A"), 1, 40);
    }
    Snapshot snapshot = builder.Take();
    ExpectOneOfEach(snapshot.get());
    ASSERT_EQ(2u, snapshot->row_count);
    EXPECT_EQ(6, snapshot->rows[0].inuse_objects);
    EXPECT_EQ(9, snapshot->rows[0].alloc_objects + snapshot->rows[1].alloc_objects);
}

TEST(Alike, ACFunctionLooksLikeARubyMethodWhereItWasCalled)
{
    SnapshotBuilder builder;
    uint32_t main = builder.Function("<main>", "/x.rb"), a = builder.Class("A");
    builder.Live(builder.Stack({{main, 9}, {builder.CFunction("f"), 0}}), a, 1, 40);
    builder.Live(builder.Stack({{main, 9}, {builder.Function("f", "/x.rb"), 9}}), a, 1, 40);
    builder.Live(builder.Stack({{main, 9}, {builder.Function("f", "/x.rb"), 8}}), a, 1, 40);
    Snapshot snapshot = builder.Take();
    ExpectOneOfEach(snapshot.get());
    EXPECT_EQ(2u, snapshot->row_count);
}

TEST(Alike, ClassesWithoutANameAreOne)
{
    SnapshotBuilder builder;
    uint32_t stack = builder.Stack({{builder.Function("f"), 4}});
    for (uint32_t id :
         { builder.UnnamedClass(), builder.UnnamedClass(), builder.Class("(anonymous)") }) {
        builder.Live(stack, id, 1, 40);
    }
    builder.Live(stack, 0, 1, 40);
    builder.Live(stack, builder.Class(""), 1, 40);
    Snapshot snapshot = builder.Take();
    ExpectOneOfEach(snapshot.get());
    ASSERT_EQ(2u, snapshot->row_count);
    EXPECT_EQ(3, snapshot->rows[0].inuse_objects);
    EXPECT_EQ(2, snapshot->rows[1].inuse_objects);
}

TEST(Alike, BlocksOfOwnersThatLookAlikeAreOneRow)
{
    SnapshotBuilder builder;
    for (int i = 0; i < 2; i++) {
        uint32_t stack = builder.Stack({ { builder.Function("f"), 4 } }),
                 owner = builder.Class("Owner");
        uint32_t object =
            builder.Live(builder.Stack({ { builder.Function("made"), 1 } }), owner, 1, 40);
        builder.Own(builder.Block(stack, builder.Caller("g", "libg.so"), 1, 100), owner, object);
        builder.Own(builder.Block(stack, builder.Caller("g", "libg.so"), 1, 100), owner);
        builder.Own(builder.Block(stack, builder.Caller("g", "libh.so"), 1, 100), owner, object);
    }
    Snapshot snapshot = builder.Take();
    ExpectOneOfEach(snapshot.get());
    EXPECT_EQ(4u, snapshot->row_count); // the owners themselves, and three kinds of blocks
}

// Births of survivors are counted for all that looks the same: each site alone would not grow.
TEST(Alike, WhatGrowsIsSeenOverAllSitesThatLookAlike)
{
    SnapshotBuilder builder;
    builder.facts.owners = true;
    builder.facts.old_gc = 90;
    for (uint32_t age : {20, 30, 40}) {
        uint32_t stack = builder.Stack({{builder.Function("f"), 4}});
        builder.Block(stack, builder.Caller("g"), 1, 100, age);
    }
    Snapshot snapshot = builder.Take();
    ExpectOneOfEach(snapshot.get());
    for (size_t i = 0; i < snapshot->row_count; i++) EXPECT_TRUE(snapshot->rows[i].native_leak);
}

// Each thing that is entered has a twin that looks the same; the model has what can be seen.
TEST(Alike, RandomTwinsAreOneRowAndNothingIsLost)
{
    Choices choices(20261125);
    for (int round = 0; round < 20; round++) {
        SnapshotBuilder builder;
        builder.memsize = 7;
        std::vector<uint32_t> functions, classes, callers, entries;
        for (int i = 0; i < 12; i++) {
            std::string name(1, static_cast<char>('a' + i / 2 % 4));
            bool in_c = choices.OneIn(3);
            functions.push_back(in_c ? builder.CFunction(name)
                                     : builder.Function(name, choices.OneIn(2) ? "/x" : "/y"));
            classes.push_back(
                i == 0 ? 0 : builder.Class(std::string(1, static_cast<char>('A' + i / 2))));
            callers.push_back(i == 0 ? 0 : builder.Caller("call", i % 3 ? "libx" : ""));
        }
        double alloc_objects = 0, alloc_bytes = 0, inuse_bytes = 0, samples = 0;
        for (int i = 0; i < 2000; i++) {
            Frames frames;
            for (uint64_t depth = choices.Below(5); depth > 0; depth--) {
                frames.push_back(
                    { functions[choices.Below(12)], static_cast<uint32_t>(choices.Below(2)) });
            }
            uint32_t stack = builder.Stack(frames), age = 1u << choices.Below(4);
            double weight = static_cast<double>(1 + choices.Below(9)); // rows have whole numbers
            switch (choices.Below(4)) {
              case 0:
                builder.Dead(stack, classes[choices.Below(12)], weight, 40);
                alloc_objects += weight;
                alloc_bytes += weight * 40;
                break;
              case 1: {
                  uintptr_t block =
                      builder.Block(stack, callers[choices.Below(12)], weight, 100, age);
                  if (choices.OneIn(2))
                      builder.Own(block, classes[1 + choices.Below(11)],
                                  entries.empty() ? 0 : entries.back());
                  alloc_bytes += weight * 100;
                  inuse_bytes += weight * 100;
                  break;
              }
              default:
                entries.push_back(builder.Live(stack, classes[choices.Below(12)], weight, 80, age));
                alloc_objects += weight;
                alloc_bytes += weight * 80;
                inuse_bytes += weight * 80;
                samples++;
            }
        }
        Snapshot snapshot = builder.Take();
        ExpectOneOfEach(snapshot.get());
        Values sum;
        for (const auto &row : Rows(snapshot.get())) {
            sum.alloc_objects += row.second.alloc_objects;
            sum.alloc_bytes += row.second.alloc_bytes;
            sum.inuse_bytes += row.second.inuse_bytes;
            sum.memsize += row.second.memsize;
        }
        EXPECT_EQ(alloc_objects, sum.alloc_objects);
        EXPECT_EQ(alloc_bytes, sum.alloc_bytes);
        EXPECT_EQ(inuse_bytes, sum.inuse_bytes);
        EXPECT_EQ(7 * samples, sum.memsize);
    }
}

} // namespace
