// groups_test.cc - samples added up by what they have in common, and whose code a path is.

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "test/unit/support/profile_bytes.h"

extern "C" {
#include "report/estimate.h"
#include "report/groups.h"
#include "report/names.h"
#include "report/own.h"
#include "report/rows.h"
#include "report/text.h"
}

namespace {

const char rack[] = "/usr/gems/rack-3.1.2/lib/rack.rb";

ProfileBytes
Shop(int64_t carts)
{
    ProfileBytes bytes;
    bytes.Type("inuse_objects", "count");
    bytes.Type("inuse_space", "bytes");
    bytes.Function(1, "Array#map", "/srv/shop/cart.rb");
    bytes.Function(2, "Cart#load", "/srv/shop/cart.rb");
    bytes.Function(3, "Rack::Builder#call", rack);
    bytes.Function(4, "Kernel#loop", "<internal:kernel>");
    bytes.Location(1, {{1, 12}});
    bytes.Location(2, {{2, 12}});
    bytes.Location(3, {{3, 7}});
    bytes.Location(4, {{4, 3}});
    bytes.Sample({ 1, 2, 3, 2, 4 }, { carts, carts * 40 },
                 bytes.Label("class", "String") + bytes.NumberLabel("gc_age", 8, "gcs"));
    bytes.Sample({3, 4}, {5, 500}, bytes.Label("class", "Hash"));
    bytes.Sample({4}, {1, 1}, bytes.Label("class", "Hash"));
    return bytes;
}

// What was asked: rows by their title.
struct Rows {
    std::map<std::string, std::vector<report_figures>> by_title;
    report_groups groups;

    std::vector<heapprof_model *> models;

    Rows(const std::vector<heapprof_model *> &of, const report_question &question) : models(of)
    {
        std::vector<uint32_t> types(models.size(), 1);
        EXPECT_TRUE(report_groups_make(&groups, &question, models.data(), types.data(),
                                       static_cast<uint32_t>(models.size())));
        for (uint32_t row = 1; row <= groups.digests.count; row++) {
            char *title = report_row_title(&groups, row);
            auto &figures = by_title[title];
            EXPECT_TRUE(figures.empty() || question.group == REPORT_SITE) << title;
            for (uint32_t p = 0; p < models.size(); p++)
                figures.push_back(*report_figures_of(&groups, row, p));
            free(title);
        }
    }

    ~Rows() { report_groups_free(&groups); }

