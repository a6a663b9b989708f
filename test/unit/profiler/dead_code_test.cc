// dead_code_test.cc - what dead code leaves is made one: nothing is lost, what is alive is shown
// as before, and the tables of a process that makes code as it runs stay as small as its living
// code.

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "test/unit/support/take_snapshot.h"
#include "test/unit/support/table_testing.h"

extern "C" {
#include "profiler/dead_code.h"
}

namespace {

using Frame = std::pair<uint32_t, uint32_t>; // code, by the identity that dies with it; line

// What there is of something that can be told apart.
struct Sum {
    double objects = 0, bytes = 0;
    uint64_t live = 0;

    bool
    operator==(const Sum &other) const
    {
        return objects == other.objects && bytes == other.bytes && live == other.live;
    }
};

// What a function says, by which it is entered again when it is seen again.
struct FunctionText {
    std::string name, path;
    uint32_t first_line;
    bool cfunc;
};

using Sums = std::map<std::string, Sum>;

class DeadCodeTest : public testing::Test {
  protected:
    heapprof_mem mem_;
    heapprof_tables tables_;
    uint8_t block_filter_[HEAPPROF_BLOCK_FILTER_SIZE] = {};
    uint32_t page_ = 0, live_page_ = 0;
    uintptr_t address_ = 0x10000;
    std::map<uint32_t, uintptr_t> code_, classes_; // living: by identity, their addresses
    std::map<uint32_t, FunctionText> texts_;

    void
    SetUp() override
    {
        page_ = live_page_ = 0;
        code_.clear();
        classes_.clear();
        rb_heapprof_mem_init(&mem_, SIZE_MAX);
        rb_heapprof_tables_init(&tables_, &mem_, block_filter_);
    }

    void
    TearDown() override
    {
        rb_heapprof_tables_check(&tables_);
        rb_heapprof_tables_free(&tables_);
        EXPECT_EQ(0u, mem_.used_bytes);
    }

    // ---- what happens in a process ----

    uint32_t
    String(const std::string &text)
    {
        return rb_heapprof_strings_intern(&tables_.strings, text.data(), text.size());
    }

    uint32_t
    Identify(uintptr_t address)
    {
        return rb_heapprof_identities_add(&tables_.identities, &page_, address);
    }

    void
    Die(uintptr_t address)
    {
        uint32_t entry = rb_heapprof_address_table_find(&tables_.identities.addresses, address);
        rb_heapprof_identities_died(&tables_.identities, &page_, entry);
    }

    // Code, which lives.
    uint32_t
    Code(const std::string &name, const std::string &path, uint32_t first_line = 1)
    {
        return Enter({name, path, first_line, false});
    }

    // A C method of a class of its own.
    uint32_t
    CMethod(const std::string &name)
    {
        return Enter({name, "", 0, true});
    }

    uint32_t
    Enter(const FunctionText &text)
    {
        uintptr_t address = address_ += 40;
        uint32_t id = Identify(address);
        code_[id] = address;
        texts_[id] = text;
        return id;
    }

    // The number of the function, which a trim may have taken away.
    uint32_t
    Function(uint32_t id)
    {
        const FunctionText &text = texts_.at(id);
        uint64_t origin = text.cfunc ? HEAPPROF_ORIGIN_C | 77 : id;
        uint32_t owner = text.cfunc ? id : 0;
        uint32_t number = rb_heapprof_functions_find(&tables_.functions, origin, owner);
        if (number) return number;
        heapprof_function function = {};
        function.origin = origin;
        function.owner = owner;
        function.name = String(text.name);
        function.path = String(text.path);
        function.first_line = text.first_line;
        function.cfunc = text.cfunc;
        return rb_heapprof_functions_add(&tables_.functions, &function);
    }

