// graph_tree_test.cc - trees, patterns, groups and suspects, on graphs drawn at random against their definitions, and on small
// ones against what people would say.

#include <gtest/gtest.h>

#include <cstdlib>
#include <map>

#include "test/unit/graph/random.h"

extern "C" {
#include "graph/groups.h"
#include "graph/patterns.h"
#include "graph/suspects.h"
#include "graph/words.h"
}

namespace {

using graph_file::GraphFile;
using graph_file::Object;

// A loaded graph with all that is made of it.
struct Made {
    LoadedGraph loaded;
    struct graph *graph = &loaded.graph;
    graph_dominators dominators;
    graph_tree shortest, dominator_tree;

    explicit Made(const std::string &bytes) : loaded(bytes)
    {
        EXPECT_TRUE(graph_dominators_find(&dominators, graph, false));
        EXPECT_TRUE(graph_shortest(&shortest, graph, nullptr));
        EXPECT_TRUE(graph_dominator_tree(&dominator_tree, graph, &dominators));
    }
    ~Made()
    {
        graph_tree_free(&dominator_tree);
        graph_tree_free(&shortest);
        graph_dominators_free(&dominators);
    }
    std::string Way(uint32_t object, bool merged = false, const graph_tree *tree = nullptr)
    {
        char *text = nullptr;
        size_t size;
        FILE *out = open_memstream(&text, &size);
        EXPECT_TRUE(graph_put_way(out, graph, tree ? tree : &shortest, object, merged));
        fclose(out);
        std::string way(text);
        free(text);
        return way;
    }
};

std::vector<uint32_t>
Depths(const Shape &shape)
{
    std::vector<uint32_t> depths(shape.size(), UINT32_MAX), queue;
    auto reach = [&](uint32_t to, uint32_t depth) {
        if (!to || depths[to] != UINT32_MAX) return;
        depths[to] = depth;
        queue.push_back(to);
    };
    for (uint32_t root : shape.references[0]) reach(root, 1);
    for (size_t at = 0; at < queue.size(); at++) {
        uint32_t from = queue[at];
        for (uint32_t to : shape.references[from]) reach(to, depths[from] + 1);
        reach(shape.classes[from], depths[from] + 1);
    }
    return depths;
}

TEST(Tree, HasTheShortestWays)
{
    std::mt19937 random(3);
    for (int i = 0; i < 2000; i++) {
        Shape shape = RandomShape(&random);
        Made made(FileOf(shape));
        std::vector<uint32_t> depths = Depths(shape), found(shape.size(), UINT32_MAX);
        for (uint32_t at = 0; at < made.shortest.count; at++) {
            uint32_t object = made.shortest.order[at], from = made.shortest.from[object];
            found[object] = from ? found[from] + 1 : 1;
        }
        ASSERT_EQ(depths, found) << i;
    }
}

TEST(Tree, LeadsAroundWhatIsClosed)
{
    Shape shape(5);
    shape.references = {{1, 2}, {4}, {3}, {4}, {}};
    Made made(FileOf(shape));
    graph_tree tree;
    uint8_t closed[5] = {0, 1, 0, 0, 0};

    ASSERT_TRUE(graph_shortest(&tree, made.graph, closed));
    EXPECT_EQ(3u, tree.from[4]);
    EXPECT_EQ(GRAPH_UNREACHED, tree.from[1]);
    graph_tree_free(&tree);
}

// What a group retains is the sum over its objects that none of it dominates.
TEST(Groups, RetainWhatWereFreeWithoutThem)
{
    std::mt19937 random(4);
    for (int i = 0; i < 1000; i++) {
        Shape shape = RandomShape(&random);
        Made made(FileOf(shape));
        graph_groups groups;
        std::map<uint32_t, double> objects, retained;
        for (uint32_t object = 1; object < shape.size(); object++) {
            uint32_t group = graph_class_number(made.graph, object), at = object;
            if (made.dominators.dominators[object] == GRAPH_UNREACHED) continue;
            objects[group]++;
            do at = made.dominators.dominators[at];
            while (at && graph_class_number(made.graph, at) != group);
            if (!at) retained[group] += static_cast<double>(made.dominators.retained[object]);
        }
        ASSERT_TRUE(graph_groups_make(&groups, made.graph, &made.dominators, GRAPH_BY_CLASS));
        ASSERT_EQ(objects.size(), groups.count);
        for (uint32_t at = 0; at < groups.count; at++) {
            ASSERT_EQ(objects[groups.all[at].key], groups.all[at].objects) << i;
            ASSERT_EQ(retained[groups.all[at].key], groups.all[at].retained) << i;
        }
        graph_groups_free(&groups);
    }
}

TEST(Patterns, AddUpToAllThatIsReached)
{
    std::mt19937 random(5);
    for (int i = 0; i < 1000; i++) {
        Made made(FileOf(RandomShape(&random)));
        graph_patterns patterns;
        uint64_t objects = 0, bytes = 0;
        ASSERT_TRUE(graph_patterns_make(&patterns, made.graph, &made.dominator_tree));
        for (uint32_t at = 1; at < patterns.count; at++) {
            ASSERT_LT(patterns.all[at].parent, at);
            objects += patterns.all[at].objects;
            bytes += patterns.all[at].bytes;
        }
        ASSERT_EQ(made.dominators.reached, objects);
        ASSERT_EQ(made.dominators.retained[0], bytes);
        graph_patterns_free(&patterns);
    }
}

// 1 a class Cart, 2 its cache, 3 a Hash, from 4 on what is in it; then a list that a global begins.
std::string
Shop(uint32_t items, uint32_t nodes)
{
    GraphFile file;
    const uint64_t page = 0x7f0000010000;
    uint32_t of_class = file.Layout("T_CLASS", 0, "Class", {}, HEAPPROF_DUMP_NO_TAIL, HEAPPROF_DUMP_OTHERS);
    uint32_t cart = file.Layout("T_OBJECT", page, "Cart", {{HEAPPROF_DUMP_IVAR, "@items"}});
    uint32_t hash = file.Layout("T_HASH", 0, "Hash", {}, HEAPPROF_DUMP_PAIRED);
    uint32_t order = file.Layout("T_OBJECT", 0, "Order");
    uint32_t node = file.Layout("T_OBJECT", 0, "Node", {{HEAPPROF_DUMP_IVAR, "@next"}});
    uint32_t last = file.Layout("T_OBJECT", 0, "Node");
    auto at = [page](uint32_t slot) { return page + slot * 40; };
    Object object;

    file.Root(HEAPPROF_DUMP_C_GLOBAL, "rb_cCart", "C globals", page);
    file.Root(HEAPPROF_DUMP_GLOBAL, "$list", "globals", at(3 + items));
    file.Page(page, 40);
    object.layout = of_class;
    object.text = "Cart";
    object.others = {{HEAPPROF_DUMP_CONSTANT, "CACHE", at(1)}};
    file.Add(0, object);
    object = Object();
    object.layout = cart;
    object.labelled = {at(2)};
    file.Add(1, object);
    object = Object();
    object.layout = hash;
    for (uint32_t i = 0; i < items; i++) {
        object.tail.push_back({HEAPPROF_DUMP_INTEGER, graph_file::Zigzag(i)});
        object.tail.push_back(at(3 + i));
    }
    file.Add(2, object);
    object = Object();
    object.layout = order;
    object.stack = file.Stack(0, "Cart#add", "/cart.rb", 12);
    for (uint32_t i = 0; i < items; i++) file.Add(3 + i, object);
    object = Object();
    for (uint32_t i = 0; i < nodes; i++) {
        object.layout = i + 1 < nodes ? node : last;
        object.labelled.clear();
        if (i + 1 < nodes) object.labelled = {at(3 + items + i + 1)};
        file.Add(3 + items + i, object);
    }
    return file.Bytes();
}

TEST(Words, BeginAtTheNameThatEverybodyKnows)
{
    Made made(Shop(10, 50));

    EXPECT_EQ("C global rb_cCart", made.Way(1));
    EXPECT_EQ("constant Cart::CACHE", made.Way(2));
    EXPECT_EQ("constant Cart::CACHE -> @items -> [6]", made.Way(10));
    EXPECT_EQ("constant Cart::CACHE -> @items -> []", made.Way(10, true));
    EXPECT_EQ("global $list -> @next -> @next", made.Way(16));
    EXPECT_EQ("global $list -> @next (49 times)", made.Way(63));
}

TEST(Patterns, AListIsOne)
{
    Made made(Shop(10, 50));
    graph_patterns patterns;

    ASSERT_TRUE(graph_patterns_make(&patterns, made.graph, &made.shortest));
    EXPECT_EQ(7u, patterns.count); // the root, Cart, CACHE, @items, its orders, the list's first and all others
    EXPECT_EQ(49u, patterns.all[patterns.of[63]].objects);
    EXPECT_EQ(15u, patterns.all[patterns.of[63]].example);
    graph_patterns_free(&patterns);
}

TEST(Suspects, AreWhereMuchIsGathered)
{
    Made made(Shop(1000, 300));
    graph_suspect suspects[3];

    ASSERT_EQ(2u, graph_suspects(suspects, 3, made.graph, &made.dominators, 1000));
    EXPECT_EQ(2u, suspects[0].object);
    EXPECT_EQ(3u, suspects[0].gathered);
    EXPECT_EQ(1000u, suspects[0].parts);
    EXPECT_FALSE(suspects[0].list);
    EXPECT_EQ(1u, suspects[0].stack);
    EXPECT_EQ(1004u, suspects[1].gathered);
    EXPECT_EQ(300u, suspects[1].parts);
    EXPECT_TRUE(suspects[1].list);
    EXPECT_EQ(300u * 40, suspects[1].retained);
    ASSERT_EQ(1u, graph_suspects(suspects, 1, made.graph, &made.dominators, 1000));
    EXPECT_EQ(2u, suspects[0].object);
}

// Each is referred to from two sides: by itself no one keeps them.
TEST(Suspects, ManyBesideEachOtherAreOne)
{
    Shape shape(202);
    shape.references[0] = {200, 201};
    for (uint32_t object = 1; object < 200; object++) {
        shape.references[200].push_back(object);
        shape.references[201].push_back(object);
        shape.classes[object] = 200;
    }
    Made made(FileOf(shape));
    graph_suspect suspects[3];

    ASSERT_EQ(1u, graph_suspects(suspects, 3, made.graph, &made.dominators, 1000));
    EXPECT_EQ(199u, suspects[0].count);
    EXPECT_EQ("global $200 -> []", made.Way(suspects[0].object, true));
    EXPECT_EQ("(several ways)", made.Way(suspects[0].object, true, &made.dominator_tree));
}

} // namespace
