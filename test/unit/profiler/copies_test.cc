// copies_test.cc - tables that change between the steps of a copy: it is the one taken at once.

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "test/unit/support/table_testing.h"
#include "test/unit/support/take_snapshot.h"

extern "C" {
#include "profiler/copies.h"
#include "profiler/thinning.h"
}

namespace {

using Snapshot = std::unique_ptr<heapprof_snapshot, decltype(&rb_heapprof_snapshot_free)>;

class CopiesTest : public testing::Test {
  protected:
    heapprof_mem mem_;
    heapprof_tables tables_;
    uint8_t block_filter_[HEAPPROF_BLOCK_FILTER_SIZE] = {};
    heapprof_facts facts_ = {};
    heapprof_asks asks_ = {};
    Choices choose_{3};
    std::vector<uintptr_t> objects_, blocks_;
    std::vector<uint32_t> classes_, callers_, stacks_ = {0};
    uintptr_t address_ = 0x10000;
    int names_ = 0;
    bool thins_ = false; // what is there changes by thinning, too
    heapprof_sampler sampler_;
    heapprof_thinning thinning_ = {};

    static uint32_t live_head_, class_head_;

    void
    SetUp() override
    {
        rb_heapprof_mem_init(&mem_, SIZE_MAX);
        rb_heapprof_tables_init(&tables_, &mem_, block_filter_);
        live_head_ = class_head_ = 0;
        facts_.gc_count = 100;
        facts_.owners = true;
        asks_.memsize = [](uintptr_t address, void *) {
            return static_cast<size_t>(address % 1000);
        };
        rb_heapprof_sampler_init(&sampler_, 1, 5);
        thinning_.sampler = &sampler_;
        thinning_.page_head = [](uintptr_t) { return &live_head_; };
        thinning_.forget = [](uintptr_t) {};
        NewClass();
        NewCaller();
        for (int i = 0; i < 3000; i++) Change();
    }

    void
    TearDown() override
    {
        rb_heapprof_tables_free(&tables_);
        EXPECT_EQ(0u, mem_.used_bytes);
    }

    // ---- changes ----

    uint32_t
    String()
    {
        std::string text = "name " + std::to_string(names_++);
        return rb_heapprof_strings_intern(&tables_.strings, text.data(), text.size());
    }

    void
    Name(uint32_t id)
    {
        rb_heapprof_identities_change(&tables_.identities, id)->name = String();
    }

    void
    NewClass()
    {
        classes_.push_back(
            rb_heapprof_identities_add(&tables_.identities, &class_head_, address_ += 40));
        if (choose_.Below(2)) Name(classes_.back());
    }

    void
    NewCaller()
    {
        uint32_t no_page = 0;
        callers_.push_back(rb_heapprof_identities_add(&tables_.identities, &no_page,
                                                      rb_heapprof_callers_key(address_ += 40)));
        Name(callers_.back());
    }

    template <typename T>
    T
    Any(const std::vector<T> &of)
    {
        return of[choose_.Below(of.size())];
    }

    template <typename T>
    T
    Take(std::vector<T> *from)
    {
        size_t at = choose_.Below(from->size());
        T taken = (*from)[at];
        (*from)[at] = from->back();
        from->pop_back();
        return taken;
    }

    void
    NewStack()
    {
        heapprof_function function = {};
        function.origin = HEAPPROF_ORIGIN_C | static_cast<uint64_t>(names_ + 1);
        function.name = String();
        uint32_t number = rb_heapprof_functions_add(&tables_.functions, &function);
        stacks_.push_back(rb_heapprof_stacks_push(&tables_.stacks, Any(stacks_), number,
                                                  static_cast<uint32_t>(choose_.Below(9))));
    }

    uint32_t
    Site(uint32_t class_id, double weight, size_t bytes)
    {
        uint32_t site = rb_heapprof_sites_intern(&tables_.sites, Any(stacks_), class_id, 0);
        rb_heapprof_sites_count_alloc(&tables_.sites, site, weight, bytes);
        return site;
    }

    void
    NewObject()
    {
        float weight = static_cast<float>(1 + choose_.Below(5));
        heapprof_sample sample = { Site(Any(classes_), weight, 40),
                                   static_cast<uint32_t>(choose_.Below(100)), weight, 40, 40 };
        rb_heapprof_live_table_add(&tables_.live, &live_head_, address_ += 40, &sample);
        objects_.push_back(address_);
    }

