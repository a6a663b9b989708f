// tables_test.cc - what holds between the tables.

#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "test/unit/support/table_testing.h"

extern "C" {
#include "profiler/tables.h"
}

namespace {

class TablesTest : public testing::Test {
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
    }

    void
    TearDown() override
    {
        rb_heapprof_tables_free(&tables_);
        EXPECT_EQ(0u, mem_.used_bytes);
    }

    // One sample with all that stands behind it, entered as the collector does.
    void
    AddSample()
    {
        heapprof_function function = {};
        function.origin = rb_heapprof_identities_add(&tables_.identities, &head_, 0x3000);
        function.name = rb_heapprof_strings_intern(&tables_.strings, "<main>", 6);
        uint32_t number = rb_heapprof_functions_add(&tables_.functions, &function);
        uint32_t stack = rb_heapprof_stacks_push(&tables_.stacks, 0, number, 1);
        uint32_t class_id = rb_heapprof_identities_add(&tables_.identities, &head_, 0x1000);
        heapprof_sample sample = {0, 0, 1, 40, 40};
        sample.site = rb_heapprof_sites_intern(&tables_.sites, stack, class_id, 0);
        rb_heapprof_live_table_add(&tables_.live, &head_, 0x2000, &sample);
        rb_heapprof_sites_count_alloc(&tables_.sites, sample.site, 1, 40);
        rb_heapprof_tables_check(&tables_);
    }
};

// The same for a block, asked for by a C function that has an identity.
class TablesBlocksTest : public TablesTest {
  protected:
    uint32_t
    Caller(uintptr_t address)
    {
        uint32_t no_page = 0;
        return rb_heapprof_identities_add(&tables_.identities, &no_page,
                                          rb_heapprof_callers_key(address));
    }

    void
    AddBlock(uintptr_t address, uint32_t caller)
    {
        heapprof_piece piece = {};
        piece.asked_bytes = 100;
        piece.weight = 1;
        piece.site = rb_heapprof_sites_intern(&tables_.sites, 0,
                                              caller | HEAPPROF_SITE_OF_BLOCKS, 0);
        rb_heapprof_blocks_add(&tables_.blocks, address, &piece);
        rb_heapprof_sites_count_alloc(&tables_.sites, piece.site, 1, 100);
        rb_heapprof_tables_check(&tables_);
    }
};

// Code that is made, allocates, and is thrown away, over and over.
class TablesTrimTest : public TablesTest {
  protected:
    uintptr_t address_ = 0x10000;
    uint32_t identities_head_ = 0;

    static void
    Remove(heapprof_address_table *table, uint32_t *head, uintptr_t address)
    {
        uint32_t entry = rb_heapprof_address_table_find(table, address);
        rb_heapprof_address_table_remove(table, head, entry);
    }

    void
    Die(uintptr_t address)
    {
        uint32_t entry = rb_heapprof_address_table_find(&tables_.identities.addresses, address);
        rb_heapprof_identities_died(&tables_.identities, &identities_head_, entry);
    }

    uint32_t
    Identify(uintptr_t address)
    {
        return rb_heapprof_identities_add(&tables_.identities, &identities_head_, address);
    }

    // An iseq of a class of its own allocates an object of that class, then all are dead but the
    // object, whose address is returned with its site; {0, 0} when memory is refused.
    std::pair<uintptr_t, uint32_t>
    RunOnce()
    {
        uintptr_t iseq = address_ += 40, klass = address_ += 40, object = address_ += 40;
        heapprof_function function = {};
        function.origin = Identify(iseq);
        function.owner = Identify(klass);
        function.name = rb_heapprof_strings_intern(&tables_.strings, "run", 3);
        uint32_t site = function.origin && function.owner ? Site(function) : 0;
        if (function.origin) Die(iseq);
        if (function.owner) Die(klass);
        heapprof_sample sample = {site, 0, 1, 40, 40};
        if (!site || !rb_heapprof_live_table_add(&tables_.live, &head_, object, &sample)) {
            return {0, 0};
        }
        rb_heapprof_sites_count_alloc(&tables_.sites, site, 1, 40);
        return {object, site};
    }

    uint32_t
    Site(const heapprof_function &function)
    {
        uint32_t number = rb_heapprof_functions_add(&tables_.functions, &function);
        uint32_t stack = number ? rb_heapprof_stacks_push(&tables_.stacks, 0, number, 1)
                                : HEAPPROF_NO_STACK;
        if (stack == HEAPPROF_NO_STACK) return 0;
        return rb_heapprof_sites_intern(&tables_.sites, stack, function.owner, 0);
    }

