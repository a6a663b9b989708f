// refusing_malloc.h - replaces malloc and its like, and mmap, in the program that includes it: a
// request is refused when a test asks for that (refusing.h), and while one is watching blocks are
// counted.

#ifndef HEAPPROF_REFUSING_MALLOC_H
#define HEAPPROF_REFUSING_MALLOC_H

#include <cstdlib>

#include "test/unit/support/refusing.h"

namespace {

long blocks; // malloc blocks taken and not given back while watching
bool watching;

REPLACEMENT void *
Count(void *block)
{
    if (watching && block) blocks++;
    return block;
}

} // namespace

extern "C" {

void *ORIGINAL(malloc)(size_t);
void *ORIGINAL(calloc)(size_t, size_t);
void *ORIGINAL(realloc)(void *, size_t);
void ORIGINAL(free)(void *);

REPLACEMENT void *
malloc(size_t size)
{
    return RefuseP() ? nullptr : Count(ORIGINAL(malloc)(size));
}

REPLACEMENT void *
calloc(size_t count, size_t size)
{
    return RefuseP() ? nullptr : Count(ORIGINAL(calloc)(count, size));
}

REPLACEMENT void *
realloc(void *old, size_t size)
{
    if (RefuseP()) return nullptr;
    return old ? ORIGINAL(realloc)(old, size) : Count(ORIGINAL(realloc)(old, size));
}

REPLACEMENT void
free(void *block)
{
    if (watching && block) blocks--;
    ORIGINAL(free)(block);
}

REPLACEMENT void *
mmap(void *address, size_t bytes, int protection, int flags, int file, off_t offset)
{
    if (RefuseP()) return MAP_FAILED;
    return MapPages(address, bytes, protection, flags, file, offset);
}

} // extern "C"

#endif
