// graph_largest_test.cc - the largest of many against sorting them all, and referrers against a
// look at every reference.

#include <gtest/gtest.h>

#include <numeric>

#include "test/unit/graph/random.h"

extern "C" {
#include "graph/largest.h"
}

namespace {

using Referrers = std::vector<std::pair<uint32_t, uint32_t>>; // object, kind of the label

TEST(Largest, AreTheFirstOfAllWhenSorted)
{
    std::mt19937 random(1);
    for (int i = 0; i < 2000; i++) {
        uint32_t count = random() % 200, most = 1 + random() % 40, range = 1 + random() % 100;
        std::vector<uint64_t> values(count);
        for (uint64_t &value : values) value = random() % range;
        std::vector<uint32_t> expected(count), found(2 * most);
        std::iota(expected.begin(), expected.end(), 0);
        std::stable_sort(expected.begin(), expected.end(),
                         [&](uint32_t a, uint32_t b) { return values[a] > values[b]; });
        expected.erase(std::remove_if(expected.begin(), expected.end(),
                                      [&](uint32_t one) { return values[one] == 0; }),
                       expected.end());
        expected.resize(std::min<size_t>(expected.size(), most));
        found.resize(graph_largest_find(found.data(), most, values.data(), count));
        ASSERT_EQ(expected, found) << i;
    }
}

// Roots first, then in the order of the file, each object's class behind all references.
Referrers
ReferrersOf(const Shape &shape, uint32_t object)
{
    Referrers referrers;

    for (uint32_t from = 0; from < shape.size(); from++) {
        for (uint32_t to : shape.references[from]) {
            if (to == object)
                referrers.emplace_back(from, from ? HEAPPROF_DUMP_INDEX : HEAPPROF_DUMP_GLOBAL);
        }
        if (from && shape.classes[from] == object)
            referrers.emplace_back(from, HEAPPROF_DUMP_CLASS);
    }
    return referrers;
}

void
CheckReferrers(const Shape &shape, const graph_chosen &chosen)
{
    for (uint32_t place = 0; place < chosen.count; place++) {
        Referrers expected = ReferrersOf(shape, chosen.objects[place]), found;
        ASSERT_EQ(expected.size(), chosen.referrer_counts[place]);
        expected.resize(std::min<size_t>(expected.size(), chosen.most));
        for (size_t i = 0; i < expected.size(); i++) {
            const graph_referrer &referrer = chosen.referrers[place * chosen.most + i];
            found.emplace_back(referrer.object, graph_label_kind(referrer.label));
        }
        ASSERT_EQ(expected, found);
    }
}

TEST(Chosen, AreTheLargestAndWhatIsAddedWithAllThatRefersToThem)
{
    std::mt19937 random(2);
    for (int i = 0; i < 2000; i++) {
        Shape shape = RandomShape(&random);
        LoadedGraph loaded(FileOf(shape));
        graph_dominators dominators;
        graph_chosen chosen;
        uint32_t most = 1 + random() % 8,
                 added = 1 + random() % static_cast<uint32_t>(shape.size() - 1);

        ASSERT_TRUE(graph_dominators_find(&dominators, &loaded.graph, false));
        ASSERT_TRUE(graph_chosen_make(&chosen, &loaded.graph, &dominators, most));
        EXPECT_EQ(std::min(most, dominators.reached), chosen.count);
        for (uint32_t place = 1; place < chosen.count; place++) {
            EXPECT_GE(dominators.retained[chosen.objects[place - 1]],
                      dominators.retained[chosen.objects[place]]);
        }
        ASSERT_TRUE(graph_chosen_add(&chosen, added));
        for (uint32_t place = 0; place < chosen.count; place++)
            ASSERT_EQ(place + 1, chosen.places[chosen.objects[place]]);
        ASSERT_NE(0u, chosen.places[added]);
        ASSERT_TRUE(graph_chosen_find_referrers(&chosen, &loaded.graph, 1 + random() % 4));
        CheckReferrers(shape, chosen);
        graph_chosen_free(&chosen);
        graph_dominators_free(&dominators);
        if (HasFatalFailure()) return;
    }
}

} // namespace