    void
    FreeObject()
    {
        if (objects_.empty()) return;
        uint32_t entry = rb_heapprof_address_table_find(&tables_.live.addresses, Take(&objects_));
        if (!entry) return; // it has been thinned
        rb_heapprof_sites_count_free(&tables_.sites,
                                     rb_heapprof_live_table_sample(&tables_.live, entry)->site);
        rb_heapprof_address_table_remove(&tables_.live.addresses, &live_head_, entry);
    }

    void
    MoveObject()
    {
        if (objects_.empty()) return;
        uint32_t entry = rb_heapprof_address_table_find(&tables_.live.addresses, Take(&objects_));
        if (!entry) return;
        rb_heapprof_address_table_move(&tables_.live.addresses, entry, &live_head_, &live_head_,
                                       address_ += 40);
        rb_heapprof_live_table_sample(&tables_.live, entry)->slot_bytes = 80;
        objects_.push_back(address_);
    }

    void
    Grow(uintptr_t address, size_t begin)
    {
        heapprof_piece piece = {};
        piece.begin = begin;
        piece.asked_bytes = 1 + choose_.Below(500);
        piece.weight = 2;
        piece.birth_gc = static_cast<uint32_t>(choose_.Below(100));
        piece.site = Site(Any(callers_) | HEAPPROF_SITE_OF_BLOCKS, 2, piece.asked_bytes);
        rb_heapprof_blocks_add(&tables_.blocks, address, &piece);
    }

    void
    NewBlock()
    {
        Grow(address_ += 48, 0);
        blocks_.push_back(address_);
    }

    void
    Own()
    {
        if (blocks_.empty() || objects_.empty()) return;
        heapprof_owner owner = {Any(objects_), Any(classes_), rb_heapprof_owner_seen(100, 0)};
        rb_heapprof_blocks_own(&tables_.blocks, Any(blocks_), &owner);
    }

    void
    ChangeBlock()
    {
        if (blocks_.empty()) return;
        uintptr_t address = Take(&blocks_);
        size_t end = rb_heapprof_blocks_end(&tables_.blocks, address);
        switch (choose_.Below(4)) {
          case 0:
            rb_heapprof_blocks_remove(&tables_.blocks, address);
            return;
          case 1:
            rb_heapprof_blocks_cut(&tables_.blocks, address, end / 2 + 1);
            break;
          case 2:
              rb_heapprof_blocks_put(&tables_.blocks,
                                     rb_heapprof_blocks_lift(&tables_.blocks, address),
                                     address_ += 48);
              address = address_;
              break;
          default:
            Grow(address, end);
        }
        blocks_.push_back(address);
    }

    // What has died of blocks is told to its sites, and its pieces are handed out again.
    void
    Settle()
    {
        while (uint32_t site = rb_heapprof_blocks_take_retired(&tables_.blocks)) {
            rb_heapprof_sites_count_free(&tables_.sites, site);
        }
    }

    // A little of what there is; when all has been thinned it begins anew, at twice the interval.
    void
    ThinALittle()
    {
        constexpr unsigned kSamples = HEAPPROF_FULL_OBJECTS | HEAPPROF_FULL_BLOCKS;
        if (!rb_heapprof_thinning_left_p(&thinning_, kSamples)) {
            thinning_.interval_bytes = thinning_.malloc_interval_bytes =
                2 * thinning_.interval_bytes % 1000 + 40;
            rb_heapprof_thinning_begin(&thinning_, &tables_);
        }
        rb_heapprof_thinning_step(&tables_, &thinning_, kSamples, 3);
    }

    void
    Change()
    {
        switch (choose_.Below(thins_ ? 13 : 12)) {
          case 12: ThinALittle(); break;
          case 0: NewClass(); break;
          case 1: NewCaller(); break;
          case 2: NewStack(); break;
          case 3: case 4: NewObject(); break;
          case 5: case 6: FreeObject(); break;
          case 7: MoveObject(); break;
          case 8: NewBlock(); break;
          case 9: ChangeBlock(); break;
          case 10: Name(Any(classes_)); break;
          default: Settle(); break;
        }
    }

    // ---- snapshots ----

