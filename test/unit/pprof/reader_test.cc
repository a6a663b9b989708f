// reader_test.cc - what the reader makes of profiles, whole and broken ones.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "test/unit/support/profile_bytes.h"
#include "test/unit/support/snapshot_builder.h"

extern "C" {
#include "profiler/pprof.h"
}

namespace {

using Lines = std::vector<std::string>;

// Two types, three functions of which one is inlined into another, two samples.
ProfileBytes
Small()
{
    ProfileBytes bytes;
    bytes.Type("objects", "count");
    bytes.Type("space", "bytes");
    bytes.Sample({ 1, 2 }, { 10, 400 },
                 bytes.Label("class", "String") + bytes.NumberLabel("size", -40, "bytes"));
    bytes.Sample({2}, {-1, 0});
    bytes.Function(1, "Cart#load");
    bytes.Function(2, "Array#map");
    bytes.Function(3, "main");
    bytes.Location(1, {{2, 5}, {1, 6}});
    bytes.Location(2, {{3, 70}});
    return bytes;
}

const Lines small_lines = {"Array#map:5 Cart#load:6 main:70 | 10 400 | class=String size=-40bytes",
                           "main:70 | -1 0 |"};

std::string
ErrorOf(const std::string &bytes)
{
    return Model(bytes).Error();
}

TEST(Reader, ReadsWhatAFileSays)
{
    ProfileBytes bytes = Small();
    std::string all =
        bytes.All() + Number(9, 1234) + Number(10, 99) + Number(12, 512) +
        Number(14, bytes.String("space")) + Packed(13, { bytes.String("count"), 0 }) +
        Number(13, bytes.String("bytes")) +
        Bytes(11, Number(1, bytes.String("space")) + Number(2, bytes.String("bytes"))) +
        Bytes(3, Number(1, 7) + Number(2, 4096) + Number(3, 8192) +
                     Number(5, bytes.String("class")) + Number(7, 1));
    Model model(all);

    ASSERT_EQ("", model.Error());
    EXPECT_EQ(small_lines, model.Lines());
    EXPECT_EQ(1234, model->time_ns);
    EXPECT_EQ(99, model->duration_ns);
    EXPECT_EQ(512, model->period);
    EXPECT_EQ("space", model.Text(model->period_type.type));
    EXPECT_EQ(1u, rb_heapprof_model_default_type(model.get()));
    ASSERT_EQ(3u, model->comment_count);
    EXPECT_EQ("bytes", model.Text(model->comments[2]));
    ASSERT_EQ(1u, rb_heapprof_model_mappings(model.get()));
    EXPECT_EQ(8192u, model->mappings[0].limit);
    EXPECT_EQ("class", model.Text(model->mappings[0].filename));
    EXPECT_TRUE(model->mappings[0].has_functions);
    EXPECT_FALSE(model->mappings[0].has_filenames);
}

TEST(Reader, GzipOfAnyNumberOfMembersIsUnpacked)
{
    std::string all = Small().All();
    for (size_t cut = 0; cut <= all.size(); cut += 7) {
        Model model(GzipOf(all.substr(0, cut)) + GzipOf(all.substr(cut)));
        ASSERT_EQ("", model.Error());
        ASSERT_EQ(small_lines, model.Lines());
    }
}

TEST(Reader, NumbersThatAreNotPackedAreRead)
{
    ProfileBytes bytes;
    bytes.Type("a", "b");
    bytes.things += Bytes(2, Number(1, 4) + Number(2, static_cast<uint64_t>(-5)) + Number(1, 4));
    bytes.Location(4, {});
    EXPECT_EQ(Lines{"0x0 0x0 | -5 |"}, Model(bytes.All()).Lines());
}

TEST(Reader, IdsMayBeAnyNumbersInAnyOrder)
{
    ProfileBytes bytes;
    bytes.Type("a", "b");
    bytes.Function(UINT64_MAX, "far");
    bytes.Function(1, "near");
    bytes.Location(1000000007, {{1, 1}});
    bytes.Location(1, {{UINT64_MAX, 2}});
    bytes.Sample({1, 1000000007}, {3});
    EXPECT_EQ(Lines{"far:2 near:1 | 3 |"}, Model(bytes.All()).Lines());
}

TEST(Reader, UnknownFieldsArePassedOver)
{
    std::string unknown = Number(99, 5) + Bytes(98, "whatever") + Varint(97 << 3 | 1) + "12345678" +
                          Varint(96 << 3 | 5) + "1234";
    ProfileBytes bytes = Small();
    bytes.things += unknown;
    bytes.things += Bytes(4, Number(1, 3) + unknown);
    EXPECT_EQ(small_lines, Model(unknown + bytes.All()).Lines());
}

TEST(Reader, WhatPprofTakesForNothingIsNothing)
{
    ProfileBytes bytes;
    bytes.Type("a", "b");
    bytes.Location(1, {{0, 5}}, 77); // no function, and a mapping that is not there
    bytes.Sample({1}, {3});
    Model model(bytes.All());
    EXPECT_EQ(Lines{"?:5 | 3 |"}, model.Lines());
    EXPECT_EQ(HEAPPROF_NO_PLACE, model->locations[0].mapping);
}

TEST(Reader, ErrorsSayWhatIsWrong)
{
    ProfileBytes bytes = Small();
    std::string all = bytes.All();

    EXPECT_EQ("is empty", ErrorOf(""));
    EXPECT_EQ("is not a profile in pprof's format: no field begins at byte 3",
              ErrorOf("hello, world, this is text\n"));
    EXPECT_EQ("gzip'd data is cut short", ErrorOf(GzipOf(all).substr(0, 40)));
    EXPECT_EQ("sample 3: location 99 is not in the file",
              ErrorOf(all + Bytes(2, Packed(1, {99}) + Packed(2, {1, 2}))));
    EXPECT_EQ("sample 3: location 0 is not in the file",
              ErrorOf(all + Bytes(2, Packed(1, {0}) + Packed(2, {1, 2}))));
    EXPECT_EQ("sample 3 has 1 values, the first 2", ErrorOf(all + Bytes(2, Packed(2, {1}))));
    EXPECT_EQ("sample 1 has 2 values, but there are 3 sample types", ErrorOf(all + Bytes(1, "")));
    EXPECT_EQ("sample 3: there is no string 500, only 12",
              ErrorOf(all + Bytes(2, Packed(2, {1, 2}) + Bytes(3, Number(1, 500)))));
    EXPECT_EQ("function 9: there is no string 18446744073709551615",
              ErrorOf(all + Bytes(5, Number(1, 9) + Number(2, UINT64_MAX))));
    EXPECT_EQ("location 9: function 12 is not in the file",
              ErrorOf(all + Bytes(4, Number(1, 9) + Bytes(4, Number(1, 12)))));
    EXPECT_EQ("location 2 is in the file twice", ErrorOf(all + Bytes(4, Number(1, 2))));
    EXPECT_EQ("function 4 of the file has no id", ErrorOf(all + Bytes(5, "")));
    EXPECT_EQ("mapping 1: field 1 is of wire type 2, not 0",
              ErrorOf(all + Bytes(3, Bytes(1, "x"))));
    EXPECT_EQ("sample 3 is damaged", ErrorOf(all + Bytes(2, "\xff")));
    EXPECT_EQ("comment 1: there is no string 12, only 12", ErrorOf(all + Number(13, 12)));
    EXPECT_EQ("string 0 is not the empty one", ErrorOf(Bytes(6, "x")));
    EXPECT_EQ("is not a profile: it has no sample types", ErrorOf(Bytes(6, "")));
    EXPECT_EQ("is cut short, or not a profile: ends within a field, at byte " +
                  std::to_string(all.size() + 2),
              ErrorOf(all + Varint(2 << 3 | 2) + Varint(100) + "x").substr(0, 300));
}

TEST(Reader, DamagedGzipIsSaidToBe)
{
    std::string gzip = GzipOf(Small().All());
    gzip[20] = static_cast<char>(gzip[20] ^ 0x55);
    EXPECT_EQ(0u, ErrorOf(gzip).find("gzip'd data is damaged"));
    EXPECT_EQ(0u, ErrorOf(GzipOf(Small().All()) + "behind it").find("gzip'd data is damaged"));
}

TEST(Reader, EveryPrefixAndEveryChangedByteIsReadOrRefused)
{
    std::string all = Small().All();
    for (size_t size = 0; size < all.size(); size++) {
        Model model(all.substr(0, size));
        if (model.get()) model.Lines();
        else EXPECT_NE("", model.Error());
    }
    for (size_t at = 0; at < all.size(); at++) {
        for (int change : {1, 128, 255}) {
            std::string changed = all;
            changed[at] = static_cast<char>(changed[at] ^ change);
            Model model(changed);
            if (model.get()) model.Lines();
            else EXPECT_NE("", model.Error());
        }
    }
}

// A source that gives a byte at a time, and then fails.
struct Drip {
    std::string bytes;
    size_t at;
    int error;
};

ptrdiff_t
MoreDrops(void *data, void *buffer, size_t)
{
    Drip *drip = static_cast<Drip *>(data);
    if (drip->at == drip->bytes.size()) {
        errno = drip->error;
        return drip->error ? -1 : 0;
    }
    *static_cast<char *>(buffer) = drip->bytes[drip->at++];
    return 1;
}

TEST(Reader, BytesMayComeOneByOne)
{
    for (const std::string &bytes : {Small().All(), GzipOf(Small().All())}) {
        Drip drip = {bytes, 0, 0};
        char error[HEAPPROF_READER_ERROR_MAX];
        Model model(rb_heapprof_reader_read(MoreDrops, &drip, HEAPPROF_READER_MOST, error));
        EXPECT_EQ(small_lines, model.Lines());
    }
}

// A source that gives one byte, and then as much as is asked for.
ptrdiff_t
MoreAfterOne(void *data, void *buffer, size_t size)
{
    Drip *drip = static_cast<Drip *>(data);
    if (drip->at == 0) size = 1;
    size = std::min(size, drip->bytes.size() - drip->at);
    memcpy(buffer, drip->bytes.data() + drip->at, size);
    drip->at += size;
    return static_cast<ptrdiff_t>(size);
}

TEST(Reader, AByteMayComeBeforeALargePart)
{
    std::string large = Small().All() + Bytes(99, std::string(200000, 'x')) + Number(12, 512);
    char error[HEAPPROF_READER_ERROR_MAX];
    Drip drip = {large, 0, 0};
    Model model(rb_heapprof_reader_read(MoreAfterOne, &drip, HEAPPROF_READER_MOST, error));
    ASSERT_NE(nullptr, model.get()) << error;
    EXPECT_EQ(small_lines, model.Lines());
    EXPECT_EQ(512, model->period);
}

TEST(Reader, AFailureToReadIsTold)
{
    Drip drip = {Small().All(), 0, EIO};
    char error[HEAPPROF_READER_ERROR_MAX];
    EXPECT_EQ(nullptr, rb_heapprof_reader_read(MoreDrops, &drip, HEAPPROF_READER_MOST, error));
    EXPECT_EQ(std::string("cannot be read: ") + strerror(EIO), error);
}

TEST(Reader, MoreThanItIsToReadIsRefused)
{
    std::string bomb = Small().All() + Bytes(99, std::string(1 << 20, 0));
    Drip drip = {GzipOf(bomb), 0, 0};
    char error[HEAPPROF_READER_ERROR_MAX];
    EXPECT_EQ(nullptr, rb_heapprof_reader_read(MoreDrops, &drip, 1 << 19, error));
    EXPECT_NE(nullptr, strstr(error, "at byte")) << error; // the field's length is beyond the most
    std::string many;
    while (many.size() < 1 << 20) many += Number(12, 1);
    drip = {GzipOf(Small().All() + many), 0, 0};
    EXPECT_EQ(nullptr, rb_heapprof_reader_read(MoreDrops, &drip, 1 << 19, error));
    EXPECT_STREQ("is larger than 524288 bytes, unpacked", error);
}

TEST(Reader, AClaimedLengthCostsNothing)
{
    EXPECT_NE("", ErrorOf(Varint(2 << 3 | 2) + Varint(UINT32_MAX - 2) + "x"));
    EXPECT_NE("", ErrorOf(Varint(2 << 3 | 2) + Varint(UINT64_MAX) + "x"));
}

TEST(Reader, AModelIsNoLargerThanTwiceAProfileAsProgramsWriteThem)
{
    ProfileBytes bytes;
    for (const char *type : { "alloc_objects", "alloc_space", "inuse_objects", "inuse_space" })
        bytes.Type(type, "bytes");
    for (uint64_t id = 1; id <= 2000; id++)
        bytes.Function(id, "Some::Class#method_" + std::to_string(id));
    for (uint64_t id = 1; id <= 10000; id++) bytes.Location(id, {{id % 2000 + 1, id % 300}}, 1);
    for (uint64_t i = 0; i < 100000; i++) {
        std::vector<uint64_t> stack;
        for (uint64_t depth = 0; depth < 30; depth++)
            stack.push_back((i * 31 + depth * 17) % 10000 + 1);
        bytes.Sample(stack, {1, 524288, 0, 0}, bytes.Label("class", "String"));
    }
    std::string all = bytes.All();
    Model model(all);
    ASSERT_EQ("", model.Error());
    size_t in_use = model->samples_bytes + model->text_bytes + model->string_count * 4 +
                    model->line_count * sizeof(heapprof_model_line) +
                    rb_heapprof_model_locations(model.get()) * sizeof(heapprof_model_location) +
                    rb_heapprof_model_functions(model.get()) * sizeof(heapprof_model_function);
    EXPECT_LT(in_use, all.size() * 3 / 2);
}

TEST(Reader, OurOwnProfilesAreRead)
{
    SnapshotBuilder builder;
    uint32_t main = builder.Function("main"), load = builder.Function("Cart#load", "/app/cart.rb");
    builder.Live(builder.Stack({{main, 3}, {load, 14}}), builder.Class("String"), 10, 40);
    Snapshot snapshot = builder.Take();
    size_t size;
    char *bytes = rb_heapprof_pprof_encode(snapshot.get(), "/opt/bin/ruby", "c0ffee", &size);
    Model model(std::string(bytes, size));
    free(bytes);

    ASSERT_EQ("", model.Error());
    ASSERT_EQ(1u, model->sample_count);
    EXPECT_EQ(0u, model.Lines()[0].find("Cart#load:14 main:3 |")) << model.Lines()[0];
    EXPECT_STREQ("524288 bytes", rb_heapprof_model_comment(model.get(), "interval: "));
    EXPECT_EQ(rb_heapprof_model_type(model.get(), "inuse_space"),
              rb_heapprof_model_default_type(model.get()));
}

} // namespace