    void
    Free(std::pair<uintptr_t, uint32_t> sample)
    {
        Remove(&tables_.live.addresses, &head_, sample.first);
        rb_heapprof_sites_count_free(&tables_.sites, sample.second);
    }

    void
    Trim()
    {
        rb_heapprof_sites_fold(&tables_.sites);
        rb_heapprof_tables_trim(&tables_, nullptr);
        rb_heapprof_tables_check(&tables_);
    }
};

TEST_F(TablesTrimTest, NamesOfDeadObjectsAndOfTheirUsesStay)
{
    heapprof_dead_gc gc = {};
    heapprof_dead_object object = {};
    heapprof_use use = {};
    rb_heapprof_dead_objects_begin_gc(&tables_.dead_objects, &gc);
    object.class_name = rb_heapprof_strings_intern(&tables_.strings, "Held", 4);
    ASSERT_TRUE(rb_heapprof_dead_objects_add(&tables_.dead_objects, &object));
    use.object.class_name = rb_heapprof_strings_intern(&tables_.strings, "Used", 4);
    rb_heapprof_uses_add(&tables_.uses, &use);
    rb_heapprof_strings_intern(&tables_.strings, "Nobody", 6);
    Trim();
    EXPECT_STREQ("Held", rb_heapprof_strings_get(&tables_.strings, object.class_name, nullptr));
    EXPECT_STREQ("Used", rb_heapprof_strings_get(&tables_.strings, use.object.class_name, nullptr));
    EXPECT_EQ(0u, rb_heapprof_strings_find(&tables_.strings, "Nobody", 6));
}

TEST_F(TablesTrimTest, WhatALiveSampleNamesStays)
{
    auto kept = RunOnce();
    Free(RunOnce());
    Trim();
    EXPECT_EQ(1u, tables_.sites.numbers.count);
    EXPECT_EQ(1u, tables_.stacks.numbers.count);
    EXPECT_EQ(1u, tables_.functions.numbers.count);
    EXPECT_TRUE(tables_.identities.all[1].used && tables_.identities.all[2].used);
    EXPECT_FALSE(tables_.identities.all[3].used || tables_.identities.all[4].used);
    Free(kept);
    Trim();
    EXPECT_EQ(0u, tables_.functions.numbers.count);
    EXPECT_FALSE(tables_.identities.all[1].used || tables_.identities.all[2].used);
}

TEST_F(TablesTrimTest, CodeThatComesAndGoesNeedsNoMoreMemoryInTheEnd)
{
    for (int i = 0; i < 1000; i++) Free(RunOnce());
    Trim();
    size_t used_bytes = mem_.used_bytes;
    for (int round = 0; round < 50; round++) {
        for (int i = 0; i < 1000; i++) Free(RunOnce());
        Trim();
    }
    EXPECT_EQ(used_bytes, mem_.used_bytes);
}

// When memory is short living objects that nothing names give up their identities, too, and their
// names.
TEST_F(TablesTrimTest, WhatLivesAndIsNotNeededMayBeLetGo)
{
    static uint32_t *head;
    static std::vector<uintptr_t> forgotten;
    heapprof_letting_go letting_go = {[](uintptr_t) { return head; },
                                      [](uintptr_t address) { forgotten.push_back(address); }};
    head = &identities_head_;
    auto kept = RunOnce();
    for (uintptr_t address : {0x100, 0x200, 0x300}) {
        uint32_t id = Identify(address);
        tables_.identities.all[id].name =
            rb_heapprof_strings_intern(&tables_.strings, "a class", address / 0x100);
    }
    uint32_t needed = rb_heapprof_identities_find(&tables_.identities, 0x200);
    tables_.identities.all[needed].library =
        rb_heapprof_strings_intern(&tables_.strings, "libc", 4);
    uint32_t site = rb_heapprof_sites_intern(&tables_.sites, 0, needed, 0);
    rb_heapprof_tables_trim(&tables_, nullptr);
    EXPECT_EQ(5u, tables_.strings.numbers.count);
    rb_heapprof_tables_trim(&tables_, &letting_go);
    rb_heapprof_tables_check(&tables_);
    EXPECT_EQ((std::vector<uintptr_t>{0x100, 0x300}), forgotten);
    EXPECT_EQ(needed, rb_heapprof_identities_find(&tables_.identities, 0x200));
    EXPECT_EQ(0u, rb_heapprof_identities_find(&tables_.identities, 0x100));
    EXPECT_EQ(3u, tables_.strings.numbers.count);
    EXPECT_NE(0u, Identify(0x100));
    EXPECT_NE(0u, site);
    Free(kept);
    rb_heapprof_sites_fold(&tables_.sites);
    rb_heapprof_tables_trim(&tables_, &letting_go);
    rb_heapprof_tables_check(&tables_);
    EXPECT_EQ(0u, tables_.strings.numbers.count);
    EXPECT_EQ(0u, tables_.identities.addresses.numbers.count);
}

