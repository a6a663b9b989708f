// label_sets_test.cc - sets of labels against a model: std::map, and what its limits say.

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <string>

extern "C" {
#include "profiler/label_sets.h"
}

namespace {

using Labels = std::map<std::string, std::string>;

class LabelSets : public ::testing::Test {
  protected:
    heapprof_mem mem_;
    heapprof_label_sets sets_;

    void
    SetUp() override
    {
        rb_heapprof_mem_init(&mem_, SIZE_MAX);
        rb_heapprof_label_sets_init(&sets_, &mem_);
    }

    void
    TearDown() override
    {
        rb_heapprof_label_sets_free(&sets_);
        EXPECT_EQ(0u, mem_.used_bytes);
    }

    uint32_t
    With(uint32_t base, const std::string &key, const std::string &value)
    {
        heapprof_label label = {};
        label.key = key.c_str();
        label.key_length = key.size();
        label.value = value.c_str();
        label.value_length = value.size();
        return rb_heapprof_label_sets_with(&sets_, base, &label);
    }

    Labels
    Read(uint32_t set) const
    {
        size_t length;
        const char *at = rb_heapprof_label_sets_text(&sets_, set, &length), *end = at + length;
        heapprof_label label;
        Labels labels;
        std::string last;
        while (rb_heapprof_label_next(&at, end, &label)) {
            std::string key(label.key, label.key_length);
            EXPECT_LT(last, key);
            labels[key] = std::string(label.value, label.value_length);
            last = key;
        }
        EXPECT_EQ(end, at);
        return labels;
    }
};

TEST_F(LabelSets, SameLabelsAreOneSetWhateverTheirOrder)
{
    uint32_t one = With(With(0, "endpoint", "/cart"), "tenant", "b2b");
    uint32_t other = With(With(0, "tenant", "b2b"), "endpoint", "/cart");

    EXPECT_NE(0u, one);
    EXPECT_EQ(one, other);
    EXPECT_EQ((Labels{{"endpoint", "/cart"}, {"tenant", "b2b"}}), Read(one));
}

TEST_F(LabelSets, ASetNeverChanges)
{
    uint32_t cart = With(0, "endpoint", "/cart"), both = With(cart, "tenant", "b2b");

    EXPECT_EQ((Labels{{"endpoint", "/pay"}, {"tenant", "b2b"}}),
              Read(With(both, "endpoint", "/pay")));
    EXPECT_EQ((Labels{{"endpoint", "/cart"}}), Read(cart));
    EXPECT_EQ(cart, rb_heapprof_label_sets_without(&sets_, both, "tenant", 6));
    EXPECT_EQ(both, rb_heapprof_label_sets_without(&sets_, both, "job", 3));
    EXPECT_EQ(0u, rb_heapprof_label_sets_without(&sets_, cart, "endpoint", 8));
}

TEST_F(LabelSets, OfTwoSetsTheSecondDecides)
{
    uint32_t one = With(With(0, "a", "1"), "b", "1"), more = With(With(0, "b", "2"), "c", "2");

    EXPECT_EQ((Labels{{"a", "1"}, {"b", "2"}, {"c", "2"}}),
              Read(rb_heapprof_label_sets_both(&sets_, one, more)));
    EXPECT_EQ(one, rb_heapprof_label_sets_both(&sets_, one, 0));
    EXPECT_EQ(more, rb_heapprof_label_sets_both(&sets_, 0, more));
}

TEST_F(LabelSets, AValueBeyondTheLimitIsOther)
{
    sets_.values_most = 3;
    for (std::string value : {"0", "1", "2"}) EXPECT_EQ(value, Read(With(0, "id", value))["id"]);
    uint32_t other = With(0, "id", "3");

    EXPECT_EQ("(other)", Read(other)["id"]);
    EXPECT_EQ(other, With(0, "id", "4"));
    EXPECT_EQ("1", Read(With(0, "id", "1"))["id"]);
    EXPECT_EQ("9", Read(With(0, "another", "9"))["another"]);
    EXPECT_EQ(2u, sets_.others);
}

TEST_F(LabelSets, KeysBeyondTheLimitAreLeftOut)
{
    uint32_t set = 0;
    for (int i = 0; i < 20; i++) set = With(set, "key" + std::to_string(i), "v");

    EXPECT_EQ(16u, Read(set).size());
    EXPECT_EQ(4u, sets_.refused);
    EXPECT_EQ(set, With(set, "key19", "v"));
    EXPECT_EQ(set, With(set, std::string(64, 'k'), "v"));
}

TEST_F(LabelSets, AValueIsCutAtACharacter)
{
    std::string text(127, 'a');

    EXPECT_EQ(text, Read(With(0, "key", text + "\xc3\xa4"))["key"]);
    EXPECT_EQ(text + "b", Read(With(0, "key", text + "bc"))["key"]);
}

TEST_F(LabelSets, ThereAreAtMost65535Sets)
{
    sets_.values_most = 300;
    for (int i = 0; i < 300; i++) {
        uint32_t one = With(0, "a", std::to_string(i));
        for (int j = 0; j < 300; j++) With(one, "b", std::to_string(j));
    }
    EXPECT_LE(sets_.texts.numbers.count, 65535u);
    EXPECT_GT(sets_.texts.numbers.count, 65000u);
    EXPECT_GT(sets_.others + sets_.refused, 300u * 300u - 65535u - 300u);
    EXPECT_EQ("7", Read(With(With(0, "a", "7"), "b", "7"))["b"]);
}

TEST_F(LabelSets, WithoutMemoryALabelIsLeftOut)
{
    uint32_t cart = With(0, "endpoint", "/cart");
    mem_.budget_bytes = mem_.used_bytes;
    uint32_t set = cart;
    for (int i = 0; i < 5000; i++) set = With(cart, "endpoint", std::to_string(i));

    EXPECT_GT(sets_.others + sets_.refused, 0u);
    EXPECT_EQ(1u, Read(set).size());
}

TEST_F(LabelSets, EqualAModel)
{
    std::mt19937 random(7);
    std::map<uint32_t, Labels> known{{0, {}}};
    std::map<Labels, uint32_t> numbers{{{}, 0}};

    for (int i = 0; i < 3000; i++) {
        auto at = std::next(known.begin(), random() % known.size());
        std::string key(1, 'a' + random() % 5), value = std::to_string(random() % 4);
        Labels wanted = at->second;
        uint32_t set;
        if (random() % 3 == 0) {
            wanted.erase(key);
            set = rb_heapprof_label_sets_without(&sets_, at->first, key.c_str(), 1);
        }
        else {
            wanted[key] = value;
            set = With(at->first, key, value);
        }
        ASSERT_EQ(wanted, Read(set));
        auto entered = numbers.emplace(wanted, set);
        ASSERT_EQ(entered.first->second, set);
        known[set] = wanted;
    }
}

TEST_F(LabelSets, ANumberThatIsNoSetIsNotKnown)
{
    EXPECT_TRUE(rb_heapprof_label_sets_known_p(&sets_, 0));
    EXPECT_FALSE(rb_heapprof_label_sets_known_p(&sets_, 1));
    uint32_t cart = With(0, "endpoint", "/cart");
    EXPECT_TRUE(rb_heapprof_label_sets_known_p(&sets_, cart));
    for (uint32_t set : {cart + 1, UINT32_C(1) << 20, HEAPPROF_LABEL_LEASED, UINT32_MAX})
        EXPECT_FALSE(rb_heapprof_label_sets_known_p(&sets_, set)) << set;
}

TEST_F(LabelSets, AnyBytesAreAValue)
{
    auto kept = [](const std::string &bytes) {
        char out[HEAPPROF_LABEL_VALUE_ROOM];
        return std::string(out, rb_heapprof_label_value(out, bytes.data(), bytes.size()));
    };
    EXPECT_EQ("(empty)", kept(""));
    EXPECT_EQ("a b", kept(std::string("a\0b", 3)));
    EXPECT_EQ("\\xFF", kept("\xff"));
    EXPECT_EQ(std::string(127, 'x'), kept(std::string(127, 'x') + "\xc3\xbc"));
    EXPECT_EQ(128u, kept(std::string(1000, '\xff')).size());
}

TEST_F(LabelSets, ATextThatIsNotWholeIsNotRead)
{
    const char text[] = "key\0value\0next";
    const char *at = text;
    heapprof_label label;

    EXPECT_TRUE(rb_heapprof_label_next(&at, text + sizeof(text) - 1, &label));
    EXPECT_FALSE(rb_heapprof_label_next(&at, text + sizeof(text) - 1, &label));
}

}
