// entries_test.cc - whether an object has several ways in, against the definition.

#include <gtest/gtest.h>

#include <set>

#include "test/unit/graph/expected.h"

extern "C" {
#include "graph/entries.h"
}

namespace {

// Who refers to the object without being kept alive by it.
std::set<uint32_t>
EntriesOf(const Shape &shape, uint32_t object)
{
    std::vector<bool> without = ReachedWithout(shape, object);
    std::set<uint32_t> entries;

    for (uint32_t from = 0; from < shape.size(); from++) {
        if (from && !without[from]) continue;
        for (uint32_t to : shape.references[from])
            if (to == object) entries.insert(from);
    }
    return entries;
}

std::vector<bool>
SeveralOf(const Shape &shape, size_t limit_bytes = SIZE_MAX)
{
    LoadedGraph loaded(FileOf(shape), limit_bytes);
    graph_dominators dominators;
    graph_tree tree;
    graph_entries entries;
    std::vector<bool> several(shape.size());

    EXPECT_TRUE(graph_dominators_find(&dominators, &loaded.graph, false));
    EXPECT_TRUE(graph_dominator_tree(&tree, &loaded.graph, &dominators));
    EXPECT_TRUE(graph_entries_find(&entries, &loaded.graph, &dominators, &tree));
    for (uint32_t object = 1; object < shape.size(); object++) {
        several[object] =
            dominators.dominators[object] != GRAPH_UNREACHED &&
            graph_entries_several_p(&entries, &loaded.graph, &dominators, object);
    }
    graph_entries_free(&entries);
    graph_tree_free(&tree);
    graph_dominators_free(&dominators);
    return several;
}

TEST(Entries, AreReferencesFromOutside)
{
    std::mt19937 random(1);

    for (int i = 0; i < 2000; i++) {
        SCOPED_TRACE(i);
        Shape shape = RandomShape(&random);
        Expected expected(shape);
        std::vector<bool> several = SeveralOf(shape, i % 100 ? SIZE_MAX : 0);
        for (uint32_t object = 1; object < shape.size(); object++) {
            if (expected.dominators[object] == GRAPH_UNREACHED) continue;
            uint32_t at = object;
            while (at && !shape.classes[at]) at = expected.dominators[at];
            ASSERT_EQ(at && EntriesOf(shape, at).size() > 1, several[object]) << object;
        }
    }
}

TEST(Entries, OfARingThereIsOne)
{
    Shape shape(4);
    shape.references = {{1}, {2, 2}, {3}, {1}};
    shape.classes = {0, 1, 1, 1};
    EXPECT_EQ((std::vector<bool>{false, false, false, false}), SeveralOf(shape));
}

// 4 is a part of 3, and 5 is no part of it.
TEST(Entries, ThoseOfAPartAreThoseOfItsOwner)
{
    Shape shape(6);
    shape.references = {{1, 2}, {3}, {3}, {4, 5}, {}, {}};
    shape.classes = {0, 1, 1, 1, 0, 1};
    EXPECT_EQ((std::vector<bool>{false, false, false, true, true, false}), SeveralOf(shape));
}

} // namespace
