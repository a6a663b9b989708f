// query_test.cc - the language of queries: what it accepts, what it says of the rest, and that
// random expressions hold for the objects that a model names.

#include <gtest/gtest.h>

#include <functional>
#include <memory>

#include "test/unit/graph/random.h"

extern "C" {
#include "graph/keys.h"
#include "graph/query.h"
}

namespace {

using graph_file::GraphFile;
using graph_file::Object;

constexpr uint64_t kPage = 0x7f0000010000;

class Query {
public:
    explicit Query(const std::string &expression)
    {
        char error[GRAPH_QUERY_ERROR_MAX] = "";
        parsed = graph_query_parse(&query, expression.c_str(), error);
        this->error = error;
    }
    ~Query() { graph_query_free(&query); }

    graph_query query;
    bool parsed;
    std::string error;
};

std::string
ErrorOf(const std::string &expression)
{
    Query query(expression);
    EXPECT_EQ(query.parsed, query.error.empty()) << expression;
    EXPECT_EQ(std::string::npos, query.error.find('\n')) << expression;
    return query.error;
}

bool
BeginsWith(const std::string &text, const std::string &beginning)
{
    return text.compare(0, beginning.size(), beginning) == 0;
}

// Strings, Arrays and Hashes with known room, an object that was sampled, and one that shares.
class Collections : public ::testing::Test {
protected:
    Collections()
    {
        GraphFile file;
        uint32_t string = file.Layout("T_STRING", 0, "String"),
                 array = file.Layout("T_ARRAY", 0, "Array", {}, HEAPPROF_DUMP_INDEXED);
        uint32_t hash = file.Layout("T_HASH", 0, "My::Hash", {}, HEAPPROF_DUMP_PAIRED);
        uint32_t shared = file.Layout("T_ARRAY", 0, "Array", {{HEAPPROF_DUMP_FIELD, "shared"}});
        uint32_t odd = file.Layout("T_DATA(mutex)", 0, "");
        uint32_t stack =
            file.Stack(file.Stack(0, "Cart#load", "/srv/app/cart.rb", 12), "Array#push", "", 0);
        file.Page(kPage, 160);
        Object object;
        object.layout = string; // 1: in the slot, of 160 - 25 bytes
        object.length = 27;
        object.text = "it is \"quoted\" and \\";
        file.Add(0, object);
        object.external = 101; // 2
        object.length = 40;
        object.text = "";
        object.bits = HEAPPROF_DUMP_FROZEN;
        file.Add(1, object);
        object = Object();
        object.layout = array; // 3: 10 of 20
        object.external = 160;
        object.tail.assign(10, {HEAPPROF_DUMP_SPECIAL, 0});
        object.bits = 3;
        object.stack = stack;
        object.weight = 1000;
        file.Add(2, object);
        object = Object();
        object.layout = hash; // 4: 5 of 32, whose index has 64 bytes
        object.external = 32 * 24 + 64;
        object.tail.assign(10, {HEAPPROF_DUMP_INTEGER, 4});
        file.Add(3, object);
        file.More(hash, {{HEAPPROF_DUMP_INTEGER, 2}, kPage});
        object.external = 0; // 5: in the slot
        object.tail.assign(2, {HEAPPROF_DUMP_INTEGER, 4});
        file.Add(4, object);
        object = Object();
        object.layout = shared; // 6
        object.labelled = {kPage + 320};
        file.Add(5, object);
        object = Object();
        object.layout = odd; // 7
        file.Add(6, object);
        for (uint32_t i = 0; i < 7; i++)
            file.Root(HEAPPROF_DUMP_GLOBAL, "$x", "globals", kPage + 160 * i);
        loaded_ = std::make_unique<LoadedGraph>(file.Bytes(), SIZE_MAX, GRAPH_LENGTHS);
        EXPECT_TRUE(loaded_->loaded) << loaded_->error;
        EXPECT_TRUE(graph_dominators_find(&dominators_, &loaded_->graph, false));
    }
    ~Collections() override { graph_dominators_free(&dominators_); }

