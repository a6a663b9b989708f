// settings_test.cc - settings in one text: where each begins and ends, and what is said of one that
// is wrong.

#include <gtest/gtest.h>

#include <string>
#include <vector>

extern "C" {
#include "base/settings.h"
}

namespace {

// "key|value" of each, "key" where there is no '='.
std::vector<std::string>
Read(const std::string &text)
{
    std::vector<std::string> found;

    for (const char *next = text.c_str(); next; ) {
        heapprof_setting setting;
        next = rb_heapprof_setting_read(next, &setting);
        std::string key(setting.key.start, setting.key.length);
        found.push_back(setting.value.start
                            ? key + "|" + std::string(setting.value.start, setting.value.length)
                            : key);
    }
    return found;
}

std::string
Complaint(const std::string &text, size_t size = 256)
{
    std::string message(size + 1, '!');
    heapprof_setting setting;

    rb_heapprof_setting_read(text.c_str(), &setting);
    rb_heapprof_setting_complain(&message[0], size, &setting, "expected ", "a number");
    EXPECT_EQ('!', message[size]) << "beyond its end";
    return message.c_str();
}

TEST(Settings, EndAtCommasAndBeginTheirValueAtTheFirstEqualsSign)
{
    using Texts = std::vector<std::string>;
    EXPECT_EQ((Texts{"a|1", "b|c=d", "e"}), Read("a=1,b=c=d,e"));
    EXPECT_EQ((Texts{""}), Read(""));
    EXPECT_EQ((Texts{"", "a|", ""}), Read(",a=,"));
    EXPECT_EQ((Texts{"|x"}), Read("=x"));
}

TEST(Settings, AreComparedAsAWhole)
{
    EXPECT_TRUE(rb_heapprof_span_is_p({"signal=URG", 6}, "signal"));
    EXPECT_FALSE(rb_heapprof_span_is_p({"signal", 5}, "signal"));
    EXPECT_FALSE(rb_heapprof_span_is_p({"signals", 7}, "signal"));
}

TEST(Settings, ThatAreWrongAreOneLine)
{
    EXPECT_EQ("a=x: expected a number", Complaint("a=x,b=1"));
    EXPECT_EQ("(nothing): expected a number", Complaint(",a=1"));
    EXPECT_EQ("a=?[31m?: expected a number", Complaint("a=\x1b[31m\n"));
    EXPECT_EQ(std::string(64, 'y') + "...: expected a number", Complaint(std::string(65, 'y')));
    EXPECT_EQ("a=x: ex", Complaint("a=x", 8));
}

} // namespace
