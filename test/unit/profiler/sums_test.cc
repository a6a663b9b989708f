// sums_test.cc - the past of sites against a book: what was alive at the peak, and how old the dead
// were, whatever is freed, moved, cut, merged, thinned, folded or copied meanwhile.

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "test/unit/support/table_testing.h"
#include "test/unit/support/take_snapshot.h"

extern "C" {
#include "profiler/thinning.h"
}

namespace {

using Snapshot = std::unique_ptr<heapprof_snapshot, decltype(&rb_heapprof_snapshot_free)>;

struct Sum {
    double objects = 0, bytes = 0;

    void
    Add(double more_objects, double more_bytes)
    {
        objects += more_objects;
        bytes += more_bytes;
    }
};

// By class or caller, of which each has one site; what died, by age, too.
using Book = std::map<uint32_t, Sum>;
using Ages = std::map<std::pair<uint32_t, uint32_t>, Sum>;

class SumsTest : public testing::Test {
  protected:
    struct Object {
        uint32_t id, site, entry, birth;
        double weight;
        uint16_t birth_bytes;
    };
    struct Block {
        uint32_t id;
        uintptr_t address;
        double weight;
        size_t asked, held;
        uint32_t birth;
    };

    heapprof_mem mem_;
    heapprof_tables tables_;
    uint8_t block_filter_[HEAPPROF_BLOCK_FILTER_SIZE] = {};
    static uint32_t live_head_;
    uint32_t class_head_ = 0;
    uintptr_t address_ = 0x10000;
    uint32_t gc_ = 5;
    heapprof_sampler sampler_;
    heapprof_facts facts_ = {};
    Choices choose_{1};
    std::vector<uint32_t> classes_, callers_;
    std::vector<Object> objects_;
    std::vector<Block> blocks_;
    Book now_, peak_;
    Ages died_;

    void
    SetUp() override
    {
        rb_heapprof_mem_init(&mem_, SIZE_MAX);
        rb_heapprof_tables_init(&tables_, &mem_, block_filter_);
        rb_heapprof_tables_keep(&tables_, true, true);
        rb_heapprof_sampler_init(&sampler_, 1, 5);
        live_head_ = 0;
        for (int i = 0; i < 20; i++) {
            uint32_t no_page = 0;
            classes_.push_back(Named(
                rb_heapprof_identities_add(&tables_.identities, &class_head_, address_ += 40)));
            callers_.push_back(Named(rb_heapprof_identities_add(
                &tables_.identities, &no_page, rb_heapprof_callers_key(address_ += 40))));
        }
    }

    void
    TearDown() override
    {
        rb_heapprof_tables_check(&tables_);
        rb_heapprof_tables_free(&tables_);
        EXPECT_EQ(0u, mem_.used_bytes);
    }

    uint32_t
    Named(uint32_t id)
    {
        std::string text = std::to_string(id);
        rb_heapprof_identities_change(&tables_.identities, id)->name =
            rb_heapprof_strings_intern(&tables_.strings, text.data(), text.size());
        return id;
    }

    uint32_t
    Site(uint32_t class_id, const std::string &label = "")
    {
        uint32_t string = rb_heapprof_strings_intern(&tables_.strings, label.data(), label.size());
        return rb_heapprof_sites_intern(&tables_.sites, 0, class_id, string);
    }

    // ---- what happens, in the tables and in the book ----

    void
    Make(uint32_t id, double weight, uint16_t bytes, const std::string &label = "")
    {
        heapprof_sample sample = { Site(id, label), gc_, static_cast<float>(weight), bytes, bytes };
        uint32_t entry =
            rb_heapprof_live_table_add(&tables_.live, &live_head_, address_ += 40, &sample);
        rb_heapprof_sites_count_alloc(&tables_.sites, sample.site, weight, bytes);
        objects_.push_back({id, sample.site, entry, gc_, weight, bytes});
        now_[id].Add(weight, weight * bytes);
    }

    heapprof_sample *
    SampleOf(const Object &object)
    {
        return rb_heapprof_live_table_sample(&tables_.live, object.entry);
    }

    static uint32_t
    Age(uint32_t survived)
    {
        return survived < 2 ? survived : survived < 4 ? 2 : 4;
    }

