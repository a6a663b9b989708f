// graph_fuzz.cc - any blocks as a graph, with its dominators: what a number leads to is there,
// dominators are a tree, the largest objects have their referrers, what is stuck is in one row,
// each allocation stack is a way in a tree, and patterns add up to all that is reached; two such
// graphs as dumps of one process, whose rows add up to the growth; and what is read in one pass
// without it.

#include <string>

#include "fuzz.h"
#include "test/unit/graph/random.h"

extern "C" {
#include "graph/difference.h"
#include "graph/duplicates.h"
#include "graph/fields.h"
#include "graph/keys.h"
#include "graph/largest.h"
#include "graph/pages.h"
#include "graph/stuck.h"
#include "graph/suspects.h"
#include "graph/traces.h"
#include "graph/words.h"
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

// Each reached object comes after the one it comes from.
void
CheckOrder(const graph &graph, const graph_tree &tree, uint32_t reached)
{
    std::vector<bool> seen(static_cast<size_t>(graph.count) + 1);

    REQUIRE(tree.count == reached);
    seen[0] = true;
    for (uint32_t at = 0; at < tree.count; at++) {
        uint32_t object = tree.order[at];
        REQUIRE(object > 0 && object <= graph.count && !seen[object] && seen[tree.from[object]]);
        seen[object] = true;
    }
}

void
CheckPatterns(const graph &graph, const graph_patterns &patterns, uint64_t reached)
{
    uint64_t bytes = 0;
    char *text = nullptr;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);

    REQUIRE(out);
    for (uint32_t at = 1; at < patterns.count; at++) {
        const graph_pattern &pattern = patterns.all[at];
        REQUIRE(pattern.parent < at && pattern.example > 0 && pattern.example <= graph.count &&
                pattern.loop < patterns.count);
        bytes += pattern.bytes;
        graph_put_step(out, &graph, &patterns, at);
        REQUIRE(fseek(out, 0, SEEK_SET) == 0);
    }
    REQUIRE(bytes == reached);
    fclose(out);
    free(text);
}

void
CheckSuspects(graph *graph, graph_patterns *patterns, const uint64_t *retained, uint64_t reached)
{
    graph_suspect suspects[3];
    size_t count;

    if (!graph_patterns_gather(patterns, graph, reached / 20 + 1)) return;
    CheckPatterns(*graph, *patterns, reached);
    count = graph_suspects(suspects, 3, graph, patterns, retained, reached / 20 + 1);
    REQUIRE(count <= 3 || count == SIZE_MAX);
    for (size_t i = 0; count <= 3 && i < count; i++) {
        REQUIRE(suspects[i].pattern > 0 && suspects[i].pattern < patterns->count &&
                suspects[i].gathered < patterns->count);
        REQUIRE(suspects[i].gathered_object > 0 && suspects[i].gathered_object <= graph->count);
        REQUIRE(suspects[i].retained <= reached && suspects[i].retained > reached / 20);
    }
}

// Each waiter is in one row at most, and rows keep no more than there is.
void
CheckStuck(graph *graph)
{
    graph_stuck stuck;

    if (graph_stuck_find(&stuck, graph)) {
        uint64_t bytes = 0;
        uint32_t count = 0;
        for (uint32_t i = 0; i < stuck.row_count; i++) {
            const graph_stuck_row &row = stuck.rows[i];
            REQUIRE(row.example.object > 0 && row.example.object <= graph->count &&
                    row.example.stack <= graph->count);
            REQUIRE(row.example.awaited <= graph->count &&
                    row.example.where < graph->names.string_count);
            bytes += row.held ? 0 : row.bytes;
            count += row.count;
        }
        REQUIRE(bytes <= stuck.bytes && stuck.bytes <= graph->bytes);
        REQUIRE(count == stuck.threads + stuck.fibers + stuck.held_threads + stuck.held_fibers &&
                count <= stuck.waiters.count);
    }
    graph_stuck_free(&stuck);
}

// A graph with its trees.
struct Made {
    LoadedGraph loaded;
    graph_dominators dominators = {};
    graph_tree tree = {}, shortest = {};
    bool made;

