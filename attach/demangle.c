/* demangle.c - C++ names as they are written in source, by __cxa_demangle of the C++ library. The
 * library is loaded when the first name needs it: a host may have none.
 *
 *     _ZN3FooIiE3barES0_    S0_ stands for an earlier part of the name, T_ for an argument of a
 *                           template, Dp and sp for a pattern that is repeated for each argument
 *
 * A part may stand for one that has such parts itself, so a name of 200 bytes could become one of
 * gigabytes. Each S and T can only repeat what is there, and so makes the name twice as long at
 * most. A pattern is repeated at most as often as the name has bytes.
 *
 *   I1  A name is demangled only if it cannot become longer than DEMANGLED_MOST. */
#include "attach/demangle.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MANGLED_MOST = 1000, DEMANGLED_MOST = 1 << 20 };

typedef char *demangle_function(const char *name, char *buffer, size_t *bytes, int *status);

/* Returns NULL if there is none. The library stays loaded. */
static demangle_function *
find_function(void)
{
    static const char *const libraries[] = {"libstdc++.so.6", "libc++abi.so.1"};
    static demangle_function *found;
    static bool looked;

    for (size_t i = 0; !looked && !found && i < sizeof(libraries) / sizeof(*libraries); i++) {
        void *library = dlopen(libraries[i], RTLD_LAZY | RTLD_LOCAL);
        if (library) *(void **)&found = dlsym(library, "__cxa_demangle");
    }
    looked = true;
    return found;
}

/* How often the name may become twice as long. Counts some letters of identifiers, too. */
static size_t
doublings(const char *name, size_t length)
{
    size_t count = 0, pattern = 0;

    while (length >> pattern) pattern++;
    for (const char *at = name; *at; at++) {
        bool number = at[1] == '_' || (at[1] >= '0' && at[1] <= '9') ||
                      (at[1] >= 'A' && at[1] <= 'Z');
        if ((at[0] == 'S' || at[0] == 'T') && number) count++;
        if (!strncmp(at, "Dp", 2) || !strncmp(at, "sp", 2)) count += pattern;
    }
    return count;
}

static bool
bounded_p(const char *name, size_t length)
{
    size_t times = doublings(name, length);

    return length <= MANGLED_MOST && times < 32 && length << times <= DEMANGLED_MOST;
}

const char *
attach_demangle(const char *name, char *text, size_t bytes)
{
    size_t length = strlen(name);
    int status;

    if (strncmp(name, "_Z", 2) || !bounded_p(name, length)) return name;
    demangle_function *function = find_function();
    char *plain = function ? function(name, NULL, NULL, &status) : NULL;
    if (!plain) return name;
    snprintf(text, bytes, "%s", plain);
    free(plain);
    return text;
}
