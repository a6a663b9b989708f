// strings_test.cc - interned strings against std::unordered_map.

#include <gtest/gtest.h>

#include <string>
#include <unordered_map>
#include <vector>

#include "table_testing.h"

extern "C" {
#include "base/strings.h"
}

namespace {

class StringsTest : public testing::Test {
  protected:
    heapprof_mem mem_;
    heapprof_strings strings_;

    void
    SetUp() override
    {
        rb_heapprof_mem_init(&mem_, SIZE_MAX);
        rb_heapprof_strings_init(&strings_, &mem_);
    }

    void
    TearDown() override
    {
        rb_heapprof_strings_free(&strings_);
        EXPECT_EQ(0u, mem_.used_bytes);
    }

    uint32_t
    Intern(const std::string &text)
    {
        return rb_heapprof_strings_intern(&strings_, text.data(), text.size());
    }

    std::string
    Get(uint32_t number) const
    {
        size_t length = 0;
        const char *text = rb_heapprof_strings_get(&strings_, number, &length);
        EXPECT_EQ('\0', text[length]);
        return std::string(text, length);
    }

    void
    ExpectSame(const std::vector<std::string> &model) const
    {
        rb_heapprof_strings_check(&strings_);
        ASSERT_EQ(model.size(), strings_.count);
        for (uint32_t number = 0; number < model.size(); number++) {
            ASSERT_EQ(model[number], Get(number));
        }
    }
};

// Few letters, so that texts repeat and begin alike; NUL and a byte above 127 among them.
std::string
RandomText(Choices *choose)
{
    static const char letters[] = {'a', 'b', '#', '\0', '\xe9'};
    std::string text(choose->OneIn(50) ? 100 + choose->Below(400) : choose->Below(7), ' ');
    for (char &letter : text) letter = letters[choose->Below(5)];
    return text;
}

TEST_F(StringsTest, AgreesWithAMapOverRandomOperations)
{
    Choices choose(20);
    std::unordered_map<std::string, uint32_t> numbers = {{"", 0}};
    std::vector<std::string> texts = {""};
    for (int i = 0; i < kOperations; i++) {
        std::string text = RandomText(&choose);
        uint32_t number = Intern(text);
        auto known = numbers.emplace(text, texts.size());
        if (known.second) texts.push_back(text);
        ASSERT_EQ(known.first->second, number);
        if (i % (10 * kFullLook) == 0) ExpectSame(texts);
    }
    ExpectSame(texts);
    EXPECT_GT(texts.size(), 10000u);
}

TEST_F(StringsTest, EmptyStringIsNumberZeroWithoutMemory)
{
    mem_.budget_bytes = 0;
    EXPECT_EQ(0u, Intern(""));
    EXPECT_EQ("", Get(0));
    EXPECT_EQ(0u, mem_.refused);
}

TEST_F(StringsTest, TextsThatDifferBehindANulAreDifferent)
{
    uint32_t one = Intern(std::string("a\0b", 3)), other = Intern(std::string("a\0c", 3));
    EXPECT_NE(one, other);
    EXPECT_NE(one, Intern("a"));
    EXPECT_EQ(std::string("a\0b", 3), Get(one));
}

TEST_F(StringsTest, LengthMayBeLeftOut)
{
    uint32_t number = Intern("Foo#bar");
    EXPECT_STREQ("Foo#bar", rb_heapprof_strings_get(&strings_, number, nullptr));
}

TEST_F(StringsTest, RefusedInternLeavesAllAsItWas)
{
    std::vector<std::string> texts = {""};
    int refusals = 0;
    mem_.budget_bytes = 0;
    for (int i = 0; i < 3000; i++) {
        std::string text = "method_" + std::to_string(i);
        refusals += AddPageByPage(
            &mem_,
            [&] {
                uint32_t number = Intern(text);
                EXPECT_TRUE(number == UINT32_MAX || number == texts.size());
                return number != UINT32_MAX;
            },
            [&] { ExpectSame(texts); });
        texts.push_back(text);
    }
    ExpectSame(texts);
    EXPECT_GE(refusals, 3 * 3);
}

TEST_F(StringsTest, TextBeyondThirtyTwoBitOffsetsIsRefused)
{
    Intern("a");
    strings_.bytes_used += UINT32_MAX - 1000;
    EXPECT_EQ(UINT32_MAX, Intern(std::string(1000, 'b')));
    strings_.bytes_used -= UINT32_MAX - 1000;
    EXPECT_EQ(1u, mem_.refused);
    ExpectSame({"", "a"});
}

TEST_F(StringsTest, FreeLeavesAnEmptyTable)
{
    Intern("a");
    Intern("b");
    rb_heapprof_strings_free(&strings_);
    EXPECT_EQ(0u, mem_.used_bytes);
    EXPECT_EQ(1u, Intern("b"));
    ExpectSame({"", "b"});
}

using StringsDeathTest = StringsTest;

TEST_F(StringsDeathTest, CheckSeesChangedText)
{
    Intern("abc");
    strings_.bytes[1] = 'X';
    EXPECT_DEATH(rb_heapprof_strings_check(&strings_), "broken");
}

TEST_F(StringsDeathTest, NumbersThatWereNotGivenAreRefused)
{
    Intern("abc");
    EXPECT_DEATH(rb_heapprof_strings_get(&strings_, 2, nullptr), "broken");
}

} // namespace
