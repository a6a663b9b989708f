// graph_strength_test.cc - how firmly objects are held, which references dominators look through,
// and the strongest paths: graphs drawn at random against the definitions.

#include <gtest/gtest.h>

#include "test/unit/graph/expected.h"

extern "C" {
#include "graph/tree.h"
}

namespace {

// ---- the definitions, on what was drawn ----

uint32_t
LevelOf(const Edge &edge)
{
    if (edge.label == HEAPPROF_DUMP_STACK) return GRAPH_ON_STACK;
    return edge.label == HEAPPROF_DUMP_FIELD && edge.name.find(" cache") != std::string::npos
               ? GRAPH_CACHED
               : GRAPH_FIRM;
}

uint32_t
StrengthOf(const Drawing &drawing, uint32_t from, const Edge &edge)
{
    bool module = drawing.objects[edge.to].type == "T_CLASS";

    if (edge.label == HEAPPROF_DUMP_STACK) return GRAPH_ON_STACK;
    if (!from) return edge.label == HEAPPROF_DUMP_GLOBAL || module ? GRAPH_FIRM : GRAPH_OF_VM;
    if (drawing.objects[from].type != "T_DATA(VM/thread)") return LevelOf(edge);
    if (edge.label != HEAPPROF_DUMP_FIELD && edge.label != HEAPPROF_DUMP_LOCAL) return GRAPH_FIRM;
    return edge.name.find(" in ") != std::string::npos ? GRAPH_OF_FRAME : GRAPH_OF_THREAD;
}

std::vector<Edge>
EdgesOf(const Drawing &drawing, uint32_t from)
{
    std::vector<Edge> edges = drawing.objects[from].references;

    if (from && drawing.objects[from].class_object)
        edges.push_back({ drawing.objects[from].class_object, HEAPPROF_DUMP_CLASS, "" });
    return edges;
}

// By object: the least weakness that a path to it can have; UINT32_MAX if none leads there.
template <typename Weakness>
std::vector<uint32_t>
WeakestLinks(const Drawing &drawing, Weakness weakness)
{
    std::vector<uint32_t> weakest(drawing.size(), UINT32_MAX);
    bool changed = true;

    weakest[0] = 0;
    while (changed) {
        changed = false;
        for (uint32_t from = 0; from < drawing.size(); from++) {
            if (weakest[from] == UINT32_MAX) continue;
            for (const Edge &edge : EdgesOf(drawing, from)) {
                uint32_t over_this = std::max(weakest[from], weakness(from, edge));
                if (over_this >= weakest[edge.to]) continue;
                weakest[edge.to] = over_this;
                changed = true;
            }
        }
    }
    return weakest;
}

// By object: whether it is a class that firm references lead to from roots, through classes alone.
// What leads there has no length.
std::vector<bool>
FirmClasses(const Drawing &drawing)
{
    std::vector<bool> firm(drawing.size());
    bool changed = true;

    firm[0] = true;
    while (changed) {
        changed = false;
        for (uint32_t from = 0; from < drawing.size(); from++) {
            for (const Edge &edge : EdgesOf(drawing, from)) {
                if (!firm[from] || firm[edge.to] || drawing.objects[edge.to].type != "T_CLASS" ||
                    StrengthOf(drawing, from, edge) != GRAPH_FIRM) continue;
                changed = firm[edge.to] = true;
            }
        }
    }
    return firm;
}

// How long the path to an object is, over those of the objects before it.
std::vector<uint32_t>
Lengths(const Drawing &drawing, const std::vector<uint32_t> &weakest,
        const std::vector<bool> &firm_classes)
{
    std::vector<uint32_t> lengths(drawing.size(), UINT32_MAX);
    bool changed = true;

    lengths[0] = 0;
    while (changed) {
        changed = false;
        for (uint32_t from = 0; from < drawing.size(); from++) {
            if (lengths[from] == UINT32_MAX) continue;
            for (const Edge &edge : EdgesOf(drawing, from)) {
                uint32_t length = firm_classes[edge.to] ? 0 : lengths[from] + 1;
                if (std::max(weakest[from], StrengthOf(drawing, from, edge)) > weakest[edge.to] ||
                    length >= lengths[edge.to]) continue;
                lengths[edge.to] = length;
                changed = true;
            }
        }
    }
    return lengths;
}

std::vector<uint32_t>
Levels(const Drawing &drawing)
{
    return WeakestLinks(drawing, [](uint32_t, const Edge &edge) { return LevelOf(edge); });
}

// ---- levels and dominators ----

TEST(Strength, LevelsAreThoseOfTheStrongestPaths)
{
    std::mt19937 random(11);
    for (int i = 0; i < 1000; i++) {
        SCOPED_TRACE(i);
        Drawing drawing = RandomDrawing(&random);
        LoadedGraph loaded(FileOf(drawing));
        graph_levels levels;
        std::vector<uint32_t> expected = Levels(drawing);

        ASSERT_TRUE(loaded.loaded) << loaded.error;
        ASSERT_TRUE(graph_levels_find(&levels, &loaded.graph));
        for (uint32_t object = 1; object < drawing.size(); object++) {
            ASSERT_EQ(std::min<uint32_t>(expected[object], GRAPH_STRENGTHS), levels.of[object])
                << object;
        }
        graph_levels_free(&levels);
    }
}

// Object 1 holds 3 by a name, 2 by a label of the VM's. A file may give an object a label that real
// dumps have for roots only.
TEST(Strength, ReferencesOfTheVmAreLookedThroughWhateverTheirLabel)
{
    for (auto label : {std::make_pair(HEAPPROF_DUMP_FIELD, "call cache"),
                       std::make_pair(HEAPPROF_DUMP_ROOT, "call cache"),
                       std::make_pair(HEAPPROF_DUMP_STACK, "sp+0")}) {
        SCOPED_TRACE(label.first);
        Drawing drawing(1);
        for (int i = 0; i < 3; i++) drawing.Add("T_OBJECT", "Order");
        drawing.Root(1, HEAPPROF_DUMP_GLOBAL, "$one");
        drawing.Root(2, HEAPPROF_DUMP_GLOBAL, "$other");
        drawing.Refer(1, 3, HEAPPROF_DUMP_IVAR, "@kept");
        drawing.Refer(2, 3, label.first, label.second);
        LoadedGraph loaded(FileOf(drawing));
        graph_dominators looked_through, exact;

        ASSERT_TRUE(loaded.loaded) << loaded.error;
        ASSERT_TRUE(graph_dominators_find(&looked_through, &loaded.graph, false));
        ASSERT_TRUE(graph_dominators_find(&exact, &loaded.graph, true));
        EXPECT_EQ(1u, looked_through.dominators[3]);
        EXPECT_EQ(0u, exact.dominators[3]);
        graph_dominators_free(&exact);
        graph_dominators_free(&looked_through);
    }
}

void
ExpectDominators(const Expected &expected, const graph_dominators &found)
{
    for (uint32_t object = 1; object < expected.dominators.size(); object++) {
        ASSERT_EQ(expected.dominators[object], found.dominators[object]) << object;
        ASSERT_EQ(expected.retained[object], found.retained[object]) << object;
    }
    ASSERT_EQ(expected.retained[0], found.retained[0]);
    ASSERT_EQ(expected.reached, found.reached);
}

// Each reference counts for the exact ones. The others are those of the graph without weaker
// references, and reach the same.
TEST(Strength, DominatorsLookThroughWeakerReferences)
{
    std::mt19937 random(12);
    int differ = 0;
    for (int i = 0; i < 1000; i++) {
        SCOPED_TRACE(i);
        Drawing drawing = RandomDrawing(&random);
        LoadedGraph loaded(FileOf(drawing));
        std::vector<uint32_t> levels = Levels(drawing);
        Expected all(ShapeOf(drawing, [](uint32_t, const Edge &) { return true; }));
        Expected firm(ShapeOf(drawing, [&](uint32_t from, const Edge &edge) {
            return levels[from] != UINT32_MAX &&
                   std::max(levels[from], LevelOf(edge)) <= levels[edge.to];
        }));
        graph_dominators found, exact;

        ASSERT_TRUE(graph_dominators_find(&found, &loaded.graph, false));
        ASSERT_TRUE(graph_dominators_find(&exact, &loaded.graph, true));
        ExpectDominators(firm, found);
        ExpectDominators(all, exact);
        ASSERT_EQ(exact.retained[0], found.retained[0]);
        EXPECT_EQ(nullptr, exact.levels.of);
        differ += firm.dominators != all.dominators;
        graph_dominators_free(&exact);
        graph_dominators_free(&found);
        if (HasFatalFailure()) return;
    }
    EXPECT_GT(differ, 100); // so the test has something to see
}

// A constant's first use fills a cache of the method that uses it: 1 a class, 2 what its constant
// has, 3 the method.
TEST(Strength, ACacheTakesNothingFromItsConstant)
{
    for (bool used : {false, true}) {
        Drawing drawing(4);
        drawing.Root(1, HEAPPROF_DUMP_C_GLOBAL, "rb_cObject");
        drawing.Root(3, HEAPPROF_DUMP_GLOBAL, "$method");
        drawing.Refer(1, 2, HEAPPROF_DUMP_CONSTANT, "LIST");
        if (used) drawing.Refer(3, 2, HEAPPROF_DUMP_FIELD, "constant cache");
        LoadedGraph loaded(FileOf(drawing));
        graph_dominators found, exact;

        ASSERT_TRUE(graph_dominators_find(&found, &loaded.graph, false));
        ASSERT_TRUE(graph_dominators_find(&exact, &loaded.graph, true));
        EXPECT_EQ(1u, found.dominators[2]);
        EXPECT_EQ(used ? 0u : 1u, exact.dominators[2]);
        EXPECT_EQ(80u, found.retained[1]);
        graph_dominators_free(&exact);
        graph_dominators_free(&found);
    }
}

// ---- paths ----

TEST(Strength, PathsAreTheStrongestAndThenTheShortest)
{
    std::mt19937 random(13);
    for (int i = 0; i < 1000; i++) {
        SCOPED_TRACE(i);
        Drawing drawing = RandomDrawing(&random);
        LoadedGraph loaded(FileOf(drawing));
        graph_tree tree;
        std::vector<uint32_t> weakest = WeakestLinks(drawing, [&](uint32_t from, const Edge &edge) {
            return StrengthOf(drawing, from, edge);
        });
        std::vector<bool> firm_classes = FirmClasses(drawing);
        std::vector<uint32_t> expected = Lengths(drawing, weakest, firm_classes);
        std::vector<uint32_t> found(drawing.size(), UINT32_MAX), strengths(drawing.size());

        ASSERT_TRUE(graph_shortest(&tree, &loaded.graph, nullptr));
        found[0] = 0;
        for (uint32_t at = 0; at < tree.count; at++) {
            uint32_t object = tree.order[at], from = tree.from[object], label = tree.labels[object];
            bool drawn = false;
            ASSERT_NE(UINT32_MAX, found[from]); // it comes after the one it comes from
            found[object] = firm_classes[object] ? 0 : found[from] + 1;
            for (const Edge &edge : EdgesOf(drawing, from)) {
                std::string name = graph_string(
                    &loaded.graph.names,
                    graph_label_kind(label) == HEAPPROF_DUMP_INDEX ? 0 : graph_label_detail(label));
                if (edge.to != object ||
                    static_cast<uint32_t>(edge.label) != graph_label_kind(label) ||
                    edge.name != name)
                    continue;
                drawn = true;
                strengths[object] = std::max(strengths[from], StrengthOf(drawing, from, edge));
            }
            ASSERT_TRUE(drawn) << object;
            ASSERT_EQ(weakest[object], strengths[object]) << object;
        }
        ASSERT_EQ(expected, found);
        graph_tree_free(&tree);
    }
}

// A closed reference is one, not all that lead there; what dominators look through is closed, too.
TEST(Strength, NoPathUsesWhatIsClosed)
{
    std::mt19937 random(14);
    for (int i = 0; i < 1000; i++) {
        SCOPED_TRACE(i);
        Drawing drawing = RandomDrawing(&random);
        LoadedGraph loaded(FileOf(drawing));
        graph *graph = &loaded.graph;
        graph_dominators dominators;
        graph_tree tree;
        std::vector<uint8_t> objects(drawing.size());
        std::vector<graph_closed_reference> references;
        graph_closed closed = {};

        ASSERT_TRUE(graph_dominators_find(&dominators, graph, false));
        for (uint32_t object = 1; object < drawing.size(); object++)
            objects[object] = random() % 8 == 0;
        for (uint32_t from = 1; from < drawing.size(); from++) {
            for (uint32_t at = graph->first[from]; at < graph->first[from + 1]; at++) {
                if (random() % 4 == 0)
                    references.push_back({ from, graph->targets[at], graph->labels[at] });
            }
        }
        closed.levels = &dominators.levels;
        closed.objects = objects.data();
        closed.references = references.data();
        closed.reference_count = references.size();
        graph_closed_sort(&closed);
        auto open = [&](uint32_t from, uint32_t to, uint32_t label) {
            if (objects[to] || graph_weaker_p(graph, &dominators.levels, from, to, label))
                return false;
            for (const auto &one : references)
                if (one.from == from && one.to == to && one.label == label) return false;
            return true;
        };
        Shape shape(drawing.size());
        for (uint32_t root = 0; root < graph->root_count; root++) {
            if (open(0, graph->roots[root].target, graph_root_label(&graph->roots[root])))
                shape.references[0].push_back(graph->roots[root].target);
        }
        for (uint32_t from = 1; from < drawing.size(); from++) {
            for (uint32_t at = graph->first[from]; at < graph->first[from + 1]; at++) {
                if (open(from, graph->targets[at], graph->labels[at]))
                    shape.references[from].push_back(graph->targets[at]);
            }
            uint32_t class_object = graph_class(graph, from);
            if (class_object && open(from, class_object, graph_label(HEAPPROF_DUMP_CLASS, 0)))
                shape.classes[from] = class_object;
        }
        std::vector<bool> reached = ReachedWithout(shape, 0);
        ASSERT_TRUE(graph_shortest(&tree, graph, &closed));
        for (uint32_t object = 1; object < drawing.size(); object++) {
            ASSERT_EQ(reached[object], tree.from[object] != GRAPH_UNREACHED) << object;
            ASSERT_TRUE(!reached[object] || open(tree.from[object], object, tree.labels[object]))
                << object;
        }
        graph_tree_free(&tree);
        graph_dominators_free(&dominators);
    }
}

} // namespace
