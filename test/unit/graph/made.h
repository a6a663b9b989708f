// graph_made.h - a graph with all that is made of it, and the patterns of its dominator tree.

#ifndef HEAPPROF_GRAPH_MADE_H
#define HEAPPROF_GRAPH_MADE_H

#include <gtest/gtest.h>

#include <cstdlib>

#include "test/unit/graph/random.h"

extern "C" {
#include "graph/patterns.h"
#include "graph/words.h"
}

template <typename Put>
inline std::string
Written(Put put)
{
    char *text = nullptr;
    size_t size;
    FILE *out = open_memstream(&text, &size);

    put(out);
    fclose(out);
    std::string written(text, size);
    free(text);
    return written;
}

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
        return Written([&](FILE *out) {
            EXPECT_TRUE(graph_put_way(out, graph, tree ? tree : &shortest, object, merged));
        });
    }
};

// Patterns of a tree.
struct Merged {
    graph_patterns patterns;

    Merged(struct graph *graph, const graph_tree *tree)
    {
        EXPECT_TRUE(graph_patterns_make(&patterns, graph, tree));
    }
    ~Merged() { graph_patterns_free(&patterns); }
    Merged(const Merged &) = delete;
    Merged &operator=(const Merged &) = delete;
    const graph_pattern &Of(uint32_t object) const { return patterns.all[patterns.of[object]]; }
};

// 1 a class Cart, 2 its cache, 3 a Hash, from 4 on what is in it; then a list that a global begins.
inline std::string
Shop(uint32_t items, uint32_t nodes)
{
    graph_file::GraphFile file;
    const uint64_t page = 0x7f0000010000;
    uint32_t of_class =
        file.Layout("T_CLASS", 0, "Class", {}, HEAPPROF_DUMP_NO_TAIL, HEAPPROF_DUMP_OTHERS);
    uint32_t cart = file.Layout("T_OBJECT", page, "Cart", {{HEAPPROF_DUMP_IVAR, "@items"}});
    uint32_t hash = file.Layout("T_HASH", 0, "Hash", {}, HEAPPROF_DUMP_PAIRED);
    uint32_t order = file.Layout("T_OBJECT", 0, "Order");
    uint32_t node = file.Layout("T_OBJECT", 0, "Node", {{HEAPPROF_DUMP_IVAR, "@next"}});
    uint32_t last = file.Layout("T_OBJECT", 0, "Node");
    auto at = [page](uint32_t slot) { return page + slot * 40; };
    graph_file::Object object;

    file.Root(HEAPPROF_DUMP_C_GLOBAL, "rb_cCart", "C globals", page);
    file.Root(HEAPPROF_DUMP_GLOBAL, "$list", "globals", at(3 + items));
    file.Page(page, 40);
    object.layout = of_class;
    object.text = "Cart";
    object.others = {{HEAPPROF_DUMP_CONSTANT, "CACHE", at(1)}};
    file.Add(0, object);
    object = graph_file::Object();
    object.layout = cart;
    object.labelled = {at(2)};
    file.Add(1, object);
    object = graph_file::Object();
    object.layout = hash;
    for (uint32_t i = 0; i < items; i++) {
        object.tail.push_back({HEAPPROF_DUMP_INTEGER, graph_file::Zigzag(i)});
        object.tail.push_back(at(3 + i));
    }
    file.Add(2, object);
    object = graph_file::Object();
    object.layout = order;
    object.stack = file.Stack(0, "Cart#add", "/cart.rb", 12);
    for (uint32_t i = 0; i < items; i++) file.Add(3 + i, object);
    object = graph_file::Object();
    for (uint32_t i = 0; i < nodes; i++) {
        object.layout = i + 1 < nodes ? node : last;
        object.labelled.clear();
        if (i + 1 < nodes) object.labelled = {at(3 + items + i + 1)};
        file.Add(3 + items + i, object);
    }
    return file.Bytes();
}

#endif