    uint32_t
    Class(const std::string &name)
    {
        uintptr_t klass = address_ += 40;
        uint32_t id = Identify(klass);
        rb_heapprof_identities_change(&tables_.identities, id)->name =
            name.empty() ? HEAPPROF_UNNAMED : String(name);
        classes_[id] = klass;
        return id;
    }

    void
    CodeDies(uint32_t id)
    {
        Die(code_.at(id));
        code_.erase(id);
    }

    void
    ClassDies(uint32_t id)
    {
        Die(classes_.at(id));
        classes_.erase(id);
    }

    uint32_t
    Stack(const std::vector<Frame> &frames)
    {
        uint32_t stack = 0;
        for (const Frame &frame : frames) {
            stack = rb_heapprof_stacks_push(&tables_.stacks, stack, Function(frame.first),
                                            frame.second);
        }
        return stack;
    }

    uint32_t
    Count(uint32_t stack, uint32_t class_id, double weight, size_t bytes)
    {
        uint32_t site = rb_heapprof_sites_intern(&tables_.sites, stack, class_id, 0);
        rb_heapprof_sites_count_alloc(&tables_.sites, site, weight, bytes);
        return site;
    }

    void
    Dead(uint32_t stack, uint32_t class_id, double weight, size_t bytes)
    {
        rb_heapprof_sites_count_free(&tables_.sites, Count(stack, class_id, weight, bytes));
    }

    // Returns the object's address.
    uintptr_t
    Live(uint32_t stack, uint32_t class_id, double weight, uint16_t bytes)
    {
        uintptr_t object = address_ += 40;
        heapprof_sample sample = { Count(stack, class_id, weight, bytes), 0,
                                   static_cast<float>(weight), bytes, bytes };
        rb_heapprof_live_table_add(&tables_.live, &live_page_, object, &sample);
        return object;
    }

    void
    Free(uintptr_t object)
    {
        uint32_t entry = rb_heapprof_address_table_find(&tables_.live.addresses, object);
        rb_heapprof_sites_count_free(&tables_.sites,
                                     rb_heapprof_live_table_sample(&tables_.live, entry)->site);
        rb_heapprof_address_table_remove(&tables_.live.addresses, &live_page_, entry);
    }

    // As a thread without the GVL enters it: at a site that is not known yet.
    void
    Wait()
    {
        heapprof_piece piece = {};
        piece.asked_bytes = 100;
        piece.site = HEAPPROF_SITE_WAITING;
        piece.weight = 1;
        rb_heapprof_blocks_add(&tables_.blocks, address_ += 64, &piece);
    }

    uintptr_t
    Block(uint32_t stack, double weight, size_t bytes)
    {
        heapprof_piece piece = {};
        piece.asked_bytes = bytes;
        piece.site = Count(stack, HEAPPROF_SITE_OF_BLOCKS, weight, bytes);
        piece.weight = static_cast<float>(weight);
        rb_heapprof_blocks_add(&tables_.blocks, address_ += 64, &piece);
        return address_;
    }

    void
    Merge()
    {
        rb_heapprof_tables_check(&tables_);
        rb_heapprof_dead_code_merge(&tables_);
        rb_heapprof_tables_check(&tables_);
    }

    // ---- what can be told ----

    std::string
    Text(uint32_t number) const
    {
        size_t length;
        const char *text = rb_heapprof_strings_get(&tables_.strings, number, &length);
        return std::string(text, length);
    }

    bool
    DeadClass(uint32_t id) const
    {
        return id && (tables_.identities.all[id].dead || ClassText(id) == "[dead class]");
    }

    bool
    DeadFunction(uint32_t number) const
    {
        const heapprof_function &function = tables_.functions.all[number];
        if (Text(function.name) == "[dead code]" || DeadClass(function.owner)) return true;
        return !(function.origin & HEAPPROF_ORIGIN_C) &&
               tables_.identities.all[function.origin].dead;
    }

