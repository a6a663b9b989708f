// pprof_test.cc - encodes snapshots and reads the bytes back with a reader that knows
// nothing of upb (pprof_reader.h). What pprof itself makes of them: pprof_go_test.cc.

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <set>
#include <string>
#include <vector>

#include "test/unit/support/pprof_reader.h"
#include "test/unit/support/snapshot_builder.h"

extern "C" {
#include "base/version.h"
#include "profiler/pprof.h"
}

namespace {

std::string
Encode(const heapprof_snapshot *snapshot)
{
    size_t size = 0;
    char *bytes = rb_heapprof_pprof_encode(snapshot, "/opt/bin/ruby", "c0ffee", &size);
    EXPECT_NE(nullptr, bytes);
    std::string encoded(bytes ? bytes : "", size);
    free(bytes);
    return encoded;
}

Profile
Read(SnapshotBuilder &builder)
{
    return Profile(Encode(builder.Take().get()));
}

using Lines = std::vector<std::string>;
using Values = std::vector<int64_t>;

// ---- the header ----

Lines
Comments(const Profile &profile)
{
    Lines comments;
    for (uint64_t string : profile.message.Packed(13)) comments.push_back(profile.String(string));
    return comments;
}

TEST(Pprof, WhichProcessItIsOfIsACommentALine)
{
    SnapshotBuilder builder;
    auto snapshot = builder.Take();
    Lines without = Comments(Profile(Encode(snapshot.get())));
    std::string directory = "directory: /srv/" + std::string(1000, 'x'),
                origin = "pid: 1\n" + directory;
    snapshot->origin = rb_heapprof_strings_intern(&snapshot->strings, origin.data(), origin.size());
    Lines with = Comments(Profile(Encode(snapshot.get())));
    without.insert(without.end(), {"pid: 1", directory});
    EXPECT_EQ(without, with);
}

TEST(Pprof, SampleTypesAreCountThenBytesOfAllocThenInuseThenRssAndTheVariance)
{
    SnapshotBuilder builder;
    Profile profile = Read(builder);
    Lines types;
    for (const Message &m : profile.message.Messages(1)) types.push_back(profile.ValueType(m));
    EXPECT_EQ((Lines { "alloc_objects/count", "alloc_slot_space/bytes", "alloc_malloc_space/bytes",
                       "alloc_space/bytes", "inuse_objects/count", "inuse_slot_space/bytes",
                       "inuse_malloc_space/bytes", "inuse_space/bytes", "rss_space/bytes",
                       "inuse_variance/bytes^2" }),
              types);
}

TEST(Pprof, InuseSpaceIsShownFirst)
{
    SnapshotBuilder builder;
    Profile profile = Read(builder);
    EXPECT_EQ("inuse_space", profile.String(profile.message.Number(14)));
}

TEST(Pprof, PeriodIsTheIntervalInBytesOfSpace)
{
    SnapshotBuilder builder;
    builder.facts.interval_bytes = 4096;
    Profile profile = Read(builder);
    EXPECT_EQ("space/bytes", profile.ValueType(profile.message.Messages(11).at(0)));
    EXPECT_EQ(4096u, profile.message.Number(12));
}

TEST(Pprof, TimeIsTheSnapshotsAndDurationCountsFromTheStart)
{
    SnapshotBuilder builder;
    builder.facts.start_ns = INT64_C(1751328000000000000);
    builder.facts.time_ns = INT64_C(1751328000000000000) + 2500000000;
    Profile profile = Read(builder);
    EXPECT_EQ(UINT64_C(1751328002500000000), profile.message.Number(9));
    EXPECT_EQ(2500000000u, profile.message.Number(10));
}

TEST(Pprof, OneMappingNamesTheBinaryAndLeavesNothingToSymbolize)
{
    SnapshotBuilder builder;
    Profile profile = Read(builder);
    std::vector<Message> mappings = profile.message.Messages(3);
    ASSERT_EQ(1u, mappings.size());
    EXPECT_EQ(1u, mappings[0].Number(1));
    EXPECT_EQ("/opt/bin/ruby", profile.String(mappings[0].Number(5)));
    EXPECT_EQ("c0ffee", profile.String(mappings[0].Number(6)));
    for (int has_functions = 7; has_functions <= 9; has_functions++) {
        EXPECT_EQ(1u, mappings[0].Number(has_functions));
    }
}

TEST(Pprof, CommentsTellHowFarToTrustTheProfile)
{
    SnapshotBuilder builder;
    builder.facts.interval_bytes = 524288;
    builder.facts.malloc_interval_bytes = 65536;
    builder.facts.gc_count = 17;
    builder.facts.total_samples = 5678;
    builder.facts.dropped = 3;
    builder.facts.truncated = 5;
    builder.facts.doublings = 6;
    builder.facts.used_bytes = 123456;
    builder.facts.budget_bytes = 67108864;
    builder.Live(builder.Stack({{builder.Function("a"), 1}}), builder.Class("A"), 1, 40);
    builder.Block(0, builder.Caller("f (libf.so)"), 1, 100);
    EXPECT_EQ(
        (Lines { "heapprof: " HEAPPROF_VERSION, "build: c0ffee", "interval: 524288 bytes",
                 "malloc interval: 65536 bytes", "as of GC: 17", "samples: 2 live of 5678 taken",
                 "dropped samples: 3", "folded sites: 0", "truncated stacks: 5",
                 "doubled intervals: 6", "memory: 123456 of 67108864 bytes" }),
        Read(builder).comments);
}

TEST(Pprof, CommentsTellTheOriginLineByLine)
{
    SnapshotBuilder builder;
    Snapshot snapshot = builder.Take();
    const char text[] = "pid: 1\ntitle: \xff\nhost: a";
    snapshot->origin = rb_heapprof_strings_intern(&snapshot->strings, text, sizeof(text) - 1);
    Lines comments = Profile(Encode(snapshot.get())).comments;
    ASSERT_EQ(14u, comments.size());
    EXPECT_EQ((Lines { "pid: 1", "title: \\xFF", "host: a" }),
              Lines(comments.begin() + 11, comments.end()));
}

TEST(Pprof, AnEmptySnapshotIsAProfileWithoutSamples)
{
    SnapshotBuilder builder;
    Profile profile = Read(builder);
    EXPECT_TRUE(profile.samples.empty());
    EXPECT_TRUE(profile.functions.empty());
    EXPECT_EQ(11u, profile.comments.size());
}

// ---- strings ----

TEST(Pprof, StringTableStartsWithTheEmptyStringAndSaysNothingTwice)
{
    SnapshotBuilder builder;
    uint32_t a = builder.Function("a", "/a.rb"), b = builder.Function("b", "/a.rb");
    uint32_t stack = builder.Stack({{a, 1}, {b, 2}});
    builder.Live(stack, builder.Class("A"), 1, 40);
    builder.Live(stack, builder.Class("B"), 1, 40);
    Profile profile = Read(builder);
    EXPECT_EQ("", profile.strings.at(0));
    std::set<std::string> distinct(profile.strings.begin(), profile.strings.end());
    EXPECT_EQ(profile.strings.size(), distinct.size());
}

TEST(Pprof, StringsOfNoSampleAreLeftOut)
{
    SnapshotBuilder builder;
    builder.Function("never_seen");
    builder.Live(builder.Stack({{builder.Function("seen"), 1}}), builder.Class("A"), 1, 40);
    Profile profile = Read(builder);
    std::set<std::string> strings(profile.strings.begin(), profile.strings.end());
    EXPECT_EQ(1u, strings.count("seen"));
    EXPECT_EQ(0u, strings.count("never_seen"));
}

TEST(Pprof, NamesOfAnyBytesBecomeUtf8)
{
    SnapshotBuilder builder;
    builder.Live(builder.Stack({{builder.Function("caf\xC3\xA9#\xE9t\xE9", "/\xFF.rb"), 7}}),
                 builder.Class("K\xC0"), 1, 40);
    Profile profile = Read(builder);
    EXPECT_EQ((Lines{"caf\xC3\xA9#\\xE9t\\xE9 /\\xFF.rb:7"}),
              profile.Frames(profile.samples.at(0)));
    EXPECT_EQ("K\\xC0", profile.samples[0].labels["class"]);
}

// ---- functions and locations ----

TEST(Pprof, FramesAreInnermostFirst)
{
    SnapshotBuilder builder;
    uint32_t main = builder.Function("<main>", "/app/main.rb");
    uint32_t run = builder.Function("App#run", "/app/app.rb");
    builder.Live(builder.Stack({{main, 9}, {run, 3}}), builder.Class("A"), 1, 40);
    Profile profile = Read(builder);
    EXPECT_EQ((Lines{"App#run /app/app.rb:3", "<main> /app/main.rb:9"}),
              profile.Frames(profile.samples.at(0)));
}

TEST(Pprof, SystemNameStaysEmpty)
{
    SnapshotBuilder builder;
    builder.Live(builder.Stack({{builder.Function("<main>"), 9}}), builder.Class("A"), 1, 40);
    Profile profile = Read(builder);
    ASSERT_EQ(1u, profile.functions.size());
    EXPECT_EQ("<main>", profile.functions.begin()->second.name);
    EXPECT_EQ("", profile.functions.begin()->second.system_name);
}

TEST(Pprof, AFunctionIsOneForEachNameAndPath)
{
    SnapshotBuilder builder;
    uint32_t a = builder.Class("A");
    for (const char *path : {"/x.rb", "/x.rb", "/y.rb"}) {
        for (uint32_t line : {4, 5}) {
            builder.Live(builder.Stack({{builder.Function("f", path, 3), line}}), a, 1, 40);
        }
    }
    Profile profile = Read(builder);
    EXPECT_EQ(2u, profile.functions.size());
    EXPECT_EQ(4u, profile.locations.size());
    for (auto &function : profile.functions) EXPECT_EQ(3u, function.second.first_line);
}

TEST(Pprof, EveryLocationIsInTheMapping)
{
    SnapshotBuilder builder;
    builder.Live(builder.Stack({{builder.Function("f"), 4}, {builder.CFunction("Array#map"), 0}}),
                 builder.Class("A"), 1, 40);
    Profile profile = Read(builder);
    ASSERT_EQ(2u, profile.locations.size());
    for (auto &location : profile.locations) EXPECT_EQ(1u, location.second.mapping);
}

TEST(Pprof, ACFunctionIsShownWhereItWasCalled)
{
    SnapshotBuilder builder;
    uint32_t run = builder.Function("App#run", "/app/app.rb");
    uint32_t map = builder.CFunction("Array#map");
    builder.Live(builder.Stack({{run, 12}, {map, 0}}), builder.Class("Array"), 1, 40);
    Profile profile = Read(builder);
    EXPECT_EQ((Lines{"Array#map /app/app.rb:12", "App#run /app/app.rb:12"}),
              profile.Frames(profile.samples.at(0)));
}

// ---- samples ----

TEST(Pprof, LiveAndDeadOfASiteAreASampleEach)
{
    SnapshotBuilder builder;
    uint32_t stack = builder.Stack({{builder.Function("f"), 4}}), a = builder.Class("A");
    builder.Live(stack, a, 100, 40, 8);
    builder.Dead(stack, a, 30, 40);
    Profile profile = Read(builder);
    std::map<std::string, Values> values;
    for (auto &sample : profile.samples) {
        EXPECT_EQ("A", sample.labels["class"]);
        values[sample.labels["gc_age"]] = sample.values;
    }
    EXPECT_EQ((std::map<std::string, Values> {
                  { "8 gcs", { 100, 4000, 0, 4000, 100, 4000, 0, 4000, 0, 100 * 99 * 40 * 40 } },
                  { "", { 30, 1200, 0, 1200, 0, 0, 0, 0, 0, 0 } } }),
              values);
}

TEST(Pprof, AgeZeroIsAnAgeToo)
{
    SnapshotBuilder builder;
    builder.Live(builder.Stack({{builder.Function("f"), 4}}), builder.Class("A"), 1, 40, 0);
    Profile profile = Read(builder);
    EXPECT_EQ("0 gcs", profile.samples.at(0).labels["gc_age"]);
}

TEST(Pprof, FoldedSitesAreOneFrameThatSaysSo)
{
    SnapshotBuilder builder;
    builder.Dead(builder.Stack({{builder.Function("f"), 4}}), builder.Class("A"), 10, 40);
    builder.Dead(builder.Stack({{builder.Function("g"), 5}}), builder.Class("B"), 5, 80);
    builder.Fold();
    Profile profile = Read(builder);
    ASSERT_EQ(1u, profile.samples.size());
    EXPECT_EQ((Lines{"[folded] :0"}), profile.Frames(profile.samples[0]));
    EXPECT_EQ((Values{15, 800, 0, 800, 0, 0, 0, 0, 0, 0}), profile.samples[0].values);
    EXPECT_EQ("folded sites: 2", profile.comments.at(7));
}

TEST(Pprof, BlocksAreSamplesOfMallocSpaceLabelledWithTheirCaller)
{
    SnapshotBuilder builder;
    uint32_t stack = builder.Stack({{builder.Function("f"), 4}});
    uint32_t caller = builder.Caller("str_new (ruby)", "ruby");
    builder.Block(stack, caller, 3, 1000, 8);
    builder.DeadBlock(stack, caller, 2, 500);
    builder.Live(stack, builder.Class("String"), 100, 40, 8);
    Profile profile = Read(builder);
    using Labels = std::map<std::string, std::string>;
    std::map<Labels, Values> values;
    for (auto &sample : profile.samples) {
        EXPECT_EQ((Lines{"f /app/main.rb:4"}), profile.Frames(sample));
        values[sample.labels] = sample.values;
    }
    EXPECT_EQ(
        (std::map<Labels, Values> {
            { { { "caller", "str_new (ruby)" }, { "class", "[ruby]" }, { "gc_age", "8 gcs" } },
              { 0, 0, 3000, 3000, 0, 0, 3000, 3000, 0, 6000000 } },
            { { { "caller", "str_new (ruby)" }, { "class", "[ruby]" } },
              { 0, 0, 1000, 1000, 0, 0, 0, 0, 0, 0 } },
            { { { "class", "String" }, { "gc_age", "8 gcs" } },
              { 100, 4000, 0, 4000, 100, 4000, 0, 4000, 0, 100 * 99 * 40 * 40 } } }),
        values);
}

TEST(Pprof, OwnersAreLabels)
{
    SnapshotBuilder builder;
    uint32_t f = builder.Stack({{builder.Function("f"), 4}});
    uint32_t g = builder.Stack({{builder.Function("g"), 7}});
    uint32_t string = builder.Class("String"), caller = builder.Caller("str_new (ruby)", "ruby");
    builder.Own(builder.Block(f, caller, 1, 1000), string, builder.Live(g, string, 1, 40));
    builder.Own(builder.Block(f, caller, 1, 500), string);
    builder.Block(f, caller, 1, 300);
    Profile profile = Read(builder);
    std::map<int64_t, std::map<std::string, std::string>> labels; // by malloc bytes
    for (auto &sample : profile.samples) labels[sample.values[6]] = sample.labels;
    std::map<std::string, std::string> expected = { { "caller", "str_new (ruby)" },
                                                    { "gc_age", "0 gcs" } };
    expected["class"] = "[ruby]";
    EXPECT_EQ(expected, labels.at(300));
    expected["class"] = expected["owner"] = "String";
    EXPECT_EQ(expected, labels.at(500));
    expected["owner_allocated_by"] = "g /app/main.rb:7";
    EXPECT_EQ(expected, labels.at(1000));
}

TEST(Pprof, MemsizeIsANumberAndASuspectIsMarked)
{
    SnapshotBuilder builder;
    builder.facts.gc_count = 1000;
    builder.facts.old_gc = 990;
    uint32_t f = builder.Stack({{builder.Function("f"), 4}});
    builder.facts.owners = true;
    for (uint32_t age : {20, 40, 80}) builder.Block(f, builder.Caller("leak (x.so)"), 1, 100, age);
    uint32_t caller = builder.Caller("leak (x.so)");
    for (uint32_t age : {20, 40, 80}) builder.Block(f, caller, 1, 100, age);
    builder.Live(f, builder.Class("String"), 7, 40, 20);
    builder.memsize = 72;
    Profile profile = Read(builder);
    int marked = 0;
    for (auto &sample : profile.samples) {
        if (!sample.labels.count("caller")) EXPECT_EQ("72 bytes", sample.labels["memsize"]);
        else EXPECT_EQ(0u, sample.labels.count("memsize"));
        if (sample.labels.count("native_leak")) {
            EXPECT_EQ("suspect", sample.labels["native_leak"]);
            marked++;
        }
    }
    EXPECT_EQ(3, marked);
}

TEST(Pprof, AClassAndACallerOfOneNameStayApart)
{
    SnapshotBuilder builder;
    uint32_t stack = builder.Stack({{builder.Function("f"), 4}});
    builder.Live(stack, builder.Class("A"), 1, 40);
    builder.Block(stack, builder.Caller("A"), 1, 40);
    Profile profile = Read(builder);
    ASSERT_EQ(2u, profile.samples.size());
    EXPECT_EQ("A", profile.samples[0].labels["class"]);
    EXPECT_EQ("A", profile.samples[1].labels["caller"]);
}

// The class of ownerless blocks is the library, not what looks like one in the caller's name.
TEST(Pprof, ALibraryMayBeCalledAnything)
{
    const std::string longest(255, 'l');
    for (const std::string &library : {std::string("old (1).so"), std::string("a)b("), longest}) {
        SnapshotBuilder builder;
        uint32_t caller = builder.Caller("operator()(int) (" + library + ")", library);
        builder.Block(builder.Stack({{builder.Function("f"), 4}}), caller, 1, 40);
        Profile profile = Read(builder);
        ASSERT_EQ(1u, profile.samples.size());
        EXPECT_EQ("[" + library + "]", profile.samples[0].labels["class"]);
        EXPECT_EQ("operator()(int) (" + library + ")", profile.samples[0].labels["caller"]);
    }
}

TEST(Pprof, BlocksOfACallerWithoutANameAreOfNoKnownLibrary)
{
    SnapshotBuilder builder;
    builder.Block(builder.Stack({{builder.Function("f"), 4}}), builder.UnnamedCaller(), 1, 40);
    Profile profile = Read(builder);
    ASSERT_EQ(1u, profile.samples.size());
    EXPECT_EQ("[unknown]", profile.samples[0].labels["class"]);
    EXPECT_EQ("(anonymous)", profile.samples[0].labels["caller"]);
}

TEST(Pprof, BlocksOfNoKnownCallerHaveNoSuchLabel)
{
    SnapshotBuilder builder;
    builder.Block(builder.Stack({{builder.Function("f"), 4}}), 0, 1, 40);
    Profile profile = Read(builder);
    EXPECT_EQ((std::map<std::string, std::string>{{"class", "[unknown]"}, {"gc_age", "0 gcs"}}),
              profile.samples.at(0).labels);
}

TEST(Pprof, FoldedBlocksAreAFoldedSampleOfTheirOwn)
{
    SnapshotBuilder builder;
    uint32_t stack = builder.Stack({{builder.Function("f"), 4}});
    builder.Dead(stack, builder.Class("A"), 10, 40);
    builder.DeadBlock(stack, builder.Caller("g (libg.so)"), 2, 500);
    builder.Fold();
    Profile profile = Read(builder);
    ASSERT_EQ(2u, profile.samples.size());
    for (auto &sample : profile.samples) {
        EXPECT_EQ((Lines{"[folded] :0"}), profile.Frames(sample));
        EXPECT_EQ((std::map<std::string, std::string>{{"class", "[folded]"}}), sample.labels);
    }
    EXPECT_EQ((Values{10, 400, 0, 400, 0, 0, 0, 0, 0, 0}), profile.samples[0].values);
    EXPECT_EQ((Values{0, 0, 1000, 1000, 0, 0, 0, 0, 0, 0}), profile.samples[1].values);
}

TEST(Pprof, AllocationsOutsideAnyFrameAreOneFrameThatSaysSo)
{
    SnapshotBuilder builder;
    builder.Live(0, builder.Class("Thread"), 2, 40);
    Profile profile = Read(builder);
    ASSERT_EQ(1u, profile.samples.size());
    EXPECT_EQ((Lines{"[no frame] :0"}), profile.Frames(profile.samples[0]));
    EXPECT_EQ("Thread", profile.samples[0].labels["class"]);
}

TEST(Pprof, ValuesBeyond32BitsArriveWhole)
{
    SnapshotBuilder builder;
    builder.Live(builder.Stack({{builder.Function("f"), 4}}), builder.Class("A"),
                 std::ldexp(1, 45), 1u << 15);
    Profile profile = Read(builder);
    const int64_t objects = INT64_C(1) << 45, bytes = INT64_C(1) << 60;
    EXPECT_EQ((Values{objects, bytes, 0, bytes, objects, bytes, 0, bytes, 0, INT64_MAX}),
              profile.samples.at(0).values);
}

TEST(Pprof, ADeepStackArrivesWhole)
{
    SnapshotBuilder builder;
    uint32_t f = builder.Function("f");
    std::vector<SnapshotBuilder::Frame> frames;
    for (uint32_t line = 1; line <= 65535; line++) frames.push_back({f, line});
    builder.Live(builder.Stack(frames), builder.Class("A"), 1, 40);
    Profile profile = Read(builder);
    const std::vector<uint64_t> &locations = profile.samples.at(0).locations;
    ASSERT_EQ(65535u, locations.size());
    for (size_t i = 0; i < locations.size(); i++) {
        ASSERT_EQ(65535u - i, profile.locations.at(locations[i]).line);
    }
}

// More samples, functions and locations than one part of the encoding holds.
TEST(Pprof, ManyStacksArriveWhole)
{
    const uint32_t sites = 40000, depth = 4;
    SnapshotBuilder builder;
    uint32_t main = builder.Function("<main>"), a = builder.Class("A");
    for (uint32_t i = 1; i <= sites; i++) {
        std::string name = "f" + std::to_string(i);
        uint32_t f = builder.Function(name, "/f" + std::to_string(i % 100) + ".rb");
        uint32_t stack = builder.Stack({{main, i}, {f, 1}, {f, 2}, {f, 3}});
        builder.Live(stack, a, i, 40);
    }
    Profile profile = Read(builder);
    ASSERT_EQ(sites, profile.samples.size());
    ASSERT_EQ(sites * depth, profile.locations.size());
    std::set<int64_t> weights;
    for (auto &sample : profile.samples) {
        std::string i = std::to_string(sample.values.at(4));
        std::string f = "f" + i + " /f" + std::to_string(sample.values[4] % 100) + ".rb:";
        ASSERT_EQ((Lines{f + "3", f + "2", f + "1", "<main> /app/main.rb:" + i}),
                  profile.Frames(sample));
        weights.insert(sample.values[4]);
    }
    EXPECT_EQ(sites, weights.size());
}

TEST(Pprof, EqualSnapshotsMakeEqualBytes)
{
    SnapshotBuilder builder;
    uint32_t f = builder.Function("f"), a = builder.Class("A");
    for (uint32_t line = 1; line < 1000; line++) {
        builder.Live(builder.Stack({{f, line * 7919 % 1000}}), a, 1.5, 40);
    }
    EXPECT_EQ(Encode(builder.Take().get()), Encode(builder.Take().get()));
}

} // namespace