    // In the collector: what it finds dead has not survived this GC.
    void
    Die(size_t at)
    {
        Object object = objects_[at];
        objects_.erase(objects_.begin() + static_cast<std::ptrdiff_t>(at));
        now_[object.id].Add(-object.weight, -object.weight * SampleOf(object)->slot_bytes);
        uint32_t survived = gc_ > object.birth ? gc_ - object.birth - 1 : 0;
        died_[{object.id, Age(survived)}].Add(object.weight, object.weight * object.birth_bytes);
        if (survived == 0 && object.entry % 2) {
            rb_heapprof_sites_count_young_death(&tables_.sites, SampleOf(object));
        }
        else rb_heapprof_sites_count_death(&tables_.sites, SampleOf(object), gc_ - 1);
        rb_heapprof_address_table_remove(&tables_.live.addresses, &live_head_, object.entry);
    }

    void
    Move(const Object &object, uint16_t slot_bytes)
    {
        heapprof_sample *sample = SampleOf(object);
        double more = object.weight * (slot_bytes - sample->slot_bytes);
        rb_heapprof_sums_change(&tables_.sites.object_sums, sample->site, 0, more);
        sample->slot_bytes = slot_bytes;
        now_[object.id].Add(0, more);
    }

    void
    Ask(uint32_t id, double weight, size_t bytes)
    {
        heapprof_piece piece = {};
        piece.asked_bytes = bytes;
        piece.site = Site(id | HEAPPROF_SITE_OF_BLOCKS);
        piece.birth_gc = gc_;
        piece.weight = static_cast<float>(weight);
        ASSERT_TRUE(rb_heapprof_blocks_add(&tables_.blocks, address_ += 64, &piece));
        rb_heapprof_sites_count_alloc(&tables_.sites, piece.site, weight, bytes);
        blocks_.push_back({id, address_, weight, bytes, bytes, gc_});
        now_[id].Add(0, weight * static_cast<double>(bytes));
    }

    void
    Cut(Block *block, size_t bytes)
    {
        now_[block->id].Add(0, -block->weight * static_cast<double>(block->held - bytes));
        rb_heapprof_blocks_cut(&tables_.blocks, block->address, bytes);
        block->held = bytes;
    }

    // By the program, between two GCs.
    void
    Free(size_t at)
    {
        Block block = blocks_[at];
        blocks_.erase(blocks_.begin() + static_cast<std::ptrdiff_t>(at));
        now_[block.id].Add(0, -block.weight * static_cast<double>(block.held));
        double asked = static_cast<double>(block.asked);
        died_[{block.id, Age(gc_ - block.birth)}].Add(block.weight, block.weight * asked);
        tables_.blocks.last_gc = gc_;
        rb_heapprof_blocks_remove(&tables_.blocks, block.address);
    }

    void
    Settle()
    {
        while (const heapprof_piece *piece = rb_heapprof_blocks_retired(&tables_.blocks)) {
            rb_heapprof_sites_count_retired(&tables_.sites, piece);
            rb_heapprof_blocks_take_retired(&tables_.blocks);
        }
    }

    void
    KeepPeak()
    {
        double bytes = rb_heapprof_sites_alive(&tables_.sites), book = 0;
        for (const auto &entry : now_) book += entry.second.bytes;
        EXPECT_NEAR(book, bytes, 1e-3);
        rb_heapprof_tables_keep_peak(&tables_, bytes, gc_, 1000 + gc_);
        peak_ = now_;
    }

    void
    Change()
    {
        double weight = static_cast<double>(1 + choose_.Below(4));
        switch (choose_.Below(12)) {
          case 0: case 1: case 2: case 3:
            Make(classes_[choose_.Below(20)], weight,
                 static_cast<uint16_t>(40 << choose_.Below(5)));
            break;
          case 4: case 5: Ask(callers_[choose_.Below(20)], weight, 1 + choose_.Below(5000)); break;
          case 6: case 7: if (!objects_.empty()) Die(choose_.Below(objects_.size())); break;
          case 8: if (!blocks_.empty()) Free(choose_.Below(blocks_.size())); break;
          case 9:
            if (!blocks_.empty()) {
                Block *block = &blocks_[choose_.Below(blocks_.size())];
                Cut(block, 1 + choose_.Below(block->held));
            }
            break;
          case 10:
            if (!objects_.empty())
                Move(objects_[choose_.Below(objects_.size())],
                     static_cast<uint16_t>(40 << choose_.Below(5)));
            break;
          case 11: if (choose_.Below(4) == 0) gc_++; break;
        }
    }

    // ---- what a profile says ----

    Snapshot
    Take(const heapprof_asks *asks = nullptr)
    {
        facts_.gc_count = gc_;
        return Snapshot(TakeSnapshot(&tables_, &facts_, asks), rb_heapprof_snapshot_free);
    }

