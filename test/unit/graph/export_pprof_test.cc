// graph_export_pprof_test.cc - the stacks of a chain that is deeper than viewers show, and how long
// it takes to write them.

#include <gtest/gtest.h>

#include <ctime>

#include "test/unit/graph/made.h"

extern "C" {
#include "graph/export.h"
}

namespace {

// Each object has a class of its own and holds the next one: a pattern for each.
Drawing
Chain(uint32_t objects)
{
    Drawing drawing(1);

    for (uint32_t object = 1; object <= objects; object++) {
        drawing.Add("T_OBJECT", "C" + std::to_string(object));
        if (object > 1) drawing.Refer(object - 1, object, HEAPPROF_DUMP_IVAR, "@next");
        else drawing.Root(1, HEAPPROF_DUMP_GLOBAL, "$chain");
    }
    return drawing;
}

heapprof_model *
ModelOf(const Made &made)
{
    graph_source source = {};

    source.graph = made.graph;
    source.dominators = &made.dominators;
    source.dominator_tree = &made.dominator_tree;
    return graph_model(&source);
}

TEST(ExportPprof, ADeepStackHasItsOutermostFrames)
{
    Made made(FileOf(Chain(700)));
    heapprof_model *model = ModelOf(made);
    heapprof_samples samples;
    uint64_t seen = 0;

    ASSERT_NE(nullptr, model);
    ASSERT_TRUE(rb_heapprof_samples_begin(&samples, model));
    while (rb_heapprof_samples_next(&samples)) {
        uint64_t innermost = std::min<uint64_t>(++seen, 500);
        ASSERT_EQ(innermost, samples.location_count);
        EXPECT_EQ(innermost - 1, samples.locations[0]) << "the place of location " << innermost;
        EXPECT_EQ(0u, samples.locations[innermost - 1]);
    }
    rb_heapprof_samples_end(&samples);
    EXPECT_EQ(700u, seen);
    rb_heapprof_model_free(model);
}

// CPU seconds.
double
SecondsOf(uint32_t objects)
{
    Made made(FileOf(Chain(objects)));
    clock_t begin = clock();
    heapprof_model *model = ModelOf(made);
    double seconds = static_cast<double>(clock() - begin) / CLOCKS_PER_SEC;

    EXPECT_NE(nullptr, model);
    rb_heapprof_model_free(model);
    return seconds;
}

// Beyond 500 frames, time is in proportion to the depth: 4 times as deep takes 4 times as long, and
// not 16 times.
TEST(ExportPprof, ADeepChainTakesTimeInProportion)
{
    double shorter = std::min(SecondsOf(15000), SecondsOf(15000));

    EXPECT_LT(SecondsOf(60000), 8 * shorter);
}

} // namespace
