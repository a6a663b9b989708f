// graph_difference_test.cc - what grew between dumps: processes drawn at random, whose objects
// come, go, grow, move and are referred to anew, against what is known of each object; and
// situations by hand.

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <set>

#include "test/unit/graph/made.h"

extern "C" {
#include "graph/arrivals.h"
#include "graph/difference.h"
}

namespace {

// ---- processes ----

struct Living {
    uint32_t slot;
    std::string type, class_name, text;
    uint64_t external;
    std::vector<std::pair<int, Edge>> references; // to an id; the edge's own number is not used
};

// A process whose objects have an id for life. Id 0 stands for the roots.
class Process {
public:
    Process() { living_[0] = Living(); }

    int Make(const std::string &type, const std::string &class_name, uint64_t external = 0,
             const std::string &text = "")
    {
        int id = ++last_id_;
        living_[id] = Living{FreeSlot(), type, class_name, text, external, {}};
        return id;
    }
    void Refer(int from, int to, int label = HEAPPROF_DUMP_INDEX, const std::string &name = "")
    {
        living_[from].references.push_back({to, Edge{0, label, name}});
    }
    void Forget(int from, int to)
    {
        auto &references = living_[from].references;
        references.erase(std::remove_if(references.begin(), references.end(),
                                        [to](const auto &one) { return one.first == to; }),
                         references.end());
    }
    void Free(int id)
    {
        for (auto &one : living_) Forget(one.first, id);
        taken_.erase(living_[id].slot);
        living_.erase(id);
    }
    void Move(int id)
    {
        uint32_t slot = FreeSlot();
        taken_.erase(living_[id].slot);
        living_[id].slot = slot;
    }
    Living &Of(int id) { return living_[id]; }
    std::vector<int> Ids() const
    {
        std::vector<int> ids;
        for (const auto &one : living_) if (one.first) ids.push_back(one.first);
        return ids;
    }

    // The next dump, and the ids of its objects by their numbers.
    std::string Dump(std::vector<int> *ids, const std::string &set = "1")
    {
        std::vector<std::pair<uint32_t, int>> by_slot;
        std::map<int, uint32_t> numbers, slots;
        for (const auto &one : living_)
            if (one.first) by_slot.push_back({ one.second.slot, one.first });
        std::sort(by_slot.begin(), by_slot.end());
        Drawing drawing(by_slot.size() + 1);
        ids->assign(1, 0);
        for (const auto &one : by_slot) {
            numbers[one.second] = static_cast<uint32_t>(ids->size());
            slots[one.second] = one.first;
            ids->push_back(one.second);
        }
        for (uint32_t number = 0; number < drawing.size(); number++) {
            const Living &living = living_[(*ids)[number]];
            DrawnObject &object = drawing.objects[number];
            for (const auto &one : living.references)
                drawing.Refer(number, numbers[one.first], one.second.label, one.second.name);
            if (!number) continue;
            object.slot = living.slot;
            object.type = living.type;
            object.class_name = living.class_name;
            object.text = living.text;
            object.external = living.external;
            auto before = slots_.find((*ids)[number]);
            if (before == slots_.end()) continue;
            object.bits = HEAPPROF_DUMP_SURVIVOR;
            if (before->second != living.slot)
                drawing.moves.push_back({ before->second, living.slot });
        }
        drawing.set = set;
        drawing.dump = std::to_string(++dumps_);
        slots_ = slots;
        return FileOf(drawing);
    }

private:
    // Slots are used again.
    uint32_t FreeSlot()
    {
        uint32_t slot = 0;
        while (taken_.count(slot)) slot++;
        taken_.insert(slot);
        return slot;
    }

    std::map<int, Living> living_;
    std::map<int, uint32_t> slots_; // of the dump before
    std::set<uint32_t> taken_;
    int last_id_ = 0, dumps_ = 0;
};

// ---- comparing ----

struct Compared {
    std::vector<std::unique_ptr<Made>> made;
    std::vector<std::vector<int>> ids;
    std::unique_ptr<graph_difference> difference;

