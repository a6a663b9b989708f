// heap_check_test.cc - tables of somebody else's: what passes the check can be added up, whatever
// is in it.

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "test/unit/support/table_testing.h"
#include "test/unit/support/take_snapshot.h"

extern "C" {
#include "attach/heap_check.h"
#include "profiler/copies.h"
#include "profiler/pprof.h"
}

namespace {

class HeapCheckTest : public testing::Test {
  protected:
    heapprof_mem mem_;
    heapprof_tables tables_;
    uint8_t block_filter_[HEAPPROF_BLOCK_FILTER_SIZE] = {};
    uint32_t head_ = 0;

    void
    SetUp() override
    {
        rb_heapprof_mem_init(&mem_, SIZE_MAX);
        rb_heapprof_tables_init(&tables_, &mem_, block_filter_);
        for (int i = 0; i < 40; i++) Add(i);
    }

    void
    TearDown() override
    {
        rb_heapprof_mem_init(
            &mem_, SIZE_MAX); // what was changed cannot be given back by who keeps it right
    }

    uint32_t
    Text(const std::string &text)
    {
        return rb_heapprof_strings_intern(&tables_.strings, text.data(), text.size());
    }

    uint32_t
    Identity(uintptr_t address, const std::string &name)
    {
        uint32_t page = 0;
        uint32_t id = rb_heapprof_identities_add(&tables_.identities, &page, address);
        rb_heapprof_identities_change(&tables_.identities, id)->name = Text(name);
        return id;
    }

    void
    Add(int i)
    {
        std::string number = std::to_string(i);
        heapprof_function function = {};
        function.origin = HEAPPROF_ORIGIN_C | static_cast<uint64_t>(i + 1);
        function.name = Text("function " + number);
        function.path = Text("/path/" + number + ".rb");
        uint32_t f = rb_heapprof_functions_add(&tables_.functions, &function);
        uint32_t parent = i % 4 ? static_cast<uint32_t>(i) : 0;
        uint32_t stack =
            rb_heapprof_stacks_push(&tables_.stacks, parent, f, static_cast<uint32_t>(i));
        uint32_t site = rb_heapprof_sites_intern(&tables_.sites, stack,
                                                 Identity(0x100000 + 40 * i, "Class" + number), 0);
        heapprof_sample sample = {};
        sample.site = site;
        sample.weight = 3;
        sample.birth_bytes = sample.slot_bytes = 40;
        rb_heapprof_live_table_add(&tables_.live, &head_, 0x200000 + 40 * i, &sample);
        rb_heapprof_sites_count_alloc(&tables_.sites, site, 3, 40);
        AddBlock(i, stack);
    }

    void
    AddBlock(int i, uint32_t stack)
    {
        uint32_t caller = Identity(rb_heapprof_callers_key(0x300000 + 40 * i), "malloc_it");
        heapprof_piece piece = {};
        piece.site =
            rb_heapprof_sites_intern(&tables_.sites, stack, caller | HEAPPROF_SITE_OF_BLOCKS, 0);
        piece.begin = i % 2 * 100;
        piece.asked_bytes = 100;
        piece.weight = 2;
        rb_heapprof_blocks_add(&tables_.blocks, 0x400000 + 160 * (i / 2), &piece);
        rb_heapprof_sites_count_alloc(&tables_.sites, piece.site, 2, 100);
    }

    // Adds up as attach/heap.c does, and writes a profile of it.
    void
    AddUp()
    {
        heapprof_facts facts = {};
        heapprof_copies *copies = rb_heapprof_copies_begin(&tables_, &facts, nullptr);
        ASSERT_NE(nullptr, copies);
        while (rb_heapprof_copies_step(copies, false)) continue;
        heapprof_snapshot *snapshot = rb_heapprof_copies_add_up(copies);
        if (!snapshot) return; // there was no memory for as much as it says there is
        size_t size;
        free(rb_heapprof_pprof_encode(snapshot, "ruby", "", &size));
        rb_heapprof_snapshot_free(snapshot);
    }

