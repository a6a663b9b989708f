// strings_test.cc - interned strings against std::unordered_map.

#include <gtest/gtest.h>

#include <string>
#include <unordered_map>
#include <vector>

#include "test/unit/support/table_testing.h"

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
        ASSERT_EQ(model.size(), strings_.numbers.end);
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

// Numbers stay with their texts; those that are free are taken again.
TEST_F(StringsTest, SweepKeepsWhatIsNeededUnderItsNumber)
{
    Choices choose(21);
    std::unordered_map<std::string, uint32_t> known;
    for (int round = 0; round < 30; round++) {
        for (int i = 0; i < 2000; i++) {
            std::string text = RandomText(&choose);
            uint32_t number = Intern(text);
            if (text.empty()) continue;
            auto before = known.emplace(text, number);
            ASSERT_EQ(before.first->second, number);
        }
        uint32_t freed = 0;
        for (auto each = known.begin(); each != known.end();) {
            bool needed = round % 7 != 6 && choose.OneIn(2);
            if (needed) rb_heapprof_strings_need(&strings_, each->second);
            else freed++;
            each = needed ? std::next(each) : known.erase(each);
        }
        ASSERT_EQ(freed, rb_heapprof_strings_sweep(&strings_));
        rb_heapprof_strings_check(&strings_);
        ASSERT_EQ(known.size(), strings_.numbers.count);
        for (const auto &each : known) ASSERT_EQ(each.first, Get(each.second));
    }
    EXPECT_LT(strings_.numbers.end, 3000u);
}

TEST_F(StringsTest, NamesThatComeAndGoNeedNoMoreMemoryInTheEnd)
{
    size_t most = 0;
    for (int i = 0; i < 300000; i++) {
        Intern("a method that is made once, " + std::to_string(i));
        if (i % 3000 != 0) continue;
        rb_heapprof_strings_sweep(&strings_);
        if (i == 30000) most = mem_.peak_bytes;
    }
    EXPECT_EQ(most, mem_.peak_bytes);
    rb_heapprof_strings_sweep(&strings_);
    EXPECT_EQ(0u, strings_.numbers.count);
    EXPECT_EQ(0u, strings_.bytes_used);
    EXPECT_EQ("", Get(0));
}

TEST_F(StringsTest, SweepOfAnEmptyTableIsAllowed)
{
    rb_heapprof_strings_need(&strings_, 0);
    EXPECT_EQ(0u, rb_heapprof_strings_sweep(&strings_));
    rb_heapprof_strings_check(&strings_);
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
    strings_.bytes[5] = 'X';
    EXPECT_DEATH(rb_heapprof_strings_check(&strings_), "broken");
}

TEST_F(StringsDeathTest, NumbersThatWereNotGivenAreRefused)
{
    Intern("abc");
    EXPECT_DEATH(rb_heapprof_strings_get(&strings_, 2, nullptr), "broken");
}

} // namespace