    // The numbers of the objects that fulfil it, one digit each.
    std::string Found(const std::string &expression)
    {
        Query query(expression);
        std::string found;
        EXPECT_TRUE(query.parsed) << expression << ": " << query.error;
        EXPECT_TRUE(graph_query_bind(&query.query, &loaded_->graph, &dominators_));
        for (uint32_t object = 1; object <= 7; object++)
            if (graph_query_match(&query.query, object)) found += static_cast<char>('0' + object);
        return found;
    }

    std::unique_ptr<LoadedGraph> loaded_;
    graph_dominators dominators_;
};

TEST_F(Collections, HaveLengthAndRoom)
{
    EXPECT_EQ("12345", Found("length >= 0"));
    EXPECT_EQ("12", Found("length = 27 or length = 40"));
    EXPECT_EQ("4", Found("length = 6"));
    EXPECT_EQ("5", Found("size = 1"));
    EXPECT_EQ("1", Found("capacity = 135"));
    EXPECT_EQ("2", Found("capacity = 100 and fill = 40% and unused = 60"));
    EXPECT_EQ("3", Found("capacity = 20 and fill = 50 and unused = 80"));
    EXPECT_EQ("4", Found("capacity = 32 and fill < 20% and unused = 624"));
    EXPECT_EQ("5", Found("capacity = 8 and unused = 0"));
    EXPECT_EQ("", Found("type = T_ARRAY and capacity >= 0 and length = 0"));
}

TEST_F(Collections, AreFoundByEachField)
{
    EXPECT_EQ("1234567", Found(""));
    EXPECT_EQ("1234567", Found("  "));
    EXPECT_EQ("36", Found("Array"));
    EXPECT_EQ("45", Found("My::Hash"));
    EXPECT_EQ("4", Found("My::Hash with length > 1"));
    EXPECT_EQ("45", Found("class =~ /^My::/"));
    EXPECT_EQ("7", Found("T_DATA(mutex)"));
    EXPECT_EQ("7", Found("(type = T_DATA(mutex))"));
    EXPECT_EQ("12", Found("\"String\""));
    EXPECT_EQ("1", Found("text = 'it is \"quoted\" and \\\\'"));
    EXPECT_EQ("1", Found("text = \"it is \\\"quoted\\\" and \\\\\""));
    EXPECT_EQ("1", Found("text =~ /\"quoted\"/"));
    EXPECT_EQ("1", Found("text =~ /\\\\$/"));
    EXPECT_EQ("", Found("text != x and not text != y"));
    EXPECT_EQ("3", Found("file = cart.rb and line = 12 and method = Cart#load"));
    EXPECT_EQ("3", Found("file = /srv/app/cart.rb"));
    EXPECT_EQ("", Found("file = rt.rb"));
    EXPECT_EQ("3", Found("file =~ /app\\/cart/"));
    EXPECT_EQ("3", Found("old"));
    EXPECT_EQ("3", Found("age==3"));
    EXPECT_EQ("2", Found("frozen"));
    EXPECT_EQ("", Found("shareable or finalizer"));
    EXPECT_EQ("46", Found("refs=1"));
    EXPECT_EQ("4", Found("bytes > 0.9k"));
    EXPECT_EQ("123567", Found("not bytes > 0.9kB"));
    EXPECT_EQ("3",
              Found("retained != 160 and not retained < 300 and retained <= 320 and bytes = 320"));
}

TEST_F(Collections, AreNotFoundByWhatTheyDoNotHave)
{
    EXPECT_EQ("", Found("line < 5 or line > 20"));
    EXPECT_EQ("", Found("method != Cart#load"));
    EXPECT_EQ("124567", Found("not method = Cart#load"));
}

TEST(QueryErrors, SayWhereAndWhat)
{
    EXPECT_TRUE(
        BeginsWith(ErrorOf("Hash with lenght > 5"),
                   "column 11: \"lenght\" is no field: write a class, or one of class type bytes"));
    EXPECT_EQ("column 13: a condition is missing, such as length > 1000", ErrorOf("old and not "));
    EXPECT_EQ("column 5: and, or, with or the end is expected", ErrorOf("old old"));
    EXPECT_EQ("column 8: after this field comes one of = != < <= > >=", ErrorOf("length 5"));
    EXPECT_EQ("column 8: after this field comes one of = != < <= > >=", ErrorOf("length =~ /x/"));
    EXPECT_EQ("column 7: after this field comes one of = != =~", ErrorOf("class < Hash"));
    EXPECT_EQ("column 10: five is no number: give one such as 1000, 1.5k or 2M",
              ErrorOf("length > five"));
    EXPECT_EQ("column 10: 5x is no number: give one such as 1000, 1.5k or 2M",
              ErrorOf("length > 5x"));
    EXPECT_EQ("column 10: 5% is no number: give one such as 1000, 1.5k or 2M",
              ErrorOf("length > 5%"));
    EXPECT_EQ("column 9: a value is missing", ErrorOf("length ="));
    EXPECT_EQ("column 8: the text has no end: \" is missing", ErrorOf("text = \"a b"));
    EXPECT_EQ("column 9: the expression has no end: / is missing", ErrorOf("text =~ /a b"));
    EXPECT_EQ("column 9: =~ needs an expression between slashes: /^Active/", ErrorOf("text =~ a"));
    EXPECT_TRUE(BeginsWith(ErrorOf("text =~ /(/"), "column 9: /(/: "));
    EXPECT_EQ("column 5: this ( is not closed", ErrorOf("not (old"));
    EXPECT_EQ("column 4: this ) closes nothing", ErrorOf("old) and ("));
    EXPECT_EQ("column 6: a condition is missing, such as length > 1000", ErrorOf("not ()"));
    EXPECT_EQ("column 18: with and or need parentheses: Hash with (length > 1000 or bytes > 1M)",
              ErrorOf("Hash with frozen or old"));
    EXPECT_EQ("column 8: with and or need parentheses: Hash with (length > 1000 or bytes > 1M)",
              ErrorOf("A or B with old"));
    EXPECT_EQ("", ErrorOf("(A or B) with (old or frozen)"));
    EXPECT_EQ("column 7: and, or, with or the end is expected", ErrorOf("\xc3\x84pfel old"));
}

TEST(QueryErrors, BoundItsLength)
{
    std::string nots, parentheses, sums = "old";
    for (int i = 0; i < 300; i++) nots += "not ";
    for (int i = 0; i < 99; i++) sums += i % 2 ? " and old" : " or old";
    EXPECT_EQ("column 801: the expression has more than 200 parts", ErrorOf(nots + "old"));
    EXPECT_EQ("column 201: the expression has more than 200 parts", ErrorOf(std::string(500, '(')));
    EXPECT_EQ("", ErrorOf(sums));
    EXPECT_TRUE(BeginsWith(ErrorOf(sums + " or old or old"), "column "));
    EXPECT_EQ("column 1: the expression has more than 2047 bytes", ErrorOf(std::string(5000, ' ')));
    EXPECT_EQ("", ErrorOf(std::string(2047, ' ')));
    EXPECT_EQ("", ErrorOf("text = " + std::string(2000, '\\')));
}

// An expression and its meaning, with parentheses where they are needed, and sometimes where not.
struct Expression {
    std::string text;
    int binds; // 1: or, 2: and, 3: not, a test
    std::function<bool(uint32_t)> holds;
};

class Generator {
public:
    Generator(const Shape &shape, std::mt19937 *random) : shape_(shape), random_(random) {}

