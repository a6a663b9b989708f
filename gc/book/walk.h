#ifndef HEAPPROF_GC_WALK_H
#define HEAPPROF_GC_WALK_H
/* walk.h - the one way over the heap, for the files of this folder; compiled inside gc.c. All
 * ractors are stopped, or a GC ends, and what is called back makes no Ruby object and starts no GC.
 */
#include "gc/book/state.h"

/* Calls for each object on the page, and returns how many slots are used. The page is slots of
 * slot_bytes; what has moved away and what waits for its finalizer is among the objects. */
static size_t walk_page(const struct heap_page *page,
                        void (*object_i)(VALUE object, size_t slot_bytes, void *data), void *data);

/* All pages, empty ones that are kept for later included. */
static void walk_pages(void (*page_i)(const struct heap_page *page, void *data), void *data);

/* The first page whose body lies behind that address; NULL: there is none. So a walk in slices goes on
 * where it was, whatever pages have come and gone. */
static const struct heap_page *walk_page_after(uintptr_t address);

#endif
