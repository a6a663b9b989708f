// text_test.cc - numbers with their nouns.

#include <gtest/gtest.h>

#include <cstring>
#include <string>

extern "C" {
#include "report/text.h"
}

namespace {

std::string
Count(uint64_t count)
{
    char text[REPORT_COUNT_MAX];
    report_count(text, count, "process", "processes");
    return text;
}

TEST(Text, ANounStandsInTheSingularForOneOnly)
{
    EXPECT_EQ("0 processes", Count(0));
    EXPECT_EQ("1 process", Count(1));
    EXPECT_EQ("2 processes", Count(2));
    EXPECT_EQ("12,345 processes", Count(12345));
    EXPECT_STREQ("are", report_plural(0, "is", "are"));
    EXPECT_STREQ("is", report_plural(1, "is", "are"));
}

TEST(Text, ALongNounIsCutAndNotOverrun)
{
    char text[REPORT_COUNT_MAX];
    report_count(text, UINT64_MAX, "", std::string(500, 'x').c_str());
    EXPECT_EQ(REPORT_COUNT_MAX - 1, static_cast<int>(strlen(text)));
}

}
