// grown_test.cc - who has grown from one file to the next, by place and class.

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "test/unit/support/snapshot_builder.h"

extern "C" {
#include "profiler/grown.h"
}

namespace {

class Grown : public testing::Test {
  protected:
    std::unique_ptr<heapprof_grown> grown_{new heapprof_grown()};

    std::string Tell(const heapprof_snapshot *snapshot, size_t size = 4096)
    {
        std::string text(size, '#');
        size_t length = rb_heapprof_grown_tell(grown_.get(), snapshot, &text[0], size);
        EXPECT_LT(length, size);
        EXPECT_EQ('\0', text[length]);
        return text.substr(0, length);
    }
};

struct Place {
    const char *name, *class_name;
    uint32_t line;
    int objects;
};

// Numbers mean nothing: each snapshot enters its places anew, in the order that it is given.
Snapshot
Of(const std::vector<Place> &places)
{
    SnapshotBuilder builder;
    for (const Place &place : places) {
        uint32_t stack = builder.Stack({{builder.Function("main"), 1},
                                        {builder.Function(place.name), place.line}});
        for (int i = 0; i < place.objects; i++)
            builder.Live(stack, builder.Class(place.class_name), 1, 40);
    }
    return builder.Take();
}

TEST_F(Grown, TheFirstTimeThereIsNothingToCompareWith)
{
    EXPECT_EQ("", Tell(Of({{"a", "String", 1, 10}}).get()));
    EXPECT_EQ("", Tell(Of({{"a", "String", 1, 10}}).get()));
}

TEST_F(Grown, TheLargestComesFirst)
{
    Tell(Of({{"a", "String", 1, 10}, {"b", "String", 2, 10}, {"c", "Array", 3, 10}}).get());
    Snapshot later = Of({{"c", "Array", 3, 11}, {"b", "String", 2, 30}, {"a", "String", 1, 5}});
    EXPECT_EQ("grew: 800 bytes, String, b /app/main.rb:2\n"
              "grew: 40 bytes, Array, c /app/main.rb:3\n", Tell(later.get()));
}

TEST_F(Grown, OneLineAndOneClassIsOnePlace)
{
    Tell(Of({{"a", "String", 1, 1}}).get());
    Snapshot later = Of({{"a", "String", 1, 2}, {"a", "Array", 1, 3}, {"a", "String", 2, 4}});
    EXPECT_EQ("grew: 160 bytes, String, a /app/main.rb:2\n"
              "grew: 120 bytes, Array, a /app/main.rb:1\n"
              "grew: 40 bytes, String, a /app/main.rb:1\n", Tell(later.get()));
}

TEST_F(Grown, WhatHasGoneAndComesAgainGrewByAllOfIt)
{
    Tell(Of({{"a", "String", 1, 10}}).get());
    EXPECT_EQ("", Tell(Of({{"b", "Array", 2, 0}}).get()));
    EXPECT_EQ("grew: 400 bytes, String, a /app/main.rb:1\n",
              Tell(Of({{"a", "String", 1, 10}}).get()));
}

TEST_F(Grown, EqualOnesAreAllTold)
{
    Tell(Of({}).get());
    std::string told = Tell(Of({{"a", "A", 1, 1}, {"b", "B", 2, 1}, {"c", "C", 3, 1}}).get());
    for (const char *name : {"A, a", "B, b", "C, c"})
        EXPECT_NE(std::string::npos, told.find(name)) << told;
}

TEST_F(Grown, OnlyTheFirstFewAreTold)
{
    std::vector<Place> places;
    Tell(Of({}).get());
    for (int i = 1; i <= 20; i++) places.push_back({"f", "String", (uint32_t)i, i});
    std::string told = Tell(Of(places).get());
    EXPECT_EQ(HEAPPROF_GROWN_TOLD, std::count(told.begin(), told.end(), '\n'));
    EXPECT_EQ(0u, told.find("grew: 800 bytes, String, f /app/main.rb:20\n"));
}

TEST_F(Grown, ALineIsWholeOrNotThere)
{
    std::string line = "grew: 40 bytes, String, a /app/main.rb:1\n";
    for (size_t size = 1; size < line.size() + 3; size++) {
        *grown_ = heapprof_grown();
        Tell(Of({}).get());
        EXPECT_EQ(size > line.size() ? line : "", Tell(Of({{"a", "String", 1, 1}}).get(), size));
    }
}

TEST_F(Grown, NamesDoNotEndTheLine)
{
    Tell(Of({}).get());
    EXPECT_EQ("grew: 40 bytes, Evil??mark: 1%, a?b /app/main.rb:1\n",
              Tell(Of({{"a\nb", "Evil\n\x1bmark: 1%", 1, 1}}).get()));
}

TEST_F(Grown, MorePlacesThanThereIsRoomForAreLeftOut)
{
    std::vector<Place> places;
    Tell(Of({}).get());
    for (uint32_t i = 1; i <= HEAPPROF_GROWN_PLACES + 100; i++)
        places.push_back({"f", "String", i, 1});
    EXPECT_NE("", Tell(Of(places).get()));
    EXPECT_EQ("", Tell(Of(places).get()));
}

} // namespace
