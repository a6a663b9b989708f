#ifndef HEAPPROF_CXX_NAME_H
#define HEAPPROF_CXX_NAME_H
/* Names of C++ functions. */
#include <stdbool.h>
#include <stddef.h>

/* True if the function belongs to the standard library: its code may be in any file, because the
 * compiler makes it from a template where it is used. The name may be mangled or not. It is not
 * ended by NUL. */
bool rb_heapprof_cxx_std_p(const char *name, size_t length);

#endif
