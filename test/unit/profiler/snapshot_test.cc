// snapshot_test.cc - rows against a model that adds up with std::map, and frames.

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "test/unit/support/table_testing.h"
#include "test/unit/support/take_snapshot.h"

extern "C" {
#include "profiler/snapshot.h"
}

namespace {

using Snapshot = std::unique_ptr<heapprof_snapshot, decltype(&rb_heapprof_snapshot_free)>;

class SnapshotTest : public testing::Test {
  protected:
    heapprof_mem mem_;
    heapprof_tables tables_;
    uint8_t block_filter_[HEAPPROF_BLOCK_FILTER_SIZE] = {};
    heapprof_facts facts_ = {};
    uint32_t head_ = 0, class_head_ = 0;
    uintptr_t address_ = 0x10000;
    std::set<uintptr_t> gone_;
    int held_ = 0, released_ = 0;
    std::multiset<uintptr_t> asked_;

    void
    SetUp() override
    {
        rb_heapprof_mem_init(&mem_, SIZE_MAX);
        rb_heapprof_tables_init(&tables_, &mem_, block_filter_);
        facts_.gc_count = 100;
    }

    void
    TearDown() override
    {
        rb_heapprof_tables_free(&tables_);
        EXPECT_EQ(0u, mem_.used_bytes);
    }

    uint32_t
    String(const std::string &text)
    {
        return rb_heapprof_strings_intern(&tables_.strings, text.data(), text.size());
    }

    uint32_t
    Class()
    {
        return rb_heapprof_identities_add(&tables_.identities, &class_head_, address_ += 40);
    }

    uint32_t
    Class(const std::string &name)
    {
        uint32_t id = Class();
        tables_.identities.all[id].name = String(name);
        return id;
    }

    uint32_t
    Function(const std::string &name, const std::string &path, bool cfunc = false)
    {
        heapprof_function function = {};
        function.origin = tables_.functions.numbers.count + 1;
        function.name = String(name);
        function.path = String(path);
        function.first_line = 1;
        function.cfunc = cfunc;
        return rb_heapprof_functions_add(&tables_.functions, &function);
    }

    uint32_t
    Push(uint32_t parent, uint32_t function, uint32_t line)
    {
        return rb_heapprof_stacks_push(&tables_.stacks, parent, function, line);
    }

    // One sample that lives at the address returned.
    uintptr_t
    Live(uint32_t stack, uint32_t class_id, uint32_t birth_gc, double weight = 1,
         uint16_t size = 40)
    {
        uint32_t site = rb_heapprof_sites_intern(&tables_.sites, stack, class_id, 0);
        heapprof_sample sample = {site, birth_gc, static_cast<float>(weight), size, size};
        rb_heapprof_sites_count_alloc(&tables_.sites, site, weight, size);
        rb_heapprof_live_table_add(&tables_.live, &head_, address_ += 40, &sample);
        return address_;
    }

    uint32_t
    Caller()
    {
        uint32_t no_page = 0;
        return rb_heapprof_identities_add(&tables_.identities, &no_page,
                                          rb_heapprof_callers_key(address_ += 40));
    }

    uint32_t
    Caller(const std::string &name)
    {
        uint32_t id = Caller();
        tables_.identities.all[id].name = String(name);
        return id;
    }

    // A block asked for at the address returned.
    uintptr_t
    Block(uint32_t stack, uint32_t caller, uint32_t birth_gc, double weight, size_t bytes)
    {
        Grow(address_ += 48, 0, stack, caller, birth_gc, weight, bytes);
        return address_;
    }

    void
    Grow(uintptr_t address, size_t begin, uint32_t stack, uint32_t caller, uint32_t birth_gc,
         double weight, size_t bytes)
    {
        heapprof_piece piece = {};
        piece.begin = begin;
        piece.asked_bytes = bytes;
        piece.site = rb_heapprof_sites_intern(&tables_.sites, stack,
                                              caller | HEAPPROF_SITE_OF_BLOCKS, 0);
        piece.birth_gc = birth_gc;
        piece.weight = static_cast<float>(weight);
        rb_heapprof_blocks_add(&tables_.blocks, address, &piece);
        rb_heapprof_sites_count_alloc(&tables_.sites, piece.site, weight, bytes);
    }