    std::string
    ClassText(uint32_t id) const
    {
        uint32_t name = id ? tables_.identities.all[id].name : 0;
        return name == HEAPPROF_UNNAMED ? "(anonymous)" : Text(name);
    }

    // living: without frames of what is dead.
    std::string
    StackText(uint32_t stack, bool living = false) const
    {
        std::string text;
        for (; stack; stack = tables_.stacks.nodes[stack].parent) {
            const heapprof_stack_node &node = tables_.stacks.nodes[stack];
            const heapprof_function &function = tables_.functions.all[node.function];
            if (living && DeadFunction(node.function)) continue;
            text += Text(function.name) + (function.cfunc ? "()" : "") + " " + Text(function.path) +
                    ":" + std::to_string(function.first_line) + ":" + std::to_string(node.line) +
                    "\n";
        }
        return text;
    }

    std::string
    SiteText(uint32_t number, bool living = false) const
    {
        const heapprof_site &site = tables_.sites.all[number];
        uint32_t id = rb_heapprof_site_identity(&site);
        std::string subject = living && DeadClass(id) ? "dead" : ClassText(id);
        return (rb_heapprof_site_of_blocks_p(&site) ? "blocks " : "objects ") + subject + "\n" +
               StackText(site.stack, living);
    }

    Sums
    AllSums(bool living = false) const
    {
        Sums sums;
        for (uint32_t number = 1; number < tables_.sites.numbers.end; number++) {
            const heapprof_site &site = tables_.sites.all[number];
            if (!site.used) continue;
            Sum &sum = sums[SiteText(number, living)];
            sum.objects += site.alloc_objects;
            sum.bytes += site.alloc_bytes;
            sum.live += site.live_samples;
        }
        return sums;
    }

    // What each live sample, and each piece of a block, is shown at.
    std::vector<std::string>
    Alive() const
    {
        std::vector<std::string> alive;
        for (uint32_t entry = 1; entry < tables_.live.addresses.numbers.end; entry++) {
            if (!rb_heapprof_address_table_address(&tables_.live.addresses, entry)) continue;
            alive.push_back(SiteText(tables_.live.samples[entry].site));
        }
        for (uint32_t number = 1; number < tables_.blocks.numbers.end; number++) {
            uint32_t site = tables_.blocks.pieces[number].site;
            if (site) alive.push_back(site == HEAPPROF_SITE_WAITING ? "waits" : SiteText(site));
        }
        return alive;
    }

    size_t
    Sites() const
    {
        return tables_.sites.numbers.count;
    }