    std::map<std::string, double>
    Values() const
    {
        std::map<std::string, double> values;
        for (const auto &row : by_title) values[row.first] = row.second[0].value;
        return values;
    }
};

using Values = std::map<std::string, double>;

report_question
By(report_group group)
{
    report_question question = {};
    question.group = group;
    question.frames = REPORT_WHOLE_STACKS;
    return question;
}

TEST(Groups, FunctionsHaveWhatTheyAllocateAndWhatIsCalledFromThere)
{
    Model model(Shop(10).All());
    Rows rows({model.get()}, By(REPORT_FUNCTION));
    EXPECT_EQ((Values { { "Array#map  /srv/shop/cart.rb", 400 },
                        { "Cart#load  /srv/shop/cart.rb", 0 },
                        { "Rack::Builder#call  rack-3.1.2/lib/rack.rb", 500 },
                        { "Kernel#loop  <internal:kernel>", 1 } }),
              rows.Values());
    EXPECT_EQ(400, rows.by_title["Cart#load  /srv/shop/cart.rb"][0]
                       .cumulative); // once, though it is there twice
    EXPECT_EQ(901, rows.by_title["Kernel#loop  <internal:kernel>"][0].cumulative);
    EXPECT_EQ(901, report_figures_of(&rows.groups, 0, 0)->value);
    EXPECT_EQ(16, report_figures_of(&rows.groups, 0, 0)->objects);
}

TEST(Groups, AClassAFileAGemALabel)
{
    Model model(Shop(10).All());
    EXPECT_EQ((Values { { "String", 400 }, { "Hash", 501 } }),
              Rows({ model.get() }, By(REPORT_CLASS)).Values());
    EXPECT_EQ((Values { { "/srv/shop/cart.rb", 400 },
                        { "rack-3.1.2/lib/rack.rb", 500 },
                        { "<internal:kernel>", 1 } }),
              Rows({ model.get() }, By(REPORT_FILE)).Values());
    EXPECT_EQ((Values{{"(application)", 400}, {"rack-3.1.2", 500}, {"(ruby)", 1}}),
              Rows({model.get()}, By(REPORT_GEM)).Values());
    report_question label = By(REPORT_LABEL);
    label.label = "gc_age";
    EXPECT_EQ((Values{{"8 gcs", 400}, {"(none)", 501}}), Rows({model.get()}, label).Values());
}

TEST(Groups, TheApplicationsLineIsThatOfItsMethodNotOfACFunction)
{
    Model model(Shop(10).All());
    EXPECT_EQ((Values { { "/srv/shop/cart.rb:12:in 'Cart#load'", 400 },
                        { "(no line of the application)", 501 } }),
              Rows({ model.get() }, By(REPORT_APP)).Values());
    report_question there = By(REPORT_APP), elsewhere = By(REPORT_APP);
    there.directory = "/srv/shop";
    EXPECT_EQ((Values{{"cart.rb:12:in 'Cart#load'", 400}, {"(no line of the application)", 501}}),
              Rows({model.get()}, there).Values());
    elsewhere.directory = "/srv/other";
    EXPECT_EQ((Values { { "(no line of the application)", 901 } }),
              Rows({ model.get() }, elsewhere).Values());
}

// As `def card = "..."` is of its class's body when it is defined.
TEST(Groups, ALineIsNamedByTheFunctionThatMostOfItIsOf)
{
    ProfileBytes bytes;
    bytes.Type("inuse_objects", "count");
    bytes.Type("inuse_space", "bytes");
    bytes.Function(1, "<class:Cart>", "/srv/shop/cart.rb");
    bytes.Function(2, "Cart#card", "/srv/shop/cart.rb");
    bytes.Location(1, {{1, 12}});
    bytes.Location(2, {{2, 12}});
    bytes.Sample({1}, {1, 40}, "");
    bytes.Sample({2}, {10, 400}, "");
    bytes.Sample({1}, {2, 80}, bytes.Label("class", "String"));
    Model model(bytes.All());
    EXPECT_EQ((Values { { "/srv/shop/cart.rb:12:in 'Cart#card'", 520 } }),
              Rows({ model.get() }, By(REPORT_APP)).Values());
    Model shop(Shop(1).All()), large(Shop(1000).All());
    EXPECT_EQ((Values { { "/srv/shop/cart.rb:12:in 'Cart#card'", 520 },
                        { "(no line of the application)", 0 } }),
              Rows({ model.get(), shop.get() }, By(REPORT_APP)).Values());
    EXPECT_EQ((Values { { "/srv/shop/cart.rb:12:in 'Cart#load'", 520 },
                        { "(no line of the application)", 0 } }),
              Rows({ model.get(), large.get() }, By(REPORT_APP)).Values());
}

TEST(Groups, SitesHaveTheirStackAndAge)
{
    Model model(Shop(10).All());
    Rows rows({model.get()}, By(REPORT_SITE));
    EXPECT_EQ(3u, rows.groups.digests.count);
    EXPECT_EQ(8 * 400, report_figures_of(&rows.groups, 1, 0)->age);
    EXPECT_EQ(400, report_figures_of(&rows.groups, 1, 0)->aged);
    std::string frames;
    report_row_frames(&rows.groups, 1, [](void *data, const report_frame *frame, bool own) {
        *static_cast<std::string *>(data) += std::string(frame->name) + (own ? "! " : " ");
    }, &frames);
    EXPECT_EQ("Array#map! Cart#load! Rack::Builder#call Cart#load! Kernel#loop ", frames);
}

TEST(Groups, FocusAndIgnoreLookAtAllFrames)
{
    Model model(Shop(10).All());
    regex_t regex;
    ASSERT_EQ(0, regcomp(&regex, "Rack::", REG_EXTENDED | REG_NOSUB));
    report_question focus = By(REPORT_CLASS), ignore = By(REPORT_CLASS);
    focus.focus = &regex;
    ignore.ignore = &regex;
    EXPECT_EQ((Values{{"String", 400}, {"Hash", 500}}), Rows({model.get()}, focus).Values());
    EXPECT_EQ((Values{{"Hash", 1}}), Rows({model.get()}, ignore).Values());
    regfree(&regex);
}

TEST(Groups, SeveralProfilesHaveAColumnEach)
{
    Model one(Shop(10).All()), two(Shop(30).All());
    Rows rows({one.get(), two.get()}, By(REPORT_CLASS));
    EXPECT_EQ(400, rows.by_title["String"][0].value);
    EXPECT_EQ(1200, rows.by_title["String"][1].value);
}

TEST(Own, PathsOfGemsAndRubyAreNotTheApplications)
{
    EXPECT_TRUE(report_own_p("/srv/shop/cart.rb", "/srv/shop"));
    EXPECT_TRUE(report_own_p("/srv/shop/cart.rb", NULL));
    EXPECT_TRUE(report_own_p("app.rb", "/srv/shop"));
    EXPECT_TRUE(report_own_p("/srv/gems/app.rb", NULL)); // a directory of that name, and no gem
    EXPECT_FALSE(report_own_p("/srv/shopping/cart.rb", "/srv/shop"));
    EXPECT_FALSE(report_own_p("/srv/shop/vendor/bundle/ruby/3.4.0/gems/rack-3.1.2/lib/rack.rb",
                              "/srv/shop"));
    EXPECT_FALSE(report_own_p("/opt/ruby/lib/ruby/3.4.0/set.rb", NULL));
    EXPECT_FALSE(report_own_p("<internal:kernel>", NULL));
    EXPECT_FALSE(report_own_p("(eval at /srv/shop/cart.rb:1)", NULL));
    EXPECT_FALSE(report_own_p("", NULL));
    EXPECT_FALSE(report_own_p("/usr/lib/libz.so.1", NULL));
    EXPECT_FALSE(report_own_p("/srv/shop/vendor/specifications/rack-3.1.2.gemspec", "/srv/shop"));
    EXPECT_TRUE(report_own_p("/srv/shop/shop.gemspec", "/srv/shop"));
    EXPECT_FALSE(report_own_p("/srv/shop/cart.rb", ""));
    EXPECT_FALSE(report_own_p("app.rb", ""));
    EXPECT_TRUE(report_own_p("/cart.rb", "/"));
    for (const char *both :
         { "/srv/shop\n/srv/lib", "/srv/lib/\n/srv/shop/", "\n/srv/shop\n\n/srv/lib\n" }) {
        EXPECT_TRUE(report_own_p("/srv/shop/cart.rb", both)) << both;
        EXPECT_TRUE(report_own_p("/srv/lib/cart.rb", both)) << both;
        EXPECT_FALSE(report_own_p("/srv/libs/cart.rb", both)) << both;
    }
}

TEST(Own, AGemThatIsAskedForIs)
{
    const char *rack = "/srv/shop/vendor/bundle/ruby/3.4.0/gems/rack-3.1.2/lib/rack.rb";
    EXPECT_TRUE(report_own_p(rack, "/srv/shop/vendor/bundle/ruby/3.4.0/gems/rack-3.1.2"));
    EXPECT_FALSE(report_own_p(rack, "/srv/shop/vendor/bundle/ruby/3.4.0"));
    EXPECT_TRUE(report_own_p("/opt/lib/ruby/3.4.0/set.rb", "/opt/lib/ruby/3.4.0"));
    EXPECT_FALSE(report_own_p("/opt/lib/ruby/3.4.0/set.rb", "/opt/lib"));
}

TEST(Own, PathsAreShownAsFarAsTheySaySomething)
{
    EXPECT_STREQ("cart.rb", report_short_path("/srv/shop/cart.rb", "/srv/shop"));
    EXPECT_STREQ("cart.rb", report_short_path("/srv/shop/cart.rb", "/srv/shop/"));
    EXPECT_STREQ("/srv/shopping/cart.rb", report_short_path("/srv/shopping/cart.rb", "/srv/shop"));
    EXPECT_STREQ("/srv/shop/cart.rb", report_short_path("/srv/shop/cart.rb", NULL));
    EXPECT_STREQ("ruby/3.4.0/set.rb",
                 report_short_path("/opt/ruby/lib/ruby/3.4.0/set.rb", "/srv/shop"));
    EXPECT_STREQ("ruby/site_ruby/3.4.0/x.rb",
                 report_short_path("/opt/lib/ruby/site_ruby/3.4.0/x.rb", NULL));
    EXPECT_STREQ("/opt/lib/rubyx/3.4.0/set.rb",
                 report_short_path("/opt/lib/rubyx/3.4.0/set.rb", NULL));
    EXPECT_STREQ("rack-3.1.2/lib/rack.rb",
                 report_short_path("/srv/shop/gems/rack-3.1.2/lib/rack.rb", "/srv/shop"));
}

std::string
Caller(const char *caller)
{
    char buffer[64];
    return report_caller_name(caller, buffer, sizeof(buffer));
}

TEST(Names, ALongNameOfRustIsCut)
{
    std::string part(90, 'x');
    EXPECT_EQ(std::string(63, 'x'),
              Caller(("_ZN90" + part + "17h0123456789abcdefE (a.so)").c_str()));
    EXPECT_EQ("a::b (a.so)", Caller("_ZN1a1b17h0123456789abcdefE (a.so)"));
    EXPECT_EQ("a$u1$ (a.so)", Caller("_ZN5a$u1$17h0123456789abcdefE (a.so)"));
    EXPECT_EQ("_ZN5a", Caller("_ZN5a"));
    EXPECT_EQ("", Caller(""));
}

TEST(Names, TheLibraryOfACallerIsInParentheses)
{
    size_t length;
    const char *library = report_caller_library("f(int) (libc.so.6)", &length);
    ASSERT_NE(nullptr, library);
    EXPECT_EQ("libc.so.6", std::string(library, length));
    for (const char *none : { "f", "f (?)", "f ()", "", ")", "f (a" })
        EXPECT_EQ(nullptr, report_caller_library(none, &length)) << none;
}

TEST(Own, AGemIsTheLastOnThePath)
{
    size_t length;
    auto gem = [&length](const char *file) {
        const char *name = report_gem(file, NULL, &length);
        return std::string(name, length);
    };
    EXPECT_EQ("rack-3.1.2", gem("/g/gems/rails-8.0.0/vendor/gems/rack-3.1.2/lib/rack.rb"));
    EXPECT_EQ("thing-0123abc", gem("/b/bundler/gems/thing-0123abc/lib/thing.rb"));
    EXPECT_EQ("(ruby)", gem("/opt/lib/ruby/3.4.0/json/common.rb"));
    EXPECT_EQ("noko-1.2",
              gem("/opt/lib/ruby/gems/3.4.0/extensions/x86_64-linux/3.4.0/noko-1.2/noko/noko.so"));
    EXPECT_EQ("noko-0123abc",
              gem("/b/bundler/gems/extensions/x86_64-linux/3.4.0/noko-0123abc/noko.so"));
    EXPECT_EQ("(application)", gem("/b/extensions/x86_64-linux/3.4.0"));
    EXPECT_EQ("(application)", gem("/srv/lib/extensions/a/b/c-d/x.rb"));
    EXPECT_EQ("(no file)", gem(""));
}

std::string
Amount(double value, const char *unit)
{
    char text[REPORT_AMOUNT_MAX];
    report_amount(text, value, unit);
    return text;
}

TEST(Text, AmountsHaveTheirUnit)
{
    EXPECT_EQ("0 B", Amount(0, "bytes"));
    EXPECT_EQ("0 B", Amount(-0.004, "bytes"));
    EXPECT_EQ("1023 B", Amount(1023, "bytes"));
    EXPECT_EQ("1.50 kB", Amount(1536, "bytes"));
    EXPECT_EQ("-12.3 MB", Amount(-12.3 * 1048576, "bytes"));
    EXPECT_EQ("1 GB", Amount(1 << 30, "bytes"));
    EXPECT_EQ("2.50 s", Amount(2.5e9, "nanoseconds"));
    EXPECT_EQ("1,234,567", Amount(1234567, "count"));
    EXPECT_EQ("-100", Amount(-100, "count"));
    EXPECT_EQ("12,345 gcs", Amount(12345, "gcs"));
}

std::string
Put(const std::string &text, unsigned width, bool tail)
{
    char *buffer = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&buffer, &size);
    unsigned columns = report_put(out, text.c_str(), width, tail);
    fclose(out);
    std::string put(buffer, size);
    free(buffer);
    EXPECT_LE(columns, width ? width : text.size() * 4);
    return put;
}

