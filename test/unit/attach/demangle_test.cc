// demangle_test.cc - C++ names as they are written in source, and those of somebody who means harm.

#include <gtest/gtest.h>

#include <string>

extern "C" {
#include "attach/demangle.h"
}

namespace {

std::string
Demangled(const std::string &name, size_t bytes = 1024)
{
    std::string text(bytes, '\0');
    return attach_demangle(name.c_str(), text.data(), bytes);
}

TEST(Demangle, ShowsANameAsInSource)
{
    EXPECT_EQ("Foo::bar(int)", Demangled("_ZN3Foo3barEi"));
    EXPECT_EQ("(anonymous namespace)::Throw(int)", Demangled("_ZN12_GLOBAL__N_15ThrowEi"));
    EXPECT_EQ("std::vector<int, std::allocator<int> >::push_back(int&&)",
              Demangled("_ZNSt6vectorIiSaIiEE9push_backEOi"));
    EXPECT_EQ("Foo::", Demangled("_ZN3Foo3barEi", 6)); // as much as fits
}

TEST(Demangle, LeavesOtherNamesAsTheyAre)
{
    for (const char *name : {"", "rb_yield", "_Z", "_ZN3Foo", "_Znonsense", "Foo::bar(int)"})
        EXPECT_EQ(name, Demangled(name));
    EXPECT_EQ(std::string("_Z") + std::string(5000, 'P'), Demangled("_Z" + std::string(5000, 'P')));
}

TEST(Demangle, LeavesANameThatWouldFillTheMemory)
{
    // Each argument has the one before it twice, so the name is twice as long for each.
    std::string few = "_Z1f1AIiiES_IS0_S0_ES_IS1_S1_E", many = few;
    for (char last : std::string("23456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"))
        many += std::string("S_IS") + last + "_S" + last + "_E";
    EXPECT_NE(few, Demangled(few));
    EXPECT_EQ(many, Demangled(many));
    // A pattern that is repeated for each argument, within another one.
    std::string pack = "_Z1fIJiiiiiiiiEEvDpDpDpT_";
    EXPECT_EQ(pack, Demangled(pack));
}

} // namespace
