// out_test.cc - templates of file names.

#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <utility>

extern "C" {
#include "profiler/options.h"
#include "profiler/out.h"
}

namespace {

const heapprof_out_values kValues = {4711, "/usr/bin/app.rb", 1700000000, 3};

std::string
Expand(const std::string &text, heapprof_out_values values = kValues)
{
    char path[256];
    EXPECT_TRUE(rb_heapprof_out_expand(text.c_str(), &values, path, sizeof(path)));
    return path;
}

TEST(Out, TemplateLettersAreReplaced)
{
    EXPECT_EQ("heapprof-4711.pb.gz", Expand("heapprof-%p.pb.gz"));
    EXPECT_EQ("app.rb-1700000000-3", Expand("%e-%t-%n"));
    EXPECT_EQ("100%", Expand("100%%"));
    EXPECT_EQ("%p", Expand("%%p"));
    EXPECT_EQ("47114711", Expand("%p%p"));
}

TEST(Out, UnknownLettersAndALastPercentStay)
{
    EXPECT_EQ("%q%P", Expand("%q%P"));
    EXPECT_EQ("a%", Expand("a%"));
    EXPECT_EQ("", Expand(""));
}

TEST(Out, OnlyTheLastComponentOfTheProgramIsUsed)
{
    for (const char *program : {"../x/app", "/app", "app"}) {
        EXPECT_EQ("app", Expand("%e", {1, program, 0, 0}));
    }
    EXPECT_EQ("-e", Expand("%e", {1, "-e", 0, 0}));
}

TEST(Out, LettersAreFoundBehindAPercentAlone)
{
    EXPECT_TRUE(rb_heapprof_out_letter_p("a-%p", 'p'));
    EXPECT_TRUE(rb_heapprof_out_letter_p("%%%p", 'p'));
    for (const char *text : { "", "p", "%%p", "%n", "a%" })
        EXPECT_FALSE(rb_heapprof_out_letter_p(text, 'p')) << text;
}

TEST(Out, ATemplateWithoutAPidGetsOneBeforeItsSuffix)
{
    const std::pair<const char *, const char *> kTemplates[] = {
        { "app.pb.gz", "app-%p.pb.gz" },   { "/v1.2/app", "/v1.2/app-%p" },
        { ".hidden", ".hidden-%p" },       { "%%p.gz", "%%p-%p.gz" },
        { "%e.d/%n.gz", "%e.d/%n-%p.gz" }, { "../x", "../x-%p" },
        { "a-%p.gz", "a-%p.gz" },          { "%p/a.gz", "%p/a.gz" }
    };
    for (const auto &[text, expected] : kTemplates) {
        std::string distinct(strlen(text) + 4, '#');
        rb_heapprof_out_with_pid(text, &distinct[0], distinct.size());
        EXPECT_STREQ(expected, distinct.c_str());
    }
}

TEST(Out, AFileAtAMarkHasItsNameBeforeTheSuffix)
{
    const std::pair<const char *, const char *> kTemplates[] = {
        { "heapprof-%p.pb.gz", "heapprof-%p-at85-%n.pb.gz" }, { "a", "a-at85-%n" },
        { "heapprof-%p-%n.pb.gz", "heapprof-%p-%n-at85.pb.gz" },
        { "/v1.2/%e.gz", "/v1.2/%e-at85-%n.gz" }, { ".hidden", ".hidden-at85-%n" },
        { "%%n.gz", "%%n-at85-%n.gz" },
    };
    for (const auto &[text, expected] : kTemplates) {
        char distinct[HEAPPROF_OUT_MAX];
        EXPECT_TRUE(rb_heapprof_out_with_mark(text, "85%", distinct, sizeof(distinct)));
        EXPECT_STREQ(expected, distinct);
    }
}

TEST(Out, ATemplateThatIsTooLongWithItsMarkIsRefused)
{
    char distinct[16]; // "abc-at85-%n.gz" has 14 characters
    for (size_t size = 1; size <= sizeof(distinct); size++)
        EXPECT_EQ(size > 14, rb_heapprof_out_with_mark("abc.gz", "85", distinct, size)) << size;
}

TEST(Out, AnExpansionThatDoesNotFitIsRefused)
{
    for (const char *text : {"%p", "abcd", "ab%%d", "%tx"}) {
        std::string whole = Expand(text);
        for (size_t size = 1; size <= whole.size() + 1; size++) {
            std::string path(size, '#');
            bool fits = rb_heapprof_out_expand(text, &kValues, &path[0], size);
            EXPECT_EQ(size > whole.size(), fits) << text << " " << size;
            EXPECT_TRUE(!fits || path.c_str() == whole);
        }
    }
}

} // namespace