    static heapprof_facts
    Facts()
    {
        heapprof_facts facts = {};
        facts.gc_count = 100;
        return facts;
    }
};

TEST_F(DeadCodeTest, WhatHasBeenEvaluatedAgainAndAgainIsOne)
{
    uint32_t main = Code("<main>", "/main.rb"), string = Class("String");
    for (int i = 0; i < 100; i++) {
        uint32_t f = Code("f", "(eval at /main.rb:3)");
        Dead(Stack({{main, 3}, {f, 1}, {main, 4}}), string, 1, 40);
        CodeDies(f);
    }
    Sums before = AllSums();
    Merge();
    EXPECT_EQ(before, AllSums());
    EXPECT_EQ(1u, Sites());
    EXPECT_EQ(3u, tables_.stacks.numbers.count);
    EXPECT_EQ(2u, tables_.functions.numbers.count);
    EXPECT_EQ(99u, tables_.merged_sites);
    EXPECT_EQ(0u, tables_.nameless_sites);
    EXPECT_EQ(0u, tables_.identities.deaths);
}

TEST_F(DeadCodeTest, WhatLooksDifferentStaysApart)
{
    uint32_t main = Code("<main>", "/main.rb"), string = Class("String"), array = Class("Array");
    std::vector<uint32_t> functions = { Code("f", "/a.rb", 1), Code("f", "/a.rb", 2),
                                        Code("f", "/b.rb", 1), Code("g", "/a.rb", 1),
                                        CMethod("f") };
    for (uint32_t function : functions) {
        for (uint32_t line : {1, 2}) {
            Dead(Stack({{main, line}, {function, 5}}), string, 1, 40);
            Dead(Stack({{main, 1}, {function, line + 5}}), array, 1, 40);
        }
        Live(Stack({{main, 3}, {function, 5}}), string, 1, 40);
        Block(Stack({{main, 3}, {function, 5}}), 1, 100);
    }
    for (uint32_t function : functions) CodeDies(function);
    size_t sites = Sites();
    Sums before = AllSums();
    Merge();
    EXPECT_EQ(before, AllSums());
    EXPECT_EQ(sites, Sites());
}

TEST_F(DeadCodeTest, WhatLivesIsNotMerged)
{
    uint32_t string = Class("String");
    for (int i = 0; i < 5; i++) {
        uint32_t f = Code("f", "/a.rb");
        Dead(Stack({{f, 1}}), string, 1, 40);
        Dead(Stack({{f, 1}}), Class("Twin"), 1, 40);
        if (i < 2) CodeDies(f);
    }
    Merge();
    EXPECT_EQ(4u, tables_.functions.numbers.count);
    EXPECT_EQ(4u + 5u, Sites()); // of String; of Twin
}

TEST_F(DeadCodeTest, ClassesWithoutANameAreOneWhenTheyAreDead)
{
    uint32_t main = Code("<main>", "/main.rb");
    for (int i = 0; i < 100; i++) {
        uint32_t method = CMethod("hi"), anonymous = Class(i % 2 ? "#<Class < Foo>" : "");
        Dead(Stack({{main, 3}, {method, 0}}), anonymous, 1, 40);
        CodeDies(method);
        ClassDies(anonymous);
    }
    Sums before = AllSums();
    Merge();
    EXPECT_EQ(before, AllSums());
    EXPECT_EQ(2u, Sites());
}

TEST_F(DeadCodeTest, WhatIsAliveIsShownAsBeforeAndDiesAtItsSite)
{
    uint32_t main = Code("<main>", "/main.rb"), string = Class("String");
    std::vector<uintptr_t> objects, blocks;
    Wait();
    for (int i = 0; i < 10; i++) {
        uint32_t f = Code("f", "/a.rb");
        uint32_t stack = Stack({{main, 3}, {f, 1}});
        objects.push_back(Live(stack, string, 3, 40));
        blocks.push_back(Block(stack, 2, 100));
        CodeDies(f);
    }
    rb_heapprof_blocks_remove(&tables_.blocks, blocks.back()); // retired: its site is told later
    blocks.pop_back();
    auto before = Alive();
    Merge();
    EXPECT_EQ(before, Alive());
    EXPECT_EQ(2u, Sites());
    for (uintptr_t object : objects) Free(object);
    for (uintptr_t block : blocks) rb_heapprof_blocks_remove(&tables_.blocks, block);
    while (uint32_t site = rb_heapprof_blocks_take_retired(&tables_.blocks)) {
        rb_heapprof_sites_count_free(&tables_.sites, site);
    }
    for (const auto &sum : AllSums()) {
        EXPECT_EQ(0u, sum.second.live);
        EXPECT_EQ(sum.first[0] == 'o' ? 30 : 20, sum.second.objects);
    }
}

// A running frame's callers, or a sample that waits for its class.
TEST_F(DeadCodeTest, AStackOfLivingCodeThatIsHeldKeepsItsNumber)
{
    uint32_t string = Class("String"), main = Code("<main>", "/main.rb");
    for (int i = 0; i < 20; i++) {
        uint32_t f = Code("f", "/a.rb");
        Dead(Stack({{f, 1}, {main, 1}}), string, 1, 40);
        CodeDies(f);
    }
    uint32_t f = Code("f", "/a.rb"), held = Stack({{f, 1}, {main, 1}});
    rb_heapprof_stacks_hold(&tables_.stacks, held);
    std::string text = StackText(held);
    Merge();
    EXPECT_EQ(text, StackText(held));
    EXPECT_EQ(held, Stack({{f, 1}, {main, 1}}));
    rb_heapprof_stacks_unhold(&tables_.stacks, held);
}

TEST_F(DeadCodeTest, DueIsWhatHasDiedInProportionToWhatThereIs)
{
    for (int i = 0; i < 63; i++) CodeDies(Code("f", "/a.rb"));
    EXPECT_FALSE(rb_heapprof_dead_code_due_p(&tables_));
    CodeDies(Code("f", "/a.rb"));
    EXPECT_TRUE(rb_heapprof_dead_code_due_p(&tables_));
    uint32_t string = Class("String"), main = Code("<main>", "/main.rb");
    for (uint32_t line = 1; line <= 10000; line++) Dead(Stack({{main, line}}), string, 1, 40);
    EXPECT_FALSE(rb_heapprof_dead_code_due_p(&tables_));
    Merge();
    EXPECT_EQ(0u, tables_.identities.deaths);
}

// ---- names that are given up ----

class DeadNamesTest : public DeadCodeTest {
  protected:
    uint32_t main_ = 0, string_ = 0, templates_ = 0;