    void
    FreeBlock(uintptr_t address)
    {
        rb_heapprof_blocks_remove(&tables_.blocks, address);
    }

    void
    Settle()
    {
        while (uint32_t site = rb_heapprof_blocks_take_retired(&tables_.blocks)) {
            rb_heapprof_sites_count_free(&tables_.sites, site);
        }
    }

    void
    Free(uintptr_t address)
    {
        uint32_t entry = rb_heapprof_address_table_find(&tables_.live.addresses, address);
        uint32_t site = rb_heapprof_live_table_sample(&tables_.live, entry)->site;
        rb_heapprof_sites_count_free(&tables_.sites, site);
        rb_heapprof_address_table_remove(&tables_.live.addresses, &head_, entry);
    }

    static bool
    GoneP(uintptr_t address, void *data)
    {
        SnapshotTest *self = static_cast<SnapshotTest *>(data);
        self->asked_.insert(address);
        return self->gone_.count(address) != 0;
    }

    Snapshot
    Take()
    {
        heapprof_asks asks = {};
        asks.gone_p = GoneP;
        asks.lock_blocks = [](void *test) { static_cast<SnapshotTest *>(test)->held_++; };
        asks.unlock_blocks = [](void *test) { static_cast<SnapshotTest *>(test)->released_++; };
        asks.data = this;
        return Snapshot(TakeSnapshot(&tables_, &facts_, &asks),
                        rb_heapprof_snapshot_free);
    }

    static std::string
    Text(const Snapshot &snapshot, uint32_t string)
    {
        size_t length = 0;
        const char *text = rb_heapprof_strings_get(&snapshot->strings, string, &length);
        return std::string(text, length);
    }

    static std::vector<uint32_t>
    Ages(const Snapshot &snapshot)
    {
        std::vector<uint32_t> ages;
        for (size_t i = 0; i < snapshot->row_count; i++) ages.push_back(snapshot->rows[i].gc_age);
        return ages;
    }