TEST_F(TablesTrimTest, WhatATrimFreedIsTakenAgainWithoutMemory)
{
    mem_.budget_bytes = 1 << 20;
    std::vector<std::pair<uintptr_t, uint32_t>> live;
    for (auto sample = RunOnce(); sample.first; sample = RunOnce()) live.push_back(sample);
    for (int round = 0; round < 10; round++) {
        for (auto sample : live) Free(sample);
        Trim();
        for (auto &sample : live) {
            sample = RunOnce();
            ASSERT_NE(0u, sample.first);
        }
    }
    EXPECT_GT(live.size(), 1000u);
}

TEST_F(TablesBlocksTest, BlocksCountAsLiveSamplesUntilTheyAreSettled)
{
    AddSample();
    AddBlock(0x5000, Caller(1));
    const heapprof_site *site = rb_heapprof_sites_get(&tables_.sites, 2);
    EXPECT_EQ(1u, site->live_samples);
    rb_heapprof_blocks_remove(&tables_.blocks, 0x5000);
    rb_heapprof_tables_check(&tables_);
    EXPECT_EQ(1u, site->live_samples);
    EXPECT_EQ(0u, rb_heapprof_sites_fold(&tables_.sites));
    rb_heapprof_sites_count_free(&tables_.sites,
                                 rb_heapprof_blocks_take_retired(&tables_.blocks));
    rb_heapprof_tables_check(&tables_);
    EXPECT_EQ(1u, rb_heapprof_sites_fold(&tables_.sites));
}

TEST_F(TablesBlocksTest, CallersStayThroughATrim)
{
    uint32_t caller = Caller(1), unused = Caller(2);
    AddBlock(0x5000, caller);
    rb_heapprof_tables_trim(&tables_, nullptr);
    rb_heapprof_tables_check(&tables_);
    for (uint32_t id : {caller, unused}) EXPECT_TRUE(tables_.identities.all[id].used);
}

TEST_F(TablesBlocksTest, FreedTablesForgetBlocksAndCallers)
{
    AddBlock(0x5000, Caller(1));
    rb_heapprof_tables_free(&tables_);
    EXPECT_EQ(0u, mem_.used_bytes);
    EXPECT_EQ(0u, tables_.blocks.live_count);
    EXPECT_EQ(0u, rb_heapprof_identities_find(&tables_.identities, rb_heapprof_callers_key(1)));
    rb_heapprof_tables_check(&tables_);
    AddBlock(0x5000, Caller(1));
}

using TablesBlocksDeathTest = TablesBlocksTest;

TEST_F(TablesBlocksDeathTest, CheckSeesABlockOfAnUnknownSite)
{
    AddBlock(0x5000, Caller(1));
    tables_.blocks.pieces[1].site = 2;
    EXPECT_DEATH(rb_heapprof_tables_check(&tables_), "broken");
    rb_heapprof_blocks_remove(&tables_.blocks, 0x5000);
    EXPECT_DEATH(rb_heapprof_tables_check(&tables_), "broken");
}

TEST_F(TablesBlocksDeathTest, CheckSeesABlockOfASiteOfObjects)
{
    AddSample();
    AddBlock(0x5000, Caller(1));
    rb_heapprof_live_table_sample(&tables_.live, 1)->site = 2;
    EXPECT_DEATH(rb_heapprof_tables_check(&tables_), "broken");
    rb_heapprof_live_table_sample(&tables_.live, 1)->site = 1;
    tables_.blocks.pieces[1].site = 1;
    EXPECT_DEATH(rb_heapprof_tables_check(&tables_), "broken");
}