    void
    SetUp() override
    {
        DeadCodeTest::SetUp();
        main_ = Code("<main>", "/main.rb");
        string_ = Class("String");
    }

    // One with a path of its own, that has allocated and died.
    void
    Template(size_t bytes = 40)
    {
        uint32_t code = Code("<main>", "t" + std::to_string(templates_++) + ".erb");
        uint32_t stack = Stack({{main_, 3}, {code, 1}});
        Dead(stack, string_, 1, bytes);
        Dead(Stack({{main_, 3}, {code, 1}, {code, 2}, {main_, 4}}), string_, 1, bytes);
        CodeDies(code);
    }
};

TEST_F(DeadNamesTest, ThereAreSoManyAndNoMore)
{
    for (int i = 0; i < HEAPPROF_DEAD_NAMES; i++) Template();
    Sums before = AllSums();
    Merge();
    EXPECT_EQ(before, AllSums());
    for (int i = 0; i < 10; i++) Template();
    Sums living = AllSums(true);
    Merge();
    EXPECT_EQ(living, AllSums(true));
    EXPECT_EQ(
        (Sums {
            { "objects String\n[dead code] :0:0\n<main> /main.rb:1:3\n", { 266, 266 * 40.0, 0 } },
            { "objects String\n<main> /main.rb:1:4\n[dead code] :0:0\n<main> /main.rb:1:3\n",
              { 266, 266 * 40.0, 0 } } }),
        AllSums());
    EXPECT_EQ(2u * (HEAPPROF_DEAD_NAMES + 10), tables_.nameless_sites);
    EXPECT_EQ(2u, tables_.functions.numbers.count);
}

TEST_F(DeadNamesTest, WhatHasAllocatedMuchKeepsItsName)
{
    Template(1 << 20);
    for (int round = 0; round < 50; round++) {
        for (int i = 0; i < 100; i++) Template();
        Merge();
    }
    EXPECT_EQ(1u, AllSums().count("objects String\n<main> t0.erb:1:1\n<main> /main.rb:1:3\n"));
}

// Where each name has a site that has allocated more than most.
TEST_F(DeadNamesTest, NamesGoByAllThatHasBeenAllocatedUnderThem)
{
    uint32_t often = Code("<main>", "often.erb");
    for (uint32_t line = 1; line <= 100; line++)
        Dead(Stack({ { main_, 3 }, { often, line } }), string_, 1, 400);
    CodeDies(often);
    for (int i = 0; i < 1000; i++) {
        uint32_t code = Code("<main>", "t" + std::to_string(i) + ".erb");
        Dead(Stack({{main_, 3}, {code, 1}}), string_, 1, 40);
        Dead(Stack({{main_, 3}, {code, 2}}), string_, 1, 40);
        Dead(Stack({{main_, 3}, {code, 3}}), string_, 1, 5000);
        CodeDies(code);
    }
    Merge();
    EXPECT_EQ(101u, Sites());
    EXPECT_EQ(1u, AllSums().count("objects String\n<main> often.erb:1:1\n<main> /main.rb:1:3\n"));
    EXPECT_EQ(5080000, AllSums()["objects String\n[dead code] :0:0\n<main> /main.rb:1:3\n"].bytes);
}

TEST_F(DeadNamesTest, WhatIsAliveKeepsItsRowUntilItDies)
{
    uint32_t code = Code("<main>", "alive.erb");
    uintptr_t object = Live(Stack({{main_, 3}, {code, 1}}), string_, 1, 40);
    CodeDies(code);
    for (int i = 0; i < 1000; i++) Template();
    auto before = Alive();
    Merge();
    EXPECT_EQ(before, Alive());
    Free(object);
    for (int i = 0; i < 1000; i++) Template();
    Merge();
    EXPECT_EQ(0u, AllSums().count(before[0]));
    EXPECT_EQ(2u, Sites());
}

TEST_F(DeadNamesTest, ClassesWithNamesOfTheirOwnAreDeadClasses)
{
    for (int i = 0; i < 1000; i++) {
        uint32_t named = Class("Named" + std::to_string(i));
        Dead(Stack({{main_, 3}}), named, 1, 40);
        ClassDies(named);
    }
    Merge();
    EXPECT_EQ((Sums{{"objects [dead class]\n<main> /main.rb:1:3\n", {1000, 40000, 0}}}), AllSums());
    EXPECT_EQ(1u, rb_heapprof_dead_code_share(&tables_).sites);
}

// Recursion through dead code would make ever new stacks.
TEST_F(DeadNamesTest, DeadCodeWithinDeadCodeIsOneFrame)
{
    for (int i = 0; i < 1000; i++) {
        std::vector<Frame> frames = {{main_, 3}};
        std::vector<uint32_t> codes;
        for (int depth = 0; depth <= i % 10; depth++) {
            codes.push_back(Code("<main>", "t" + std::to_string(10 * i + depth) + ".erb"));
            frames.push_back({codes.back(), 1});
        }
        Dead(Stack(frames), string_, 1, 40);
        for (uint32_t code : codes) CodeDies(code);
    }
    Merge();
    EXPECT_EQ((Sums { { "objects String\n[dead code] :0:0\n<main> /main.rb:1:3\n",
                        { 1000, 40000, 0 } } }),
              AllSums());
}

TEST_F(DeadNamesTest, TheTablesOfAProcessThatRendersForAMonthAreThoseOfItsLivingCode)
{
    size_t most = 0, used_bytes = 0;
    for (int round = 0; round < 300; round++) {
        for (int i = 0; i < 20; i++) Template();
        for (int i = 0; i < 20; i++) {
            uint32_t method = CMethod("hi"), anonymous = Class("#<Class>");
            Dead(Stack({{main_, 5}, {method, 0}}), anonymous, 1, 40);
            CodeDies(method);
            ClassDies(anonymous);
        }
        if (rb_heapprof_dead_code_due_p(&tables_)) rb_heapprof_dead_code_merge(&tables_);
        size_t entries = rb_heapprof_tables_entries(&tables_);
        if (round < 60) most = std::max(most, entries);
        if (round == 60) used_bytes = mem_.used_bytes;
        ASSERT_LE(entries, most + most / 4) << round;
    }
    EXPECT_LE(mem_.used_bytes, used_bytes + used_bytes / 4);
    EXPECT_LE(tables_.functions.numbers.count, 2u * HEAPPROF_DEAD_NAMES);
}

TEST_F(DeadNamesTest, TheShareOfDeadCodeIsCounted)
{
    auto share = rb_heapprof_dead_code_share(&tables_);
    EXPECT_EQ(0u, share.functions + share.stack_nodes + share.sites);
    Dead(Stack({{main_, 9}}), string_, 1, 40);
    for (int i = 0; i < 3; i++) Template();
    share = rb_heapprof_dead_code_share(&tables_);
    EXPECT_EQ(3u, share.functions);
    EXPECT_EQ(6u, share.stack_nodes);
    EXPECT_EQ(3u, share.sites); // the other three are at a line of <main>
}

// ---- memory ----

// Whatever it cannot have stays as it was.
TEST_F(DeadNamesTest, WhereMemoryIsRefusedNothingIsLost)
{
    for (size_t pages = 0; pages < 20; pages++) {
        TearDown();
        SetUp();
        for (int i = 0; i < 2000; i++) Template();
        for (int i = 0; i < 3000; i++) {
            uint32_t f = Code("f", "/a.rb"), twin = Class("Twin");
            Dead(Stack({{main_, 4}, {f, 1}}), twin, 1, 40);
            CodeDies(f);
            ClassDies(twin);
        }
        mem_.budget_bytes = mem_.used_bytes + 4096 * pages;
        Sums living = AllSums(true);
        Merge();
        EXPECT_EQ(living, AllSums(true));
        mem_.budget_bytes = SIZE_MAX;
        Merge();
        EXPECT_EQ(living, AllSums(true));
        EXPECT_LE(Sites(), 8u);
    }
}

// ---- all of it, by chance ----

class RandomDeadCodeTest : public DeadCodeTest {
  protected:
    Choices choices_{20261125};
    std::vector<uintptr_t> objects_, blocks_;
    int names_ = 0;
    bool unique_ = false; // names of their own

