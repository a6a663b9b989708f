// cxx.cc - what C++ loses: an array of new, and what its elements have asked for.
#include "memcheck.h"

#include <string>
#include <vector>

static std::string *volatile forgotten;

namespace leaky {

// The vector grows in functions that the compiler makes of its template, in this file.
__attribute__((noinline)) void
fill(std::vector<long> *numbers, size_t count)
{
    for (size_t i = 0; i < count; i++) numbers->push_back(static_cast<long>(i));
}

} // namespace leaky

extern "C" void *
memcheck_make_by_new()
{
    return new char[100];
}

extern "C" void
memcheck_lose_by_vector(size_t count)
{
    static std::vector<long> *volatile vector;

    vector = new std::vector<long>;
    leaky::fill(vector, count);
    vector = nullptr;
}

extern "C" void
memcheck_lose_by_new(size_t count)
{
    std::string *strings = new std::string[count];

    for (size_t i = 0; i < count; i++) strings[i].assign(100, 'x');
    forgotten = strings;
    forgotten = nullptr;
}
