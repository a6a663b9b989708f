// pprof_tables_test.cc - what rows become the same sample, and how values are rounded.

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <string>
#include <tuple>
#include <vector>

#include "test/unit/support/snapshot_builder.h"

extern "C" {
#include "profiler/pprof_tables.h"
}

namespace {

// The tables of a snapshot, and the snapshot they read.
struct Tables {
    Snapshot snapshot;
    heapprof_pprof_tables tables;

    explicit Tables(SnapshotBuilder &builder) : snapshot(builder.Take())
    {
        EXPECT_TRUE(rb_heapprof_pprof_tables_build(&tables, snapshot.get()));
        rb_heapprof_functions_check(&tables.functions);
        rb_heapprof_stacks_check(&tables.locations);
    }

    ~Tables()
    {
        rb_heapprof_pprof_tables_free(&tables);
        EXPECT_EQ(0u, tables.mem.used_bytes);
    }

    std::string
    String(uint32_t number) const
    {
        size_t length;
        const char *text = rb_heapprof_strings_get(&snapshot->strings, number, &length);
        return std::string(text, length);
    }

    std::string
    Location(uint32_t number) const
    {
        const heapprof_stack_node *location = rb_heapprof_stacks_node(&tables.locations, number);
        uint32_t name = rb_heapprof_functions_get(&tables.functions, location->function)->name;
        return String(name) + ":" + std::to_string(location->line);
    }