    Expression Make(int depth)
    {
        uint32_t kind = depth == 0 ? 0 : Below(4);
        if (kind == 0) return Test();
        Expression one = Make(depth - 1);
        if (kind == 1)
            return { "not " + Inside(one, 3), 3,
                     [=](uint32_t object) { return !one.holds(object); } };
        Expression other = Make(depth - 1);
        if (kind == 2) {
            return { Inside(one, 2) + " and " + Inside(other, 2), 2,
                     [=](uint32_t object) { return one.holds(object) && other.holds(object); } };
        }
        return { Inside(one, 1) + " or " + Inside(other, 1), 1,
                 [=](uint32_t object) { return one.holds(object) || other.holds(object); } };
    }

private:
  uint32_t Below(uint32_t most)
  {
      return std::uniform_int_distribution<uint32_t>(0, most - 1)(*random_);
  }

    std::string Inside(const Expression &of, int least)
    {
        return of.binds < least || Below(5) == 0 ? "(" + of.text + ")" : of.text;
    }

    Expression Test()
    {
        uint32_t number = Below(static_cast<uint32_t>(shape_.size()) + 1);
        std::string text = std::to_string(number);
        const Shape &shape = shape_; // outlives this generator
        switch (Below(5)) {
            case 0:
                return { "bytes>" + std::to_string(40 + number), 3,
                         [number](uint32_t object) { return object > number; } };
            case 1:
                return { "length <= " + text, 3, [&shape, number](uint32_t object) {
                            return shape.references[object].size() <= number;
                        } };
            case 2:
                return { "C" + text, 3, [&shape, number](uint32_t object) {
                            return shape.classes[object] == number;
                        } };
            case 3:
                return { "class =~ /" + text + "$/", 3, [&shape, text](uint32_t object) {
                            std::string name = "C" + std::to_string(shape.classes[object]);
                            return name.size() > text.size() &&
                                   name.substr(name.size() - text.size()) == text;
                        } };
            default: return { "not old", 3, [](uint32_t) { return true; } };
        }
    }

