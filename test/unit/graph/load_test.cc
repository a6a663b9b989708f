// graph_load_test.cc - a graph in memory is what the file says.

#include <gtest/gtest.h>

#include "test/unit/graph/random.h"

namespace {

using graph_file::GraphFile;
using graph_file::Object;
using graph_file::To;

constexpr uint64_t kPage = 0x7f0000010000;

// A class Cart with a constant, a Cart with an instance variable, and a Hash with keys of each
// kind.
std::string
Shop()
{
    GraphFile file;
    uint32_t of_class =
        file.Layout("T_CLASS", 0, "Class", {}, HEAPPROF_DUMP_NO_TAIL, HEAPPROF_DUMP_OTHERS);
    uint32_t cart = file.Layout("T_OBJECT", kPage, "Cart",
                                { { HEAPPROF_DUMP_IVAR, "@items" },
                                  { HEAPPROF_DUMP_WEAK, "back" },
                                  { HEAPPROF_DUMP_IVAR, "@gone" } });
    uint32_t hash = file.Layout("T_HASH", 0, "Hash", {}, HEAPPROF_DUMP_PAIRED);
    uint32_t string = file.Layout("T_STRING", 0, "String");
    uint32_t stack =
        file.Stack(file.Stack(0, "<main>", "/shop.rb", 3), "Cart#load", "/cart.rb", 12);

    file.Fact("pid", "42");
    file.Fact("pid", "43");
    file.Root(HEAPPROF_DUMP_GLOBAL, "$cart", "globals", kPage + 40);
    file.Root(HEAPPROF_DUMP_GLOBAL, "$gone", "globals", kPage + 0x8000);
    file.Page(kPage, 40);
    Object object;
    object.layout = of_class;
    object.text = "Cart";
    object.others = {{HEAPPROF_DUMP_CONSTANT, "CACHE", kPage + 80}};
    file.Add(0, object);
    object = Object();
    object.layout = cart;
    object.labelled = {kPage + 80, kPage, kPage + 0x8000};
    object.stack = stack;
    object.weight = 2500;
    file.Add(1, object);
    object = Object();
    object.layout = hash;
    object.external = 100;
    object.bits = 3;
    object.tail = { { HEAPPROF_DUMP_SYMBOL, file.String("name") },
                    kPage + 120,
                    { HEAPPROF_DUMP_INTEGER, graph_file::Zigzag(7) },
                    kPage + 120,
                    kPage + 120,
                    kPage + 40 };
    file.Add(2, object);
    object = Object();
    object.layout = string;
    file.Add(3, object);
    return file.Bytes();
}

std::vector<std::pair<uint32_t, uint32_t>>
References(const graph &graph, uint32_t object)
{
    std::vector<std::pair<uint32_t, uint32_t>> all;
    for (uint32_t i = graph.first[object]; i < graph.first[object + 1]; i++)
        all.emplace_back(graph.labels[i], graph.targets[i]);
    return all;
}

uint32_t
StringOf(const graph &graph, const std::string &text)
{
    for (uint32_t i = 0; i < graph.names.string_count; i++)
        if (graph_string(&graph.names, i) == text) return i;
    return UINT32_MAX;
}

TEST(Load, HasObjectsInOrderWithTheirReferencesAndLabels)
{
    LoadedGraph loaded(Shop());
    const struct graph &graph = loaded.graph;
    using References_t = std::vector<std::pair<uint32_t, uint32_t>>;

    ASSERT_TRUE(loaded.loaded) << loaded.error;
    ASSERT_EQ(4u, graph.count);
    EXPECT_EQ(
        (References_t { { graph_label(HEAPPROF_DUMP_CONSTANT, StringOf(graph, "CACHE")), 3 } }),
        References(graph, 1));
    EXPECT_EQ((References_t { { graph_label(HEAPPROF_DUMP_IVAR, StringOf(graph, "@items")), 3 } }),
              References(graph, 2));
    EXPECT_EQ((References_t{{graph_label(GRAPH_VALUE_OF_SYMBOL, StringOf(graph, "name")), 4},
                            {graph_label(GRAPH_VALUE_OF_INTEGER, 7), 4},
                            {graph_label(HEAPPROF_DUMP_KEY, 2), 4},
                            {graph_label(HEAPPROF_DUMP_VALUE, 2), 2}}), References(graph, 3));
    EXPECT_EQ(0u, graph_degree(&graph, 4));
}

TEST(Load, HasWhatIsSaidOfAnObject)
{
    LoadedGraph loaded(Shop());
    const struct graph &graph = loaded.graph;

    EXPECT_EQ(1u, graph_class(&graph, 2));
    EXPECT_EQ(0u, graph_class(&graph, 3));
    EXPECT_STREQ("T_HASH", graph_type(&graph, 3));
    EXPECT_EQ(140u, graph.sizes[3]);
    EXPECT_EQ(260u, graph.bytes);
    EXPECT_EQ(3, graph.bits[3] & HEAPPROF_DUMP_AGE);
    EXPECT_EQ(StringOf(graph, "Cart"), graph_text(&graph, 1));
    EXPECT_EQ(0u, graph_text(&graph, 2));
    EXPECT_EQ(nullptr, graph_sample(&graph, 1));
    EXPECT_EQ(2500u, graph_sample(&graph, 2)->weight);
    EXPECT_STREQ("43", graph_fact(&graph.names, "pid"));
    EXPECT_EQ(nullptr, graph_fact(&graph.names, "no such"));
}

TEST(Load, FindsObjectsByAddress)
{
    LoadedGraph loaded(Shop());

    for (uint32_t object = 1; object <= 4; object++) {
        EXPECT_EQ(kPage + (object - 1) * 40, graph_address(&loaded.graph, object));
        EXPECT_EQ(object, graph_find(&loaded.graph, kPage + (object - 1) * 40));
    }
    for (uint64_t address :
         { kPage - 40, kPage + 8, kPage + 1, kPage + 160, kPage + 0x10000, UINT64_C(0) }) {
        EXPECT_EQ(0u, graph_find(&loaded.graph, address)) << address;
    }
}

TEST(Load, LeavesOutWhatLeadsNowhereAndWhatIsWeak)
{
    LoadedGraph loaded(Shop());

    EXPECT_EQ(2u, loaded.graph.missing);
    EXPECT_EQ(1u, loaded.graph.weak);
    ASSERT_EQ(1u, loaded.graph.root_count);
    EXPECT_EQ(2u, loaded.graph.roots[0].target);
}

// Objects of which the file has been cut off are as if they had never been.
TEST(Load, OfACutFileHasWhatIsWhole)
{
    std::string bytes = Shop();
    uint32_t most = 0;

    for (size_t size = HEAPPROF_DUMP_MAGIC_BYTES + 4; size < bytes.size(); size++) {
        LoadedGraph loaded(bytes.substr(0, size));
        ASSERT_TRUE(loaded.loaded) << loaded.error;
        EXPECT_FALSE(loaded.graph.complete);
        EXPECT_NE("", loaded.error);
        most = std::max(most, loaded.graph.count);
    }
    EXPECT_EQ(4u, most);
}

TEST(Load, RefusesAPageThatComesAgain)
{
    GraphFile file;
    Object object;
    object.layout = file.Layout("T_STRING", 0, "String");
    file.Page(kPage, 40);
    file.Add(1, object);
    file.Page(kPage + 0x10000, 40);
    file.Add(0, object);
    file.Page(kPage, 40);
    file.Add(2, object);
    LoadedGraph loaded(file.Bytes());

    EXPECT_FALSE(loaded.loaded);
    EXPECT_EQ("has objects that are not in the order of their pages", loaded.error);
}

// One record after the other, each as short as it can be and as far from the one before as it has
// to be to cost most.
struct Worst {
    const char *name;
    int kind;
    void (*put)(std::string *out, uint64_t number);
};

void
PutPage(std::string *out, uint64_t number, const std::vector<uint64_t> &slots)
{
    for (uint64_t field : { number * 8192, uint64_t { 40 }, uint64_t { slots.size() } })
        graph_file::PutNumber(out, field);
    for (uint64_t passed : slots) {
        for (uint64_t field : {passed, uint64_t{0}, uint64_t{0}}) graph_file::PutNumber(out, field);
    }
}

const Worst kWorst[] = {
    { "texts", HEAPPROF_DUMP_STRINGS, [](std::string *out, uint64_t) { *out += '\0'; } },
    { "stacks", HEAPPROF_DUMP_STACKS, [](std::string *out, uint64_t) { out->append(4, '\0'); } },
    { "layouts", HEAPPROF_DUMP_LAYOUTS, [](std::string *out, uint64_t) { out->append(6, '\0'); } },
    { "labels", HEAPPROF_DUMP_LAYOUTS,
      [](std::string *out, uint64_t) {
          *out += std::string(5, '\0') + '\7' + std::string(14, '\0');
      } },
    { "roots", HEAPPROF_DUMP_ROOTS, [](std::string *out, uint64_t) { out->append(4, '\0'); } },
    { "roots far apart", HEAPPROF_DUMP_ROOTS,
      [](std::string *out, uint64_t number) {
          out->append(3, '\0');
          graph_file::PutNumber(out, number * 8192);
      } },
    { "moves", HEAPPROF_DUMP_MOVES, [](std::string *out, uint64_t) { out->append(2, '\0'); } },
    { "an object a page", HEAPPROF_DUMP_OBJECTS,
      [](std::string *out, uint64_t number) { PutPage(out, number, { 0 }); } },
    { "two objects a page, far apart", HEAPPROF_DUMP_OBJECTS,
      [](std::string *out, uint64_t number) {
          PutPage(out, number, { 0, 1500 });
      } },
    { "objects side by side", HEAPPROF_DUMP_OBJECTS,
      [](std::string *out, uint64_t number) {
          PutPage(out, number, std::vector<uint64_t>(1600, 0));
      } },
    { "references", HEAPPROF_DUMP_OBJECTS,
      [](std::string *out, uint64_t number) {
          for (uint64_t field : { number * 8192, uint64_t { 40 }, uint64_t { 1 }, uint64_t { 0 },
                                  uint64_t { 1 }, uint64_t { 0 }, uint64_t { 10000 } }) {
              graph_file::PutNumber(out, field);
          }
          out->append(10000, '\2');
      } },
    { "references far apart", HEAPPROF_DUMP_OBJECTS,
      [](std::string *out, uint64_t number) {
          for (uint64_t field : { number * 8192, uint64_t { 40 }, uint64_t { 1 }, uint64_t { 0 },
                                  uint64_t { 1 }, uint64_t { 0 }, uint64_t { 10000 } }) {
              graph_file::PutNumber(out, field);
          }
          for (uint64_t i = 0; i < 10000; i++)
              graph_file::PutNumber(out, ((number + 1) * 10000 + i) * 8192 * 4);
      } },
};

// An Array's reference of one byte costs eight. A table may have room for a quarter more.
constexpr size_t kTimesMost = 12;

TEST(Load, CostsSoMuchMemoryAsTheFileHasContents)
{
    for (const Worst &worst : kWorst) {
        std::string bytes =
            graph_file::Begin() +
            graph_file::Block(HEAPPROF_DUMP_LAYOUTS, std::string("\0\0\0\0\0\0\0\0\0\0\1\0", 12));
        uint64_t number = 1;
        size_t contents = 0;
        for (int block = 0; block < 3; block++) {
            std::string records;
            while (records.size() < 3 << 20) worst.put(&records, number++);
            contents += records.size();
            bytes += graph_file::Block(worst.kind, records);
        }
        LoadedGraph loaded(bytes + graph_file::Block(HEAPPROF_DUMP_FOOTER, ""));
        EXPECT_TRUE(loaded.loaded ||
                    loaded.error == "names addresses in more than 524,287 pages of 64 kB")
            << worst.name << ": " << loaded.error;
        EXPECT_LE(loaded.MemoryBytes(), kTimesMost * contents + (1 << 20)) << worst.name;
    }
}

TEST(Load, RefusesFactsWithoutEnd)
{
    std::string bytes =
        graph_file::Begin() + graph_file::Block(HEAPPROF_DUMP_PROCESS, std::string(2 << 20, '\0'));
    LoadedGraph loaded(bytes + graph_file::Block(HEAPPROF_DUMP_FOOTER, ""));

    EXPECT_FALSE(loaded.loaded);
    EXPECT_EQ("has more than 65,536 facts of the process", loaded.error);
}

} // namespace
