// graph_stuck_test.cc - threads and fibers that nobody can wake: small graphs by hand, and graphs
// drawn at random against the definition.

#include <gtest/gtest.h>

#include <set>

#include "test/unit/graph/random.h"

extern "C" {
#include "graph/stuck.h"
}

namespace {

// A main thread that runs, in its Ractor.
struct World {
    Drawing drawing{1};
    uint32_t ractor, main;

    World()
    {
        ractor = drawing.Add("T_DATA(ractor)", "Ractor");
        drawing.Root(ractor, HEAPPROF_DUMP_ROOT, "ractor");
        main = Thread("main, runs");
    }
    uint32_t Thread(const std::string &text, uint32_t of = 0)
    {
        uint32_t thread = drawing.Add("T_DATA(VM/thread)", "Thread", text), its = of ? of : ractor;
        Field(its, thread, "thread");
        Field(thread, its, "ractor");
        return thread;
    }
    uint32_t Waiting(uint32_t awaited, const std::string &text = "app.rb:1")
    {
        uint32_t thread = Thread(text + ", sleeps for ever");
        Wait(thread, awaited);
        return thread;
    }
    uint32_t Fiber(uint32_t thread, const std::string &state = "suspended")
    {
        uint32_t fiber = drawing.Add("T_DATA(fiber)", "Fiber", "app.rb:7, " + state);
        Field(fiber, thread, "thread");
        return fiber;
    }
    uint32_t Queue() { return drawing.Add("T_DATA(queue)", "Thread::Queue"); }
    uint32_t Object(uint64_t external = 0)
    {
        uint32_t object = drawing.Add("T_OBJECT", "Order");
        drawing.objects[object].external = external;
        return object;
    }
    void Field(uint32_t from, uint32_t to, const std::string &name)
    {
        drawing.Refer(from, to, HEAPPROF_DUMP_FIELD, name);
    }
    void Wait(uint32_t waiter, uint32_t awaited) { Field(waiter, awaited, "waits for"); }
    void Keep(uint32_t from, uint32_t to) { drawing.Refer(from, to, HEAPPROF_DUMP_STACK, "stack"); }
    void Global(uint32_t object) { drawing.Root(object, HEAPPROF_DUMP_GLOBAL, "$x"); }
    uint64_t Bytes(std::initializer_list<uint32_t> objects) const
    {
        uint64_t bytes = 0;
        for (uint32_t object : objects) bytes += drawing.objects[object].Bytes();
        return bytes;
    }
};

struct Found {
    LoadedGraph loaded;
    graph_stuck stuck;