    // All that a reader sees.
    static std::vector<std::string>
    Lines(const heapprof_snapshot *snapshot)
    {
        auto text = [snapshot](uint32_t string) {
            return std::string(rb_heapprof_strings_get(&snapshot->strings, string, nullptr));
        };
        auto frames = [&](uint32_t stack) {
            heapprof_frame frames[64];
            std::string all;
            size_t count = rb_heapprof_snapshot_frames(snapshot, stack, frames, 64);
            for (size_t i = 0; i < count && i < 64; i++) {
                all += "/" + text(frames[i].name) + ":" + std::to_string(frames[i].line);
            }
            return all;
        };
        std::vector<std::string> lines = {std::to_string(snapshot->facts.live_samples)};
        for (size_t i = 0; i < snapshot->row_count; i++) {
            const heapprof_row &row = snapshot->rows[i];
            std::string line = std::to_string(row.kind) + frames(row.stack) + " " +
                               text(row.subject) + " of " + text(row.owner) +
                               frames(row.owner_stack) + " age " + std::to_string(row.gc_age);
            for (double value : { row.alloc_objects, row.alloc_slot_bytes, row.alloc_malloc_bytes,
                                  row.inuse_objects, row.inuse_slot_bytes, row.inuse_malloc_bytes,
                                  row.memsize_bytes }) {
                line += " " + std::to_string(value);
            }
            lines.push_back(line);
        }
        return lines;
    }

    std::vector<std::string>
    AtOnce()
    {
        Snapshot snapshot(TakeSnapshot(&tables_, &facts_, &asks_), rb_heapprof_snapshot_free);
        return Lines(snapshot.get());
    }

    heapprof_copies *
    Begin()
    {
        heapprof_copies *copies = rb_heapprof_copies_begin(&tables_, &facts_, &asks_);
        rb_heapprof_copies_follow(copies, &tables_);
        return copies;
    }

    std::vector<std::string>
    End(heapprof_copies *copies)
    {
        Snapshot snapshot(rb_heapprof_copies_add_up(copies), rb_heapprof_snapshot_free);
        rb_heapprof_strings_check(&snapshot->strings);
        return Lines(snapshot.get());
    }

