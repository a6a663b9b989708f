// checksum_test.cc - whatever changes in the tables changes a sum: that of blocks, or that of the
// others.

#include <gtest/gtest.h>

#include "test/unit/support/table_testing.h"

extern "C" {
#include "profiler/checksum.h"
}

namespace {

class ChecksumTest : public testing::Test {
  protected:
    heapprof_mem mem_;
    heapprof_tables tables_;
    uint8_t block_filter_[HEAPPROF_BLOCK_FILTER_SIZE] = {};
    uint32_t head_ = 0;
    uint64_t tables_sum_ = 0, blocks_sum_ = 0;

    void
    SetUp() override
    {
        rb_heapprof_mem_init(&mem_, SIZE_MAX);
        rb_heapprof_tables_init(&tables_, &mem_, block_filter_);
        Keep();
    }

    void TearDown() override { rb_heapprof_tables_free(&tables_); }

    void
    Keep()
    {
        tables_sum_ = rb_heapprof_checksum_tables(&tables_);
        blocks_sum_ = rb_heapprof_checksum_blocks(&tables_);
    }

    // Since it was asked last.
    void
    ExpectChanged(bool tables, bool blocks)
    {
        EXPECT_EQ(tables, tables_sum_ != rb_heapprof_checksum_tables(&tables_));
        EXPECT_EQ(blocks, blocks_sum_ != rb_heapprof_checksum_blocks(&tables_));
        Keep();
    }
};

TEST_F(ChecksumTest, StaysWhileNothingChanges)
{
    ExpectChanged(false, false);
    rb_heapprof_strings_intern(&tables_.strings, "name", 4);
    Keep();
    EXPECT_NE(0u, rb_heapprof_strings_intern(&tables_.strings, "name", 4));
    ExpectChanged(false, false);
}

TEST_F(ChecksumTest, ChangesWithEachTable)
{
    uint32_t name = rb_heapprof_strings_intern(&tables_.strings, "name", 4);
    ExpectChanged(true, false);
    uint32_t id = rb_heapprof_identities_add(&tables_.identities, &head_, 0x10000);
    ExpectChanged(true, false);
    rb_heapprof_identities_change(&tables_.identities, id)->name = name;
    ExpectChanged(true, false);
    heapprof_function function = {};
    function.origin = function.owner = id;
    function.name = name;
    uint32_t number = rb_heapprof_functions_add(&tables_.functions, &function);
    ExpectChanged(true, false);
    uint32_t stack = rb_heapprof_stacks_push(&tables_.stacks, 0, number, 1);
    ExpectChanged(true, false);
    rb_heapprof_stacks_hold(&tables_.stacks, stack);
    ExpectChanged(true, false);
    uint32_t site = rb_heapprof_sites_intern(&tables_.sites, stack, id, 0);
    ExpectChanged(true, false);
    rb_heapprof_sites_count_alloc(&tables_.sites, site, 1, 40);
    ExpectChanged(true, false);
    heapprof_sample sample = {};
    sample.site = site;
    uint32_t entry = rb_heapprof_live_table_add(&tables_.live, &head_, 0x20000, &sample);
    ExpectChanged(true, false);
    rb_heapprof_live_table_sample(&tables_.live, entry)->slot_bytes = 80;
    ExpectChanged(true, false);
    rb_heapprof_callers_add(&tables_.callers, 0x30000, 16, HEAPPROF_ROLE_WRAPPER);
    ExpectChanged(true, false);
}

TEST_F(ChecksumTest, OfBlocksChangesWithThese)
{
    heapprof_piece piece = {};
    piece.asked_bytes = 100;
    piece.site = 1;
    piece.weight = 1;
    EXPECT_TRUE(rb_heapprof_blocks_add(&tables_.blocks, 0x40000, &piece));
    ExpectChanged(false, true);
    rb_heapprof_blocks_cut(&tables_.blocks, 0x40000, 50);
    ExpectChanged(false, true);
    heapprof_owner owner = {0x10000, 1, 1};
    rb_heapprof_blocks_own(&tables_.blocks, 0x40000, &owner);
    ExpectChanged(false, true);
    rb_heapprof_blocks_remove(&tables_.blocks, 0x40000);
    ExpectChanged(false, true);
    EXPECT_TRUE(rb_heapprof_reported_reserve(&tables_.reported));
    rb_heapprof_reported_add(&tables_.reported, 1000);
    ExpectChanged(false, true);
    EXPECT_NE(0u, rb_heapprof_blocks_take_retired(&tables_.blocks));
    ExpectChanged(false, true);
}

} // namespace
