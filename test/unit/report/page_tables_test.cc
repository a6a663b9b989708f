// page_tables_test.cc - a profile as the page gets it, against the same sums made of strings.

#include <gtest/gtest.h>

#include <cstdio>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "test/unit/support/profile_bytes.h"

extern "C" {
#include "report/page.h"
}

namespace {

class Tables {
  public:
    explicit Tables(uint32_t types, const char *directory = nullptr)
    {
        report_page_tables_init(&tables_, types, directory);
    }
    ~Tables() { report_page_tables_free(&tables_); }
    Tables(const Tables &) = delete;
    Tables &operator=(const Tables &) = delete;

    report_page_tables *get() { return &tables_; }
    report_page_tables *operator->() { return &tables_; }

    void
    Add(const Model &model, int sign = 1)
    {
        std::vector<uint32_t> types;
        for (uint32_t t = 0; t < model->type_count; t++) types.push_back(t);
        ASSERT_TRUE(report_page_tables_add(&tables_, model.get(), types.data(), sign));
    }

    std::string
    Text(uint32_t string) const
    {
        size_t length;
        const char *text = rb_heapprof_strings_get(&tables_.strings, string, &length);
        return std::string(text, length);
    }

    std::string
    Stack(uint32_t node) const
    {
        if (node == 0) return "";
        const uint32_t *tuple = report_tuples_get(&tables_.nodes, node);
        EXPECT_LT(tuple[0], node);
        const uint32_t *function = report_tuples_get(&tables_.functions, tuple[1]);
        return Stack(tuple[0]) + Text(function[0]) + ":" + std::to_string(tuple[2]) + " ";
    }

    std::multimap<std::string, std::string>
    Labels(uint32_t set) const
    {
        std::multimap<std::string, std::string> labels;
        for (; set > 0; set = report_tuples_get(&tables_.sets, set)[0]) {
            const uint32_t *label =
                report_tuples_get(&tables_.labels, report_tuples_get(&tables_.sets, set)[1]);
            uint64_t number = static_cast<uint64_t>(label[2]) << 32 | label[3];
            labels.emplace(Text(label[0]), label[1] ? Text(label[1])
                                                    : std::to_string(static_cast<int64_t>(number)) +
                                                          Text(label[4]));
        }
        return labels;
    }

    // "outer:7 inner:3 | class=String" to the values; what is 0 left out.
    std::map<std::string, std::vector<int64_t>>
    Rows() const
    {
        std::map<std::string, std::vector<int64_t>> rows;
        for (uint32_t row = 1; row <= tables_.rows.count; row++) {
            const uint32_t *tuple = report_tuples_get(&tables_.rows, row);
            std::string key = Stack(tuple[0]) + "|";
            for (const auto &label : Labels(tuple[1]))
                key += " " + label.first + "=" + label.second;
            const int64_t *values =
                tables_.values + static_cast<size_t>(row - 1) * tables_.type_count;
            EXPECT_EQ(0u, rows.count(key)) << key;
            rows[key].assign(values, values + tables_.type_count);
        }
        return rows;
    }

    std::vector<int64_t>
    Totals() const
    {
        std::vector<int64_t> totals(tables_.type_count);
        for (const auto &row : Rows()) {
            for (size_t t = 0; t < totals.size(); t++) totals[t] += row.second[t];
        }
        return totals;
    }

  private:
    report_page_tables tables_;
};

// Samples at random, with the sums that they should become.
class Random {
  public:
    std::map<std::string, std::vector<int64_t>> rows;

    explicit Random(unsigned seed) : random_(seed) {}

    std::string
    Make(int samples, int sign = 1)
    {
        ProfileBytes bytes;
        bytes.Type("objects", "count");
        bytes.Type("space", "bytes");
        for (uint64_t f = 1; f <= 5; f++) bytes.Function(f, "f" + std::to_string(f));
        for (uint64_t l = 1; l <= 10; l++) bytes.Location(l, {{1 + l % 5, l}});
        for (int i = 0; i < samples; i++) AddSample(&bytes, sign);
        return bytes.All();
    }

