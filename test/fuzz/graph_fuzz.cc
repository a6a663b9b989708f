// graph_fuzz.cc - any blocks as a graph, with its dominators: its memory is bounded by their contents, what a number leads
// to is there, dominators are a tree, the largest objects have their referrers, and each allocation stack is a way in a tree;
// and what is read in one pass without it.

#include <string>

#include "fuzz.h"
#include "test/unit/graph/random.h"

extern "C" {
#include "graph/duplicates.h"
#include "graph/largest.h"
#include "graph/pages.h"
#include "graph/traces.h"
}

namespace {

constexpr size_t kMost = 64 << 20;

void
CheckTree(const graph &graph, const graph_dominators &dominators)
{
    uint64_t bytes = 0;

    for (uint32_t object = 1; object <= graph.count; object++) {
        uint32_t dominator = dominators.dominators[object];
        if (dominator == GRAPH_UNREACHED) continue;
        bytes += graph.sizes[object];
        REQUIRE(dominator <= graph.count && dominator != object);
        REQUIRE(dominators.retained[object] >= graph.sizes[object]);
        REQUIRE(dominators.retained[dominator] >= dominators.retained[object]);
    }
    REQUIRE(dominators.retained[0] == bytes);
}

void
CheckLargest(graph *graph, const graph_dominators &dominators)
{
    graph_chosen chosen;

    if (graph_chosen_make(&chosen, graph, &dominators, 3) &&
        graph_chosen_find_referrers(&chosen, graph, 2)) {
        for (uint32_t place = 0; place < chosen.count; place++) {
            REQUIRE(dominators.dominators[chosen.objects[place]] != GRAPH_UNREACHED);
            REQUIRE(chosen.referrer_counts[place] > 0);
        }
    }
    graph_chosen_free(&chosen);
}

// Each call that begins ends, within the one that it began in.
void
CheckTraces(graph *graph, const graph_dominators &dominators)
{
    graph_traces traces;
    char *text = nullptr;
    size_t size = 0;

    if (graph_traces_make(&traces, graph, &dominators)) {
        FILE *out = open_memstream(&text, &size);
        REQUIRE(out);
        graph_traces_put_functions(out, &traces, graph, 0, 0);
        graph_traces_put_tree(out, &traces, graph);
        fclose(out);
        size_t open = 0, calls = 0;
        for (size_t i = 0; i < size; i++) {
            calls += text[i] == '[';
            open += text[i] == '[';
            REQUIRE(text[i] != ']' || open-- > 0);
        }
        REQUIRE(open == 0 && calls == graph->names.stack_count);
        REQUIRE(traces.function_count <= graph->names.stack_count);
        free(text);
    }
    graph_traces_free(&traces);
    for (uint32_t object = 1; object <= graph->count; object++) {
        REQUIRE(graph_trace(graph, object) <= graph->names.stack_count);
    }
}

struct Bytes {
    const std::string *bytes;
    size_t at;

    static ptrdiff_t More(void *data, void *buffer, size_t size)
    {
        Bytes *self = static_cast<Bytes *>(data);
        size_t count = std::min(size, self->bytes->size() - self->at);
        memcpy(buffer, self->bytes->data() + self->at, count);
        self->at += count;
        return static_cast<ptrdiff_t>(count);
    }
};

// They accept what is accepted as a graph, but for what they do not look at.
void
CheckOnePass(const std::string &bytes, bool accepted)
{
    Bytes input = {&bytes, 0}, again = {&bytes, 0};
    graph_duplicates duplicates;
    graph_pages pages;
    char error[HEAPPROF_DUMP_ERROR_MAX];
    bool complete;

    if (graph_duplicates_read(&duplicates, Bytes::More, &input, kMost, &complete, error)) {
        uint64_t objects = 0;
        for (uint32_t i = 0; i < duplicates.count; i++) objects += duplicates.all[i].objects;
        REQUIRE(objects == duplicates.objects);
    }
    else REQUIRE(!accepted);
    graph_duplicates_free(&duplicates);
    if (graph_pages_read(&pages, Bytes::More, &again, kMost, &complete, error)) {
        for (uint32_t i = 0; i < pages.pool_count; i++) REQUIRE(pages.pools[i].objects <= pages.pools[i].slots);
    }
    else REQUIRE(!accepted);
    graph_pages_free(&pages);
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
    graph_dominators dominators;

    REQUIRE(loaded.MemoryBytes() <= 12 * bytes.size() + (256 << 10));
    REQUIRE((loaded.loaded && loaded.graph.complete) == loaded.error.empty());
    CheckOnePass(bytes, loaded.loaded);
    if (!loaded.loaded) return 0;
    for (uint32_t i = 0; i < loaded.graph.first[loaded.graph.count + 1]; i++) REQUIRE(loaded.graph.targets[i] <= loaded.graph.count);
    if (graph_dominators_find(&dominators, &loaded.graph, false)) {
        CheckTree(loaded.graph, dominators);
        CheckLargest(&loaded.graph, dominators);
        CheckTraces(&loaded.graph, dominators);
    }
    graph_dominators_free(&dominators);
    return 0;
}
