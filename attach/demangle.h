#ifndef ATTACH_DEMANGLE_H
#define ATTACH_DEMANGLE_H
#include <stddef.h>

/* A C++ function as it is written in source: "_ZN3Foo3barEi" is "Foo::bar(int)". Returns text,
 * with as much of the name as fits in there. Returns the name itself if it is no mangled name, may
 * become too long, or if this host has no C++ library. The name may come from anybody. */
const char *attach_demangle(const char *name, char *text, size_t bytes);

#endif