    explicit Found(const Drawing &drawing) : loaded(FileOf(drawing))
    {
        EXPECT_TRUE(graph_stuck_find(&stuck, &loaded.graph));
    }
    ~Found() { graph_stuck_free(&stuck); }
    Found(const Found &) = delete;
    Found &operator=(const Found &) = delete;
    const graph_stuck_row &Row(uint32_t i) const { return stuck.rows[i]; }
};

std::vector<uint32_t>
Counts(const World &world)
{
    Found found(world.drawing);
    return {found.stuck.threads, found.stuck.fibers, found.stuck.held_threads,
            found.stuck.held_fibers};
}

using Numbers = std::vector<uint32_t>;

TEST(Stuck, IsWhoWaitsForALostQueue)
{
    World world;
    uint32_t queue = world.Queue(), thread = world.Waiting(queue), order = world.Object(1000);
    world.Keep(thread, order);
    Found found(world.drawing);

    ASSERT_EQ(1u, found.stuck.row_count);
    EXPECT_EQ(thread, found.Row(0).example.object);
    EXPECT_EQ(queue, found.Row(0).example.awaited);
    EXPECT_EQ(GRAPH_AWAITS_OBJECT, found.Row(0).example.awaits);
    EXPECT_EQ(world.Bytes({thread, queue, order}), found.Row(0).bytes);
    EXPECT_EQ(found.Row(0).bytes, found.stuck.bytes);
    EXPECT_EQ(1u, found.stuck.threads);
}

TEST(Stuck, IsNotWhoWaitsForWhatIsReached)
{
    World by_global, by_main, by_class;
    uint32_t queue = by_global.Queue();
    by_global.Waiting(queue);
    by_global.Global(queue);
    EXPECT_EQ((Numbers{0, 0, 0, 0}), Counts(by_global));

    queue = by_main.Queue();
    by_main.Waiting(queue);
    by_main.Keep(by_main.main, queue);
    EXPECT_EQ((Numbers{0, 0, 0, 0}), Counts(by_main));

    uint32_t klass = by_class.drawing.Add("T_CLASS", "Class", "Job"), job = by_class.Object();
    queue = by_class.Queue();
    by_class.drawing.objects[job].class_object = klass;
    by_class.drawing.Refer(klass, queue, HEAPPROF_DUMP_CONSTANT, "QUEUE");
    by_class.Waiting(queue);
    by_class.Global(job);
    EXPECT_EQ((Numbers{0, 0, 0, 0}), Counts(by_class));
}

TEST(Stuck, IsNotWhoIsMainOrDoesNotSleepForEver)
{
    World world;
    for (const char *state : {"runs", "sleeps", "has ended"}) {
        world.Wait(world.Thread(std::string("a.rb:1, ") + state), world.Queue());
    }
    world.Wait(world.Thread("main, sleeps for ever"), world.Queue());
    world.Wait(world.Thread("main (its name), sleeps for ever"), world.Queue());
    world.Wait(world.Thread(""), world.Queue());
    EXPECT_EQ((Numbers{0, 0, 0, 0}), Counts(world));
}

// What a woken thread has on its stack wakes the next one, and so on, backwards in the file.
TEST(Stuck, IsNotWhoAWokenThreadCanWake)
{
    World world;
    std::vector<uint32_t> queues, threads;
    for (int i = 0; i < 200; i++) {
        queues.push_back(world.Queue());
        threads.push_back(world.Waiting(queues[i]));
        if (i > 0) world.Keep(threads[i], queues[i - 1]);
    }
    EXPECT_EQ((Numbers{200, 0, 0, 0}), Counts(world));
    world.Global(queues[199]);
    EXPECT_EQ((Numbers{0, 0, 0, 0}), Counts(world));
}

TEST(Stuck, TwoThatWaitForEachOther)
{
    World world;
    uint32_t one = world.Queue(), other = world.Queue();
    world.Keep(world.Waiting(one), other);
    world.Keep(world.Waiting(other), one);
    EXPECT_EQ((Numbers{2, 0, 0, 0}), Counts(world));
}

TEST(Stuck, AMutexIsUnlockedByItsOwnerAlone)
{
    for (bool owner_is_stuck : {true, false}) {
        World world;
        uint32_t mutex = world.drawing.Add("T_DATA(mutex)", "Thread::Mutex");
        uint32_t monitor = world.drawing.Add("T_DATA(monitor)", "Monitor");
        uint32_t owner = owner_is_stuck ? world.Waiting(world.Queue()) : world.Thread("a, sleeps");
        uint32_t waiter = world.Waiting(monitor);
        world.drawing.Refer(mutex, owner, HEAPPROF_DUMP_WEAK, "owner");
        world.Wait(waiter, mutex);
        world.Global(mutex);
        world.Global(monitor);
        Found found(world.drawing);
        EXPECT_EQ(owner_is_stuck ? 2u : 0u, found.stuck.threads);
        for (uint32_t i = 0; i < found.stuck.row_count; i++) {
            const graph_waiter &example = found.Row(i).example;
            int awaits = example.object == waiter ? GRAPH_AWAITS_OWNER : GRAPH_AWAITS_OBJECT;
            EXPECT_EQ(awaits, example.awaits);
        }
    }
}

TEST(Stuck, JoinEndsWithTheThread)
{
    World world;
    world.Waiting(world.Waiting(world.Queue()));
    world.Waiting(world.Thread("a.rb:1, sleeps"));
    EXPECT_EQ((Numbers{2, 0, 0, 0}), Counts(world));
}

TEST(Stuck, ASleeperIsWokenByWhoHasIt)
{
    World world;
    uint32_t had = world.Thread("a.rb:1, sleeps for ever");
    uint32_t lost = world.Thread("a.rb:2, sleeps for ever");
    for (uint32_t thread : {had, lost}) world.Field(thread, world.Object(), "self in Thread.stop");
    world.Global(had);
    Found found(world.drawing);

    ASSERT_EQ(1u, found.stuck.row_count);
    EXPECT_EQ(lost, found.Row(0).example.object);
    EXPECT_EQ(GRAPH_AWAITS_WAKING, found.Row(0).example.awaits);
    EXPECT_EQ(0u, found.stuck.held_threads);
}

TEST(Stuck, WhatTheDumpDoesNotNameIsNotJudged)
{
    World world;
    uint32_t thread = world.Thread("a.rb:1, sleeps for ever"), queue = world.Queue();
    world.Field(thread, world.Object(), "self in Lib#wait");
    world.Keep(thread, queue);
    world.Waiting(queue);
    Found found(world.drawing);

    EXPECT_EQ(1u, found.stuck.waiters.unnamed);
    EXPECT_EQ(0u, found.stuck.threads);
}

// It could be ended, and then what it has is lost for others, too.
TEST(Stuck, AThreadThatTheProgramHasIsHeld)
{
    World world;
    uint32_t queue = world.Queue(), held = world.Waiting(queue), order = world.Object(1000);
    world.Keep(held, order);
    world.Global(held);
    Found found(world.drawing);

    ASSERT_EQ(1u, found.stuck.row_count);
    EXPECT_TRUE(found.Row(0).held);
    EXPECT_EQ(world.Bytes({held, queue, order}), found.Row(0).bytes);
    EXPECT_EQ(0u, found.stuck.bytes);
    EXPECT_EQ((Numbers{0, 0, 1, 0}), Counts(world));
}

// Its end wakes, or reaches, what it has on its stack.
TEST(Stuck, WhatAHeldThreadCanWakeIsNot)
{
    World world;
    uint32_t held = world.Waiting(world.Queue()), queue = world.Queue();
    world.Keep(held, queue);
    world.Global(held);
    world.Waiting(queue);
    world.Waiting(held);
    EXPECT_EQ((Numbers{0, 0, 1, 0}), Counts(world));
}

TEST(Stuck, TheOwnerOfAMonitorIsNotReachedByIt)
{
    World world;
    uint32_t thread = world.Thread("a.rb:1, sleeps for ever"),
        fiber = world.Fiber(thread, "resumed");
    uint32_t monitor = world.drawing.Add("T_DATA(monitor)", "Monitor"), order = world.Object(100),
        queue = world.Queue();
    world.Field(thread, fiber, "current fiber");
    world.Wait(fiber, queue);
    world.Keep(fiber, order);
    world.drawing.Refer(monitor, fiber, HEAPPROF_DUMP_OFFSET, "monitor+0x8");
    world.Global(monitor);
    Found found(world.drawing);

    ASSERT_EQ(1u, found.stuck.row_count);
    EXPECT_EQ(thread, found.Row(0).example.object);
    EXPECT_EQ(fiber, found.Row(0).example.stack);
    EXPECT_EQ(world.Bytes({thread, fiber, order, queue}), found.stuck.bytes);
}

struct Scheduled : World {
    uint32_t thread, scheduler, fiber, queue;

