// combine_test.cc - sums of profiles, and what is written of a model read again.

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "test/unit/support/profile_bytes.h"
#include "test/unit/support/saved.h"

extern "C" {
#include "pprof/combine.h"
}

namespace {

using Lines = std::vector<std::string>;

std::string
Saved(const heapprof_model *model)
{
    std::string bytes;
    EXPECT_EQ(HEAPPROF_SAVED, rb_heapprof_save(model, TakeSaved, &bytes));
    return bytes;
}

// The sum, or the error.
struct Sum {
    char error[HEAPPROF_COMBINE_ERROR_MAX] = "";
    Model model;

    Sum(const std::vector<const heapprof_model *> &models, const std::vector<int> &signs)
        : model(Combine(models, signs))
    {
    }

    heapprof_model *
    Combine(const std::vector<const heapprof_model *> &models, const std::vector<int> &signs)
    {
        std::vector<std::string> names;
        std::vector<const char *> pointers;
        for (size_t i = 0; i < models.size(); i++)
            names.push_back(std::string(1, static_cast<char>('a' + i)));
        for (const std::string &name : names) pointers.push_back(name.c_str());
        return rb_heapprof_combine(models.data(), signs.data(), pointers.data(), models.size(),
                                   error);
    }

    Lines
    Sorted()
    {
        Lines lines = model.Lines();
        std::sort(lines.begin(), lines.end());
        return lines;
    }
};

ProfileBytes
One()
{
    ProfileBytes bytes;
    bytes.Type("objects", "count");
    bytes.Type("space", "bytes");
    bytes.Function(1, "load", "cart.rb", 3);
    bytes.Function(2, "main", "main.rb", 1);
    bytes.Location(1, {{1, 5}});
    bytes.Location(2, {{2, 70}});
    bytes.Sample({1, 2}, {10, 400}, bytes.Label("class", "String"));
    bytes.Sample({2}, {1, 40});
    return bytes;
}

// The same functions with other ids, types the other way round, one sample in common.
ProfileBytes
Other()
{
    ProfileBytes bytes;
    bytes.Type("space", "bytes");
    bytes.Type("objects", "count");
    bytes.Function(70, "main", "main.rb", 1);
    bytes.Function(9, "load", "cart.rb", 3);
    bytes.Function(10, "load", "other.rb", 3);
    bytes.Location(5, {{70, 70}});
    bytes.Location(6, {{9, 5}});
    bytes.Location(7, {{10, 5}});
    bytes.Sample({6, 5}, {100, 3}, bytes.Label("class", "String"));
    bytes.Sample({6, 5}, {7, 1}, bytes.Label("class", "Array"));
    bytes.Sample({7, 5}, {9, 2}, bytes.Label("class", "String"));
    return bytes;
}

TEST(Combine, LikeGoesWithLike)
{
    Model one(One().All()), other(Other().All());
    Sum sum({one.get(), other.get()}, {1, 1});
    EXPECT_EQ((Lines{"load:5 main:70 | 1 7 | class=Array", "load:5 main:70 | 13 500 | class=String",
                     "load:5 main:70 | 2 9 | class=String", "main:70 | 1 40 |"}),
              sum.Sorted());
    EXPECT_EQ(3u, rb_heapprof_model_functions(sum.model.get()));
}

TEST(Combine, ADifferenceLeavesOutWhatIsTheSame)
{
    Model one(One().All()), other(Other().All());
    Sum nothing({one.get(), one.get()}, {1, -1});
    EXPECT_EQ(Lines{}, nothing.Sorted());
    Sum difference({other.get(), one.get()}, {1, -1});
    EXPECT_EQ(
        (Lines { "load:5 main:70 | -300 -7 | class=String", "load:5 main:70 | 7 1 | class=Array",
                 "load:5 main:70 | 9 2 | class=String", "main:70 | -40 -1 |" }),
        difference.Sorted());
}

TEST(Combine, TypesHaveToBeTheSame)
{
    ProfileBytes three, unit;
    three.Type("objects", "count");
    three.Type("space", "bytes");
    three.Type("time", "seconds");
    unit.Type("objects", "count");
    unit.Type("space", "kilobytes");
    Model one(One().All()), with_more(three.All()), with_unit(unit.All());
    EXPECT_STREQ("a has no sample type time in seconds, which b has",
                 Sum({ one.get(), with_more.get() }, { 1, 1 }).error);
    EXPECT_STREQ("b has no sample type time in seconds, which a has",
                 Sum({ with_more.get(), one.get() }, { 1, 1 }).error);
    EXPECT_STREQ("b has no sample type space in bytes, which a has",
                 Sum({ one.get(), with_unit.get() }, { 1, 1 }).error);
}

TEST(Combine, VariancesAddUpUnderEitherSign)
{
    ProfileBytes bytes;
    bytes.Type("inuse_space", "bytes");
    bytes.Type("inuse_variance", "bytes^2");
    bytes.Location(1, {});
    bytes.Sample({1}, {10, 100});
    Model model(bytes.All());
    EXPECT_EQ(Lines{"0x0 | 0 200 |"}, Sum({model.get(), model.get()}, {1, -1}).Sorted());
}

TEST(Combine, SumsStopAtTheEndsOfTheRange)
{
    ProfileBytes bytes;
    bytes.Type("a", "b");
    bytes.Location(1, {});
    bytes.Sample({1}, {INT64_MAX});
    bytes.Sample({}, {INT64_MIN});
    Model model(bytes.All());
    EXPECT_EQ((Lines{"0x0 | 9223372036854775807 |", "| -9223372036854775808 |"}),
              Sum({model.get(), model.get()}, {1, 1}).Sorted());
    EXPECT_EQ((Lines { "0x0 | -9223372036854775807 |", "| 9223372036854775807 |" }),
              Sum({ model.get() }, { -1 }).Sorted());
}

TEST(Combine, TimeIsTheEarliestAndDurationTheSum)
{
    std::string one = One().All() + Number(9, 500) + Number(10, 7),
                two = One().All() + Number(9, 300) + Number(10, 8);
    Model first(one), second(two);
    Sum sum({first.get(), second.get()}, {1, 1});
    EXPECT_EQ(300, sum.model->time_ns);
    EXPECT_EQ(15, sum.model->duration_ns);
}

// Random profiles: values by stack and label add up as in a map, whatever the ids.
TEST(Combine, AgreesWithAMapOverRandomProfiles)
{
    std::mt19937 random(20261122);
    for (int round = 0; round < 200; round++) {
        std::map<std::string, int64_t> expected;
        std::vector<std::string> files;
        std::vector<int> signs;
        for (int file = 0; file < 3; file++) {
            ProfileBytes bytes;
            int sign = random() % 2 ? 1 : -1;
            uint64_t shift = random() % 1000 + 1;
            bytes.Type("space", "bytes");
            for (uint64_t id = 0; id < 5; id++)
                bytes.Function(id * 7 + shift, "f" + std::to_string(id));
            for (uint64_t id = 0; id < 5; id++)
                bytes.Location(id * 3 + shift, { { id * 7 + shift, id } });
            for (int sample = 0; sample < 20; sample++) {
                uint64_t inner = random() % 5, outer = random() % 5;
                std::string label = "L" + std::to_string(random() % 2);
                int64_t value = static_cast<int64_t>(random() % 100) - 20;
                bytes.Sample({ inner * 3 + shift, outer * 3 + shift }, { value },
                             bytes.Label("k", label));
                std::string i = std::to_string(inner), o = std::to_string(outer);
                expected["f" + i + ":" + i + " f" + o + ":" + o + " k=" + label] += sign * value;
            }
            files.push_back(GzipOf(bytes.All()));
            signs.push_back(sign);
        }
        Model one(files[0]), two(files[1]), three(files[2]);
        Sum sum({one.get(), two.get(), three.get()}, signs);
        std::map<std::string, int64_t> found;
        for (const std::string &line : sum.model.Lines()) {
            size_t bar = line.find("| "), second = line.find(" | ", bar + 2);
            found[line.substr(0, bar) + line.substr(second + 3)] = std::stoll(line.substr(bar + 2));
        }
        for (auto it = expected.begin(); it != expected.end(); )
            it = it->second ? std::next(it) : expected.erase(it);
        ASSERT_EQ(expected, found) << round;
    }
}

TEST(Save, WhatIsWrittenIsReadAgain)
{
    ProfileBytes bytes = One();
    bytes.Location(3, {{1, 8}, {2, 9}}, 4);
    bytes.Sample({ 3 }, { -5, INT64_MIN },
                 bytes.NumberLabel("size", -40, "bytes") + bytes.NumberLabel("zero", 0, ""));
    std::string all =
        bytes.All() + Number(9, 1234) + Number(10, 99) + Number(12, 512) +
        Number(14, bytes.String("space")) + Packed(13, { bytes.String("count"), 0 }) +
        Bytes(11, Number(1, 2)) + Number(7, 3) + Number(8, 4) +
        Bytes(3, Number(1, 4) + Number(2, 4096) + Number(3, 8192) + Number(4, 1) + Number(5, 1) +
                     Number(6, 2) + Number(7, 1) + Number(8, 1) + Number(9, 1) + Number(10, 1));
    Model model(all), again(Saved(model.get()));

    ASSERT_EQ("", again.Error());
    EXPECT_EQ(model.Lines(), again.Lines());
    EXPECT_EQ(Saved(model.get()), Saved(again.get()));
    EXPECT_EQ(model->mappings[0].limit, again->mappings[0].limit);
    EXPECT_TRUE(again->mappings[0].has_inline_frames);
    EXPECT_EQ(0u, again->locations[2].mapping);
    EXPECT_EQ(1234, again->time_ns);
    EXPECT_EQ(99, again->duration_ns);
    EXPECT_EQ(512, again->period);
    EXPECT_EQ(2u, again->comment_count);
    EXPECT_EQ(3u, again->drop_frames);
    EXPECT_EQ(4u, again->keep_frames);
    EXPECT_EQ("space", again.Text(again->default_type));
}

bool
TakeSome(void *data, const void *, size_t size)
{
    size_t *left = static_cast<size_t *>(data);
    if (size > *left) return false;
    *left -= size;
    return true;
}

TEST(Save, ItEndsWhenBytesAreRefused)
{
    Model model(One().All());
    size_t left = 10;
    EXPECT_EQ(HEAPPROF_SAVE_REFUSED, rb_heapprof_save(model.get(), TakeSome, &left));
}

} // namespace