  private:
    std::mt19937 random_;

    void
    AddSample(ProfileBytes *bytes, int sign)
    {
        std::vector<uint64_t> locations(random_() % 5);
        std::vector<int64_t> values = { static_cast<int64_t>(random_() % 9) - 4,
                                        static_cast<int64_t>(random_() % 1000) + 1 };
        std::string stack, labels, text;
        for (uint64_t &location : locations) {
            location = 1 + random_() % 10;
            stack = "f" + std::to_string(1 + location % 5) + ":" + std::to_string(location) + " " +
                    stack;
        }
        bool aged = random_() % 2, typed = random_() % 2, first = random_() % 2;
        std::string age = aged ? bytes->NumberLabel("age", -3, "gcs") : "",
                    type = typed ? bytes->Label("class", "String") : "";
        if (aged) text += " age=-3gcs";
        if (typed) text += " class=String";
        bytes->Sample(locations, values, first ? age + type : type + age);
        std::vector<int64_t> &sums =
            rows.emplace(stack + "|" + text, std::vector<int64_t>(2)).first->second;
        for (size_t t = 0; t < 2; t++) sums[t] += sign * values[t];
    }
};

TEST(PageTables, AddUpWhatHasStackAndLabelsInCommon)
{
    for (unsigned seed = 1; seed <= 30; seed++) {
        Random random(seed);
        Model model(random.Make(200));
        Tables tables(2);
        tables.Add(model);
        EXPECT_EQ(random.rows, tables.Rows()) << "seed " << seed;
    }
}

TEST(PageTables, OfADifferenceHaveTheNewLessTheOld)
{
    for (unsigned seed = 1; seed <= 30; seed++) {
        Random random(seed);
        Model model(random.Make(150)), old(random.Make(150, -1));
        Tables tables(2);
        tables.Add(model);
        tables.Add(old, -1);
        EXPECT_EQ(random.rows, tables.Rows()) << "seed " << seed;
    }
}

TEST(PageTables, LeaveOutTypesThatThePageHasNot)
{
    Random random(1);
    Model model(random.Make(50));
    Tables tables(1);
    const uint32_t types[] = {1, 0}; // objects are none of the page's
    ASSERT_TRUE(report_page_tables_add(tables.get(), model.get(), types, 1));
    for (const auto &row : tables.Rows()) EXPECT_EQ(random.rows[row.first][1], row.second[0]);
}

TEST(PageTables, KnowInlinedFunctionsAndAddresses)
{
    ProfileBytes bytes;
    bytes.Type("space", "bytes");
    bytes.Function(1, "outer");
    bytes.Function(2, "inlined");
    bytes.Location(1, {{2, 20}, {1, 10}});
    bytes.things += Bytes(4, Number(1, 2) + Number(3, 0xbeef));
    bytes.Sample({2, 1}, {5});
    Model model(bytes.All());
    Tables tables(1);
    tables.Add(model);
    EXPECT_EQ((std::map<std::string, std::vector<int64_t>> {
                  { "outer:10 inlined:20 0xbeef:0 |", { 5 } } }),
              tables.Rows());
}

TEST(PageTables, ChargeNoCodeForATableOfTheVm)
{
    ProfileBytes bytes;
    bytes.Type("space", "bytes");
    bytes.Function(1, "Cart#load", "/srv/cart.rb");
    bytes.Location(1, {{1, 12}});
    bytes.Sample({1}, {40}, bytes.Label("owner", "String"));
    bytes.Sample({1}, {4000}, bytes.Label("owner", "[VM] symbols"));
    Model model(bytes.All());
    Tables tables(1);
    tables.Add(model);
    EXPECT_EQ((std::map<std::string, std::vector<int64_t>> {
                  { "Cart#load:12 | owner=String", { 40 } },
                  { "[VM] symbols:0 | owner=[VM] symbols", { 4000 } } }),
              tables.Rows());
}

TEST(PageTables, CallTemplatesByTheirFileAndRustByItsNames)
{
    ProfileBytes bytes;
    bytes.Type("space", "bytes");
    bytes.Function(1, "_app_views_show_html_erb___123_456", "/srv/gems/shop-1.0/show.html.erb");
    bytes.Location(1, {{1, 12}});
    bytes.Sample({1}, {40}, bytes.Label("caller", "_ZN1a1b17h0123456789abcdefE (a.so)"));
    Model model(bytes.All());
    Tables tables(1);
    tables.Add(model);
    EXPECT_EQ((std::map<std::string, std::vector<int64_t>> {
                  { "shop-1.0/show.html.erb:12 | caller=a::b (a.so)", { 40 } } }),
              tables.Rows());
}

TEST(PageTables, KnowWhoseAFileIs)
{
    ProfileBytes bytes;
    bytes.Type("space", "bytes");
    bytes.Function(1, "a", "/srv/app.rb");
    bytes.Function(2, "b", "/usr/lib/ruby/gems/3.4.0/gems/rack-3.1.2/lib/rack.rb");
    bytes.Location(1, {{1, 1}, {2, 1}});
    bytes.Sample({1}, {5});
    Model model(bytes.All());
    Tables tables(1, "/srv");
    tables.Add(model);
    ASSERT_EQ(2u, tables->files.count);
    for (uint32_t file = 1; file <= 2; file++) {
        const uint32_t *tuple = report_tuples_get(&tables->files, file);
        bool own = tables.Text(tuple[0]) == "/srv/app.rb";
        EXPECT_EQ(own ? "(application)" : "rack-3.1.2", tables.Text(tuple[1]));
        EXPECT_EQ(own ? 1u : 0u, tuple[2]);
        EXPECT_EQ(own ? "app.rb" : "rack-3.1.2/lib/rack.rb", tables.Text(tuple[3]));
    }
}

// A few bytes that unpack to stacks of a billion frames: 3,000 lines in a location, in a stack
// 3,000 times, in 100 stacks.
TEST(PageTables, OfAPathWithoutEndKeepTheBeginning)
{
    ProfileBytes bytes;
    bytes.Type("space", "bytes");
    bytes.Function(1, "f");
    bytes.Function(2, "g");
    bytes.Location(1, std::vector<std::pair<uint64_t, uint64_t>>(3000, {1, 1}));
    for (uint64_t l = 0; l < 100; l++) bytes.Location(2 + l, {{2, 1 + l}});
    for (uint64_t i = 0; i < 100; i++) {
        std::vector<uint64_t> stack(3000, 1);
        stack.push_back(2 + i);
        bytes.Sample(stack, {10});
    }
    Model model(bytes.All());
    Tables tables(1);
    tables.Add(model);
    EXPECT_LE(tables->nodes.count, 100u * 4096);
    int64_t sum = 0;
    for (uint32_t row = 0; row < tables->rows.count; row++) sum += tables->values[row];
    EXPECT_EQ(1000, sum);
}

TEST(PageTables, FoldWhatIsSmallIntoItsCaller)
{
    ProfileBytes bytes;
    bytes.Type("objects", "count");
    bytes.Type("space", "bytes");
    bytes.Function(1, "main");
    bytes.Function(2, "large");
    bytes.Location(1, {{1, 1}});
    bytes.Location(2, {{2, 1}});
    bytes.Sample({2, 1}, {100000, 100000000});
    for (uint64_t f = 0; f < 100; f++) {
        bytes.Function(10 + f, "f" + std::to_string(f));
        bytes.Location(10 + f, {{10 + f, 1}});
        bytes.Sample({10 + f, 1}, {f == 7 ? 50 : 1, 1}); // f7 is small in space, but not in objects
    }
    Model model(bytes.All());
    Tables tables(2);
    tables.Add(model);
    ASSERT_TRUE(report_page_tables_fold(tables.get(), 102, UINT32_MAX));
    EXPECT_EQ(102u, tables->nodes.count); // there was room for all
    std::vector<int64_t> totals = tables.Totals();

    ASSERT_TRUE(report_page_tables_fold(tables.get(), 50, UINT32_MAX));
    EXPECT_EQ(totals, tables.Totals());
    EXPECT_EQ((std::map<std::string, std::vector<int64_t>> {
                  { "main:1 large:1 |", { 100000, 100000000 } },
                  { "main:1 f7:1 |", { 50, 1 } },
                  { "main:1 |", { 99, 99 } } }),
              tables.Rows());
}

TEST(PageTables, OfTooManyRowsTheSmallLoseTheirLabels)
{
    ProfileBytes bytes;
    bytes.Type("objects", "count");
    bytes.Type("space", "bytes");
    bytes.Function(1, "main");
    bytes.Location(1, {{1, 1}});
    bytes.Sample({1}, {100, 100000000}, bytes.Label("class", "Large"));
    for (int i = 0; i < 50; i++)
        bytes.Sample({ 1 }, { 0, 2 }, bytes.Label("class", "C" + std::to_string(i)));
    bytes.Sample({1}, {3, 2}, bytes.Label("class", "Many")); // small in space, but not in objects
    Model model(bytes.All());
    Tables tables(2);
    tables.Add(model);
    ASSERT_TRUE(report_page_tables_fold(tables.get(), 1, 52));
    EXPECT_EQ(52u, tables->rows.count); // there was room for all
    ASSERT_TRUE(report_page_tables_fold(tables.get(), 1, 51));
    EXPECT_EQ((std::map<std::string, std::vector<int64_t>> {
                  { "main:1 | class=Large", { 100, 100000000 } },
                  { "main:1 | class=Many", { 3, 2 } },
                  { "main:1 |", { 0, 100 } } }),
              tables.Rows());
}

TEST(PageTables, FoldOfManyKeepsEachTotal)
{
    for (unsigned seed = 1; seed <= 10; seed++) {
        Random random(seed);
        Model model(random.Make(400));
        Tables tables(2);
        tables.Add(model);
        std::vector<int64_t> totals = tables.Totals();
        ASSERT_TRUE(report_page_tables_fold(tables.get(), 1, 1));
        EXPECT_EQ(totals, tables.Totals());
    }
}

TEST(Page, IsJsonThatMayStandInHtml)
{
    ProfileBytes bytes;
    bytes.Type("</script>", "&amp;");
    bytes.Function(1, "<img src=x>\xff\"\\\n", "<!--");
    bytes.Location(1, {{1, 1}});
    bytes.Sample({1}, {5}, bytes.Label("<b>", "&lt;"));
    Model model(bytes.All() + Number(13, bytes.String("</SCRIPT>")));
    Tables tables(1);
    tables.Add(model);
    char *text = nullptr;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    report_page page = {"<name>", "&old", model.get(), tables.get(),
                        [](report_json *json, void *data) {
                            report_json_begin(json, '[');
                            report_json_text(json, static_cast<const char *>(data));
                            report_json_end(json, ']');
                        },
                        const_cast<char *>("source </script>")};
    report_page_write(out, &page);
    fclose(out);
    std::string json(text, size);
    free(text);
    EXPECT_EQ(std::string::npos, json.find_first_of("<>&"));
    EXPECT_NE(std::string::npos, json.find("\\u003cimg src=x\\u003e\\\\xFF\\\"\\\\\\u000a"));
    EXPECT_NE(std::string::npos, json.find("\"sources\":[\"source \\u003c/script\\u003e\"]"));
}

} // namespace
