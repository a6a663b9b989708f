// graph_dominators_test.cc - dominators and retained sizes, against what is reached without an
// object.

#include <gtest/gtest.h>

#include <vector>

#include "test/unit/graph/expected.h"

namespace {

void
Check(const Shape &shape, size_t limit_bytes)
{
    LoadedGraph loaded(FileOf(shape), limit_bytes);
    graph_dominators found;
    Expected expected(shape);

    ASSERT_TRUE(loaded.loaded) << loaded.error;
    ASSERT_TRUE(loaded.graph.complete);
    ASSERT_EQ(shape.size() - 1, loaded.graph.count);
    ASSERT_TRUE(graph_dominators_find(&found, &loaded.graph, false));
    for (uint32_t object = 1; object < shape.size(); object++) {
        ASSERT_EQ(expected.dominators[object], found.dominators[object]) << object;
        ASSERT_EQ(expected.retained[object], found.retained[object]) << object;
    }
    ASSERT_EQ(expected.retained[0], found.retained[0]);
    ASSERT_EQ(expected.reached, found.reached);
    graph_dominators_free(&found);
}

TEST(Dominators, AreThoseWithoutWhichNothingLeadsThere)
{
    std::mt19937 random(1);
    for (int i = 0; i < 5000; i++) {
        SCOPED_TRACE(i);
        Check(RandomShape(&random), SIZE_MAX);
        if (HasFatalFailure()) return;
    }
}

TEST(Dominators, AreTheSameWhenThereIsNoMemoryButAFile)
{
    std::mt19937 random(2);
    for (int i = 0; i < 20; i++) {
        SCOPED_TRACE(i);
        Check(RandomShape(&random), 0);
        if (HasFatalFailure()) return;
    }
}

// Linked from the front, and each from the one before it, too.
TEST(Dominators, OfALongListNeedNoStack)
{
    const uint32_t count = 1000000;
    Shape shape(count + 1);
    shape.references[0] = {1};
    for (uint32_t object = 1; object < count; object++) {
        shape.references[object].push_back(object + 1);
        if (object > 1) shape.references[object].push_back(object - 1);
    }
    LoadedGraph loaded(FileOf(shape, HEAPPROF_DUMP_ZLIB));
    graph_dominators found;

    ASSERT_TRUE(graph_dominators_find(&found, &loaded.graph, false));
    for (uint32_t object = 1; object <= count; object++)
        ASSERT_EQ(object - 1, found.dominators[object]);
    EXPECT_EQ(40u + count, found.retained[count]);
    EXPECT_EQ(loaded.graph.bytes, found.retained[1]);
    graph_dominators_free(&found);
}

TEST(Dominators, TheTreeFromAboveHasTheChildrenOfEach)
{
    Shape shape(6);
    shape.references = {{1, 2}, {3, 4}, {4}, {5}, {}, {}};
    LoadedGraph loaded(FileOf(shape));
    graph_dominators found;
    graph_dominated dominated;

    ASSERT_TRUE(graph_dominators_find(&found, &loaded.graph, false));
    ASSERT_TRUE(graph_dominated_make(&dominated, &loaded.graph, &found));
    EXPECT_EQ((std::vector<uint32_t> { 1, 2, 4 }),
              std::vector<uint32_t>(dominated.children + dominated.first[0],
                                    dominated.children + dominated.first[1]));
    EXPECT_EQ((std::vector<uint32_t> { 3 }),
              std::vector<uint32_t>(dominated.children + dominated.first[1],
                                    dominated.children + dominated.first[2]));
    EXPECT_EQ(5u, dominated.children[dominated.first[3]]);
    EXPECT_EQ(dominated.first[6], dominated.first[2] + 1);
    graph_dominated_free(&dominated);
    graph_dominators_free(&found);
}

} // namespace
