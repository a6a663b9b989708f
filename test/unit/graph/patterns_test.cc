// graph_patterns_test.cc - patterns add up to all that is reached; lists, shared memory and
// siblings are folded, on graphs that were made for it.

#include <gtest/gtest.h>

#include "test/unit/graph/made.h"

namespace {

std::string
Step(const Made &made, const Merged &merged, uint32_t object)
{
    return Written([&](FILE *out) {
        graph_put_step(out, made.graph, &merged.patterns, merged.patterns.of[object]);
    });
}

// Numbers lead upwards; a loop ends with a pattern below the one that it begins with, not far from
// it; all bytes are there.
void
CheckSums(const Made &made, const graph_patterns &patterns)
{
    uint64_t objects = 0, bytes = 0, shared = 0;
    std::vector<uint64_t> retained(patterns.count);

    for (uint32_t at = 1; at < patterns.count; at++) {
        const graph_pattern &pattern = patterns.all[at];
        ASSERT_LT(pattern.parent, at);
        ASSERT_GT(pattern.objects, 0u);
        ASSERT_EQ(at, patterns.of[pattern.example]);
        objects += pattern.objects;
        bytes += pattern.bytes;
        if (!pattern.loop) continue;
        uint32_t above = pattern.loop;
        for (int i = 1; i < GRAPH_PERIOD_MOST && above != at; i++)
            above = patterns.all[above].parent;
        ASSERT_EQ(at, above);
    }
    for (uint32_t object = 1; object <= made.graph->count; object++) {
        bool reached = made.dominators.dominators[object] != GRAPH_UNREACHED;
        ASSERT_EQ(reached, patterns.of[object] != 0);
        if (reached && made.dominator_tree.from[object])
            shared += graph_shared_p(made.graph, made.dominator_tree.labels[object]);
    }
    ASSERT_EQ(made.dominators.reached, objects + shared);
    ASSERT_EQ(made.dominators.retained[0], bytes);
    graph_patterns_retained(&patterns, retained.data());
    ASSERT_EQ(bytes, retained[0]);
}

TEST(Patterns, AddUpToAllThatIsReached)
{
    std::mt19937 random(5);
    for (int i = 0; i < 1000; i++) {
        SCOPED_TRACE(i);
        Made made(i % 2 ? FileOf(RandomDrawing(&random)) : FileOf(RandomShape(&random)));
        Merged merged(made.graph, &made.dominator_tree);
        CheckSums(made, merged.patterns);
        ASSERT_TRUE(graph_patterns_gather(&merged.patterns, made.graph, random() % 2000));
        CheckSums(made, merged.patterns);
        if (HasFatalFailure()) return;
    }
}

// Names of their own at each step, so that there is much to gather; what they hold is drawn at
// random.
TEST(Patterns, AddUpWhenSiblingsAreGathered)
{
    std::mt19937 random(6);
    int gathered = 0;
    for (int i = 0; i < 500; i++) {
        SCOPED_TRACE(i);
        Drawing drawing(1);
        uint32_t objects = 20 + random() % 200;
        for (uint32_t object = 1; object <= objects; object++) {
            drawing.Add(random() % 3 ? "T_OBJECT" : "T_DATA(fiber)",
                        random() % 3 ? "Order" : "Cart", random() % 2 ? "f:1" : "f:2");
            drawing.objects[object].external = random() % 500;
            uint32_t from = random() % std::min<uint32_t>(object, 4 + random() % 8);
            std::string name = std::to_string(random() % 40);
            static const std::pair<int, std::string> kinds[] = {
                { HEAPPROF_DUMP_CONSTANT, "K" },
                { HEAPPROF_DUMP_FIELD, "method m" },
                { HEAPPROF_DUMP_FIELD, "field " },
                { HEAPPROF_DUMP_IVAR, "@a" },
            };
            const auto &kind = kinds[random() % 4];
            if (from) drawing.Refer(from, object, kind.first, kind.second + name);
            else drawing.Root(object, HEAPPROF_DUMP_GLOBAL, "$" + name);
        }
        Made made(FileOf(drawing));
        Merged merged(made.graph, &made.dominator_tree);
        ASSERT_TRUE(graph_patterns_gather(&merged.patterns, made.graph, 1 + random() % 20000));
        CheckSums(made, merged.patterns);
        for (uint32_t at = 1; at < merged.patterns.count; at++) {
            const graph_pattern &pattern = merged.patterns.all[at];
            if (pattern.siblings < 2) continue;
            ASSERT_GE(pattern.siblings, 8u);
            ASSERT_GE(pattern.objects, pattern.siblings);
            gathered++;
        }
        if (HasFatalFailure()) return;
    }
    EXPECT_GT(gathered, 100);
}

TEST(Patterns, AListIsOne)
{
    Made made(Shop(10, 50));
    Merged merged(made.graph, &made.shortest);

    EXPECT_EQ(7u, merged.patterns.count); // the root, Cart, CACHE, @items, its orders, the list's
                                          // first and all others
    EXPECT_EQ(49u, merged.Of(63).objects);
    EXPECT_EQ(15u, merged.Of(63).example);
    EXPECT_EQ("@next: list of Node", Step(made, merged, 63));
    EXPECT_EQ("[]: Order", Step(made, merged, 10));
}

// A chain of steps that come again and again. Each period is one pattern a step, if it is not
// longer than can be remembered.
TEST(Patterns, APeriodIsAsManyAsItHasSteps)
{
    for (uint32_t period : {1, 2, 5, 8, 9}) {
        SCOPED_TRACE(period);
        const uint32_t rounds = 20, objects = period * rounds;
        Drawing drawing(1);
        std::string list = "list of";
        for (uint32_t object = 1; object <= objects; object++) {
            std::string step = std::to_string((object - 1) % period);
            drawing.Add("T_OBJECT", "C" + step);
            if (object > 1) drawing.Refer(object - 1, object, HEAPPROF_DUMP_IVAR, "@to" + step);
            else drawing.Root(1, HEAPPROF_DUMP_GLOBAL, "$list");
        }
        for (uint32_t step = 1; step <= period; step++)
            list += (step > 1 ? " -> C" : " C") + std::to_string(step % period);
        Made made(FileOf(drawing));
        Merged merged(made.graph, &made.dominator_tree);
        CheckSums(made, merged.patterns);
        if (period > GRAPH_PERIOD_MOST) {
            EXPECT_EQ(objects + 1, merged.patterns.count);
            continue;
        }
        EXPECT_EQ(period + 2,
                  merged.patterns.count); // the root, the first by another label, and a period
        EXPECT_EQ(rounds, merged.Of(2).objects + (period == 1));
        EXPECT_EQ("@to" + std::to_string(1 % period) + ": " + list, Step(made, merged, 2));
        EXPECT_EQ(2u, merged.Of(2).example);
    }
}

// A Hash with an Array as value, whose elements keep another Hash with an Array as value: no list.
TEST(Patterns, AnArrayInAHashBelowAnotherOneIsNoList)
{
    Drawing drawing(1);
    uint32_t hash = drawing.Add("T_HASH", "Hash"), array = drawing.Add("T_ARRAY", "Array");
    drawing.Root(hash, HEAPPROF_DUMP_GLOBAL, "$subscribers");
    drawing.Refer(hash, array, HEAPPROF_DUMP_VALUE);
    uint32_t inner = 0;
    for (int i = 0; i < 10; i++) {
        uint32_t request = drawing.Add("T_OBJECT", "Request"), env = drawing.Add("T_HASH", "Hash");
        inner = drawing.Add("T_ARRAY", "Array");
        drawing.Refer(array, request);
        drawing.Refer(request, env, HEAPPROF_DUMP_IVAR, "@env");
        drawing.Refer(env, inner, HEAPPROF_DUMP_VALUE);
    }
    Made made(FileOf(drawing));
    Merged merged(made.graph, &made.dominator_tree);

    CheckSums(made, merged.patterns);
    EXPECT_EQ(1u, merged.Of(array).objects);
    EXPECT_EQ(0u, merged.Of(array).loop);
    EXPECT_EQ(10u, merged.Of(inner).objects);
}

// Hashes and Arrays in turn, each in the one before.
TEST(Patterns, CollectionsInEachOtherAreAList)
{
    Drawing drawing(1);
    uint32_t last = drawing.Add("T_HASH", "Hash");
    drawing.Root(last, HEAPPROF_DUMP_GLOBAL, "$nested");
    for (int i = 0; i < 50; i++) {
        uint32_t array = drawing.Add("T_ARRAY", "Array"), hash = drawing.Add("T_HASH", "Hash");
        drawing.Refer(last, array, HEAPPROF_DUMP_VALUE);
        drawing.Refer(array, hash);
        last = hash;
    }
    Made made(FileOf(drawing));
    Merged merged(made.graph, &made.dominator_tree);

    CheckSums(made, merged.patterns);
    EXPECT_EQ(50u, merged.Of(last).objects);
    EXPECT_EQ("[]: list of Hash -> Array", Step(made, merged, last));
}

// 1 an Array, 2 the memory that it shares, from 3 on what is in it.
Drawing
Queue(uint32_t elements, bool other_owner)
{
    Drawing drawing(1);

    drawing.Add("T_ARRAY", "Array");
    drawing.Add("T_ARRAY", "Array");
    drawing.objects[2].external = 1000;
    drawing.Root(1, HEAPPROF_DUMP_GLOBAL, "$queue");
    drawing.Refer(1, 2, HEAPPROF_DUMP_FIELD, "shared");
    for (uint32_t i = 0; i < elements; i++) drawing.Refer(2, drawing.Add("T_OBJECT", "Job"));
    if (!other_owner) return drawing;
    uint32_t slice = drawing.Add("T_ARRAY", "Array");
    drawing.Root(slice, HEAPPROF_DUMP_GLOBAL, "$slice");
    drawing.Refer(slice, 2, HEAPPROF_DUMP_FIELD, "shared");
    return drawing;
}

TEST(Patterns, SharedMemoryIsItsOwners)
{
    Made made(FileOf(Queue(10, false)));
    Merged merged(made.graph, &made.dominator_tree);

    CheckSums(made, merged.patterns);
    EXPECT_EQ(merged.patterns.of[1], merged.patterns.of[2]);
    EXPECT_EQ(1u, merged.Of(1).objects);
    EXPECT_EQ(1080u, merged.Of(1).bytes);
    EXPECT_EQ(merged.patterns.of[1], merged.Of(3).parent);
    EXPECT_EQ("[]: Job", Step(made, merged, 3));
    EXPECT_EQ("global $queue -> [0]", made.Way(3));
}

TEST(Patterns, SharedMemoryOfTwoOwnersIsOfNeither)
{
    Made made(FileOf(Queue(10, true)));
    Merged merged(made.graph, &made.dominator_tree);

    CheckSums(made, merged.patterns);
    EXPECT_EQ(0u, merged.Of(2).parent);
    EXPECT_EQ("(several ways): Array", Step(made, merged, 2));
}

// A module with methods: `small` of them of few bytes, and two that keep much.
Drawing
Views(uint32_t small, const std::string &name = "method show_")
{
    Drawing drawing(1);
    uint32_t module = drawing.Add("T_MODULE", "Module", "Views");

    drawing.Root(module, HEAPPROF_DUMP_C_GLOBAL, "views");
    for (uint32_t i = 0; i < small + 2; i++) {
        uint32_t method = drawing.Add("T_IMEMO(ment)", "");
        drawing.Refer(module, method, HEAPPROF_DUMP_FIELD, name + std::to_string(i));
        drawing.Refer(method, drawing.Add("T_IMEMO(iseq)", ""), HEAPPROF_DUMP_FIELD, "code");
        if (i >= small) drawing.objects[method].external = 5000;
    }
    return drawing;
}

TEST(Patterns, EightSmallSiblingsAreOneAndWhatTheyHoldIs)
{
    Made made(FileOf(Views(8)));
    Merged merged(made.graph, &made.dominator_tree);

    ASSERT_EQ(22u, merged.patterns.count);
    ASSERT_TRUE(graph_patterns_gather(&merged.patterns, made.graph, 1000));
    CheckSums(made, merged.patterns);
    EXPECT_EQ(8u, merged.patterns.count); // the root, the module; all small ones, two large ones,
                                          // and the code of each
    EXPECT_EQ(8u, merged.Of(2).siblings);
    EXPECT_EQ(8u, merged.Of(2).objects);
    EXPECT_EQ(8u, merged.Of(3).objects);
    EXPECT_EQ(merged.patterns.of[2], merged.Of(3).parent);
    EXPECT_EQ("methods show_* (8): method entry", Step(made, merged, 2));
    EXPECT_EQ("method show_8: method entry", Step(made, merged, 18));
    EXPECT_EQ("code: compiled code", Step(made, merged, 3));
}

TEST(Patterns, SevenAreNotMany)
{
    Made made(FileOf(Views(7)));
    Merged merged(made.graph, &made.dominator_tree);

    ASSERT_TRUE(graph_patterns_gather(&merged.patterns, made.graph, 1000));
    EXPECT_EQ(20u, merged.patterns.count);
    EXPECT_EQ("method show_0: method entry", Step(made, merged, 2));
}

// The VM's own fields are few, and none of them is like another; they may have the class of a
// method.
TEST(Patterns, FieldsThatAreNoMethodsHaveNoSiblings)
{
    Drawing drawing = Views(8);
    for (uint32_t i = 0; i < 8; i++)
        drawing.Refer(1, drawing.Add("T_IMEMO(ment)", ""), HEAPPROF_DUMP_FIELD,
                      std::string(1, static_cast<char>('a' + i)));
    Made made(FileOf(drawing));
    Merged merged(made.graph, &made.dominator_tree);

    ASSERT_TRUE(graph_patterns_gather(&merged.patterns, made.graph, 1000));
    CheckSums(made, merged.patterns);
    EXPECT_EQ("methods show_* (8): method entry", Step(made, merged, 2));
    EXPECT_EQ("a: method entry", Step(made, merged, 22));
}

// A list that each of them begins keeps its loop.
TEST(Patterns, SiblingsKeepTheirLists)
{
    Drawing drawing(1);
    uint32_t module = drawing.Add("T_MODULE", "Module", "Lists");

    drawing.Root(module, HEAPPROF_DUMP_C_GLOBAL, "lists");
    for (int i = 0; i < 10; i++) {
        uint32_t at = drawing.Add("T_OBJECT", "Node");
        drawing.Refer(module, at, HEAPPROF_DUMP_CONSTANT, "LIST_" + std::to_string(i));
        for (int node = 0; node < 5; node++) {
            uint32_t next = drawing.Add("T_OBJECT", "Node");
            drawing.Refer(at, next, HEAPPROF_DUMP_IVAR, "@next");
            at = next;
        }
    }
    Made made(FileOf(drawing));
    Merged merged(made.graph, &made.dominator_tree);

    ASSERT_TRUE(graph_patterns_gather(&merged.patterns, made.graph, 1000));
    CheckSums(made, merged.patterns);
    EXPECT_EQ(4u, merged.patterns.count);
    EXPECT_EQ("constants LIST_* (10): Node", Step(made, merged, 2));
    EXPECT_EQ("@next: list of Node", Step(made, merged, 3));
    EXPECT_EQ(50u, merged.Of(3).objects);
}

// Threads are one if they were started at one place, whatever their names are and whatever they do;
// modules are never one.
TEST(Patterns, ThreadsAreMergedByPlaceAndModulesAreNot)
{
    Drawing drawing(1);
    uint32_t ractor = drawing.Add("T_DATA(ractor)", "Ractor");

    drawing.Root(ractor, HEAPPROF_DUMP_ROOT, "ractor");
    for (const char *text : { "a.rb:1, sleeps", "a.rb:1 (x, y), runs", "a.rb:1",
                              "a.rb:1, has ended", "b.rb:2, runs", "b.rb:2 (z), runs" }) {
        drawing.Refer(ractor, drawing.Add("T_DATA(VM/thread)", "Thread", text), HEAPPROF_DUMP_FIELD,
                      "thread");
    }
    for (int i = 0; i < 2; i++)
        drawing.Refer(ractor, drawing.Add("T_CLASS", "Class", "C" + std::to_string(i)),
                      HEAPPROF_DUMP_FIELD, "class");
    Made made(FileOf(drawing));
    Merged merged(made.graph, &made.dominator_tree);

    EXPECT_EQ(6u, merged.patterns.count);
    EXPECT_EQ(4u, merged.Of(2).objects);
    EXPECT_EQ("thread: Thread a.rb:1", Step(made, merged, 2));
    EXPECT_EQ("class: class C1", Step(made, merged, 9));
}

TEST(Words, SiblingsHaveWhatIsCommonInTheirNames)
{
    Drawing drawing(1);
    drawing.Add("T_ARRAY", "Array");
    drawing.Root(1, HEAPPROF_DUMP_GLOBAL, "$sentry_one");
    drawing.Refer(1, 1, HEAPPROF_DUMP_IVAR, "@key_one");
    drawing.Refer(1, 1, HEAPPROF_DUMP_CONSTANT, "One");
    drawing.Refer(1, 1, HEAPPROF_DUMP_FIELD, "method show_1");
    Made made(FileOf(drawing));
    const graph &graph = *made.graph;
    auto siblings = [&](uint32_t label, uint32_t prefix) {
        return Written([&](FILE *out) { graph_put_siblings(out, &graph, label, 650, prefix); });
    };

    EXPECT_EQ("globals $sentry_* (650)", siblings(graph_root_label(&graph.roots[0]), 8));
    EXPECT_EQ("650 globals", siblings(graph_root_label(&graph.roots[0]), 1));
    for (uint32_t at = graph.first[1]; at < graph.first[2]; at++) {
        uint32_t label = graph.labels[at], string = graph_label_detail(label);
        switch (graph_label_kind(label)) {
          case HEAPPROF_DUMP_IVAR:
            EXPECT_EQ("instance variables @key_* (650)", siblings(label, 5));
            EXPECT_EQ("650 instance variables", siblings(label, 1));
            EXPECT_EQ("[:@key_*] (650)", siblings(graph_label(GRAPH_VALUE_OF_SYMBOL, string), 5));
            EXPECT_EQ("650 Symbol keys", siblings(graph_label(GRAPH_VALUE_OF_SYMBOL, string), 0));
            break;
          case HEAPPROF_DUMP_CONSTANT:
            EXPECT_EQ("650 constants", siblings(label, 0));
            EXPECT_EQ("650 constants (several ways)",
                      siblings(graph_label(GRAPH_INDIRECT, string), 0));
            break;
          default:
            EXPECT_EQ("methods show_* (650)", siblings(label, 12));
            EXPECT_EQ("650 methods", siblings(label, 7));
        }
    }
}

// What only the VM has named is told as its thread, and what Thread#[] gives as that.
TEST(Words, AThreadHasLocals)
{
    Drawing drawing(1);
    uint32_t thread = drawing.Add("T_DATA(VM/thread)", "Thread", "worker.rb:12, sleeps for ever");
    uint32_t log = drawing.Add("T_ARRAY", "Array"), group = drawing.Add("T_HASH", "Hash");
    drawing.Root(thread, HEAPPROF_DUMP_ROOT, "ractor");
    drawing.Refer(thread, log, HEAPPROF_DUMP_LOCAL, "log");
    drawing.Refer(thread, group, HEAPPROF_DUMP_FIELD, "group");
    Made made(FileOf(drawing));
    auto start = [&](uint32_t object) {
        return Written([&](FILE *out) {
            EXPECT_TRUE(graph_put_start(out, made.graph, &made.shortest, object));
        });
    };

    EXPECT_EQ("Thread.current[:log]", start(log));
    EXPECT_EQ("ractor -> [:log]", made.Way(log));
    EXPECT_EQ("Thread worker.rb:12", start(group));
    EXPECT_EQ("ractor -> group", made.Way(group));
}

TEST(Words, ALibraryMayHaveNoName)
{
    Drawing drawing(1);
    uint32_t one = drawing.Add("T_ARRAY", "Array"), other = drawing.Add("T_ARRAY", "Array");
    drawing.Root(one, HEAPPROF_DUMP_C_GLOBAL, "cache in ");
    drawing.Root(other, HEAPPROF_DUMP_C_GLOBAL, "cache in shop.so");
    Made made(FileOf(drawing));

    EXPECT_EQ("C global cache", made.Way(one));
    EXPECT_EQ("C global cache in shop.so", made.Way(other));
}

TEST(Words, ObjectsOfTheVmAreToldInRubysTerms)
{
    Drawing drawing(1);
    uint32_t code = drawing.Add("T_IMEMO(iseq)", "", "Cart#load cart.rb:12"),
             array = drawing.Add("T_ARRAY", "");
    drawing.Root(code, HEAPPROF_DUMP_ROOT, "main");
    drawing.Root(array, HEAPPROF_DUMP_ROOT, "main");
    Made made(FileOf(drawing));
    auto object = [&](uint32_t number) {
        return Written([&](FILE *out) { graph_put_object(out, made.graph, number); });
    };

    EXPECT_EQ("compiled code: Cart#load cart.rb:12", object(code));
    EXPECT_EQ("internal Array", object(array));
}

TEST(Words, APlaceIsWhatIsBeforeNameAndState)
{
    auto place = [](const std::string &text) {
        return text.substr(0, graph_place_length(text.c_str()));
    };

    EXPECT_EQ("worker.rb:12", place("worker.rb:12, sleeps for ever"));
    EXPECT_EQ("worker.rb:12", place("worker.rb:12 (mail, 3), runs"));
    EXPECT_EQ("/a, b (c)/d.rb:1", place("/a, b (c)/d.rb:1, suspended"));
    EXPECT_EQ("C code", place("C code (puma 1), runs"));
    EXPECT_EQ("main", place("main, runs"));
    EXPECT_EQ("", place(""));
    EXPECT_EQ(500u, graph_place_length(std::string(10000, 'x').c_str()));
}

} // namespace