    const Shape &shape_;
    std::mt19937 *random_;
};

TEST(RandomQueries, HoldForTheObjectsThatAModelNames)
{
    std::mt19937 random(29);
    for (int i = 0; i < 1000; i++) {
        Shape shape = RandomShape(&random);
        LoadedGraph loaded(FileOf(shape), SIZE_MAX, GRAPH_LENGTHS);
        graph_dominators dominators;
        ASSERT_TRUE(graph_dominators_find(&dominators, &loaded.graph, false));
        Expression expression = Generator(shape, &random).Make(1 + i % 5);
        Query query(expression.text);
        ASSERT_TRUE(query.parsed) << expression.text << ": " << query.error;
        ASSERT_TRUE(graph_query_bind(&query.query, &loaded.graph, &dominators));
        for (uint32_t object = 1; object < shape.size(); object++) {
            ASSERT_EQ(expression.holds(object), graph_query_match(&query.query, object))
                << expression.text << " of " << object;
        }
        graph_dominators_free(&dominators);
    }
}

TEST(Keys, NameValuesByStringsThatTheDumpHas)
{
    GraphFile file;
    uint32_t string = file.Layout("T_STRING", 0, "String"),
             hash = file.Layout("T_HASH", 0, "Hash", {}, HEAPPROF_DUMP_PAIRED);
    Object object;

    file.Page(kPage, 40);
    object.layout = hash;
    object.tail = { kPage + 40,
                    kPage + 80,
                    kPage + 80,
                    kPage + 40,
                    { HEAPPROF_DUMP_INTEGER, 2 },
                    kPage + 80,
                    kPage + 40,
                    { HEAPPROF_DUMP_SPECIAL, 0 } };
    file.Add(0, object);
    object = Object();
    object.layout = string;
    object.text = "tenant-1";
    file.Add(1, object);
    object.text = "";
    file.Add(2, object);
    LoadedGraph loaded(file.Bytes());
    std::vector<uint32_t> kinds;
    graph_name_keys(&loaded.graph);
    for (uint32_t i = loaded.graph.first[1]; i < loaded.graph.first[2]; i++)
        kinds.push_back(graph_label_kind(loaded.graph.labels[i]));
    EXPECT_EQ(
        (std::vector<uint32_t> { HEAPPROF_DUMP_KEY, GRAPH_VALUE_OF_STRING, HEAPPROF_DUMP_KEY,
                                 HEAPPROF_DUMP_VALUE, GRAPH_VALUE_OF_INTEGER, HEAPPROF_DUMP_KEY }),
        kinds);
    EXPECT_STREQ("tenant-1",
                 graph_string(&loaded.graph.names,
                              graph_label_detail(loaded.graph.labels[loaded.graph.first[1] + 1])));
}

} // namespace