    static uint32_t
    Id(const Snapshot &snapshot, const heapprof_row &row)
    {
        const char *name = rb_heapprof_strings_get(&snapshot->strings, row.subject, nullptr);
        return static_cast<uint32_t>(std::stoul(name));
    }

    static Book
    PeakOf(const Snapshot &snapshot)
    {
        Book book;
        for (size_t i = 0; i < snapshot->row_count; i++) {
            const heapprof_row &row = snapshot->rows[i];
            if (row.peak_bytes != 0) book[Id(snapshot, row)].Add(row.peak_objects, row.peak_bytes);
        }
        return book;
    }

    static Ages
    AgesOf(const Snapshot &snapshot)
    {
        Ages ages;
        for (size_t i = 0; i < snapshot->row_count; i++) {
            const heapprof_row &row = snapshot->rows[i];
            EXPECT_EQ(row.death_age == 1, row.temp_bytes > 0);
            if (!row.death_age) continue;
            bool blocks = row.kind == HEAPPROF_ROW_BLOCKS;
            ages[{Id(snapshot, row), row.death_age - 1}].Add(
                row.alloc_objects, blocks ? row.alloc_malloc_bytes : row.alloc_slot_bytes);
        }
        return ages;
    }

    template <typename Of>
    static void
    ExpectSame(Of book, Of profile, bool objects_of_blocks)
    {
        for (const auto &entry : profile) book[entry.first];
        for (const auto &entry : book) {
            const Sum &seen = profile[entry.first];
            EXPECT_NEAR(entry.second.bytes, seen.bytes, 1e-3);
            if (!objects_of_blocks && seen.objects == 0) continue;
            EXPECT_NEAR(entry.second.objects, seen.objects, 1e-3);
        }
    }