    Scheduled()
    {
        thread = Thread("app.rb:5, sleeps");
        scheduler = Object();
        fiber = Fiber(thread);
        queue = Queue();
        Field(thread, scheduler, "scheduler");
        drawing.Refer(scheduler, fiber, HEAPPROF_DUMP_IVAR, "@fiber");
        Wait(fiber, queue);
    }
};

TEST(Stuck, AFiberThatOnlyItsSchedulerHas)
{
    Scheduled world;
    uint32_t order = world.Object(1000);
    world.Keep(world.fiber, order);
    world.Global(world.scheduler);
    Found found(world.drawing);

    ASSERT_EQ(1u, found.stuck.row_count);
    EXPECT_EQ(1u, found.stuck.fibers);
    EXPECT_EQ(world.fiber, found.Row(0).example.object);
    EXPECT_EQ(world.Bytes({world.fiber, world.queue, order}), found.stuck.bytes);
}

TEST(Stuck, AFiberIsNotIfItIsHadOrWoken)
{
    Scheduled had, by_fiber, by_local, by_word, woken, by_scheduler;

    had.Global(had.fiber);
    EXPECT_EQ((Numbers{0, 0, 0, 1}), Counts(had));

    uint32_t other = by_fiber.Fiber(by_fiber.main); // of the scheduler, and suspended for a time
    by_fiber.drawing.Refer(by_fiber.scheduler, other, HEAPPROF_DUMP_IVAR, "@ready");
    by_fiber.Keep(other, by_fiber.fiber);
    EXPECT_EQ((Numbers{0, 0, 0, 1}), Counts(by_fiber));

    by_local.drawing.Refer(by_local.thread, by_local.fiber, HEAPPROF_DUMP_LOCAL,
                           "task in Object#run at app.rb:3");
    EXPECT_EQ((Numbers{0, 0, 0, 1}), Counts(by_local));

    by_word.Keep(by_word.thread, by_word.fiber); // of the scheduler's loop
    EXPECT_EQ((Numbers{0, 1, 0, 0}), Counts(by_word));

    woken.Global(woken.queue);
    EXPECT_EQ((Numbers{0, 0, 0, 0}), Counts(woken));

    other = by_scheduler.Fiber(by_scheduler.main);
    by_scheduler.drawing.Refer(by_scheduler.scheduler, other, HEAPPROF_DUMP_IVAR, "@ready");
    by_scheduler.Keep(other, by_scheduler.queue);
    EXPECT_EQ((Numbers{0, 0, 0, 0}), Counts(by_scheduler));
}

// It has been pushed, and the fiber has not come to it.
TEST(Stuck, AFiberIsNotIfItsQueueHasSomething)
{
    Scheduled world;
    uint32_t elements = world.drawing.Add("T_ARRAY", "Array");
    world.drawing.Refer(world.queue, elements, HEAPPROF_DUMP_OFFSET, "queue+0x10");
    world.drawing.Refer(elements, world.Object());
    std::string bytes = FileOf(world.drawing);
    LoadedGraph loaded(bytes, SIZE_MAX, GRAPH_LENGTHS);
    graph_stuck stuck;

    ASSERT_TRUE(graph_stuck_find(&stuck, &loaded.graph));
    EXPECT_EQ(0u, stuck.row_count);
    graph_stuck_free(&stuck);
}

// Garbage, and what a stuck thread keeps, are no rows of their own.
TEST(Stuck, AFiberThatNothingRunningLeadsTo)
{
    World world;
    uint32_t queue = world.Queue(), other = world.Queue(), thread = world.Waiting(queue);
    uint32_t kept = world.Fiber(thread), garbage = world.Fiber(thread);
    world.Wait(kept, other);
    world.Wait(garbage, world.Queue());
    world.Keep(thread, kept);
    Found found(world.drawing);

    ASSERT_EQ(1u, found.stuck.row_count);
    EXPECT_EQ(world.Bytes({thread, queue, kept, other}), found.stuck.bytes);
    EXPECT_EQ((Numbers{1, 0, 0, 0}), Counts(world));
}

TEST(Stuck, ARactorThatNobodyHas)
{
    World world;
    uint32_t lost = world.drawing.Add("T_DATA(ractor)", "Ractor"),
        had = world.drawing.Add("T_DATA(ractor)", "Ractor");
    for (uint32_t ractor : {lost, had}) {
        world.drawing.Root(ractor, HEAPPROF_DUMP_ROOT, "ractor");
        world.Wait(world.Thread("a.rb:3, sleeps for ever", ractor), ractor);
    }
    world.Global(had);
    world.Waiting(lost); // Ractor#take of it
    world.Waiting(had);
    Found found(world.drawing);

    EXPECT_EQ(2u, found.stuck.threads);
    ASSERT_EQ(2u, found.stuck.row_count);
    std::set<int> awaits = {found.Row(0).example.awaits, found.Row(1).example.awaits};
    EXPECT_EQ((std::set<int>{GRAPH_AWAITS_RACTOR, GRAPH_AWAITS_THREAD}), awaits);
}

// Threads of one place are one row. What two rows share is in the sum alone.
TEST(Stuck, RowsAreByPlace)
{
    World world;
    uint32_t shared = world.Object(5000), of_one_row = world.Object(700);
    std::vector<uint32_t> queues;
    for (int i = 0; i < 5; i++) {
        queues.push_back(world.Queue());
        std::string place = i < 3 ? "worker.rb:12 (n" + std::to_string(i) + ")" : "other.rb:1";
        uint32_t thread = world.Waiting(queues.back(), place);
        world.Field(thread, world.Object(),
                    "code in Thread::Queue#pop at <internal:thread_sync>:18");
        world.Field(thread, world.Object(), "code in Object#run at worker.rb:14");
        world.Keep(thread, shared);
        if (i < 3) world.Keep(thread, of_one_row);
    }
    Found found(world.drawing);

    ASSERT_EQ(2u, found.stuck.row_count);
    EXPECT_EQ(3u, found.Row(0).count);
    EXPECT_EQ(3u * 4 * 40 + 740, found.Row(0).bytes);
    EXPECT_EQ(2u, found.Row(1).count);
    EXPECT_EQ(2u * 4 * 40, found.Row(1).bytes);
    EXPECT_EQ(found.Row(0).bytes + found.Row(1).bytes + 5040, found.stuck.bytes);
    EXPECT_STREQ("code in Object#run at worker.rb:14", graph_string(&found.loaded.graph.names,
                                                                    found.Row(0).example.where));
}

// Of two programs that wait in one library.
TEST(Stuck, RowsAreByTheApplicationsLineToo)
{
    World world;
    for (const char *own : {"app/one.rb:3", "app/one.rb:3", "app/two.rb:5"}) {
        uint32_t thread = world.Waiting(world.Queue());
        std::string frame = std::string("code in Object#call at /srv/") + own;
        world.Field(thread, world.Object(), "code in Pool#take at /gems/pool-1.0/lib/pool.rb:9");
        world.Field(thread, world.Object(), frame);
    }
    Found found(world.drawing);

    ASSERT_EQ(2u, found.stuck.row_count);
    EXPECT_EQ(2u, found.Row(0).count);
    EXPECT_EQ(found.Row(0).example.where, found.Row(1).example.where);
    EXPECT_NE(found.Row(0).example.own, found.Row(1).example.own);
    EXPECT_EQ(1u, found.Row(1).count);
}

// What nobody writes, but a file may say.
TEST(Stuck, OddReferencesDoNoHarm)
{
    World world;
    uint32_t thread = world.Waiting(world.Queue()), second = world.Waiting(thread),
        fiber = world.Fiber(thread, "resumed");
    world.Field(world.ractor, thread, "thread");
    world.Field(thread, fiber, "current fiber");
    world.Field(second, fiber, "current fiber");
    world.Field(second, second, "current fiber");
    world.Wait(second, second);
    world.Wait(fiber, fiber);
    world.Field(thread, thread, "scheduler");
    world.Field(world.ractor, world.ractor, "thread");
    world.drawing.Refer(fiber, fiber, HEAPPROF_DUMP_WEAK, "owner");
    EXPECT_EQ((Numbers{2, 0, 0, 0}), Counts(world));
}

// ---- the definition ----

// Threads only: who is stuck or held, by what the header says, found by starting again from the
// roots after each change.
struct Definition {
    const Drawing &drawing;
    std::set<uint32_t> waiting, held, stuck;