TEST(Text, NamesAreCutAndEscaped)
{
    EXPECT_EQ("abcdefghij", Put("abcdefghij", 0, false));
    EXPECT_EQ("abcde...", Put("abcdefghij", 8, false));
    EXPECT_EQ("...fghij", Put("abcdefghij", 8, true));
    EXPECT_EQ("\\x1B[31mred", Put("\033[31mred", 0, false));
    EXPECT_EQ("a\\xFFb", Put("a\xff" "b", 0, false));
    EXPECT_EQ("\\xE2\\x80\\xAE", Put("\u202e", 0, false));
    EXPECT_EQ("\\xE2\\x80\\x8B...", Put("\u200bclass", 15, false)); // nine columns are seen
    std::string large(1 << 20, 'x');
    EXPECT_EQ(std::string(65532, 'x') + "...", Put(large, 0, false));
    EXPECT_EQ("...yyyyy", Put(large + "yyyyy", 8, true));
}

TEST(Text, AUnitIsAnybodysToo)
{
    char text[REPORT_AMOUNT_MAX];
    report_amount(text, 12345, "\u200bs");
    EXPECT_STREQ("12,345 \\xE2\\x80\\x8Bs", text);
    report_amount(text, 1, std::string(100, '\x1b').c_str());
    EXPECT_LT(strlen(text), sizeof(text));
    EXPECT_EQ(std::string::npos, std::string(text).find('\x1b'));
    report_amount(text, 1, (std::string(35, 'x') + "\u00e9\u00e9").c_str());
    EXPECT_EQ("1 " + std::string(35, 'x') + "\u00e9", text);
}

