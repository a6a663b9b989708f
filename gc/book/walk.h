#ifndef HEAPPROF_GC_WALK_H
#define HEAPPROF_GC_WALK_H
/* walk.h - the one way over the heap, for the files of gc/; compiled inside gc.c. All ractors are
 * stopped, or a GC ends. What is called back makes no Ruby object and starts no GC.
 */
#include "gc/book/state.h"

/* Not 0 while a page is walked: dead objects are looked at, too. */
static unsigned int heap_is_walked;

/* Calls object_i for each object on the page, and returns how many slots are used. Objects that
 * have moved away, and those that wait for their finalizer, are among them. */
static size_t walk_page(const struct heap_page *page,
                        void (*object_i)(VALUE object, size_t slot_bytes, void *data), void *data);

/* Calls page_i for each page, including empty ones that are kept for later. */
static void walk_pages(void (*page_i)(const struct heap_page *page, void *data), void *data);

/* The first page whose body lies behind that address. Returns NULL if there is none. So a walk in
 * slices goes on where it was, whatever pages have come and gone. */
static const struct heap_page *walk_page_after(uintptr_t address);

#endif
