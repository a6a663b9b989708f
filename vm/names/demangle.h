#ifndef HEAPPROF_VM_DEMANGLE_H
#define HEAPPROF_VM_DEMANGLE_H
#include <stddef.h>

/* A C++ function as it is written in source. Returns text, with as much of the name as fits in
 * there; returns the name itself if it is no mangled name, or if the process has no C++ library.
 * Asks malloc, and takes the dynamic linker's lock. */
const char *rb_heapprof_demangle(const char *name, char *text, size_t bytes);

#endif