    // "name path:line" of each frame, innermost first.
    static std::vector<std::string>
    Frames(const Snapshot &snapshot, uint32_t stack, size_t capacity = 100)
    {
        std::vector<heapprof_frame> frames(capacity);
        size_t count = rb_heapprof_snapshot_frames(snapshot.get(), stack, frames.data(), capacity);
        std::vector<std::string> texts;
        for (size_t i = 0; i < std::min(count, capacity); i++) {
            texts.push_back(Text(snapshot, frames[i].name) + " " + Text(snapshot, frames[i].path) +
                            ":" + std::to_string(frames[i].line));
        }
        return texts;
    }
};

using Strings = std::vector<std::string>;
using Numbers = std::vector<uint32_t>;

// ---- rows ----

// Weights are quarters, which doubles add without rounding: sums must be equal, not near.
TEST_F(SnapshotTest, RowsAreWhatAMapAddsUp)
{
    // stack, class or caller, age, folded, blocks
    using Key = std::tuple<uint32_t, std::string, uint32_t, bool, bool>;
    // objects, bytes of slots and of the allocator: allocated, then in use
    using Values = std::array<double, 6>;
    auto add = [](Values *to, const Values &values) {
        for (int i = 0; i < 6; i++) (*to)[i] += values[i];
    };
    std::map<Key, Values> model;
    Choices choose(90);
    std::vector<std::pair<uint32_t, std::string>> classes = {{0, ""}}, callers = classes;
    for (int i = 0; i < 20; i++) {
        std::string name = i % 5 ? "Class" + std::to_string(i) : "(anonymous)";
        classes.emplace_back(i % 5 ? Class(name) : Class(), name);
        callers.emplace_back(i % 5 ? Caller(name) : Caller(), name);
    }
    uint32_t function = Function("f", "/f.rb");
    uint64_t live_samples = 0;
    for (int i = 0; i < 100000; i++) {
        uint32_t line = static_cast<uint32_t>(choose.Below(50));
        uint32_t stack = line ? Push(0, function, line) : 0;
        bool blocks = choose.OneIn(3);
        auto class_id = (blocks ? callers : classes)[choose.Below(classes.size())];
        uint32_t age = static_cast<uint32_t>(choose.Below(70)), rounded = 0;
        for (uint32_t power = 1; power <= age; power *= 2) rounded = power;
        double weight = 1 + static_cast<double>(choose.Below(12500));
        uint32_t size = 40u << choose.Below(5);
        bool dead = choose.OneIn(3);
        double bytes = weight * size, held = bytes;
        uintptr_t address = blocks ? Block(stack, class_id.first, 100 - age, weight, size)
                                   : Live(stack, class_id.first, 100 - age, weight, size);
        if (blocks && dead) {
            FreeBlock(address);
            if (choose.OneIn(20)) Settle();
        }
        else if (blocks && choose.OneIn(4)) {
            uint32_t left = 1 + static_cast<uint32_t>(choose.Below(size));
            rb_heapprof_blocks_cut(&tables_.blocks, address, left);
            held = weight * left;
        }
        else if (dead && choose.OneIn(2)) {
            gone_.insert(address);
        }
        else if (dead) {
            Free(address);
        }
        live_samples += !dead;
        Values values = blocks ? Values{0, 0, bytes, 0, 0, dead ? 0 : held}
                               : Values{weight, bytes, 0, dead ? 0 : weight, dead ? 0 : bytes, 0};
        add(&model[Key(stack, class_id.second, dead ? HEAPPROF_AGE_DEAD : rounded, false, blocks)],
            values);
    }
    rb_heapprof_tables_check(&tables_);
    Snapshot snapshot = Take();
    EXPECT_EQ(live_samples, snapshot->facts.live_samples);

    // Classes without a name are several rows of one key.
    std::map<Key, Values> rows;
    for (size_t i = 0; i < snapshot->row_count; i++) {
        const heapprof_row &row = snapshot->rows[i];
        add(&rows[Key(row.stack, Text(snapshot, row.subject), row.gc_age, row.folded,
                      row.kind == HEAPPROF_ROW_BLOCKS)],
            {row.alloc_objects, row.alloc_slot_bytes, row.alloc_malloc_bytes, row.inuse_objects,
             row.inuse_slot_bytes, row.inuse_malloc_bytes});
    }
    EXPECT_GT(model.size(), 1000u);
    EXPECT_EQ(model, rows);
}

TEST_F(SnapshotTest, EmptyTablesGiveNoRows)
{
    Snapshot snapshot = Take();
    EXPECT_EQ(0u, snapshot->row_count);
    EXPECT_EQ(0u, rb_heapprof_snapshot_frames(snapshot.get(), 0, nullptr, 0));
}

TEST_F(SnapshotTest, AgesAreRoundedDownToZeroOrAPowerOfTwo)
{
    facts_.gc_count = UINT32_C(1) << 31;
    for (uint32_t age : {0u, 1u, 2u, 3u, 4u, 7u, 8u, 1000u, 0x7fffffffu}) {
        Live(0, 0, static_cast<uint32_t>(facts_.gc_count) - age);
    }
    EXPECT_EQ(Numbers({0, 1, 2, 4, 8, 512, 1u << 30}), Ages(Take()));
}

TEST_F(SnapshotTest, AgesStayRightWhenTheGcCountOutgrowsThirtyTwoBits)
{
    facts_.gc_count = (UINT64_C(1) << 32) + 5;
    Live(0, 0, UINT32_MAX);
    EXPECT_EQ(Numbers({4}), Ages(Take()));
}

TEST_F(SnapshotTest, ASampleYoungerThanTheSnapshotsGcHasAgeZero)
{
    Live(0, 0, 101);
    EXPECT_EQ(Numbers({0}), Ages(Take()));
}

TEST_F(SnapshotTest, RowsComeBySiteThenAgeTheDeadAndTheFoldedLast)
{
    uint32_t function = Function("f", "/f.rb");
    uint32_t first = Push(0, function, 2), second = Push(0, function, 1);
    Free(Live(Push(0, function, 3), 0, 100));
    rb_heapprof_sites_fold(&tables_.sites);
    Live(first, 0, 90);
    Live(second, 0, 100);
    Live(first, 0, 99);
    Free(Live(first, 0, 99));
    Snapshot snapshot = Take();
    Numbers stacks;
    for (size_t i = 0; i < snapshot->row_count; i++) stacks.push_back(snapshot->rows[i].stack);
    EXPECT_EQ(Numbers({first, first, first, second, 0}), stacks);
    EXPECT_EQ(Numbers({1, 8, HEAPPROF_AGE_DEAD, 0, HEAPPROF_AGE_DEAD}), Ages(snapshot));
    EXPECT_FALSE(snapshot->rows[3].folded);
    EXPECT_TRUE(snapshot->rows[4].folded);
    EXPECT_EQ(1, snapshot->rows[4].alloc_objects);
    EXPECT_EQ(0, snapshot->rows[4].inuse_objects);
    EXPECT_EQ(1u, snapshot->facts.folded);
}

TEST_F(SnapshotTest, FoldedBlocksHaveARowBehindThatOfTheFoldedObjects)
{
    FreeBlock(Block(Push(0, Function("f", "/f.rb"), 1), Caller(), 100, 3, 1000));
    Settle();
    Free(Live(0, 0, 100, 2, 40));
    rb_heapprof_sites_fold(&tables_.sites);
    Snapshot snapshot = Take();
    ASSERT_EQ(2u, snapshot->row_count);
    for (int i = 0; i < 2; i++) {
        EXPECT_TRUE(snapshot->rows[i].folded);
        EXPECT_EQ(0u, snapshot->rows[i].stack);
        EXPECT_EQ(0u, snapshot->rows[i].subject);
        EXPECT_EQ(HEAPPROF_AGE_DEAD, snapshot->rows[i].gc_age);
        EXPECT_EQ(i == 1 ? HEAPPROF_ROW_BLOCKS : HEAPPROF_ROW_OBJECTS, snapshot->rows[i].kind);
    }
    EXPECT_EQ(2, snapshot->rows[0].alloc_objects);
    EXPECT_EQ(80, snapshot->rows[0].alloc_slot_bytes);
    EXPECT_EQ(0, snapshot->rows[0].alloc_malloc_bytes);
    EXPECT_EQ(0, snapshot->rows[1].alloc_objects);
    EXPECT_EQ(0, snapshot->rows[1].alloc_slot_bytes);
    EXPECT_EQ(3000, snapshot->rows[1].alloc_malloc_bytes);
    EXPECT_EQ(0, snapshot->rows[1].inuse_malloc_bytes);
    EXPECT_EQ(2u, snapshot->facts.folded);
}

// What one stack asks for in a block is in the row of that stack, and lasts as long as its end
// of the block.
TEST_F(SnapshotTest, ABlocksPiecesAreInTheRowsOfThoseWhoAskedForThem)
{
    uint32_t function = Function("f", "/f.rb"), caller = Caller("grow (ruby)");
    uintptr_t block = Block(Push(0, function, 1), caller, 92, 2, 1000);
    Grow(block, 1000, Push(0, function, 2), caller, 100, 3, 500);
    rb_heapprof_blocks_cut(&tables_.blocks, block, 1100);
    Snapshot snapshot = Take();
    ASSERT_EQ(Numbers({8, 0}), Ages(snapshot));
    EXPECT_EQ(2u, snapshot->facts.live_samples);
    EXPECT_EQ(2000, snapshot->rows[0].alloc_malloc_bytes);
    EXPECT_EQ(2000, snapshot->rows[0].inuse_malloc_bytes);
    EXPECT_EQ(1500, snapshot->rows[1].alloc_malloc_bytes);
    EXPECT_EQ(300, snapshot->rows[1].inuse_malloc_bytes);
    rb_heapprof_blocks_cut(&tables_.blocks, block, 1000);
    snapshot = Take();
    EXPECT_EQ(Numbers({8, HEAPPROF_AGE_DEAD}), Ages(snapshot));
    EXPECT_EQ(1u, snapshot->facts.live_samples);
}

// A freed block's site is not told before somebody settles: the rows must not wait for it.
TEST_F(SnapshotTest, FreedBlocksAreDeadBeforeTheyAreSettled)
{
    FreeBlock(Block(0, Caller("f (ruby)"), 100, 1, 64));
    for (bool settled : {false, true}) {
        if (settled) Settle();
        Snapshot snapshot = Take();
        EXPECT_EQ(Numbers({HEAPPROF_AGE_DEAD}), Ages(snapshot));
        EXPECT_EQ(64, snapshot->rows[0].alloc_malloc_bytes);
        EXPECT_EQ(0, snapshot->rows[0].inuse_malloc_bytes);
        EXPECT_EQ(0u, snapshot->facts.live_samples);
    }
}

TEST_F(SnapshotTest, NobodyIsAskedWhetherABlockIsGone)
{
    Block(0, 0, 100, 1, 64);
    Take();
    EXPECT_TRUE(asked_.empty());
}

// What rounding leaves over of objects is not made up for in blocks.
TEST_F(SnapshotTest, BlocksAndObjectsAreRoundedEachForThemselves)
{
    uint32_t function = Function("f", "/f.rb");
    double objects = 0, bytes = 0, slots = 0;
    for (uint32_t line = 1; line <= 1000; line++) {
        Live(Push(0, function, line), 0, 100, 6.90625, 40);
        Block(Push(0, function, line), 0, 100, 1.40625, 17);
        bytes += 1.40625 * 17;
        slots += 6.90625 * 40;
    }
    Snapshot snapshot = Take();
    for (size_t i = 0; i < snapshot->row_count; i++) {
        const heapprof_row &row = snapshot->rows[i];
        EXPECT_EQ(std::floor(row.alloc_malloc_bytes), row.alloc_malloc_bytes);
        EXPECT_EQ(0, row.kind == HEAPPROF_ROW_BLOCKS ? row.alloc_objects : row.alloc_malloc_bytes);
        objects += row.inuse_objects;
        bytes -= row.inuse_malloc_bytes;
        slots -= row.inuse_slot_bytes;
    }
    EXPECT_EQ(2000u, snapshot->row_count);
    EXPECT_NEAR(6906.25, objects, 0.5);
    EXPECT_NEAR(0, bytes, 0.5);
    EXPECT_NEAR(0, slots, 0.5);
}

TEST_F(SnapshotTest, BlocksAreHeldOnce)
{
    Block(0, 0, 100, 1, 64);
    Take();
    EXPECT_EQ(1, held_);
    EXPECT_EQ(1, released_);
}

// A sample that waits for its site has not been counted anywhere.
TEST_F(SnapshotTest, PiecesThatWaitAreInNoRow)
{
    heapprof_piece piece = {};
    piece.asked_bytes = 64;
    piece.weight = 1;
    piece.site = HEAPPROF_SITE_WAITING;
    rb_heapprof_blocks_add(&tables_.blocks, 0x5000, &piece);
    EXPECT_EQ(0u, Take()->row_count);
}

TEST_F(SnapshotTest, EachLiveSampleIsAskedAboutOnce)
{
    std::multiset<uintptr_t> live;
    for (int i = 0; i < 100; i++) live.insert(Live(0, 0, 100));
    Free(Live(0, 0, 100));
    Take();
    EXPECT_EQ(live, asked_);
}

TEST_F(SnapshotTest, WithoutAQuestionNoneIsGone)
{
    Live(0, 0, 100);
    Snapshot snapshot(TakeSnapshot(&tables_, &facts_, nullptr),
                      rb_heapprof_snapshot_free);
    EXPECT_EQ(1u, snapshot->facts.live_samples);
}

// With weights that doubles cannot add exactly.
TEST_F(SnapshotTest, ASiteWithNothingDeadHasNoDeadRow)
{
    Choices choose(91);
    for (int i = 0; i < 100000; i++) {
        double weight = 1 + static_cast<double>(choose.Below(1000000)) / 77;
        Live(0, 0, 100, weight, 40u << choose.Below(5));
    }
    EXPECT_EQ(Numbers({0}), Ages(Take()));
}

// Of many rows with one sample each, all of one weight.
TEST_F(SnapshotTest, WhatRoundingLeavesOverIsCarriedToTheNextRow)
{
    const double weight = 6.90625;
    for (uint32_t line = 1; line <= 1000; line++) {
        uintptr_t address = Live(Push(0, Function("f", "/f.rb"), line), 0, 100, weight, 600);
        if (line % 3 == 0) Free(address);
    }
    Snapshot snapshot = Take();
    double alloc = 0, inuse = 0, bytes = 0, living = 0;
    for (size_t i = 0; i < snapshot->row_count; i++) {
        const heapprof_row &row = snapshot->rows[i];
        EXPECT_EQ(std::floor(row.alloc_objects), row.alloc_objects);
        EXPECT_LE(row.inuse_objects, row.alloc_objects);
        EXPECT_NEAR(weight, row.alloc_objects, 1);
        alloc += row.alloc_objects;
        inuse += row.inuse_objects;
        bytes += row.inuse_slot_bytes;
        living += row.gc_age != HEAPPROF_AGE_DEAD;
        EXPECT_NEAR(living * weight, inuse, 0.5);
        EXPECT_NEAR(living * weight * 600, bytes, 0.5);
        EXPECT_NEAR(static_cast<double>(i + 1) * weight, alloc, 1);
    }
    EXPECT_EQ(1000u, snapshot->row_count);
}

TEST_F(SnapshotTest, MovedSamplesAreInUseInTheSlotsTheyAreInNow)
{
    uintptr_t address = Live(0, 0, 100, 2, 640);
    uint32_t entry = rb_heapprof_address_table_find(&tables_.live.addresses, address);
    rb_heapprof_live_table_sample(&tables_.live, entry)->slot_bytes = 40;
    Snapshot snapshot = Take();
    ASSERT_EQ(1u, snapshot->row_count);
    EXPECT_EQ(1280, snapshot->rows[0].alloc_slot_bytes);
    EXPECT_EQ(80, snapshot->rows[0].inuse_slot_bytes);
}

TEST_F(SnapshotTest, RowsThatRoundToNothingAreLeftOut)
{
    uint32_t number = rb_heapprof_sites_intern(&tables_.sites, 0, 0, 0);
    heapprof_site *site = &tables_.sites.all[number];
    EXPECT_EQ(0u, Take()->row_count);
    site->alloc_objects = site->alloc_bytes = 0.49;
    EXPECT_EQ(0u, Take()->row_count);
    site->alloc_bytes = 0.5;
    EXPECT_EQ(Numbers({HEAPPROF_AGE_DEAD}), Ages(Take()));
}

TEST_F(SnapshotTest, ClassesWithoutANameAreAnonymousAndNoClassIsEmpty)
{
    String("(anonymous)");
    Live(0, Class(), 100);
    Live(0, 0, 100);
    Live(0, Class("String"), 100);
    Snapshot snapshot = Take();
    ASSERT_EQ(3u, snapshot->row_count);
    EXPECT_EQ("(anonymous)", Text(snapshot, snapshot->rows[0].subject));
    EXPECT_EQ(String("(anonymous)"), snapshot->rows[0].subject);
    EXPECT_EQ("", Text(snapshot, snapshot->rows[1].subject));
    EXPECT_EQ("String", Text(snapshot, snapshot->rows[2].subject));
}

TEST_F(SnapshotTest, CallersWithoutANameAreAnonymousAndNoCallerIsEmpty)
{
    Block(0, Caller(), 100, 1, 64);
    Block(0, 0, 100, 1, 64);
    Block(0, Caller("f (ruby)"), 100, 1, 64);
    Snapshot snapshot = Take();
    ASSERT_EQ(3u, snapshot->row_count);
    EXPECT_EQ("(anonymous)", Text(snapshot, snapshot->rows[0].subject));
    EXPECT_EQ("", Text(snapshot, snapshot->rows[1].subject));
    EXPECT_EQ("f (ruby)", Text(snapshot, snapshot->rows[2].subject));
    for (int i = 0; i < 3; i++) EXPECT_EQ(HEAPPROF_ROW_BLOCKS, snapshot->rows[i].kind);
}

TEST_F(SnapshotTest, FactsAreTheCallersButForWhatTheTablesKnow)
{
    facts_.interval_bytes = 4096;
    facts_.malloc_interval_bytes = 8192;
    facts_.total_samples = 7;
    facts_.live_samples = 77;
    facts_.folded = 777;
    Snapshot snapshot = Take();
    EXPECT_EQ(4096u, snapshot->facts.interval_bytes);
    EXPECT_EQ(8192u, snapshot->facts.malloc_interval_bytes);
    EXPECT_EQ(100u, snapshot->facts.gc_count);
    EXPECT_EQ(7u, snapshot->facts.total_samples);
    EXPECT_EQ(0u, snapshot->facts.live_samples);
    EXPECT_EQ(0u, snapshot->facts.folded);
}

TEST_F(SnapshotTest, SnapshotOutlivesTheTablesAndTheirContents)
{
    uint32_t main = Function("<main>", "/main.rb"), run = Function("Foo#run", "/foo.rb");
    uint32_t stack = Push(Push(0, main, 9), run, 3);
    Live(stack, Class("String"), 100);
    Snapshot snapshot = Take();
    TearDown();
    SetUp();
    ASSERT_EQ(1u, snapshot->row_count);
    EXPECT_EQ("String", Text(snapshot, snapshot->rows[0].subject));
    EXPECT_EQ(Strings({"Foo#run /foo.rb:3", "<main> /main.rb:9"}), Frames(snapshot, stack));
    rb_heapprof_strings_check(&snapshot->strings);
}

TEST_F(SnapshotTest, MemsizeIsAllItOwns)
{
    Snapshot empty = Take();
    for (int i = 0; i < 10000; i++) Live(0, Class("C" + std::to_string(i)), 100);
    Snapshot snapshot = Take();
    EXPECT_GE(rb_heapprof_snapshot_memsize(empty.get()), sizeof(heapprof_snapshot));
    EXPECT_GE(rb_heapprof_snapshot_memsize(snapshot.get()),
              rb_heapprof_snapshot_memsize(empty.get()) + 9000 * sizeof(heapprof_row));
    EXPECT_EQ(sizeof(heapprof_snapshot) + snapshot->mem.used_bytes,
              rb_heapprof_snapshot_memsize(snapshot.get()));
}

TEST_F(SnapshotTest, FreeOfNothingIsAllowed)
{
    rb_heapprof_snapshot_free(nullptr);
}

// ---- frames ----

TEST_F(SnapshotTest, FramesComeInnermostFirstAndCFunctionsWhereTheyWereCalled)
{
    uint32_t main = Function("<main>", "/main.rb"), block = Function("block in <main>", "/main.rb");
    uint32_t times = Function("Integer#times", "", true), map = Function("Array#map", "", true);
    uint32_t stack = Push(0, main, 9);
    stack = Push(stack, map, 0);
    stack = Push(stack, times, 0);
    stack = Push(stack, block, 10);
    stack = Push(stack, map, 0);
    EXPECT_EQ(Strings({"Array#map /main.rb:10", "block in <main> /main.rb:10",
                       "Integer#times /main.rb:9", "Array#map /main.rb:9", "<main> /main.rb:9"}),
              Frames(Take(), stack));
}

TEST_F(SnapshotTest, ACFunctionWithoutARubyFrameOutsideHasNoPlace)
{
    uint32_t stack = Push(0, Function("Kernel#require", "", true), 0);
    stack = Push(stack, Function("<top>", "/a.rb"), 5);
    EXPECT_EQ(Strings({"<top> /a.rb:5", "Kernel#require :0"}), Frames(Take(), stack));
}

TEST_F(SnapshotTest, FramesBeyondCapacityAreCountedAndNotWritten)
{
    uint32_t main = Function("<main>", "/main.rb"), map = Function("Array#map", "", true);
    uint32_t stack = Push(Push(Push(0, main, 9), map, 0), map, 0);
    Snapshot snapshot = Take();
    heapprof_frame frames[3] = {};
    EXPECT_EQ(3u, rb_heapprof_snapshot_frames(snapshot.get(), stack, frames, 1));
    EXPECT_EQ(0u, frames[1].name);
    EXPECT_EQ(3u, rb_heapprof_snapshot_frames(snapshot.get(), stack, nullptr, 0));
    for (size_t capacity = 0; capacity <= 3; capacity++) {
        Strings all = {"Array#map /main.rb:9", "Array#map /main.rb:9", "<main> /main.rb:9"};
        all.resize(capacity);
        EXPECT_EQ(all, Frames(snapshot, stack, capacity));
    }
}

} // namespace
