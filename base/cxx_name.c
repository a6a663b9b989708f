/* cxx_name.c - whether a C++ function belongs to the standard library.
 *
 *     mangled     _ZNSt6vectorIiSaIiEE9push_backEOi
 *     demangled   void std::vector<int, std::allocator<int> >::_M_realloc_insert<int>(int&&)
 *                      \__ the name begins behind the last space that is in no bracket
 *
 * A type that the function returns stands before the name only if the function is a template.
 */
#include "base/cxx_name.h"

#include <string.h>

static bool
begins_p(const char *name, size_t length, const char *with)
{
    size_t beginning = strlen(with);
    return length >= beginning && memcmp(name, with, beginning) == 0;
}

static bool
any_begins_p(const char *name, size_t length, const char *const beginnings[])
{
    for (; *beginnings; beginnings++) {
        if (begins_p(name, length, *beginnings)) return true;
    }
    return false;
}

/* Where the name of a demangled function begins. */
static size_t
beginning_of(const char *name, size_t length)
{
    size_t begin = 0;
    int depth = 0;

    for (size_t i = 0; i < length; i++) {
        if (name[i] == '(' && depth == 0 && !begins_p(name + i, length - i, "(anonymous")) break;
        if (begins_p(name + i, length - i, "operator")) break;
        if (name[i] == '<' || name[i] == '(') depth++;
        else if (name[i] == '>' || name[i] == ')') depth--;
        else if (name[i] == ' ' && depth == 0) begin = i + 1;
    }
    return begin;
}

bool
rb_heapprof_cxx_std_p(const char *name, size_t length)
{
    static const char *const mangled[] = {"_ZNSt", "_ZNKSt", "_ZSt", "_ZN9__gnu_cxx",
                                          "_ZNK9__gnu_cxx", NULL};
    static const char *const plain[] = {"std::", "__gnu_cxx::", NULL};

    if (begins_p(name, length, "_Z")) return any_begins_p(name, length, mangled);
    size_t begin = beginning_of(name, length);
    return any_begins_p(name + begin, length - begin, plain);
}
