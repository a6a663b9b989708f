// late_sites_test.cc - sites that wait for a name, against a std::map of what the names are.

#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <string>
#include <utility>

#include "test/unit/support/table_testing.h"

extern "C" {
#include "profiler/late_sites.h"
}

namespace {

using std::string;

const string kUnnamed = HEAPPROF_LABEL_UNNAMED;

// The text of a set of labels (label_sets.h).
string
Text(const string &key, const string &value)
{
    return key + '\0' + value + '\0';
}

heapprof_label
Label(const char *key, const char *value)
{
    return {key, value, strlen(key), strlen(value)};
}

class LateSitesTest : public testing::Test {
  protected:
    heapprof_mem mem_;
    heapprof_tables tables_;
    uint8_t block_filter_[HEAPPROF_BLOCK_FILTER_SIZE] = {};
    uint32_t head_ = 0, live_head_ = 0; // of pages: of identities, of samples
    uintptr_t address_ = 0x10000;

    void
    SetUp() override
    {
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

    uint32_t
    Site(uint32_t class_id, const string &text, uint32_t late)
    {
        uint32_t label = rb_heapprof_strings_intern(&tables_.strings, text.data(), text.size());
        return rb_heapprof_sites_intern(&tables_.sites, 0, class_id,
                                        label | HEAPPROF_LABEL_LATE(late));
    }

    void
    Add(uint32_t class_id, const string &text, uint32_t late)
    {
        heapprof_sample sample = {0, 0, 1, 40, 40};
        sample.site = Site(class_id, text, late);
        rb_heapprof_live_table_add(&tables_.live, &live_head_, address_ += 64, &sample);
        rb_heapprof_sites_count_alloc(&tables_.sites, sample.site, 1, 40);
    }

    // Samples that are alive, by class, labels, and the number they wait for, as the sites count
    // them. What the samples say themselves is the same.
    std::map<std::pair<string, uint32_t>, uint32_t>
    Living(uint32_t class_id)
    {
        std::map<std::pair<string, uint32_t>, uint32_t> counted, named;
        for (uint32_t number = 1; number < tables_.sites.numbers.end; number++) {
            const heapprof_site *site = rb_heapprof_sites_get(&tables_.sites, number);
            if (site->used && site->class_id == class_id) counted[Of(site)] += site->live_samples;
        }
        for (uint32_t entry = 1; entry < tables_.live.addresses.numbers.end; entry++) {
            uint32_t number = rb_heapprof_live_table_sample(&tables_.live, entry)->site;
            const heapprof_site *site = rb_heapprof_sites_get(&tables_.sites, number);
            EXPECT_TRUE(site->used);
            if (site->class_id == class_id) named[Of(site)]++;
        }
        EXPECT_EQ(counted, named);
        return counted;
    }

    std::pair<string, uint32_t>
    Of(const heapprof_site *site)
    {
        size_t length;
        const char *text = rb_heapprof_strings_get(&tables_.strings, site->label, &length);
        return {string(text, length), site->late};
    }
};

TEST_F(LateSitesTest, WhatWaitsGetsTheNameAndIsAddedToWhatHasIt)
{
    const string cart = Text("endpoint", "/cart"), unnamed = Text("endpoint", kUnnamed);
    uint32_t id = rb_heapprof_identities_add(&tables_.identities, &head_, 0x1000);

    for (int i = 0; i < 5; i++) Add(id, cart, 0);
    for (int i = 0; i < 3; i++) Add(id, unnamed, 7);
    for (int i = 0; i < 2; i++) Add(id, unnamed, 8);
    heapprof_label name = Label("endpoint", "/cart");
    rb_heapprof_late_sites_settle(&tables_, 7, &name, 0);
    EXPECT_EQ((std::map<std::pair<string, uint32_t>, uint32_t>{{{cart, 0}, 8}, {{unnamed, 8}, 2}}),
              Living(id));
    EXPECT_EQ(8, rb_heapprof_sites_get(&tables_.sites, Site(id, cart, 0))->alloc_objects);
    rb_heapprof_late_sites_settle(&tables_, 8, nullptr, 0);
    EXPECT_EQ((std::map<std::pair<string, uint32_t>, uint32_t>{{{cart, 0}, 8}, {{unnamed, 0}, 2}}),
              Living(id));
}

TEST_F(LateSitesTest, OnlyTheLabelOfTheKeyThatWaitsIsNamed)
{
    const string both = Text("endpoint", kUnnamed) + Text("job", kUnnamed);
    const string other = Text("endpoint", "/pay");
    uint32_t id = rb_heapprof_identities_add(&tables_.identities, &head_, 0x1000);
    heapprof_label job = Label("job", "Mailer"), cart = Label("endpoint", "/cart");

    Add(id, both, 2);
    Add(id, other, 2);
    rb_heapprof_late_sites_settle(&tables_, 2, &job, 1);
    const string mailer = Text("endpoint", kUnnamed) + Text("job", "Mailer");
    EXPECT_EQ((std::map<std::pair<string, uint32_t>, uint32_t>{{{mailer, 1}, 1}, {{other, 1}, 1}}),
              Living(id));
    rb_heapprof_late_sites_settle(&tables_, 1, &cart, 0);
    const string named = Text("endpoint", "/cart") + Text("job", "Mailer");
    EXPECT_EQ((std::map<std::pair<string, uint32_t>, uint32_t>{{{named, 0}, 1}, {{other, 0}, 1}}),
              Living(id));
}

TEST_F(LateSitesTest, WithoutMemoryForANameNothingElseIsLost)
{
    const string unnamed = Text("endpoint", kUnnamed);
    uint32_t id = rb_heapprof_identities_add(&tables_.identities, &head_, 0x1000);
    const string value(HEAPPROF_LABEL_VALUE_BYTES, 'x');
    heapprof_label name = Label("endpoint", value.c_str());

    Add(id, unnamed, 3);
    mem_.budget_bytes = mem_.used_bytes;
    size_t filled = 0;
    string text = "a";
    while (rb_heapprof_strings_intern(&tables_.strings, text.data(), text.size()) != UINT32_MAX) {
        text += "a";
        filled++;
    }
    ASSERT_GT(filled, 0u);
    rb_heapprof_late_sites_settle(&tables_, 3, &name, 0);
    EXPECT_EQ((std::map<std::pair<string, uint32_t>, uint32_t>{{{unnamed, 0}, 1}}), Living(id));
    mem_.budget_bytes = SIZE_MAX;
}

} // namespace
