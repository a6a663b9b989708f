// tables_test.cc - what holds between the tables.

#include <gtest/gtest.h>

#include "table_testing.h"

extern "C" {
#include "tables.h"
}

namespace {

class TablesTest : public testing::Test {
  protected:
    heapprof_mem mem_;
    heapprof_tables tables_;
    uint32_t head_ = 0;

    void
    SetUp() override
    {
        rb_heapprof_mem_init(&mem_, SIZE_MAX);
        rb_heapprof_tables_init(&tables_, &mem_);
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
        function.origin = 1;
        function.name = rb_heapprof_strings_intern(&tables_.strings, "<main>", 6);
        uint32_t number = rb_heapprof_functions_add(&tables_.functions, &function);
        uint32_t stack = rb_heapprof_stacks_push(&tables_.stacks, 0, number, 1);
        uint32_t class_id = rb_heapprof_identities_add(&tables_.identities, &head_, 0x1000);
        heapprof_sample sample = {0, 0, 40, 1};
        sample.site = rb_heapprof_sites_intern(&tables_.sites, stack, class_id);
        rb_heapprof_live_table_add(&tables_.live, &head_, 0x2000, &sample);
        rb_heapprof_sites_count_alloc(&tables_.sites, sample.site, 1, 40);
        rb_heapprof_tables_check(&tables_);
    }
};

using TablesDeathTest = TablesTest;

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
    EXPECT_EQ(1u, tables_.live.addresses.count);
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
    tables_.identities.names[1] = 2;
    EXPECT_DEATH(rb_heapprof_tables_check(&tables_), "broken");
    tables_.identities.names[1] = HEAPPROF_UNNAMED;
    rb_heapprof_tables_check(&tables_);
    rb_heapprof_functions_get(&tables_.functions, 1)->path = 2;
    EXPECT_DEATH(rb_heapprof_tables_check(&tables_), "broken");
}

} // namespace