    template <typename Map>
    uint32_t
    AnyOf(const Map &map)
    {
        auto found = map.begin();
        std::advance(found, choices_.Below(map.size()));
        return found->first;
    }

    std::string
    Name()
    {
        return unique_ && choices_.OneIn(2)
                   ? "n" + std::to_string(names_++)
                   : std::string(1, static_cast<char>('a' + choices_.Below(3)));
    }

    uint32_t
    AnyStack()
    {
        std::vector<Frame> frames;
        for (uint64_t depth = choices_.Below(6); depth > 0; depth--) {
            frames.push_back({AnyOf(code_), static_cast<uint32_t>(choices_.Below(2))});
        }
        return Stack(frames);
    }

    void
    FreeAny()
    {
        std::vector<uintptr_t> &from = choices_.OneIn(2) ? objects_ : blocks_;
        if (from.empty()) return;
        size_t which = choices_.Below(from.size());
        if (&from == &objects_) Free(from[which]);
        else rb_heapprof_blocks_remove(&tables_.blocks, from[which]);
        from.erase(from.begin() + static_cast<ptrdiff_t>(which));
    }

    void
    Settle()
    {
        while (uint32_t site = rb_heapprof_blocks_take_retired(&tables_.blocks)) {
            rb_heapprof_sites_count_free(&tables_.sites, site);
        }
    }