    void Dump(Process *process, const std::string &set = "1")
    {
        ids.emplace_back();
        made.emplace_back(new Made(process->Dump(&ids.back(), set)));
    }
    void Compare()
    {
        std::vector<graph_dump> dumps;
        for (auto &one : made)
            dumps.push_back({ one->graph, &one->dominators, &one->dominator_tree });
        difference.reset(new graph_difference);
        EXPECT_TRUE(graph_difference_make(difference.get(), dumps.data(), dumps.size()));
    }
    ~Compared() { if (difference) graph_difference_free(difference.get()); }

    const Made &Last() const { return *made.back(); }
    uint32_t NumberOf(size_t dump, int id) const
    {
        return static_cast<uint32_t>(std::find(ids[dump].begin() + 1, ids[dump].end(), id) -
                                     ids[dump].begin());
    }
    // Ids of those that roots reach, with their bytes.
    std::map<int, uint64_t> Alive(size_t dump) const
    {
        std::map<int, uint64_t> alive;
        for (uint32_t number = 1; number < ids[dump].size(); number++) {
            if (made[dump]->dominators.dominators[number] != GRAPH_UNREACHED)
                alive[ids[dump][number]] = made[dump]->graph->sizes[number];
        }
        return alive;
    }
    const graph_growth &Row(int id) const
    {
        return difference->all[difference->rows[NumberOf(made.size() - 1, id)] - 1];
    }
    int64_t Growth(int id) const
    {
        return graph_growth_bytes(difference.get(),
                                  difference->rows[NumberOf(made.size() - 1, id)] - 1);
    }
    std::vector<int64_t> Growths() const
    {
        std::vector<int64_t> growths;
        for (uint32_t row = 0; row < difference->count; row++) {
            if (graph_growth_bytes(difference.get(), row))
                growths.push_back(graph_growth_bytes(difference.get(), row));
        }
        std::sort(growths.rbegin(), growths.rend());
        return growths;
    }
};

// What holds of each difference: rows add up to what is alive in each dump, and each explains its
// own growth.
void
CheckSums(const Compared &compared)
{
    const graph_difference &difference = *compared.difference;
    size_t dumps = compared.made.size();

    ASSERT_EQ(dumps, difference.dump_count);
    for (size_t dump = 0; dump < dumps; dump++) {
        uint64_t bytes = 0;
        for (uint32_t row = 0; row < difference.count; row++)
            bytes += difference.all[row].bytes[dump];
        ASSERT_EQ(compared.made[dump]->dominators.retained[0], bytes) << dump;
        ASSERT_EQ(bytes, difference.alive[dump]);
    }
    for (uint32_t number = 0; number < difference.count; number++) {
        const graph_growth &row = difference.all[number];
        bool each_time = true;
        ASSERT_EQ(graph_growth_bytes(&difference, number),
                  static_cast<int64_t>(row.new_bytes - row.freed_bytes) + row.grown)
            << number;
        for (size_t dump = 1; dump < dumps; dump++)
            each_time = each_time && row.bytes[dump] > row.bytes[dump - 1];
        ASSERT_EQ(each_time, graph_growth_each_time_p(&difference, number));
        ASSERT_LT(row.holder, difference.patterns.count);
        ASSERT_EQ(row.structure, row.class_name != 0);
    }
}

// Ids that are alive in every dump.
std::map<int, bool>
Survivors(const Compared &compared)
{
    std::map<int, bool> survivors;

    for (const auto &one : compared.Alive(0)) {
        bool all = true;
        for (size_t dump = 1; dump < compared.made.size(); dump++)
            all = all && compared.Alive(dump).count(one.first);
        if (all) survivors[one.first] = true;
    }
    return survivors;
}

void
CheckObjects(const Compared &compared)
{
    const graph_difference &difference = *compared.difference;
    const Made &last = compared.Last();
    std::map<int, uint64_t> first_alive = compared.Alive(0),
                            last_alive = compared.Alive(compared.made.size() - 1);
    std::map<int, bool> survivors = Survivors(compared);
    std::map<uint32_t, int64_t> grown;
    std::map<uint32_t, std::pair<uint64_t, uint64_t>> fresh; // by row: objects, bytes
    uint64_t freed = 0, freed_found = 0;

    ASSERT_EQ(nullptr, difference.inexact);
    for (uint32_t number = 1; number <= last.graph->count; number++) {
        int id = compared.ids.back()[number];
        ASSERT_EQ(survivors.count(id), difference.survived[number]);
        ASSERT_EQ(last_alive.count(id), difference.rows[number] != 0);
        if (!last_alive.count(id)) continue;
        const graph_growth &row = difference.all[difference.rows[number] - 1];
        uint32_t holder = number;
        if (survivors.count(id)) {
            ASSERT_EQ(difference.patterns.of[number], row.holder);
            ASSERT_FALSE(row.structure);
            grown[difference.rows[number]] +=
                static_cast<int64_t>(last_alive[id] - first_alive[id]);
            continue;
        }
        do holder = last.dominators.dominators[holder];
        while (holder && !survivors.count(compared.ids.back()[holder]));
        // An object that was there in between may be where it was, too.
        if (!first_alive.count(id)) {
            ASSERT_EQ(holder ? difference.patterns.of[holder] : 0, row.holder) << id;
        }
        fresh[difference.rows[number]].first++;
        fresh[difference.rows[number]].second += last_alive[id];
    }
    for (uint32_t row = 1; row <= difference.count; row++) {
        ASSERT_EQ(grown[row], difference.all[row - 1].grown);
        ASSERT_EQ(fresh[row].first, difference.all[row - 1].new_objects);
        ASSERT_EQ(fresh[row].second, difference.all[row - 1].new_bytes);
        freed_found += difference.all[row - 1].freed_bytes;
    }
    for (const auto &one : first_alive) {
        uint32_t now =
            survivors.count(one.first) ? compared.NumberOf(compared.made.size() - 1, one.first) : 0;
        ASSERT_EQ(now, difference.last[compared.NumberOf(0, one.first)]);
        freed += now ? 0 : one.second;
    }
    ASSERT_EQ(freed, freed_found);
}

// ---- at random ----

const std::pair<int, std::string> kLabels[] = {
    { HEAPPROF_DUMP_INDEX, "" },
    { HEAPPROF_DUMP_INDEX, "" },
    { HEAPPROF_DUMP_IVAR, "@a" },
    { HEAPPROF_DUMP_CONSTANT, "LIST" },
    { HEAPPROF_DUMP_FIELD, "constant cache" },
    { HEAPPROF_DUMP_FIELD, "shared" },
    { HEAPPROF_DUMP_STACK, "" },
};
const std::pair<const char *, const char *> kTypes[] = {
    { "T_ARRAY", "Array" }, { "T_OBJECT", "Order" },           { "T_STRING", "String" },
    { "T_CLASS", "Class" }, { "T_DATA(VM/thread)", "Thread" },
};

void
Live(Process *process, std::mt19937 *random)
{
    auto below = [random](size_t most) { return static_cast<size_t>((*random)() % most); };

    for (size_t i = below(12); i > 0; i--) {
        const auto &type = kTypes[below(5)];
        process->Make(type.first, type.second, below(100),
                      std::string(type.first) == "T_CLASS" ? "Class" + std::to_string(below(5))
                                                           : "");
    }
    std::vector<int> ids = process->Ids();
    if (ids.empty()) return;
    for (size_t i = below(3); i > 0; i--)
        process->Refer(0, ids[below(ids.size())], HEAPPROF_DUMP_GLOBAL, "$a");
    for (size_t i = below(ids.size() * 2); i > 0; i--) {
        const auto &label = kLabels[below(7)];
        process->Refer(ids[below(ids.size())], ids[below(ids.size())], label.first, label.second);
    }
    for (size_t i = below(4); i > 0; i--)
        process->Forget(ids[below(ids.size())], ids[below(ids.size())]);
    for (size_t i = below(4); i > 0; i--) process->Of(ids[below(ids.size())]).external = below(500);
    for (size_t i = below(5); i > 0; i--) process->Move(ids[below(ids.size())]);
    for (size_t i = below(4); i > 0 && i < ids.size(); i--) {
        size_t at = below(ids.size());
        process->Free(ids[at]);
        ids.erase(ids.begin() + static_cast<ptrdiff_t>(at));
    }
}

// A dump in which nothing lived on does not say that it could: it is as if of another process.
TEST(Difference, RowsAddUpToTheGrowth)
{
    std::mt19937 random(21);
    int exact = 0;
    for (int i = 0; i < 600; i++) {
        SCOPED_TRACE(i);
        Process process;
        Compared compared;
        size_t dumps = 2 + random() % 3;
        for (int turn = 0; turn < 3; turn++) Live(&process, &random);
        for (size_t dump = 0; dump < dumps; dump++) {
            if (dump) Live(&process, &random);
            compared.Dump(&process);
        }
        compared.Compare();
        CheckSums(compared);
        if (!compared.difference->inexact) {
            CheckObjects(compared);
            exact++;
        }
        if (HasFatalFailure()) return;
    }
    EXPECT_GT(exact, 500);
}

TEST(Difference, OfOtherProcessesAddsUpToo)
{
    std::mt19937 random(22);
    for (int i = 0; i < 300; i++) {
        SCOPED_TRACE(i);
        Process process;
        Compared compared;
        for (int turn = 0; turn < 3; turn++) Live(&process, &random);
        for (size_t dump = 0, dumps = 2 + random() % 3; dump < dumps; dump++) {
            if (dump) Live(&process, &random);
            compared.Dump(&process, std::to_string(dump));
        }
        compared.Compare();
        EXPECT_STREQ("they are not of one process", compared.difference->inexact);
        CheckSums(compared);
        if (HasFatalFailure()) return;
    }
}

// All references are drawn anew; what is alive and how large it is stay.
TEST(Difference, NewReferencesAreNoGrowth)
{
    std::mt19937 random(23);
    for (int i = 0; i < 300; i++) {
        SCOPED_TRACE(i);
        Process process;
        Compared compared;
        std::vector<int> ids;
        for (int object = 0; object < 20; object++)
            ids.push_back(process.Make(kTypes[random() % 3].first, "Order", random() % 100));
        for (int dump = 0; dump < 3; dump++) {
            for (int from : ids) {
                process.Of(from).references.clear();
                if (random() % 2) process.Move(from);
            }
            process.Of(0).references.clear();
            for (size_t at = 0; at < ids.size(); at++) {
                size_t from = random() % (at + 1);
                if (from < at) process.Refer(ids[from], ids[at], kLabels[random() % 3].first, "@a");
                else process.Refer(0, ids[at], HEAPPROF_DUMP_GLOBAL, "$a");
            }
            compared.Dump(&process);
        }
        compared.Compare();
        EXPECT_EQ(std::vector<int64_t>(), compared.Growths());
        CheckSums(compared);
        CheckObjects(compared);
        if (HasFatalFailure()) return;
    }
}

// The same objects, of which the second dump does not know that they are: pairs of equal places.
TEST(Difference, OfEqualProcessesHasNoGrowth)
{
    std::mt19937 random(24);
    for (int i = 0; i < 200; i++) {
        SCOPED_TRACE(i);
        Process process;
        Compared compared;
        for (int turn = 0; turn < 4; turn++) Live(&process, &random);
        compared.Dump(&process, "one");
        compared.Dump(&process, "other");
        compared.Compare();
        EXPECT_NE(nullptr, compared.difference->inexact);
        for (uint32_t row = 0; row < compared.difference->count; row++) {
            EXPECT_EQ(0u, compared.difference->all[row].new_objects);
            EXPECT_EQ(0u, compared.difference->all[row].freed_objects);
        }
        CheckSums(compared);
        if (HasFatalFailure()) return;
    }
}

// ---- situations ----

// A constant of 100 Leaks, and a method that uses it from the second dump on; `leaks` more are made
// then.
struct Uses {
    Process process;
    Compared compared;
    int object, list, leaks = 0;

