// graph_fuzz.cc - any blocks as a graph, with its dominators: what a number leads to is there, and dominators are a tree.

#include <string>

#include "fuzz.h"
#include "graph_random.h"

namespace {

constexpr size_t kMost = 64 << 20;

void
CheckTree(const heapprof_graph &graph, const heapprof_dominators &dominators)
{
    uint64_t bytes = 0;

    for (uint32_t object = 1; object <= graph.count; object++) {
        uint32_t dominator = dominators.dominators[object];
        if (dominator == HEAPPROF_UNREACHED) continue;
        bytes += graph.sizes[object];
        REQUIRE(dominator <= graph.count && dominator != object);
        REQUIRE(dominators.retained[object] >= graph.sizes[object]);
        REQUIRE(dominators.retained[dominator] >= dominators.retained[object]);
    }
    REQUIRE(dominators.retained[0] == bytes);
}

} // namespace

extern "C" int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    FuzzedDataProvider input(data, size);
    std::string bytes = graph_file::Begin();

    while (input.remaining_bytes() > 0) {
        int kind = static_cast<int>(Below(&input, HEAPPROF_DUMP_BLOCK_KINDS));
        bytes += graph_file::Block(kind, input.ConsumeRandomLengthString());
    }
    LoadedGraph loaded(bytes, kMost);
    heapprof_dominators dominators;

    REQUIRE((loaded.loaded && loaded.graph.complete) == loaded.error.empty());
    if (!loaded.loaded) return 0;
    for (uint32_t i = 0; i < loaded.graph.first[loaded.graph.count + 1]; i++) REQUIRE(loaded.graph.targets[i] <= loaded.graph.count);
    if (rb_heapprof_dominators_find(&dominators, &loaded.graph)) CheckTree(loaded.graph, dominators);
    rb_heapprof_dominators_free(&dominators);
    return 0;
}