    static void
    CopyAll(heapprof_copies *copies)
    {
        while (rb_heapprof_copies_step(copies, true)) continue;
    }
};

uint32_t CopiesTest::live_head_, CopiesTest::class_head_;

// Without memsize, which differs for what has moved or died: it is that of its slot then.
TEST_F(CopiesTest, InStepsAreWhatTheyAreAtOnce)
{
    asks_.memsize = nullptr;
    for (int round = 0; round < 20; round++) {
        std::vector<std::string> expected = AtOnce();
        heapprof_copies *copies = Begin();
        int changes = 1 + static_cast<int>(choose_.Below(40));
        do {
            for (int i = 0; i < changes; i++) Change();
        } while (rb_heapprof_copies_step(copies, true));
        rb_heapprof_tables_check(&tables_);
        ASSERT_EQ(expected, End(copies)) << round;
        for (int i = 0; i < 50; i++) Own();
    }
}

TEST_F(CopiesTest, ThinnedMeanwhileTheyAreOfTheMomentAtWhichTheyBegan)
{
    asks_.memsize = nullptr;
    thins_ = true;
    for (int round = 0; round < 20; round++) {
        for (int i = 0; i < 1000; i++) NewObject();
        for (int i = 0; i < 200; i++) NewBlock();
        std::vector<std::string> expected = AtOnce();
        heapprof_copies *copies = Begin();
        int changes = 1 + static_cast<int>(choose_.Below(40));
        do {
            for (int i = 0; i < changes; i++) Change();
        } while (rb_heapprof_copies_step(copies, true));
        rb_heapprof_tables_check(&tables_);
        ASSERT_EQ(expected, End(copies)) << round;
        Own();
    }
}

TEST_F(CopiesTest, WhatHasDiedMeanwhileHasTheSizeOfItsSlot)
{
    while (!objects_.empty()) FreeObject();
    for (int i = 0; i < 10; i++) NewObject();
    for (bool dies : {false, true}) {
        heapprof_copies *copies = Begin();
        double memsize = 0, expected = 0;
        for (uintptr_t object : objects_)
            expected += dies ? 40 : static_cast<double>(object % 1000);
        while (dies && !objects_.empty()) FreeObject();
        CopyAll(copies);
        Snapshot snapshot(rb_heapprof_copies_add_up(copies), rb_heapprof_snapshot_free);
        for (size_t i = 0; i < snapshot->row_count; i++) memsize += snapshot->rows[i].memsize_bytes;
        EXPECT_EQ(expected, memsize);
    }
}

TEST_F(CopiesTest, WhatWaitsForItsSiteIsInNone)
{
    heapprof_piece piece = {};
    piece.asked_bytes = 64;
    piece.weight = 1;
    piece.site = HEAPPROF_SITE_WAITING;
    std::vector<std::string> expected = AtOnce();
    rb_heapprof_blocks_add(&tables_.blocks, 0x5000, &piece);
    EXPECT_EQ(expected, AtOnce());
    rb_heapprof_blocks_remove(&tables_.blocks, 0x5000);
    tables_.blocks.pieces[tables_.blocks.retired_head].site =
        Site(Any(callers_) | HEAPPROF_SITE_OF_BLOCKS, 1, 64);
}

// Another object may have come to be where the owner was.
TEST_F(CopiesTest, AnOwnersAddressIsGoodUntilItsObjectHasDiedOrMoved)
{
    while (!objects_.empty()) FreeObject();
    NewStack();
    uint32_t site = rb_heapprof_sites_intern(&tables_.sites, stacks_.back(), classes_[0], 0);
    for (uint32_t wrapped : {0u, UINT32_MAX - 50}) {
        for (auto &[birth, moves, good] :
             std::vector<std::tuple<uint32_t, uint32_t, bool>> { { 50, 7, true },
                                                                 { 49, 7, true },
                                                                 { 0, 7, true },
                                                                 { 51, 7, false },
                                                                 { 90, 7, false },
                                                                 { 50, 8, false } }) {
            heapprof_sample sample = {site, wrapped + birth, 1, 40, 40};
            rb_heapprof_sites_count_alloc(&tables_.sites, site, 1, 40);
            rb_heapprof_live_table_add(&tables_.live, &live_head_, address_ += 40, &sample);
            objects_.push_back(address_);
            NewBlock();
            heapprof_owner owner = { objects_[0], classes_[0],
                                     rb_heapprof_owner_seen(wrapped + 50, 7) };
            rb_heapprof_blocks_own(&tables_.blocks, blocks_.back(), &owner);
            facts_.moves = moves;
            Snapshot snapshot(TakeSnapshot(&tables_, &facts_, nullptr), rb_heapprof_snapshot_free);
            bool told = false;
            for (size_t i = 0; i < snapshot->row_count; i++)
                told |= snapshot->rows[i].owner_stack != 0;
            EXPECT_EQ(good, told) << wrapped << " " << birth << " " << moves;
            rb_heapprof_blocks_forget_owners(&tables_.blocks);
            FreeObject();
        }
    }
}

// All is copied before one of these.
TEST_F(CopiesTest, ThinningAtOnceAndStoppingComeAfterTheLastStep)
{
    thinning_.interval_bytes = thinning_.malloc_interval_bytes = 4096;
    std::vector<std::function<void()>> ends = {
        [&] {
            rb_heapprof_thin(&tables_, &thinning_);
            rb_heapprof_tables_trim(&tables_, nullptr);
        },
        [&] { rb_heapprof_tables_free(&tables_); },
    };
    for (auto &end : ends) {
        std::vector<std::string> expected = AtOnce();
        heapprof_copies *copies = Begin();
        for (int i = 0; i < 5; i++) ASSERT_TRUE(rb_heapprof_copies_step(copies, true));
        CopyAll(copies);
        end();
        EXPECT_FALSE(rb_heapprof_copies_step(copies, true));
        EXPECT_EQ(expected, End(copies));
    }
}

TEST_F(CopiesTest, AreGivenUpAtAnyMoment)
{
    for (int steps = 0; steps < 20; steps++) {
        heapprof_copies *copies = Begin();
        for (int i = 0; i < steps; i++) rb_heapprof_copies_step(copies, true);
        rb_heapprof_copies_free(copies);
        for (int i = 0; i < 100; i++) Change();
        rb_heapprof_tables_check(&tables_);
    }
}

// A slice lasts as long as it does because a step is short.
TEST_F(CopiesTest, AStepIsOfOneTable)
{
    heapprof_copies *copies = Begin();
    size_t entries = 0;
    for (const heapprof_still &still : copies->stills)
        entries += (still.end + HEAPPROF_STILL_STEP - 1) / HEAPPROF_STILL_STEP;
    size_t steps = 0;
    while (rb_heapprof_copies_step(copies, true)) steps++;
    EXPECT_EQ(entries, steps);
    rb_heapprof_copies_free(copies);
}

} // namespace
