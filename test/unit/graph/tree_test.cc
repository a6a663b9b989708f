// graph_tree_test.cc - trees, groups and paths in words, on graphs drawn at random against their
// definitions, and on small ones against what people would say.

#include <gtest/gtest.h>

#include <map>

#include "test/unit/graph/made.h"

extern "C" {
#include "graph/groups.h"
}

namespace {

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
    uint8_t objects[5] = {0, 1, 0, 0, 0};
    graph_closed closed = {};

    closed.levels = &made.dominators.levels;
    closed.objects = objects;
    ASSERT_TRUE(graph_shortest(&tree, made.graph, &closed));
    EXPECT_EQ(3u, tree.from[4]);
    EXPECT_EQ(GRAPH_UNREACHED, tree.from[1]);
    graph_tree_free(&tree);
}

// root -> Object -> ARGV -> it; root -> ARGF -> list -> it. To people the first one is shorter.
TEST(Tree, CountsStepsFromTheClass)
{
    Drawing drawing(1);
    uint32_t base = drawing.Add("T_CLASS", "Class", "BasicObject"),
             object = drawing.Add("T_CLASS", "Class", "Object");
    uint32_t argf = drawing.Add("T_OBJECT", "ARGF"), list = drawing.Add("T_ARRAY", "Array"),
             it = drawing.Add("T_OBJECT", "Text");

    drawing.Root(argf, HEAPPROF_DUMP_GLOBAL, "$<");
    drawing.Root(base, HEAPPROF_DUMP_C_GLOBAL, "rb_cBasicObject");
    drawing.Refer(base, object, HEAPPROF_DUMP_CONSTANT, "Object");
    drawing.Refer(argf, list, HEAPPROF_DUMP_IVAR, "@argv");
    drawing.Refer(object, list, HEAPPROF_DUMP_CONSTANT, "ARGV");
    drawing.Refer(list, it);
    EXPECT_EQ("constant ARGV -> [0]", Made(FileOf(drawing)).Way(it));
}

TEST(Tree, LeavesOutTheDirectoryOfTheProgram)
{
    Drawing drawing(1);
    uint32_t thread = drawing.Add("T_DATA(VM/thread)", "Thread", "/srv/app/worker.rb:12, sleeps"),
             job = drawing.Add("T_OBJECT", "Job");

    drawing.directory = "/srv/app";
    drawing.Root(thread, HEAPPROF_DUMP_ROOT, "thread");
    drawing.Refer(thread, job, HEAPPROF_DUMP_LOCAL, "job in Object#run at /srv/app/lib/run.rb:3");
    Made made(FileOf(drawing));
    EXPECT_EQ("thread -> local job in Object#run at lib/run.rb:3", made.Way(job));
    EXPECT_EQ("Thread worker.rb:12, sleeps",
              Written([&](FILE *out) { graph_put_object(out, made.graph, thread); }));
    EXPECT_EQ("worker.rb:12", Written([&](FILE *out) {
                  graph_put_place(out, made.graph, "/srv/app/worker.rb:12, sleeps", 21);
              }));
    EXPECT_EQ("none, /srv/other/x.rb", Written([&](FILE *out) {
                  graph_put_place(out, made.graph, "none, /srv/other/x.rb", 21);
              }));
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

} // namespace