    static bool Named(const Edge &edge, const char *name)
    {
        return edge.label == HEAPPROF_DUMP_FIELD && edge.name == name;
    }
    bool Ractor(uint32_t object) const { return drawing.objects[object].type == "T_DATA(ractor)"; }
    bool Thread(uint32_t object) const
    {
        return drawing.objects[object].type == "T_DATA(VM/thread)";
    }
    // What is reached if the stacks of these threads are closed.
    std::set<uint32_t> Reached(const std::set<uint32_t> &closed) const
    {
        std::set<uint32_t> reached;
        std::vector<uint32_t> left;
        for (const Edge &edge : drawing.objects[0].references) {
            if (!Ractor(edge.to)) left.push_back(edge.to);
        }
        for (uint32_t object = 1; object < drawing.size(); object++) {
            if (Thread(object) && !closed.count(object)) left.push_back(object);
        }
        while (!left.empty()) {
            uint32_t object = left.back();
            left.pop_back();
            if (!reached.insert(object).second || closed.count(object)) continue;
            for (const Edge &edge : drawing.objects[object].references) {
                if (!(Ractor(object) && Named(edge, "thread"))) left.push_back(edge.to);
            }
        }
        return reached;
    }
    bool Woken(uint32_t thread, const std::set<uint32_t> &reached,
               const std::set<uint32_t> &closed) const
    {
        for (const Edge &edge : drawing.objects[thread].references) {
            if (!Named(edge, "waits for")) continue;
            if (Thread(edge.to) ? !closed.count(edge.to) : reached.count(edge.to)) return true;
        }
        return false;
    }
    explicit Definition(const Drawing &drawn) : drawing(drawn)
    {
        for (uint32_t object = 1; object < drawing.size(); object++) {
            if (Thread(object) && drawing.objects[object].text == "a.rb:1, sleeps for ever") {
                stuck.insert(object);
            }
        }
        for (bool changed = true; changed;) {
            std::set<uint32_t> reached = Reached(stuck), before = stuck;
            for (uint32_t thread : before) if (Woken(thread, reached, before)) stuck.erase(thread);
            changed = stuck != before;
            if (changed) continue;
            for (uint32_t thread : before) {
                if (!reached.count(thread)) continue;
                held.insert(thread);
                stuck.erase(thread);
            }
            changed = stuck != before;
        }
    }
    uint64_t Bytes() const
    {
        std::set<uint32_t> closed = stuck;
        closed.insert(held.begin(), held.end());
        std::set<uint32_t> without = Reached(closed), kept;
        uint64_t bytes = 0;
        // From the held and from the stuck, each alone.
        std::set<uint32_t> from_held = From(held, without), from_stuck = From(stuck, without);
        for (uint32_t object : from_stuck) {
            if (!from_held.count(object)) bytes += drawing.objects[object].Bytes();
        }
        return bytes;
    }
    std::set<uint32_t> From(const std::set<uint32_t> &threads,
                            const std::set<uint32_t> &without) const
    {
        std::set<uint32_t> reached(threads);
        std::vector<uint32_t> left(threads.begin(), threads.end());
        while (!left.empty()) {
            uint32_t object = left.back();
            left.pop_back();
            for (const Edge &edge : drawing.objects[object].references) {
                if ((Ractor(object) && Named(edge, "thread")) || without.count(edge.to) ||
                    stuck.count(edge.to) || held.count(edge.to)) continue;
                if (reached.insert(edge.to).second) left.push_back(edge.to);
            }
        }
        return reached;
    }
};

TEST(Stuck, IsAsTheDefinitionSays)
{
    std::mt19937 random(7);
    auto below = [&random](uint32_t most) {
        return std::uniform_int_distribution<uint32_t>(0, most - 1)(random);
    };
    uint32_t stuck = 0, held = 0, woken = 0;

    for (int round = 0; round < 500; round++) {
        World world;
        std::vector<uint32_t> threads, others;
        uint32_t thread_count = 1 + below(8), other_count = 1 + below(12), references = below(20);
        for (uint32_t i = 0; i < other_count; i++) {
            others.push_back(below(2) ? world.Queue() : world.Object(below(1000)));
        }
        for (uint32_t i = 0; i < thread_count; i++) {
            uint32_t awaited = others[below(other_count)];
            if (i > 0 && below(4) == 0) awaited = threads[below(i)];
            threads.push_back(world.Waiting(awaited, "a.rb:1"));
        }
        auto any = [&](uint32_t in_six) {
            return below(6) < in_six ? threads[below(thread_count)] : others[below(other_count)];
        };
        for (uint32_t i = 0; i < references; i++) world.Keep(any(3), any(1));
        for (uint32_t i = below(3); i > 0; i--) world.Global(any(1));
        if (below(3) == 0) world.Keep(world.main, any(1));
        Definition expected(world.drawing);
        Found found(world.drawing);
        ASSERT_EQ(expected.stuck.size(), found.stuck.threads) << round;
        ASSERT_EQ(expected.held.size(), found.stuck.held_threads) << round;
        ASSERT_EQ(expected.Bytes(), found.stuck.bytes) << round;
        stuck += found.stuck.threads;
        held += found.stuck.held_threads;
        woken += thread_count - found.stuck.threads - found.stuck.held_threads;
    }
    EXPECT_GT(std::min({stuck, held, woken}), 50u);
}

} // namespace