    // "inner:line<outer:line"
    std::string
    Stack(const heapprof_pprof_sample &sample) const
    {
        std::string text = Location(sample.location);
        for (uint32_t stack = sample.outer; stack;) {
            text += "<" + Location(tables.location_of[stack]);
            stack = rb_heapprof_stacks_node(&snapshot->stacks, stack)->parent;
        }
        return text;
    }
};

TEST(PprofTables, RowsThatWouldLookAlikeAreOneSample)
{
    SnapshotBuilder builder;
    uint32_t a = builder.Class("A");
    builder.Live(builder.Stack({{builder.Function("f"), 4}}), a, 10, 40);
    builder.Live(builder.Stack({{builder.Function("f"), 4}}), a, 5, 40);
    builder.Live(builder.Stack({{builder.Function("f"), 4}}), builder.Class("A"), 1, 40);
    Tables t(builder);
    ASSERT_EQ(1u, t.tables.sample_count);
    EXPECT_EQ(16, t.tables.samples[0].values[0]);
    EXPECT_EQ(640, t.tables.samples[0].values[3]);
}

TEST(PprofTables, BlocksThatWouldLookAlikeAreOneSample)
{
    SnapshotBuilder builder;
    for (size_t bytes : {100, 50}) {
        uint32_t stack = builder.Stack({{builder.Function("f"), 4}});
        builder.Block(stack, builder.Caller("g (libg.so)"), 2, bytes);
    }
    Tables t(builder);
    ASSERT_EQ(1u, t.tables.sample_count);
    EXPECT_EQ(HEAPPROF_ROW_BLOCKS, t.snapshot->rows[t.tables.samples[0].row].kind);
    const int64_t expected[HEAPPROF_PPROF_VALUES] = {0, 0, 300, 300, 0, 0, 300, 300, 0, 25000};
    for (int v = 0; v < HEAPPROF_PPROF_VALUES; v++) {
        EXPECT_EQ(expected[v], t.tables.samples[0].values[v]) << v;
    }
}

// A file may have had a row twice.
TEST(PprofTables, RowsOfALoadedSnapshotThatLookAlikeAreOneSample)
{
    SnapshotBuilder builder;
    for (uint32_t line = 1; line <= 50; line++) {
        builder.Live(
            builder.Stack({ { builder.Function("f"), line }, { builder.Function("g"), line % 7 } }),
            0, line, 40);
    }
    Snapshot snapshot = builder.Take();
    size_t count = snapshot->row_count;
    ASSERT_TRUE(
        HEAPPROF_MEM_GROW(&snapshot->mem, snapshot->rows, snapshot->rows_capacity, 2 * count));
    std::copy_n(snapshot->rows, count, snapshot->rows + count);
    snapshot->row_count = 2 * count;
    snapshot->distinct = false;
    heapprof_pprof_tables tables;
    ASSERT_TRUE(rb_heapprof_pprof_tables_build(&tables, snapshot.get()));
    ASSERT_EQ(count, tables.sample_count);
    for (size_t i = 0; i < count; i++) {
        EXPECT_EQ(i, tables.samples[i].row);
        EXPECT_EQ(2 * static_cast<int64_t>(i + 1), tables.samples[i].values[0]);
    }
    rb_heapprof_pprof_tables_free(&tables);
}

TEST(PprofTables, RowsThatDifferInStackClassOrAgeStayApart)
{
    SnapshotBuilder builder;
    uint32_t f = builder.Function("f"), a = builder.Class("A"), b = builder.Class("B");
    builder.Live(builder.Stack({{f, 4}}), a, 1, 40, 0);
    builder.Live(builder.Stack({{f, 4}}), a, 1, 40, 1);
    builder.Live(builder.Stack({{f, 4}}), b, 1, 40, 0);
    builder.Live(builder.Stack({{f, 5}}), a, 1, 40, 0);
    builder.Live(builder.Stack({{f, 4}, {f, 4}}), a, 1, 40, 0);
    builder.Block(builder.Stack({{f, 4}}), builder.Caller("A"), 1, 40, 0);
    Tables t(builder);
    EXPECT_EQ(6u, t.tables.sample_count);
}

TEST(PprofTables, AnOuterFrameAloneKeepsStacksApart)
{
    SnapshotBuilder builder;
    uint32_t f = builder.Function("f"), g = builder.Function("g"), h = builder.Function("h");
    uint32_t a = builder.Class("A");
    builder.Live(builder.Stack({{g, 1}, {f, 4}}), a, 1, 40);
    builder.Live(builder.Stack({{h, 1}, {f, 4}}), a, 1, 40);
    Tables t(builder);
    ASSERT_EQ(2u, t.tables.sample_count);
    EXPECT_EQ(3u, t.tables.locations.numbers.count);
    EXPECT_NE(t.Stack(t.tables.samples[0]), t.Stack(t.tables.samples[1]));
}

TEST(PprofTables, ValuesAreSummedBeforeTheyAreRounded)
{
    SnapshotBuilder builder;
    uint32_t a = builder.Class("A");
    for (int i = 0; i < 5; i++) {
        builder.Live(builder.Stack({{builder.Function("f"), 4}}), a, 1.25, 40);
    }
    Tables t(builder);
    ASSERT_EQ(1u, t.tables.sample_count);
    EXPECT_EQ(6, t.tables.samples[0].values[0]); // 6.25, where rounding first gives 5
    EXPECT_EQ(250, t.tables.samples[0].values[1]);
}

TEST(PprofTables, CFunctionsCalledFromTwoFilesAreTwoFunctions)
{
    SnapshotBuilder builder;
    uint32_t x = builder.Function("f", "/x.rb"), y = builder.Function("g", "/y.rb");
    uint32_t map = builder.CFunction("Array#map"), a = builder.Class("A");
    builder.Live(builder.Stack({{x, 1}, {map, 0}}), a, 1, 40);
    builder.Live(builder.Stack({{y, 1}, {map, 0}}), a, 1, 40);
    Tables t(builder);
    EXPECT_EQ(4u, t.tables.functions.numbers.count);
}

TEST(PprofTables, SamplesAreInTheOrderOfTheirFirstRows)
{
    SnapshotBuilder builder;
    uint32_t a = builder.Class("A");
    for (int i = 0; i < 100; i++) {
        std::string name = "f" + std::to_string(i % 50); // the second fifty join the first
        builder.Live(builder.Stack({{builder.Function(name), 1}}), a, 1, 40);
    }
    Tables t(builder);
    ASSERT_EQ(50u, t.tables.sample_count);
    for (size_t i = 0; i < t.tables.sample_count; i++) {
        EXPECT_EQ("f" + std::to_string(i) + ":1", t.Stack(t.tables.samples[i]));
        EXPECT_EQ(2, t.tables.samples[i].values[0]);
    }
}

TEST(PprofTables, AnEmptySnapshotHasNoSamples)
{
    SnapshotBuilder builder;
    Tables t(builder);
    EXPECT_EQ(0u, t.tables.sample_count);
    EXPECT_EQ(0u, t.tables.functions.numbers.count);
}

// Random stacks over few functions, so that many collide; the model adds up by text.
TEST(PprofTables, RandomRowsAddUpAsAMapKeyedByTextDoes)
{
    using Key = std::tuple<std::string, std::string, uint32_t, bool>; // the last: of blocks
    std::mt19937 random(20250702);
    SnapshotBuilder builder;
    std::vector<uint32_t> functions, classes, callers;
    for (int i = 0; i < 8; i++) functions.push_back(builder.Function(std::string(1, 'a' + i / 2)));
    for (int i = 0; i < 6; i++) classes.push_back(builder.Class(std::string(1, 'A' + i / 2)));
    for (int i = 0; i < 6; i++) callers.push_back(builder.Caller(std::string(1, 'A' + i / 2)));

    std::map<Key, double> weights;
    for (int i = 0; i < 20000; i++) {
        std::vector<SnapshotBuilder::Frame> frames;
        std::string text;
        for (uint32_t depth = 1 + random() % 4; depth > 0; depth--) {
            uint32_t f = random() % 8, line = 1 + random() % 2;
            frames.push_back({functions[f], line});
            std::string frame = std::string(1, 'a' + f / 2) + ":" + std::to_string(line);
            text = frame + (text.empty() ? "" : "<" + text);
        }
        uint32_t c = random() % 6, age = 1u << random() % 3;
        double weight = 1 + random() % 64; // rows have whole numbers
        bool blocks = random() % 4 == 0;
        uint32_t stack = builder.Stack(frames);
        if (blocks) builder.Block(stack, callers[c], weight, 40, age);
        else builder.Live(stack, classes[c], weight, 40, age);
        weights[{text, std::string(1, 'A' + c / 2), age, blocks}] += weight;
    }

    Tables t(builder);
    ASSERT_EQ(weights.size(), t.tables.sample_count);
    ASSERT_EQ(weights.size(), t.snapshot->row_count);
    for (size_t i = 0; i < t.tables.sample_count; i++) {
        const heapprof_pprof_sample &sample = t.tables.samples[i];
        const heapprof_row &row = t.snapshot->rows[sample.row];
        auto found = weights.find({t.Stack(sample), t.String(row.subject), row.gc_age,
                                   row.kind == HEAPPROF_ROW_BLOCKS});
        ASSERT_NE(weights.end(), found);
        int64_t objects = row.kind == HEAPPROF_ROW_BLOCKS ? 0 : llround(found->second);
        int64_t bytes = llround(found->second * 40),
                slots = row.kind == HEAPPROF_ROW_BLOCKS ? 0 : bytes;
        const int64_t expected[] = {objects, slots, bytes - slots, bytes};
        EXPECT_EQ(0, sample.values[8]);
        for (int v = 0; v < 8; v++) {
            ASSERT_EQ(expected[v % 4], sample.values[v]) << v;
        }
        weights.erase(found);
    }
}

} // namespace
