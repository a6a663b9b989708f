// cxx.cc - what C++ loses: an array of new, and what its elements have asked for.
#include "memcheck.h"

#include <string>

static std::string *volatile forgotten;

extern "C" void *
memcheck_make_by_new()
{
    return new char[100];
}

extern "C" void
memcheck_lose_by_new(size_t count)
{
    std::string *strings = new std::string[count];

    for (size_t i = 0; i < count; i++) strings[i].assign(100, 'x');
    forgotten = strings;
    forgotten = nullptr;
}
