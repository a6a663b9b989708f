/* demangle.c - C++ names as they are written in source.
 *
 * The C++ library that the process has loaded does it (__cxa_demangle). A process with C++ code
 * has one, unless the code has it linked in. No library is loaded for it.
 */
#include "ruby/internal/config.h"
#include "vm/names/demangle.h"
#include "gc/book/state.h"
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MANGLED_MOST = 1000 }; /* what a name becomes may be far longer than the name */

typedef char *demangle_function(const char *name, char *buffer, size_t *bytes, int *status);

/* Returns NULL if there is none. The library stays loaded. Under the VM lock. */
static demangle_function *
find_demangle(void)
{
    static const char *const libraries[] = {"libstdc++.so.6", "libc++abi.so.1"};
    static demangle_function *found;

    for (size_t i = 0; !found && i < sizeof(libraries) / sizeof(libraries[0]); i++) {
        void *library = dlopen(libraries[i], RTLD_LAZY | RTLD_NOLOAD);
        if (library) found = (demangle_function *)dlsym(library, "__cxa_demangle");
    }
    return found;
}

static char *
demangle(const char *name)
{
    demangle_function *function = find_demangle();
    int status;

    return function ? function(name, NULL, NULL, &status) : NULL;
}

const char *
rb_heapprof_demangle(const char *name, char *text, size_t bytes)
{
    if (strncmp(name, "_Z", 2) != 0 || strlen(name) > MANGLED_MOST) return name;
    bool own_work = rb_heapprof_gc_begin_own_work();
    char *demangled = demangle(name);
    if (demangled) {
        snprintf(text, bytes, "%s", demangled);
        name = text;
    }
    free(demangled);
    rb_heapprof_gc_end_own_work(own_work);
    return name;
}
