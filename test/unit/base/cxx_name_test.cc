// cxx_name_test.cc - which functions are of C++'s standard library.

#include <gtest/gtest.h>

#include <cstring>

extern "C" {
#include "base/cxx_name.h"
}

namespace {

bool Std(const char *name) { return rb_heapprof_cxx_std_p(name, std::strlen(name)); }

TEST(CxxName, FunctionsOfTheStandardLibraryAreKnownMangledAndNot) {
    for (const char *name :
         { "_ZNSt6vectorIiSaIiEE9push_backEOi", "_ZNKSt6vectorIiSaIiEE4sizeEv", "_ZSt4moveIRiEvT_",
           "_ZN9__gnu_cxx13new_allocatorIiE8allocateEmPKv", "std::string::assign(char const*)",
           "std::vector<int, std::allocator<int> >::reserve(unsigned long)",
           "void std::vector<int, std::allocator<int> >::_M_realloc_insert<int>(int&&)",
           "std::enable_if<true, void>::type std::swap<int>(int&, int&)",
           "std::map<int, int>::operator[](int&&)",
           "__gnu_cxx::new_allocator<int>::allocate(unsigned long, void const*)" }) {
        EXPECT_TRUE(Std(name)) << name;
    }
}

TEST(CxxName, WhatOnlyHasItsTypesIsNot) {
    for (const char *name :
         { "", "parse", "_ZN5leaky4fillEPSt6vectorIlSaIlEEm", "stdio_open", "leaky::std::f()",
           "leaky::fill(std::vector<long, std::allocator<long> >*, unsigned long)",
           "std::vector<int, std::allocator<int> > leaky::make<int>(int)",
           "leaky::(anonymous namespace)::f(std::string)", "void leaky::sort<std::less<int> >()",
           "std::string leaky::Text::operator()<int>(int) const", "<<<<", "((((", ">>>>) std::" }) {
        EXPECT_FALSE(Std(name)) << name;
    }
}

TEST(CxxName, OnlyTheNameIsRead) {
    EXPECT_FALSE(rb_heapprof_cxx_std_p("std::f()", 4));
    EXPECT_FALSE(rb_heapprof_cxx_std_p("_ZNSt3fooEv", 4));
}

} // namespace
