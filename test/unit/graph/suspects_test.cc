// graph_suspects_test.cc - what may be a leak, on small graphs against what people would say.

#include <gtest/gtest.h>

#include "test/unit/graph/made.h"

extern "C" {
#include "graph/suspects.h"
}

namespace {

// The suspects of a graph that retain at least so many bytes.
struct Suspected {
    Made made;
    Merged merged;
    std::vector<graph_suspect> all;

    Suspected(const std::string &bytes, uint64_t least, size_t most = 10)
        : made(bytes), merged(made.graph, &made.dominator_tree), all(most)
    {
        EXPECT_TRUE(graph_patterns_gather(&merged.patterns, made.graph, least));
        size_t count = graph_suspects(all.data(), most, made.graph, &merged.patterns,
                                      made.dominators.retained, least);
        EXPECT_LE(count, most);
        all.resize(count <= most ? count : 0);
    }
    uint32_t Example(uint32_t pattern) const { return merged.patterns.all[pattern].example; }
    uint64_t Objects(uint32_t pattern) const { return merged.patterns.all[pattern].objects; }
    std::string Label(uint32_t pattern) const
    {
        return Written([&](FILE *out) {
            graph_put_pattern_label(out, made.graph, &merged.patterns.all[pattern]);
        });
    }
};

TEST(Suspects, AreWhereMuchIsGathered)
{
    Suspected found(Shop(1000, 300), 1000);

    ASSERT_EQ(2u, found.all.size());
    EXPECT_EQ(2u, found.all[0].object);
    EXPECT_EQ(1u, found.all[0].count);
    EXPECT_EQ(3u, found.Example(found.all[0].gathered));
    EXPECT_EQ(1000u, found.Objects(found.all[0].part));
    EXPECT_FALSE(found.merged.patterns.all[found.all[0].part].loop);
    EXPECT_EQ(1000u * 40, found.all[0].part_retained);
    EXPECT_EQ(1u, found.all[0].stack);
    EXPECT_EQ(1004u, found.Example(found.all[1].gathered));
    EXPECT_EQ(299u, found.Objects(found.all[1].part));
    EXPECT_TRUE(found.merged.patterns.all[found.all[1].part].loop);
    EXPECT_EQ(300u * 40, found.all[1].retained);
    Suspected largest(Shop(1000, 300), 1000, 1);
    ASSERT_EQ(1u, largest.all.size());
    EXPECT_EQ(2u, largest.all[0].object);
    EXPECT_EQ(0u, Suspected(Shop(1000, 300), 1 << 20).all.size());
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
    Suspected found(FileOf(shape), 1000);

    ASSERT_EQ(1u, found.all.size());
    EXPECT_EQ(199u, found.all[0].count);
    EXPECT_EQ("global $200 -> []", found.made.Way(found.all[0].object, true));
    EXPECT_EQ("(several ways)",
              found.made.Way(found.all[0].object, true, &found.made.dominator_tree));
}

// Nodes that hold Arrays that hold Nodes.
TEST(Suspects, AListOfTwoStepsIsOne)
{
    Drawing drawing(1);
    uint32_t at = drawing.Add("T_OBJECT", "Entry");

    drawing.Root(at, HEAPPROF_DUMP_GLOBAL, "$tail");
    for (int i = 1; i < 200; i++) {
        uint32_t pair = drawing.Add("T_ARRAY", "Array"), next = drawing.Add("T_OBJECT", "Entry");
        drawing.Refer(at, pair, HEAPPROF_DUMP_IVAR, "@pair");
        drawing.Refer(pair, next);
        at = next;
    }
    Suspected found(FileOf(drawing), 1000);

    ASSERT_EQ(1u, found.all.size());
    EXPECT_EQ(1u, found.all[0].object);
    EXPECT_EQ(399u * 40, found.all[0].retained);
    EXPECT_EQ(199u, found.Objects(found.all[0].part));
    EXPECT_EQ("Array -> Entry", Written([&](FILE *out) {
        graph_put_period(out, found.made.graph, &found.merged.patterns, found.all[0].part);
    }));
}

// A Ractor with threads that were started at two places, each of which keeps an Order on its stack.
Drawing
Threads(uint32_t first, uint32_t second, uint64_t bytes)
{
    Drawing drawing(1);
    uint32_t ractor = drawing.Add("T_DATA(ractor)", "Ractor");

    drawing.Root(ractor, HEAPPROF_DUMP_ROOT, "ractor");
    for (uint32_t i = 0; i < first + second; i++) {
        uint32_t thread =
            drawing.Add("T_DATA(VM/thread)", "Thread", i < first ? "worker.rb:12" : "other.rb:3");
        uint32_t order = drawing.Add("T_OBJECT", "Order");
        drawing.objects[order].external = bytes;
        drawing.Refer(ractor, thread, HEAPPROF_DUMP_FIELD, "thread");
        drawing.Refer(thread, order, HEAPPROF_DUMP_LOCAL, "order in Worker#run at worker.rb:13");
    }
    return drawing;
}

TEST(Suspects, ThreadsOfOnePlaceAreOne)
{
    Suspected found(FileOf(Threads(20, 1, 1000)), 5000);

    ASSERT_EQ(1u, found.all.size());
    EXPECT_EQ(20u, found.all[0].count);
    EXPECT_EQ(20u * 1080, found.all[0].retained);
    EXPECT_EQ(2u, found.all[0].object);
}

// What one thread keeps is the suspect, not the thread.
TEST(Suspects, OfOneThreadItIsWhatItKeeps)
{
    Suspected found(FileOf(Threads(1, 0, 100000)), 5000);

    ASSERT_EQ(1u, found.all.size());
    EXPECT_EQ(3u, found.all[0].object);
}

// Many small things of its own: no object below it is a suspect, so the thread is.
TEST(Suspects, AThreadOfManySmallThingsIsOne)
{
    Drawing drawing = Threads(1, 0, 0);
    for (int i = 0; i < 100; i++)
        drawing.Refer(2, drawing.Add("T_OBJECT", "C" + std::to_string(i)), HEAPPROF_DUMP_STACK);
    Suspected found(FileOf(drawing), 2000);

    ASSERT_EQ(1u, found.all.size());
    EXPECT_EQ(2u, found.all[0].object);
}

Drawing
Module(const std::string &name, const std::string &prefix)
{
    Drawing drawing(1);
    uint32_t module = drawing.Add("T_MODULE", "Module", name);

    drawing.Root(module, HEAPPROF_DUMP_C_GLOBAL, "module");
    for (int i = 0; i < 100; i++) {
        uint32_t method = drawing.Add("T_IMEMO(ment)", "");
        drawing.objects[method].external = 500;
        drawing.Refer(module, method, HEAPPROF_DUMP_FIELD,
                      "method " + prefix + static_cast<char>('a' + i % 26) + std::to_string(i));
    }
    return drawing;
}

TEST(Suspects, MethodsThatAProgramMadeAreOne)
{
    Suspected found(FileOf(Module("Views", "show_")), 5000);

    ASSERT_EQ(1u, found.all.size());
    EXPECT_EQ(100u, found.all[0].count);
    EXPECT_EQ(100u * 540, found.all[0].retained);
    EXPECT_EQ("methods show_* (100)", found.Label(found.all[0].pattern));
}

// Object has what every program defines.
TEST(Suspects, MethodsOfObjectAreOneOnlyIfTheyBeginAlike)
{
    EXPECT_EQ(0u, Suspected(FileOf(Module("Object", "")), 5000).all.size());
    EXPECT_EQ(1u, Suspected(FileOf(Module("Object", "show_")), 5000).all.size());
}

TEST(Suspects, TheVMIsNever)
{
    Drawing drawing(1);
    uint32_t vm = drawing.Add("T_DATA(VM)", "RubyVM"),
             list = drawing.Add("T_DATA(VM/pin_array_list)", "");
    uint32_t path = drawing.Add("T_ARRAY", "Array"), hidden = drawing.Add("T_ARRAY", "");

    drawing.Root(vm, HEAPPROF_DUMP_ROOT, "vm");
    drawing.Root(list, HEAPPROF_DUMP_ROOT, "vm");
    drawing.Refer(vm, path, HEAPPROF_DUMP_FIELD, "load path");
    drawing.Refer(list, hidden);
    drawing.objects[path].external = drawing.objects[hidden].external =
        drawing.objects[vm].external = 1 << 20;
    EXPECT_EQ(0u, Suspected(FileOf(drawing), 5000).all.size());
}

// Its modules have methods with names of their own, as those that a program has made.
TEST(Suspects, AModuleOfTheVMIsNever)
{
    EXPECT_EQ(0u, Suspected(FileOf(Module("RubyVM::YJIT", "show_")), 5000).all.size());
    EXPECT_EQ(0u, Suspected(FileOf(Module("RubyVM", "show_")), 5000).all.size());
    EXPECT_EQ(1u, Suspected(FileOf(Module("RubyVMs", "show_")), 5000).all.size());
}

// Every program has some.
TEST(Suspects, SymbolsAreOneIfTheyAreMany)
{
    for (uint64_t bytes : {1000000, 1100000}) {
        Drawing drawing(1);
        uint32_t table = drawing.Add("T_ARRAY", "");
        drawing.objects[table].external = bytes;
        drawing.Root(table, HEAPPROF_DUMP_ROOT, "symbol table");
        EXPECT_EQ(bytes > 1 << 20 ? 1u : 0u, Suspected(FileOf(drawing), 5000).all.size());
    }
}

// A class that includes module after module: what stands for them in the class counts as well.
TEST(Suspects, IncludedModulesCountWithWhatStandsForThem)
{
    Drawing drawing(1);
    uint32_t at = drawing.Add("T_CLASS", "Class", "Helpers");

    drawing.Root(at, HEAPPROF_DUMP_C_GLOBAL, "helpers");
    for (int i = 0; i < 50; i++) {
        uint32_t included = drawing.Add("T_ICLASS", ""), module = drawing.Add("T_MODULE", "Module");
        drawing.objects[module].external = 1000;
        drawing.Refer(at, included, HEAPPROF_DUMP_FIELD, "superclass");
        drawing.objects[included].class_object = module;
        at = included;
    }
    Suspected found(FileOf(drawing), 5000);

    ASSERT_EQ(1u, found.all.size());
    EXPECT_EQ(50u * 1080, found.all[0].retained);
}

// No sample of a Session and none of the Hash that has them: one of the carts, which are below.
TEST(Suspects, HaveTheStackOfWhatIsBelowIfTheirsIsUnknown)
{
    Drawing drawing(1);
    uint32_t store = drawing.Add("T_HASH", "Hash");

    drawing.Root(store, HEAPPROF_DUMP_GLOBAL, "$store");
    for (int i = 0; i < 20; i++) {
        uint32_t session = drawing.Add("T_OBJECT", "Session"),
                 cart = drawing.Add("T_OBJECT", "Cart");
        drawing.objects[cart].external = 1000;
        drawing.objects[cart].stack = i == 7;
        drawing.Refer(store, session);
        drawing.Refer(session, cart, HEAPPROF_DUMP_IVAR, "@cart");
    }
    Suspected found(FileOf(drawing), 5000);

    ASSERT_EQ(1u, found.all.size());
    EXPECT_EQ("Session",
              std::string(graph_class_name(found.made.graph, found.Example(found.all[0].part))));
    EXPECT_EQ(1u, found.all[0].stack);
}

// Finalizers that keep their objects: many Procs below the VM's table of them.
TEST(Suspects, FinalizersOfManyObjectsAreOne)
{
    Drawing drawing(1);
    for (int i = 0; i < 50; i++) {
        uint32_t table = drawing.Add("T_ARRAY", ""), proc = drawing.Add("T_DATA(proc)", "Proc"),
                 conn = drawing.Add("T_OBJECT", "Conn");
        drawing.objects[conn].external = 1000;
        drawing.Root(table, HEAPPROF_DUMP_ROOT, "finalizer");
        drawing.Refer(table, proc);
        drawing.Refer(proc, conn, HEAPPROF_DUMP_FIELD, "self");
    }
    Suspected found(FileOf(drawing), 5000);

    ASSERT_EQ(1u, found.all.size());
    EXPECT_EQ(50u, found.all[0].count);
    EXPECT_EQ(50u * 1120, found.all[0].retained);
    EXPECT_EQ("finalizer", found.Label(found.all[0].pattern));
    EXPECT_EQ("Conn",
              std::string(graph_class_name(found.made.graph, found.Example(found.all[0].part))));
}

// A Hash has many Arrays, and all but one are small.
TEST(Suspects, OneOfSeveralMayKeepNearlyAll)
{
    Drawing drawing(1);
    uint32_t hash = drawing.Add("T_HASH", "Hash"), large = 0;
    drawing.Root(hash, HEAPPROF_DUMP_GLOBAL, "$subscribers");
    for (int i = 0; i < 20; i++) {
        uint32_t array = drawing.Add("T_ARRAY", "Array");
        drawing.Refer(hash, array, HEAPPROF_DUMP_VALUE);
        if (i == 13) large = array;
    }
    for (int i = 0; i < 100; i++) drawing.Refer(large, drawing.Add("T_OBJECT", "Subscriber"));
    Suspected found(FileOf(drawing), 3000);

    ASSERT_EQ(1u, found.all.size());
    EXPECT_EQ(hash, found.all[0].object);
    EXPECT_EQ(large, found.all[0].gathered_object);
    EXPECT_EQ(100u, found.Objects(found.all[0].part));
}

// Whatever is drawn: in order, each at least as large as asked for, at a pattern of its own; and
// what is gathered is below.
TEST(Suspects, AreInOrderAndLargeEnough)
{
    std::mt19937 random(15);
    for (int i = 0; i < 1000; i++) {
        SCOPED_TRACE(i);
        uint64_t least = 1 + random() % 1000;
        Suspected found(FileOf(RandomDrawing(&random)), least, 1 + random() % 4);
        std::vector<bool> seen(found.merged.patterns.count);
        for (size_t at = 0; at < found.all.size(); at++) {
            const graph_suspect &suspect = found.all[at];
            ASSERT_GE(suspect.retained, least);
            ASSERT_TRUE(at == 0 || suspect.retained <= found.all[at - 1].retained);
            ASSERT_FALSE(seen[suspect.pattern]);
            seen[suspect.pattern] = true;
            uint32_t above = suspect.gathered;
            while (above && above != suspect.pattern)
                above = found.merged.patterns.all[above].parent;
            ASSERT_EQ(suspect.pattern, above);
            ASSERT_LE(suspect.part_retained, suspect.retained);
        }
    }
}

} // namespace
