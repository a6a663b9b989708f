// terms_test.cc - classes as words of a sentence.

#include <gtest/gtest.h>

#include "test/unit/graph/made.h"

extern "C" {
#include "graph/terms.h"
}

namespace {

std::string Counted(uint64_t count, const char *class_name, const char *adjective = "")
{
    return Written([&](FILE *out) { graph_put_counted(out, count, adjective, class_name); });
}

TEST(Terms, NameWhatOnlyTheVmKnows)
{
    EXPECT_STREQ("compiled code", graph_term("T_IMEMO(iseq)"));
    EXPECT_STREQ("note of the VM", graph_term("T_IMEMO(of_the_next_version)"));
    EXPECT_STREQ("internal object of C code", graph_term("T_DATA(autoload_table)"));
    EXPECT_STREQ("internal Array", graph_term("T_ARRAY"));
}

TEST(Terms, LeaveClassesAsTheyAre)
{
    EXPECT_EQ(nullptr, graph_term("Array"));
    EXPECT_EQ(nullptr, graph_term("T_ARRAYS"));
    EXPECT_EQ(nullptr, graph_term(""));
    EXPECT_EQ(nullptr, graph_term("T_IMEMO"));
}

TEST(Terms, CountOne)
{
    EXPECT_EQ("1 Hash", Counted(1, "Hash"));
    EXPECT_EQ("1 new Hash", Counted(1, "Hash", "new "));
    EXPECT_EQ("1 piece of compiled code", Counted(1, "T_IMEMO(iseq)"));
}

TEST(Terms, CountMany)
{
    EXPECT_EQ("9,000 Strings", Counted(9000, "String"));
    EXPECT_EQ("2 new Hashes", Counted(2, "Hash", "new "));
    EXPECT_EQ("0 Arrays", Counted(0, "Array"));
    EXPECT_EQ("1,500 pieces of compiled code", Counted(1500, "T_IMEMO(iseq)"));
    EXPECT_EQ("3 method entries", Counted(3, "T_IMEMO(ment)"));
}

// One can search for the name, also where English would change it.
TEST(Terms, KeepTheNameOfAClassWhole)
{
    EXPECT_EQ("2 Classes", Counted(2, "Class"));
    EXPECT_EQ("2 Shop::Boxes", Counted(2, "Shop::Box"));
    EXPECT_EQ("2 Arrays", Counted(2, "Array"));
    EXPECT_EQ("2 Shop::Entry objects", Counted(2, "Shop::Entry"));
    EXPECT_EQ("2 Redis objects", Counted(2, "Redis"));
    EXPECT_EQ("2 URI objects", Counted(2, "URI"));
    EXPECT_EQ("2 #<Class:0x00007f> objects", Counted(2, "#<Class:0x00007f>"));
    EXPECT_EQ("2 É objects", Counted(2, "É"));
}

} // namespace