    void
    ExpectBooks(const Snapshot &snapshot)
    {
        ExpectSame(peak_, PeakOf(snapshot), true);
        ExpectSame(died_, AgesOf(snapshot), false);
    }
};

uint32_t SumsTest::live_head_;

TEST_F(SumsTest, TheProfileHasWhatTheBookHas)
{
    for (int round = 0; round < 60; round++) {
        for (int i = 0; i < 200; i++) Change();
        if (round % 3 == 0) KeepPeak();
        Settle();
        rb_heapprof_tables_check(&tables_);
        ExpectBooks(Take());
    }
    std::map<uint32_t, int> ages;
    for (const auto &entry : died_) ages[entry.first.second]++;
    EXPECT_EQ(4u, ages.size()); // of each age some have died
}

TEST_F(SumsTest, FactsTellOfThePeak)
{
    EXPECT_EQ(0, Take()->facts.peak_bytes);
    Make(classes_[0], 2, 40);
    Ask(callers_[0], 1, 100);
    KeepPeak();
    Snapshot snapshot = Take();
    EXPECT_TRUE(snapshot->facts.peak_kept && snapshot->facts.lifetimes);
    EXPECT_EQ(180, snapshot->facts.peak_bytes);
    EXPECT_EQ(gc_, snapshot->facts.peak_gc);
    EXPECT_EQ(1000 + gc_, snapshot->facts.peak_ns);
}

TEST_F(SumsTest, NothingIsKeptThatWasNotAskedFor)
{
    rb_heapprof_tables_keep(&tables_, false, false);
    for (int i = 0; i < 500; i++) {
        Make(classes_[0], 1, 40);
        Ask(callers_[0], 1, 40);
        Die(0);
        Free(0);
    }
    Settle();
    Snapshot snapshot = Take();
    EXPECT_FALSE(snapshot->facts.peak_kept || snapshot->facts.lifetimes);
    for (size_t i = 0; i < snapshot->row_count; i++) EXPECT_EQ(0u, snapshot->rows[i].death_age);
    EXPECT_EQ(nullptr, tables_.sites.deaths);
    EXPECT_EQ(nullptr, tables_.sites.object_sums.now);
    EXPECT_EQ(nullptr, tables_.sites.block_sums.now);
}

TEST_F(SumsTest, TheOldestAreWhatTheOthersLeave)
{
    for (uint32_t survived : {0u, 1u, 2u, 3u, 4u, 5u, 100u}) {
        Make(classes_[0], 1, 40);
        gc_ += survived + 1;
        Die(0);
    }
    Ages ages = AgesOf(Take());
    for (auto age : std::map<uint32_t, double>{{0, 1}, {1, 1}, {2, 2}, {4, 3}})
        EXPECT_EQ(age.second, (ages[{classes_[0], age.first}].objects)) << age.first;
}

TEST_F(SumsTest, WhatIsBornAndDiesInOneGcHasSurvivedNone)
{
    Make(classes_[0], 1, 40); // while objects are marked
    Die(0);
    Ages ages = AgesOf(Take());
    EXPECT_EQ(1, (ages[{classes_[0], 0}].objects));
}

TEST_F(SumsTest, WhatIsDeadAndNotSweptDiesInThisGc)
{
    Make(classes_[0], 1, 40);
    gc_ += 2;
    Make(classes_[0], 3, 40);
    heapprof_asks asks = {};
    asks.gone_p = [](uintptr_t, void *) { return true; };
    Snapshot snapshot = Take(&asks);
    Ages ages = AgesOf(snapshot);
    EXPECT_EQ(1, (ages[{classes_[0], 1}].objects));
    EXPECT_EQ(3, (ages[{classes_[0], 0}].objects));
    EXPECT_EQ(0u, snapshot->facts.live_samples);
}

TEST_F(SumsTest, SitesThatBecomeOneKeepThePast)
{
    for (int i = 0; i < 10; i++) {
        Make(classes_[0], 1, 40, std::string("k\0a\0", 4));
        Make(classes_[0], 1, 80, std::string("k\0b\0", 4));
    }
    KeepPeak();
    for (int i = 0; i < 9; i++) Die(0);
    uint32_t from = Site(classes_[0], std::string("k\0a\0", 4));
    uint32_t other = Site(classes_[0], std::string("k\0b\0", 4));
    uint32_t into = rb_heapprof_sites_get(&tables_.sites, other)->label;
    EXPECT_TRUE(rb_heapprof_sites_relabel(&tables_.sites, from, into));
    rb_heapprof_tables_follow_sites(&tables_);
    rb_heapprof_sites_end_merging(&tables_.sites);
    rb_heapprof_tables_check(&tables_);
    ExpectBooks(Take());
    KeepPeak();
    ExpectBooks(Take());
}

TEST_F(SumsTest, FoldedSitesKeepTheSumOfThePast)
{
    for (int i = 0; i < 2000; i++) Change();
    KeepPeak();
    while (!objects_.empty()) Die(0);
    while (!blocks_.empty()) Free(0);
    Settle();
    rb_heapprof_sites_fold(&tables_.sites);
    EXPECT_EQ(0u, tables_.sites.numbers.count);
    double peak = 0, died[5] = {}, book_peak = 0, book_died[5] = {};
    Snapshot snapshot = Take();
    for (size_t i = 0; i < snapshot->row_count; i++) {
        const heapprof_row &row = snapshot->rows[i];
        peak += row.peak_bytes;
        if (row.death_age) died[row.death_age - 1] += row.alloc_slot_bytes + row.alloc_malloc_bytes;
    }
    for (const auto &entry : peak_) book_peak += entry.second.bytes;
    for (const auto &entry : died_) book_died[entry.first.second] += entry.second.bytes;
    EXPECT_NEAR(book_peak, peak, 1);
    for (int age = 0; age < 5; age++) EXPECT_NEAR(book_died[age], died[age], 1) << age;
}

// The threshold is twice the mean size, and sums are off by less.
TEST_F(SumsTest, ThinningOfTheDeadKeepsTheSumsOfThePast)
{
    const int count = 2000;
    double sum = 0;
    for (int i = 0; i < count; i++) {
        uint32_t id = Named(
            rb_heapprof_identities_add(&tables_.identities, &class_head_, address_ += 40));
        Make(id, 1, static_cast<uint16_t>(40 + 8 * (i % 10)));
        sum += 40 + 8 * (i % 10);
    }
    KeepPeak();
    while (!objects_.empty()) Die(0);
    EXPECT_GE(rb_heapprof_thin_dead(&tables_, &sampler_), 500u);
    Snapshot snapshot = Take();
    double peak = 0, young = 0;
    for (size_t i = 0; i < snapshot->row_count; i++) {
        peak += snapshot->rows[i].peak_bytes;
        young += snapshot->rows[i].temp_bytes;
    }
    EXPECT_NEAR(sum, peak, 4 * sum / count);
    EXPECT_NEAR(sum, young, 4 * sum / count);
}

// Samples that are given up are no longer alive, but were at the peak: their site stays until the
// dead are thinned.
TEST_F(SumsTest, ThinningOfTheLivingLeavesThePeak)
{
    for (int i = 0; i < 1000; i++) Make(classes_[i % 20], 1, 40);
    for (size_t i = 0; i < 1000; i += 2) Move(objects_[i], 80);
    KeepPeak();
    heapprof_thinning thinning = {};
    thinning.interval_bytes = 1 << 20;
    thinning.sampler = &sampler_;
    thinning.page_head = [](uintptr_t) { return &live_head_; };
    thinning.forget = [](uintptr_t) {};
    rb_heapprof_thin(&tables_, &thinning);
    EXPECT_LT(tables_.live.addresses.numbers.count, 10u);
    rb_heapprof_tables_check(&tables_);
    Snapshot snapshot = Take();
    ExpectSame(peak_, PeakOf(snapshot), true);
    EXPECT_TRUE(AgesOf(snapshot).empty());
    rb_heapprof_tables_keep_peak(&tables_, rb_heapprof_sites_alive(&tables_.sites), gc_, 1);
    double alive = 0, peak = 0;
    for (uint32_t entry = 1; entry < tables_.live.addresses.numbers.end; entry++) {
        if (!rb_heapprof_address_table_address(&tables_.live.addresses, entry)) continue;
        const heapprof_sample *sample = rb_heapprof_live_table_sample(&tables_.live, entry);
        alive += static_cast<double>(sample->weight) * sample->slot_bytes;
    }
    for (const auto &entry : PeakOf(Take())) peak += entry.second.bytes;
    EXPECT_NEAR(alive, peak, 1);
}

TEST_F(SumsTest, ACopyHasThePeakOfItsBeginning)
{
    for (int i = 0; i < 1500; i++) {
        uint32_t id =
            rb_heapprof_identities_add(&tables_.identities, &class_head_, address_ += 40);
        Make(Named(id), 1, 40);
    }
    KeepPeak();
    Book before = peak_;
    facts_.gc_count = gc_;
    heapprof_copies *copies = rb_heapprof_copies_begin(&tables_, &facts_, nullptr);
    ASSERT_TRUE(copies);
    rb_heapprof_copies_follow(copies, &tables_);
    rb_heapprof_copies_step(copies, false);
    for (int i = 0; i < 500; i++) Die(0);
    for (int i = 0; i < 500; i++) Make(classes_[0], 1, 640);
    rb_heapprof_copies_take_sites(copies);
    KeepPeak();
    while (rb_heapprof_copies_step(copies, false)) continue;
    Snapshot snapshot(rb_heapprof_copies_add_up(copies), rb_heapprof_snapshot_free);
    ASSERT_TRUE(snapshot);
    ExpectSame(before, PeakOf(snapshot), true);
    EXPECT_TRUE(AgesOf(snapshot).empty());
    ExpectBooks(Take());
}

// A refused site leaves everything as it was; a peak needs no memory.
TEST_F(SumsTest, ThePeakNeedsNoMemory)
{
    for (int i = 0; i < 3000; i++) Change();
    uint64_t refused = mem_.refused;
    mem_.budget_bytes = mem_.used_bytes;
    KeepPeak();
    EXPECT_EQ(refused, mem_.refused);
    mem_.budget_bytes = SIZE_MAX;
    Settle();
    ExpectBooks(Take());
}

// Where a new site has no room for its past, tables that name sites are full.
TEST_F(SumsTest, NoRoomForThePastIsNoRoomForSites)
{
    std::vector<uint32_t> ids;
    for (int i = 0; i < 3000; i++) {
        uint32_t id =
            rb_heapprof_identities_add(&tables_.identities, &class_head_, address_ += 40);
        ids.push_back(Named(id));
    }
    ASSERT_TRUE(HEAPPROF_MEM_GROW(&mem_, tables_.sites.all, tables_.sites.numbers.capacity, 4000));
    while (!rb_heapprof_index_room_p(&tables_.sites.index, 4000)) {
        rb_heapprof_index_grow(&tables_.sites.index, &mem_, 0,
                               [](const void *, uint32_t) { return uint64_t{0}; }, nullptr);
    }
    EXPECT_NE(0u, Site(ids[0]));
    mem_.budget_bytes = mem_.used_bytes;
    size_t sites = 0;
    while (sites < ids.size() && Site(ids[sites])) sites++;
    ASSERT_LT(sites, ids.size()); // the last had no room for its past
    EXPECT_TRUE(rb_heapprof_tables_full(&tables_) & HEAPPROF_FULL_STACKS);
    mem_.budget_bytes = SIZE_MAX;
    EXPECT_NE(0u, Site(ids[sites]));
}

} // namespace