// Its samples are in no site yet.
TEST_F(TablesBlocksTest, APieceMayWaitForItsSite)
{
    heapprof_piece piece = {};
    piece.asked_bytes = 100;
    piece.weight = 1;
    piece.site = HEAPPROF_SITE_WAITING;
    rb_heapprof_blocks_add(&tables_.blocks, 0x5000, &piece);
    rb_heapprof_blocks_add(&tables_.blocks, 0x6000, &piece);
    rb_heapprof_blocks_remove(&tables_.blocks, 0x6000);
    rb_heapprof_tables_check(&tables_);
}

TEST_F(TablesBlocksTest, ATrimKeepsTheClassesOfOwners)
{
    uint32_t no_page = 0;
    uint32_t id = rb_heapprof_identities_add(&tables_.identities, &no_page, 0x9000);
    heapprof_owner owner = {0x7000, id, 0};
    AddBlock(0x5000, Caller(1));
    rb_heapprof_blocks_own(&tables_.blocks, 0x5000, &owner);
    uint32_t entry = rb_heapprof_address_table_find(&tables_.identities.addresses, 0x9000);
    rb_heapprof_identities_died(&tables_.identities, &no_page, entry);
    rb_heapprof_tables_trim(&tables_, nullptr);
    rb_heapprof_tables_check(&tables_);
    EXPECT_TRUE(tables_.identities.all[id].used);
    rb_heapprof_blocks_forget_owners(&tables_.blocks);
    rb_heapprof_tables_trim(&tables_, nullptr);
    EXPECT_FALSE(tables_.identities.all[id].used);
}

using TablesDeathTest = TablesTest;

TEST_F(TablesTest, AnIdentityThatNoObjectHasIsThereWithItsName)
{
    uint32_t no_page = 0;
    auto named = [&](const char *name) {
        return rb_heapprof_tables_named(&tables_, &no_page, 0x9000, name, strlen(name));
    };
    AddSample();
    mem_.budget_bytes = mem_.used_bytes;
    std::string longer(tables_.strings.bytes_capacity, 'x');
    EXPECT_EQ(0u, named(longer.c_str()));
    EXPECT_EQ(0u, rb_heapprof_identities_find(&tables_.identities, 0x9000));
    mem_.budget_bytes = SIZE_MAX;
    uint32_t id = named("[C] libz.so");
    ASSERT_NE(0u, id);
    uint32_t name = tables_.identities.all[id].name;
    EXPECT_STREQ("[C] libz.so", rb_heapprof_strings_get(&tables_.strings, name, nullptr));
    EXPECT_EQ(id, named("[C] libz.so"));
    rb_heapprof_tables_check(&tables_);
}

TEST_F(TablesTest, NewTablesAreWholeAndHoldNoMemory)
{
    rb_heapprof_tables_check(&tables_);
    EXPECT_EQ(0u, mem_.used_bytes);
}

TEST_F(TablesTest, FreedTablesAreAsNewOnes)
{
    AddSample();
    rb_heapprof_tables_free(&tables_);
    EXPECT_EQ(0u, mem_.used_bytes);
    head_ = 0;
    AddSample();
    EXPECT_EQ(1u, tables_.live.addresses.numbers.count);
}

TEST_F(TablesDeathTest, CheckSeesASiteThatForgotItsSample)
{
    AddSample();
    rb_heapprof_sites_count_free(&tables_.sites, 1);
    EXPECT_DEATH(rb_heapprof_tables_check(&tables_), "broken");
}

TEST_F(TablesDeathTest, CheckSeesASiteThatCountsASampleTooMany)
{
    AddSample();
    rb_heapprof_sites_count_alloc(&tables_.sites, 1, 1, 40);
    EXPECT_DEATH(rb_heapprof_tables_check(&tables_), "broken");
}

TEST_F(TablesDeathTest, CheckSeesASampleOfAnUnknownSite)
{
    AddSample();
    rb_heapprof_live_table_sample(&tables_.live, 1)->site = 2;
    EXPECT_DEATH(rb_heapprof_tables_check(&tables_), "broken");
}

TEST_F(TablesDeathTest, CheckSeesNamesThatAreNoStrings)
{
    AddSample();
    tables_.identities.all[1].name = 2;
    EXPECT_DEATH(rb_heapprof_tables_check(&tables_), "broken");
    tables_.identities.all[1].name = HEAPPROF_UNNAMED;
    rb_heapprof_tables_check(&tables_);
    rb_heapprof_functions_get(&tables_.functions, 1)->path = 2;
    EXPECT_DEATH(rb_heapprof_tables_check(&tables_), "broken");
}

} // namespace