    explicit Made(const std::string &bytes) : loaded(bytes, kMost)
    {
        made = loaded.loaded && graph_dominators_find(&dominators, &loaded.graph, false) &&
               graph_dominator_tree(&tree, &loaded.graph, &dominators) &&
               graph_shortest(&shortest, &loaded.graph, nullptr);
    }
    ~Made()
    {
        if (shortest.space) graph_tree_free(&shortest);
        if (tree.space) graph_tree_free(&tree);
        if (dominators.space) graph_dominators_free(&dominators);
    }
    void Check()
    {
        graph *graph = &loaded.graph;
        graph_patterns patterns;
        graph_dominators exact;

        CheckTree(*graph, dominators);
        CheckStuck(graph);
        CheckLargest(graph, dominators);
        CheckTraces(graph, dominators);
        CheckOrder(*graph, tree, dominators.reached);
        CheckOrder(*graph, shortest, dominators.reached);
        if (graph_dominators_find(&exact, graph, true)) {
            CheckTree(*graph, exact);
            REQUIRE(exact.reached == dominators.reached &&
                    exact.retained[0] == dominators.retained[0]);
        }
        graph_dominators_free(&exact);
        if (graph_patterns_make(&patterns, graph, &tree)) {
            CheckPatterns(*graph, patterns, dominators.retained[0]);
            CheckSuspects(graph, &patterns, dominators.retained, dominators.retained[0]);
        }
        graph_patterns_free(&patterns);
    }
};

void
CheckDifference(Made *earlier, Made *later)
{
    graph_dump dumps[] = {{&earlier->loaded.graph, &earlier->dominators, &earlier->tree},
                          {&later->loaded.graph, &later->dominators, &later->tree}};
    graph_difference difference;

    if (graph_difference_make(&difference, dumps, 2)) {
        uint64_t before = 0, after = 0;
        for (uint32_t row = 0; row < difference.count; row++) {
            const graph_growth &growth = difference.all[row];
            before += growth.bytes[0];
            after += growth.bytes[1];
            REQUIRE(growth.bytes[1] - growth.bytes[0] ==
                    growth.new_bytes - growth.freed_bytes + static_cast<uint64_t>(growth.grown));
        }
        REQUIRE(before == earlier->dominators.retained[0] &&
                after == later->dominators.retained[0]);
    }
    graph_difference_free(&difference);
}

// What a query asks of objects; the labels that --keys gives lead to strings.
void
CheckFields(graph *graph, const graph_dominators &dominators)
{
    for (uint32_t object = 1; object <= graph->count; object++) {
        for (int i = 0; i < GRAPH_FIELDS; i++) {
            graph_field field = static_cast<graph_field>(i);
            const char *text = nullptr;
            double number = -1;
            if (graph_field_kind(field) == GRAPH_FIELD_TEXT) {
                REQUIRE(!graph_field_text(graph, object, field, &text) || text);
            }
            else
                REQUIRE(!graph_field_number(graph, &dominators, object, field, &number) ||
                        number >= 0);
            if (field == GRAPH_FILL_FIELD) REQUIRE(number <= 100);
        }
    }
    graph_name_keys(graph);
    for (uint32_t i = 0; i < graph->first[graph->count + 1]; i++) {
        if (graph_label_kind(graph->labels[i]) != GRAPH_VALUE_OF_STRING) continue;
        REQUIRE(graph_label_detail(graph->labels[i]) < graph->names.string_count);
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
        for (uint32_t i = 0; i < pages.pool_count; i++)
            REQUIRE(pages.pools[i].objects <= pages.pools[i].slots);
    }
    else REQUIRE(!accepted);
    graph_pages_free(&pages);
}

} // namespace

// The second dump begins with facts that make it follow the first.
extern "C" int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    FuzzedDataProvider input(data, size);
    std::string bytes[2];
    int dump = 0;

    for (int i = 0; i < 2; i++) {
        std::string facts;
        for (const std::string &text :
             { std::string("set"), std::string("1"), std::string("dump"), std::to_string(i) })
            graph_file::PutText(&facts, text);
        bytes[i] = graph_file::Begin() + graph_file::Block(HEAPPROF_DUMP_PROCESS, facts);
    }
    while (input.remaining_bytes() > 0) {
        int kind = static_cast<int>(Below(&input, HEAPPROF_DUMP_BLOCK_KINDS + 1));
        if (kind == HEAPPROF_DUMP_BLOCK_KINDS) dump = 1;
        else bytes[dump] += graph_file::Block(kind, input.ConsumeRandomLengthString());
    }
    Made first(bytes[0]);
    const graph &graph = first.loaded.graph;

    REQUIRE(first.loaded.MemoryBytes() <= 12 * bytes[0].size() + (256 << 10));
    REQUIRE((first.loaded.loaded && graph.complete) == first.loaded.error.empty());
    CheckOnePass(bytes[0], first.loaded.loaded);
    if (!first.loaded.loaded) return 0;
    for (uint32_t i = 0; i < graph.first[graph.count + 1]; i++)
        REQUIRE(graph.targets[i] <= graph.count);
    if (!first.made) return 0;
    first.Check();
    LoadedGraph wanted(bytes[0], kMost, GRAPH_LENGTHS | GRAPH_HASHES);
    if (wanted.loaded) CheckFields(&wanted.graph, first.dominators);
    if (!dump) return 0;
    Made second(bytes[1]);
    if (!second.made) return 0;
    second.Check();
    CheckDifference(&first, &second);
    return 0;
}