    explicit Uses(bool constant_list = true)
    {
        object = process.Make("T_CLASS", "Class", 0, "Object");
        list = process.Make("T_ARRAY", "Array");
        process.Refer(0, object, HEAPPROF_DUMP_C_GLOBAL, "rb_cObject");
        if (constant_list) process.Refer(object, list, HEAPPROF_DUMP_CONSTANT, "L");
        Leak(100);
        compared.Dump(&process);
    }
    void Leak(int count)
    {
        for (; count > 0; count--) process.Refer(list, process.Make("T_OBJECT", "Leak"));
    }
    void Use()
    {
        int method = process.Make("T_IMEMO(iseq)", "");
        process.Refer(object, method, HEAPPROF_DUMP_FIELD, "method use");
        process.Refer(method, list, HEAPPROF_DUMP_FIELD, "constant cache");
    }
};

TEST(Difference, TheFirstUseOfAConstantIsNoGrowth)
{
    Uses uses;

    uses.Use();
    uses.compared.Dump(&uses.process);
    uses.compared.Compare();
    CheckSums(uses.compared);
    CheckObjects(uses.compared);
    EXPECT_EQ((std::vector<int64_t> { 40 }),
              uses.compared.Growths()); // the method itself, below class Object
    EXPECT_EQ(0, uses.compared.Growth(uses.list));
}

// Its row is that of the Array, in each step.
TEST(Difference, ALeakBesideAFirstUseHasARowOfItsOwn)
{
    Uses uses;

    uses.Use();
    uses.Leak(200);
    uses.compared.Dump(&uses.process);
    uses.Leak(300);
    uses.compared.Dump(&uses.process);
    uses.compared.Compare();
    CheckSums(uses.compared);
    CheckObjects(uses.compared);
    EXPECT_EQ((std::vector<int64_t>{500 * 40, 40}), uses.compared.Growths());
    const graph_growth &row = uses.compared.Row(uses.list);
    EXPECT_EQ(200u * 40, row.bytes[1] - row.bytes[0]);
    EXPECT_EQ(300u * 40, row.bytes[2] - row.bytes[1]);
    EXPECT_EQ(500u, row.new_objects);
    EXPECT_EQ(uses.compared.NumberOf(2, uses.list), row.survivor);
    EXPECT_STREQ("Leak", graph_class_name(uses.compared.Last().graph, row.fresh));
}

TEST(Difference, ABufferGrowsInPlace)
{
    Process process;
    Compared compared;
    int buffer = process.Make("T_STRING", "String", 1000);

    process.Refer(0, buffer, HEAPPROF_DUMP_GLOBAL, "$log");
    compared.Dump(&process);
    process.Of(buffer).external = 34000;
    process.Move(buffer);
    compared.Dump(&process);
    compared.Compare();
    CheckSums(compared);
    CheckObjects(compared);
    EXPECT_EQ((std::vector<int64_t>{33000}), compared.Growths());
    EXPECT_EQ(33000, compared.Row(buffer).grown);
    EXPECT_EQ(0u, compared.Row(buffer).new_objects);
    EXPECT_EQ(compared.NumberOf(1, buffer), compared.Row(buffer).survivor);
    EXPECT_EQ(33000, compared.Row(buffer).survivor_grown);
    EXPECT_EQ(1u, compared.Row(buffer).grown_survivors);
}

// Not the one that is largest.
TEST(Difference, TheSurvivorOfARowIsTheOneThatGrewMost)
{
    Process process;
    Compared compared;
    int list = process.Make("T_ARRAY", "Array"), buffers[3];

    process.Refer(0, list, HEAPPROF_DUMP_GLOBAL, "$buffers");
    for (int &buffer : buffers) {
        buffer = process.Make("T_STRING", "String", &buffer == &buffers[0] ? 9000 : 100);
        process.Refer(list, buffer, HEAPPROF_DUMP_INDEX, "");
    }
    compared.Dump(&process);
    process.Of(buffers[0]).external = 9001;
    process.Of(buffers[1]).external = 5000;
    process.Of(buffers[2]).external = 50;
    compared.Dump(&process);
    compared.Compare();
    CheckSums(compared);
    const graph_growth &row = compared.Row(buffers[0]);
    EXPECT_EQ(compared.NumberOf(1, buffers[1]), row.survivor);
    EXPECT_EQ(4900, row.survivor_grown);
    EXPECT_EQ(2u, row.grown_survivors);
    EXPECT_EQ(4851, row.grown);
}

// What the holder refers to is first, then what is most, then what only the VM knows.
TEST(Difference, NewObjectsAreCountedByClass)
{
    Process process;
    Compared compared;
    int list = process.Make("T_ARRAY", "Array");
    auto make = [&](int holder, const char *type, const char *class_name) {
        int made = process.Make(type, class_name);
        process.Refer(holder, made, HEAPPROF_DUMP_IVAR, "@it");
        return made;
    };

    process.Refer(0, list, HEAPPROF_DUMP_GLOBAL, "$orders");
    compared.Dump(&process);
    for (int i = 0; i < 2; i++) {
        int order = make(list, "T_OBJECT", "Order");
        for (int k = 0; k < 3; k++) make(order, "T_STRING", "String");
        for (int k = 0; k < 5; k++) make(order, "T_IMEMO(env)", "");
        make(order, "T_HASH", "Hash");
    }
    compared.Dump(&process);
    compared.Compare();
    CheckSums(compared);
    uint32_t row = 0;
    while (compared.difference->all[row].new_objects == 0) row++;
    graph_arrivals arrivals;
    const graph *last = compared.Last().graph;
    ASSERT_TRUE(graph_arrivals_make(&arrivals, compared.difference.get(), last));
    EXPECT_EQ("2 new Orders, 6 Strings, 2 Hashes and 10 others",
              Written([&](FILE *out) { graph_put_arrivals(out, &arrivals, last, row); }));
    EXPECT_EQ("", Written([&](FILE *out) { graph_put_arrivals(out, &arrivals, last, row + 1); }));
    graph_arrivals_free(&arrivals);
    EXPECT_EQ(2u, compared.difference->all[row].fresh_count);
}

// At shift the elements' memory becomes an object that is shared; jobs come and go.
TEST(Difference, AQueueCancelsOut)
{
    Process process;
    Compared compared;
    int queue = process.Make("T_ARRAY", "Array", 8000);
    std::vector<int> jobs;

    process.Refer(0, queue, HEAPPROF_DUMP_GLOBAL, "$queue");
    for (int i = 0; i < 100; i++) {
        jobs.push_back(process.Make("T_OBJECT", "Job", 500));
        process.Refer(queue, jobs.back());
    }
    compared.Dump(&process);
    int shared = process.Make("T_ARRAY", "Array", 8000);
    process.Of(queue).external = 0;
    process.Of(queue).references.clear();
    process.Refer(queue, shared, HEAPPROF_DUMP_FIELD, "shared");
    process.Free(jobs[0]);
    jobs[0] = process.Make("T_OBJECT", "Job", 500);
    for (int job : jobs) process.Refer(shared, job);
    compared.Dump(&process);
    compared.Compare();
    CheckSums(compared);
    CheckObjects(compared);
    EXPECT_EQ((std::vector<int64_t>{40}), compared.Growths()); // the slot of what is shared
    const graph_growth &row = compared.Row(queue);
    EXPECT_EQ(2u, row.new_objects);
    EXPECT_EQ(1u, row.freed_objects);
    EXPECT_EQ(-8000, row.grown);
}

// Methods with names of their own are one row of their module.
TEST(Difference, NamesOfTheirOwnAreOneRow)
{
    Process process;
    Compared compared;
    int module = process.Make("T_MODULE", "Module", 0, "Views"), made = 0;
    auto make = [&](int count) {
        for (; count > 0; count--) {
            int method = process.Make("T_IMEMO(ment)", "");
            process.Refer(module, method, HEAPPROF_DUMP_FIELD,
                          "method show_" + std::to_string(made++));
            process.Refer(method, process.Make("T_IMEMO(iseq)", "", 3000), HEAPPROF_DUMP_FIELD,
                          "code");
        }
    };

    process.Refer(0, module, HEAPPROF_DUMP_C_GLOBAL, "views");
    make(5);
    compared.Dump(&process);
    make(195);
    compared.Dump(&process);
    compared.Compare();
    CheckSums(compared);
    CheckObjects(compared);
    EXPECT_EQ((std::vector<int64_t>{195 * 3080}), compared.Growths());
    for (uint32_t row = 0; row < compared.difference->count; row++) {
        const graph_growth &growth = compared.difference->all[row];
        if (!growth.new_objects) continue;
        EXPECT_TRUE(growth.structure);
        EXPECT_EQ(compared.difference->patterns.of[compared.NumberOf(1, module)], growth.holder);
        EXPECT_EQ(2u * 195, growth.new_objects);
    }
}

// Pushed at its head: the new nodes hold the old ones.
TEST(Difference, AListOfTwoStepsIsOneRow)
{
    Process process;
    Compared compared;
    int tail = 0;
    auto push = [&](int count) {
        for (; count > 0; count--) {
            int entry = process.Make("T_OBJECT", "Entry"), pair = process.Make("T_ARRAY", "Array");
            process.Refer(entry, pair, HEAPPROF_DUMP_IVAR, "@pair");
            if (tail) process.Refer(pair, tail);
            tail = entry;
        }
        process.Of(0).references.clear();
        process.Refer(0, tail, HEAPPROF_DUMP_GLOBAL, "$tail");
    };

    push(50);
    compared.Dump(&process);
    push(50);
    compared.Dump(&process);
    compared.Compare();
    CheckSums(compared);
    CheckObjects(compared);
    EXPECT_EQ((std::vector<int64_t>{50 * 80}), compared.Growths());
}

// A holder of the program's structure has a row for each class that it holds anew.
TEST(Difference, ARootHasARowForEachClass)
{
    Process process;
    Compared compared;

    process.Refer(0, process.Make("T_OBJECT", "Order"), HEAPPROF_DUMP_GLOBAL, "$order");
    compared.Dump(&process);
    for (int i = 0; i < 10; i++) {
        process.Refer(0, process.Make("T_OBJECT", "Order"), HEAPPROF_DUMP_GLOBAL,
                      "$order" + std::to_string(i));
        process.Refer(0, process.Make("T_OBJECT", "Cart", 60), HEAPPROF_DUMP_GLOBAL,
                      "$cart" + std::to_string(i));
    }
    compared.Dump(&process);
    compared.Compare();
    CheckSums(compared);
    CheckObjects(compared);
    EXPECT_EQ((std::vector<int64_t>{1000, 400}), compared.Growths());
}

// Two objects that say they came from one: one of them is new.
TEST(Difference, AHostileMoveMakesNoObjectTwice)
{
    std::vector<std::unique_ptr<Made>> made;
    std::vector<graph_dump> dumps;
    graph_difference difference;

    for (int dump = 1; dump <= 2; dump++) {
        Drawing drawing(1 + static_cast<size_t>(dump));
        drawing.set = "1";
        drawing.dump = std::to_string(dump);
        for (uint32_t object = 1; object < drawing.size(); object++) {
            drawing.Root(object, HEAPPROF_DUMP_GLOBAL, "$a");
            drawing.objects[object].bits = dump == 2 ? HEAPPROF_DUMP_SURVIVOR : 0;
        }
        if (dump == 2) drawing.moves = {{0, 0}, {0, 1}};
        made.emplace_back(new Made(FileOf(drawing)));
        dumps.push_back(
            { made.back()->graph, &made.back()->dominators, &made.back()->dominator_tree });
    }
    ASSERT_TRUE(graph_difference_make(&difference, dumps.data(), 2));
    uint64_t fresh = 0, freed = 0;
    for (uint32_t row = 0; row < difference.count; row++) {
        fresh += difference.all[row].new_objects;
        freed += difference.all[row].freed_objects;
    }
    EXPECT_EQ(1u, fresh);
    EXPECT_EQ(0u, freed);
    graph_difference_free(&difference);
}

} // namespace