    void
    Step()
    {
        double weight =
            static_cast<double>(1 + choices_.Below(5)); // sums of whole numbers are exact
        auto size = static_cast<uint16_t>(40 << choices_.Below(4));
        switch (choices_.Below(10)) {
            case 0:
                choices_.OneIn(4) ? CMethod(Name())
                                  : Code(Name(), unique_ ? Name() : "p", 1 + choices_.OneIn(2));
                break;
            case 1: Class(choices_.OneIn(4) ? "" : Name()); break;
            case 2:
                if (code_.size() > 3) CodeDies(AnyOf(code_));
                break;
            case 3:
                if (classes_.size() > 3) ClassDies(AnyOf(classes_));
                break;
            case 4:
            case 5: Dead(AnyStack(), AnyOf(classes_), weight, size); break;
            case 6: objects_.push_back(Live(AnyStack(), AnyOf(classes_), weight, size)); break;
            case 7: {
                blocks_.push_back(Block(AnyStack(), weight, size));
                heapprof_owner owner = { 0x10, AnyOf(classes_), 0 };
                if (choices_.OneIn(2))
                    rb_heapprof_blocks_own(&tables_.blocks, blocks_.back(), &owner);
                break;
          }
          case 8: FreeAny(); break;
          default: if (choices_.OneIn(4)) Settle();
        }
    }