TEST(Text, AMessageIsOneLineAndOnlyItsOwnNewlineStays)
{
    char *buffer = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&buffer, &size);
    report_print(out, "%s: %d\n", "a\nb\u2028", 5);
    report_print(out, "%s", "c\x1b");
    report_put_lines(out, "d\ne\u200e\n");
    fclose(out);
    EXPECT_EQ("a\\x0Ab\\xE2\\x80\\xA8: 5\nc\\x1Bd\ne\\xE2\\x80\\x8E\n", std::string(buffer, size));
    free(buffer);
}

report_figures
SumOf(const heapprof_model *model)
{
    report_question question = By(REPORT_CLASS);
    report_groups groups;
    uint32_t type = 1;
    EXPECT_TRUE(report_groups_make(&groups, &question, &model, &type, 1));
    report_figures sum = *report_figures_of(&groups, 0, 0);
    report_groups_free(&groups);
    return sum;
}

// 1000 objects of 40 bytes, sampled every 4096: variance N (1-p)/p S^2. Of blocks it is at most R
// times the bytes.
TEST(Estimate, ErrorsFollowFromSizeAndInterval)
{
    ProfileBytes bytes;
    bytes.Type("inuse_objects", "count");
    bytes.Type("inuse_space", "bytes");
    bytes.Location(1, {});
    bytes.Sample({1}, {1000, 40000});
    bytes.Sample({1}, {0, 100000});
    uint64_t interval = bytes.String("interval: 4096 bytes"),
             malloc_interval = bytes.String("malloc interval: 1024 bytes");
    Model model(bytes.All() + Number(13, interval) + Number(13, malloc_interval));
    double p = 1 - std::exp(-40 / 4096.0);
    EXPECT_NEAR(1000 * (1 - p) / p * 1600 + 100000 * 1024.0, SumOf(model.get()).variance, 1);
}

TEST(Estimate, WhatIsExactHasNoError)
{
    ProfileBytes bytes;
    bytes.Type("inuse_objects", "count");
    bytes.Type("inuse_space", "bytes");
    bytes.Location(1, {});
    bytes.Sample({1}, {1000, 40000});
    uint64_t interval = bytes.String("interval: 1 bytes");
    Model exact(bytes.All() + Number(13, interval)), unknown(bytes.All());
    EXPECT_EQ(0, SumOf(exact.get()).variance);
    EXPECT_EQ(0, SumOf(unknown.get()).variance);
}

TEST(Estimate, AVarianceInTheFileIsTaken)
{
    ProfileBytes bytes;
    bytes.Type("inuse_objects", "count");
    bytes.Type("inuse_space", "bytes");
    bytes.Type("inuse_variance", "bytes^2");
    bytes.Location(1, {});
    bytes.Sample({1}, {10, 1000, 2500});
    uint64_t comment = bytes.String("interval: 4096 bytes");
    Model model(bytes.All() + Number(13, comment));
    EXPECT_EQ(2500, SumOf(model.get()).variance);
}

} // namespace