    // Each array, with as many bytes as are read of it.
    std::vector<std::pair<unsigned char *, size_t>>
    Arrays()
    {
        std::vector<std::pair<unsigned char *, size_t>> arrays;
        auto add = [&](auto *array, size_t count) {
            arrays.emplace_back(reinterpret_cast<unsigned char *>(array), count * sizeof(*array));
        };
        add(tables_.strings.all, tables_.strings.numbers.end);
        add(tables_.strings.bytes, tables_.strings.bytes_used);
        add(tables_.functions.all, tables_.functions.numbers.end);
        add(tables_.stacks.nodes, tables_.stacks.numbers.end);
        add(tables_.identities.all, tables_.identities.numbers.end);
        add(tables_.sites.all, tables_.sites.numbers.end);
        add(tables_.live.addresses.entries, tables_.live.addresses.numbers.end);
        add(tables_.live.samples, tables_.live.addresses.numbers.end);
        add(tables_.blocks.pieces_of, tables_.blocks.addresses.numbers.end);
        add(tables_.blocks.addresses.entries, tables_.blocks.addresses.numbers.end);
        add(tables_.blocks.pieces, tables_.blocks.numbers.end);
        return arrays;
    }
};

TEST_F(HeapCheckTest, WhatTheProfilerKeepsIsGood)
{
    EXPECT_EQ(nullptr, attach_heap_check(&tables_));
    AddUp();
}

TEST_F(HeapCheckTest, EachKindOfFaultIsSeen)
{
    int number = 0;
    auto bad = [&](const char *what, auto *place, auto value) {
        SCOPED_TRACE(number++);
        auto before = *place;
        *place = value;
        const char *said = attach_heap_check(&tables_);
        EXPECT_STREQ(what, said ? said : "nothing");
        *place = before;
        EXPECT_EQ(nullptr, attach_heap_check(&tables_));
    };
    bad("its free entries", &tables_.strings.numbers.free_head, tables_.strings.numbers.end);
    bad("its free entries", &tables_.sites.numbers.free_head, 1u);
    bad("its free entries", &tables_.identities.numbers.count, 0u);
    bad("its free entries", &tables_.identities.addresses.entries[3].address, uintptr_t{0});
    bad("its free entries", &tables_.live.addresses.numbers.free_head, UINT32_MAX);
    bad("its strings", &tables_.strings.all[5].offset, UINT32_MAX);
    bad("its strings",
        &tables_.strings.bytes[tables_.strings.all[5].offset + tables_.strings.all[5].length], 'x');
    bad("its functions", &tables_.functions.all[3].name, tables_.strings.numbers.end);
    bad("its functions", &tables_.functions.all[3].path, UINT32_MAX);
    bad("its stacks", &tables_.stacks.nodes[3].function, tables_.functions.numbers.end);
    bad("its stacks", &tables_.stacks.nodes[3].parent, tables_.stacks.numbers.end);
    bad("its stacks", &tables_.stacks.nodes[3].parent, 3u);
    bad("its stacks", &tables_.stacks.nodes[3].depth, 7u);
    bad("its classes", &tables_.identities.all[3].name, tables_.strings.numbers.end);
    bad("its classes", &tables_.identities.all[3].library, tables_.strings.numbers.end);
    bad("its sites", &tables_.sites.all[3].stack, tables_.stacks.numbers.end);
    bad("its sites", &tables_.sites.all[3].class_id, tables_.identities.numbers.end);
    bad("its sites", &tables_.sites.all[3].alloc_bytes, static_cast<double>(NAN));
    bad("its samples", &tables_.live.samples[3].site, tables_.sites.numbers.end);
    bad("its samples", &tables_.live.samples[3].weight, -1.0f);
    bad("its samples", &tables_.live.samples[3].birth_bytes, static_cast<uint16_t>(0));
    bad("its blocks", &tables_.blocks.pieces[3].site, tables_.sites.numbers.end);
    heapprof_piece nothing_asked = tables_.blocks.pieces[3]; // a bit field has no address
    nothing_asked.asked_bytes = 0;
    bad("its blocks", &tables_.blocks.pieces[3], nothing_asked);
    bad("its blocks", &tables_.blocks.pieces[3].weight, 0.0f);
    bad("its blocks", &tables_.blocks.pieces[tables_.blocks.pieces_of[1]].next,
        tables_.blocks.pieces_of[1]);
    bad("its blocks", &tables_.blocks.pieces_of[1], tables_.blocks.numbers.end);
}

// Any bytes, one to a few at a time, on top of each other for a while.
TEST_F(HeapCheckTest, WhatPassesCanBeAddedUp)
{
    Choices choose(11);
    auto arrays = Arrays();
    int passed = 0;

    for (int round = 0; round < 3000; round++) {
        std::vector<std::vector<unsigned char>> before;
        for (auto &[bytes, size] : arrays) before.emplace_back(bytes, bytes + size);
        for (uint64_t n = 1 + choose.Below(3); n > 0; n--) {
            auto &[bytes, size] = arrays[choose.Below(arrays.size())];
            static const unsigned char kValues[] = {0, 1, 2, 39, 127, 128, 255};
            bytes[choose.Below(size)] = kValues[choose.Below(sizeof(kValues))];
        }
        if (!attach_heap_check(&tables_)) {
            AddUp();
            passed++;
        }
        for (size_t i = 0; i < arrays.size(); i++)
            memcpy(arrays[i].first, before[i].data(), arrays[i].second);
    }
    EXPECT_GT(passed, 300);
}

} // namespace
