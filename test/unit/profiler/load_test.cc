// load_test.cc - what a file says, as a snapshot again: of our own files all of it, of others' what
// there are columns for, of hostile ones a line.

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "test/unit/support/profile_bytes.h"
#include "test/unit/support/snapshot_builder.h"

extern "C" {
#include "base/index.h"
#include "profiler/difference.h"
#include "profiler/load.h"
#include "profiler/pprof.h"
}

namespace {

std::string
Encode(const heapprof_snapshot *snapshot)
{
    size_t size = 0;
    char *bytes = rb_heapprof_pprof_encode(snapshot, "ruby", "3.4.9", &size);
    std::string encoded(bytes, size);
    free(bytes);
    return encoded;
}

Snapshot
Load(const std::string &bytes, std::string *why = nullptr)
{
    char error[HEAPPROF_READER_ERROR_MAX] = "";
    heapprof_model *model = rb_heapprof_reader_read_bytes(bytes.data(), bytes.size(), error);
    EXPECT_NE(nullptr, model) << error;
    Snapshot snapshot(rb_heapprof_load(model, error), rb_heapprof_snapshot_free);
    rb_heapprof_model_free(model);
    if (why) *why = error;
    else EXPECT_STREQ("", error);
    return snapshot;
}

std::string
Text(const Snapshot &snapshot, uint32_t string)
{
    return rb_heapprof_strings_get(&snapshot->strings, string, nullptr);
}

// Of everything that a file can have.
void
FillAll(SnapshotBuilder &builder)
{
    uint32_t main = builder.Function("<main>"),
             add = builder.Function("Cart#add", "/srv/cart rb/cart.rb", 7);
    uint32_t map = builder.CFunction("Array#map");
    uint32_t stack = builder.Stack({ { main, 3 }, { map, 0 }, { add, 9 }, { map, 0 } }),
             c = builder.Stack({ { map, 0 } });
    uint32_t item = builder.Class("Item"), string = builder.Class("String");
    uint32_t entry = builder.Live(stack, item, 3, 40, 2);

    builder.Live(c, builder.UnnamedClass(), 2, 80, 0);
    builder.Live(0, string, 1, 160, 8);
    builder.Dead(stack, string, 5, 40);
    builder.Own(builder.Block(stack, builder.Caller("str_enc_new (ruby)", "ruby"), 2, 1000, 4),
                item, entry);
    builder.Own(builder.Block(c, builder.Caller("x (libx.so)", "libx.so"), 2, 500),
                builder.Class("[VM] symbols"));
    builder.Block(stack, builder.Caller("", "libx.so"), 2, 100);
    builder.Block(stack, builder.UnnamedCaller(), 2, 10, 1);
    builder.memsize = 104;
    builder.facts.owners = true;
    builder.facts.malloc_interval_bytes = 77;
    builder.facts.total_samples = 99;
    builder.facts.doublings = 3;
    builder.facts.used_bytes = 5;
    builder.facts.budget_bytes = 6;
    builder.facts.start_ns = 1000;
    builder.facts.time_ns = 5000;
}

TEST(Load, WhatIsWrittenAgainIsTheSameToTheByte)
{
    SnapshotBuilder builder;
    FillAll(builder);
    auto snapshot = builder.Take();
    std::string origin = "pid: 1\ndirectory: /srv";
    heapprof_ladder ladder = {};
    snapshot->origin = rb_heapprof_strings_intern(&snapshot->strings, origin.data(), origin.size());
    ladder.rss = 300;
    ladder.slots = 100;
    ladder.unexplained = 200;
    ASSERT_TRUE(rb_heapprof_ladder_add_rows(snapshot.get(), &ladder));

    std::string bytes = Encode(snapshot.get());
    auto loaded = Load(bytes);
    ASSERT_NE(nullptr, loaded);
    EXPECT_EQ(bytes, Encode(loaded.get()));
    EXPECT_EQ(300u, loaded->ladder.rss);
    EXPECT_EQ(200u, loaded->ladder.unexplained);
    EXPECT_EQ(origin, Text(loaded, loaded->origin));
    EXPECT_TRUE(loaded->facts.owners);
    EXPECT_EQ(1000, loaded->facts.start_ns);
}

TEST(Load, RowsHaveTheKindsTheyHad)
{
    SnapshotBuilder builder;
    FillAll(builder);
    auto snapshot = builder.Take(), loaded = Load(Encode(snapshot.get()));
    ASSERT_EQ(snapshot->row_count, loaded->row_count);
    for (size_t i = 0; i < snapshot->row_count; i++) {
        const heapprof_row &row = snapshot->rows[i], &again = loaded->rows[i];
        EXPECT_EQ(row.kind, again.kind) << i;
        EXPECT_EQ(Text(snapshot, row.subject), Text(loaded, again.subject)) << i;
        EXPECT_EQ(Text(snapshot, row.owner), Text(loaded, again.owner)) << i;
        EXPECT_EQ(row.gc_age, again.gc_age) << i;
        EXPECT_EQ(row.memsize_bytes, again.memsize_bytes) << i;
        EXPECT_EQ(row.inuse_variance, again.inuse_variance) << i;
    }
}

TEST(Load, ThePastIsThatOfTheFile)
{
    SnapshotBuilder builder;
    rb_heapprof_tables_keep(builder.Tables(), true, true);
    FillAll(builder);
    rb_heapprof_tables_keep_peak(builder.Tables(), 12345, 7, INT64_C(1772366400000000001));
    builder.facts.gc_count = 100;
    auto snapshot = builder.Take();
    std::string bytes = Encode(snapshot.get());
    EXPECT_NE(std::string::npos,
              bytes.find("peak: 12345 bytes after GC 7, 2026-03-01T12:00:00.000000001Z"));
    auto loaded = Load(bytes);
    ASSERT_NE(nullptr, loaded);
    EXPECT_EQ(bytes, Encode(loaded.get()));
    EXPECT_EQ(12345, loaded->facts.peak_bytes);
    EXPECT_EQ(7u, loaded->facts.peak_gc);
    EXPECT_EQ(INT64_C(1772366400000000001), loaded->facts.peak_ns);
    ASSERT_EQ(snapshot->row_count, loaded->row_count);
    size_t peaks = 0;
    for (size_t i = 0; i < snapshot->row_count; i++) {
        EXPECT_EQ(snapshot->rows[i].kind, loaded->rows[i].kind) << i;
        EXPECT_EQ(snapshot->rows[i].death_age, loaded->rows[i].death_age) << i;
        EXPECT_EQ(snapshot->rows[i].peak_bytes, loaded->rows[i].peak_bytes) << i;
        peaks += loaded->rows[i].peak_bytes != 0;
    }
    EXPECT_GT(peaks, 5u);
    Snapshot one(rb_heapprof_snapshot_at_peak(snapshot.get()), rb_heapprof_snapshot_free);
    Snapshot other(rb_heapprof_snapshot_at_peak(loaded.get()), rb_heapprof_snapshot_free);
    bool equal = false;
    ASSERT_TRUE(one && other && rb_heapprof_snapshot_equal_p(one.get(), other.get(), &equal));
    EXPECT_TRUE(equal);
}

// What is no time is none, and no number of anybody's is believed.
TEST(Load, APeakThatIsWrittenOtherwiseIsNone)
{
    for (const char *text : {"", "x", "nan bytes after GC 1, 2026-03-01T12:00:00.000000001Z",
                             "-1 bytes after GC 1, 2026-03-01T12:00:00.000000001Z",
                             "1e300 bytes after GC 1, 2026-03-01T12:00:00.000000001Z",
                             "5 bytes after GC 1", "5 bytes after GC 1, 0000-00-00T00:00:00.0Z",
                             "5 bytes after GC 1, 9999-03-01T12:00:00.000000001Z"}) {
        SnapshotBuilder builder;
        rb_heapprof_tables_keep(builder.Tables(), true, false);
        FillAll(builder);
        auto snapshot = builder.Take();
        std::string comment = std::string("peak: ") + text;
        snapshot->origin =
            rb_heapprof_strings_intern(&snapshot->strings, comment.data(), comment.size());
        EXPECT_EQ(0, Load(Encode(snapshot.get()))->facts.peak_bytes) << text;
    }
}

TEST(Load, FoldedSitesStayFolded)
{
    SnapshotBuilder builder;
    builder.Dead(builder.Stack({{builder.Function("a"), 1}}), builder.Class("A"), 5, 40);
    builder.DeadBlock(builder.Stack({ { builder.Function("b"), 1 } }), builder.Caller("c (d)", "d"),
                      5, 40);
    builder.Fold();
    auto snapshot = builder.Take(), loaded = Load(Encode(snapshot.get()));
    ASSERT_EQ(2u, loaded->row_count);
    for (size_t i = 0; i < 2; i++) {
        EXPECT_TRUE(loaded->rows[i].folded);
        EXPECT_EQ(0u, loaded->rows[i].stack);
        EXPECT_EQ(snapshot->rows[i].kind, loaded->rows[i].kind);
    }
    EXPECT_EQ(Encode(snapshot.get()), Encode(loaded.get()));
}

TEST(Load, NothingHasChangedSinceItWasWritten)
{
    SnapshotBuilder builder;
    FillAll(builder);
    auto snapshot = builder.Take(), loaded = Load(Encode(snapshot.get()));
    Snapshot grown(rb_heapprof_snapshot_difference(snapshot.get(), loaded.get()),
                   rb_heapprof_snapshot_free);
    Snapshot shrunk(rb_heapprof_snapshot_difference(loaded.get(), snapshot.get()),
                    rb_heapprof_snapshot_free);
    EXPECT_EQ(0u, grown->row_count);
    EXPECT_EQ(0u, shrunk->row_count);
}

TEST(Load, ADifferenceHasItsNegativeValues)
{
    SnapshotBuilder one, other;
    FillAll(one);
    auto more = one.Take(), less = other.Take();
    Snapshot shrunk(rb_heapprof_snapshot_difference(less.get(), more.get()),
                    rb_heapprof_snapshot_free);
    auto loaded = Load(Encode(shrunk.get()));
    EXPECT_EQ(Encode(shrunk.get()), Encode(loaded.get()));
    EXPECT_LT(loaded->rows[0].alloc_slot_bytes, 0);
}

// ---- of others ----

std::string
Profile(const std::vector<std::string> &types, const std::vector<std::vector<uint64_t>> &samples,
        int lines = 1)
{
    ProfileBytes bytes;
    std::string location = Number(1, 1) + Number(3, 0x1234);
    for (const std::string &type : types) bytes.Type(type, "bytes");
    bytes.Function(1, "main.main", "/go/main.go");
    for (int i = 0; i < lines; i++) location += Bytes(4, Number(1, 1) + Number(2, 5));
    bytes.things += Bytes(4, location);
    for (const std::vector<uint64_t> &values : samples)
        bytes.things += Bytes(2, Packed(1, { 1 }) + Packed(2, values));
    return bytes.things + bytes.strings;
}

TEST(Load, SpaceOfOthersIsThatOfSlots)
{
    auto loaded = Load(Profile({ "alloc_objects", "alloc_space", "inuse_objects", "inuse_space" },
                               { { 4, 400, 1, 100 } }));
    ASSERT_EQ(1u, loaded->row_count);
    const heapprof_row &row = loaded->rows[0];
    EXPECT_EQ(HEAPPROF_ROW_OBJECTS, row.kind);
    EXPECT_EQ(4, row.alloc_objects);
    EXPECT_EQ(400, row.alloc_slot_bytes);
    EXPECT_EQ(1, row.inuse_objects);
    EXPECT_EQ(100, row.inuse_slot_bytes);
    EXPECT_EQ(0u, row.subject);
    heapprof_frame frame;
    ASSERT_EQ(1u, rb_heapprof_snapshot_frames(loaded.get(), row.stack, &frame, 1));
    EXPECT_EQ("main.main", Text(loaded, frame.name));
    EXPECT_EQ("/go/main.go", Text(loaded, frame.path));
    EXPECT_EQ(5u, frame.line);
}

TEST(Load, WhatHasNoNameIsShownByItsAddress)
{
    auto loaded = Load(Profile({"inuse_space"}, {{100}}, 0));
    heapprof_frame frame;
    ASSERT_EQ(1u, rb_heapprof_snapshot_frames(loaded.get(), loaded->rows[0].stack, &frame, 1));
    EXPECT_EQ("0x1234", Text(loaded, frame.name));
}

std::string
Refusal(const std::string &bytes)
{
    std::string error;
    EXPECT_EQ(nullptr, Load(bytes, &error));
    return error;
}

TEST(Load, AProfileOfSomethingElseIsRefused)
{
    EXPECT_EQ(
        "is not a heap profile: it has samples cpu\?, and neither inuse_space nor alloc_space",
        Refusal(Profile({ "samples", "cpu\n" }, { { 1, 2 } })));
    std::string many = Refusal(Profile(std::vector<std::string>(100, std::string(1000, 'x')), {}));
    EXPECT_GT(many.size(), 100u);
    EXPECT_LT(many.size(), static_cast<size_t>(HEAPPROF_LOAD_ERROR_MAX));
}

TEST(Load, AValueThatNoDoubleHoldsIsRefused)
{
    EXPECT_EQ("sample 2: inuse_space is out of range: 9007199254740993",
              Refusal(Profile({"inuse_space"}, {{1}, {(UINT64_C(1) << 53) + 1}})));
    EXPECT_EQ("sample 1: inuse_space is out of range: -9223372036854775808",
              Refusal(Profile({ "inuse_space" }, { { UINT64_C(1) << 63 } })));
}

// A location of many inlined functions takes two bytes in each sample.
TEST(Load, AFileIsNoLargerThanItsBytes)
{
    std::vector<std::vector<uint64_t>> samples(200, {1});
    EXPECT_EQ("has too many inlined functions", Refusal(Profile({"inuse_space"}, samples, 100000)));
}

// Lines that would all have their place in the same bucket, if the index had no secret: each search
// would pass all.
TEST(Load, NobodyCanChooseWhatIsInEachOthersWay)
{
    ProfileBytes bytes;
    bytes.Type("inuse_space", "bytes");
    bytes.Function(1, "f");
    uint64_t location = 0;
    for (uint32_t line = 1; location < 3000; line++) {
        uint64_t hash = rb_heapprof_index_hash(rb_heapprof_index_hash(1) +
                                               line); // of outermost frames of function 1
        if (hash & 4095) continue;
        location++;
        bytes.things += Bytes(4, Number(1, location) + Bytes(4, Number(1, 1) + Number(2, line)));
        bytes.things += Bytes(2, Packed(1, {location}) + Packed(2, {1}));
    }
    auto loaded = Load(bytes.things + bytes.strings);
    const heapprof_index &index = loaded->stacks.index;
    size_t run = 0, longest = 0;
    for (size_t i = 0; i < index.capacity; i++) {
        run = index.buckets[i] ? run + 1 : 0;
        longest = std::max(longest, run);
    }
    EXPECT_EQ(3000u, loaded->row_count);
    EXPECT_LT(longest, 1500u);
}

} // namespace