    std::vector<std::string>
    Owners()
    {
        std::vector<std::string> owners;
        for (uint32_t number = 0;
             (number = rb_heapprof_blocks_next(&tables_.blocks, number)) != 0; ) {
            owners.push_back(ClassText(tables_.blocks.owners[number].class_id));
        }
        return owners;
    }

    void
    MergeAndCompare()
    {
        Sums sums = AllSums(unique_);
        auto alive = Alive(), owners = Owners();
        Merge();
        ASSERT_EQ(sums, AllSums(unique_));
        ASSERT_EQ(alive, Alive());
        ASSERT_EQ(owners, Owners());
    }

    void
    Run()
    {
        for (int i = 0; i < 4; i++) {
            Code(Name(), "p");
            Class(Name());
        }
        for (int i = 0; i < 20000 && !HasFatalFailure(); i++) {
            Step();
            if (choices_.OneIn(600)) MergeAndCompare();
        }
    }
};

TEST_F(RandomDeadCodeTest, WhatCanBeToldApartIsWhatItWas)
{
    Run();
    EXPECT_EQ(0u, tables_.nameless_sites);
    EXPECT_GT(tables_.merged_sites, 100u);
}

TEST_F(RandomDeadCodeTest, WithNamesOfTheirOwnWhatLivesIsWhatItWas)
{
    unique_ = true;
    Run();
    EXPECT_GT(tables_.nameless_sites, 100u);
}

// Two mergings in a row: the second has nothing left to do.
TEST_F(RandomDeadCodeTest, MergedAgainTheyStay)
{
    Run();
    Merge();
    Sums sums = AllSums();
    size_t sites = Sites(), nodes = tables_.stacks.numbers.count,
           functions = tables_.functions.numbers.count;
    Merge();
    EXPECT_EQ(sums, AllSums());
    EXPECT_EQ(std::make_tuple(sites, nodes, functions),
              std::make_tuple(Sites(), static_cast<size_t>(tables_.stacks.numbers.count),
                              static_cast<size_t>(tables_.functions.numbers.count)));
}

// A snapshot of the tables has the same rows before and after.
TEST_F(RandomDeadCodeTest, ASnapshotHasTheSameRows)
{
    Run();
    heapprof_facts facts = Facts();
    heapprof_snapshot *before = TakeSnapshot(&tables_, &facts, nullptr);
    Merge();
    heapprof_snapshot *after = TakeSnapshot(&tables_, &facts, nullptr);
    EXPECT_EQ(before->row_count, after->row_count);
    double objects[2] = {}, bytes[2] = {};
    for (size_t i = 0; i < before->row_count; i++) {
        objects[0] += before->rows[i].alloc_objects;
        objects[1] += after->rows[i].alloc_objects;
        bytes[0] += before->rows[i].inuse_slot_bytes + before->rows[i].inuse_malloc_bytes;
        bytes[1] += after->rows[i].inuse_slot_bytes + after->rows[i].inuse_malloc_bytes;
    }
    EXPECT_EQ(objects[0], objects[1]);
    EXPECT_EQ(bytes[0], bytes[1]);
    rb_heapprof_snapshot_free(before);
    rb_heapprof_snapshot_free(after);
}

} // namespace
