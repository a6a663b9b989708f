#ifndef HEAPPROF_GC_TRACK_H
#define HEAPPROF_GC_TRACK_H
/* track.h - which heap objects the profiler knows, for the handlers in gc/; compiled inside gc.c.
 * An object is tracked while it is a live sample, or an iseq or class that names come from. It
 * has the flag bit exactly as long, but not for a sample that is young. */
#include "gc/book/state.h"

/* Enters a live sample, which is young (base/address_table.h). Returns false when memory is
 * refused. settle_sample: a young sample is young no more. All ractors are stopped. */
static bool track_sample(VALUE object, const struct heapprof_sample *sample);
static void settle_sample(uint32_t entry);

/* The entry of a sampled object, young or not; 0: it is not sampled. For seldom use: it looks at
 * all young samples. */
static uint32_t find_sample(VALUE object);

/* Callbacks for thinning (profiler/thinning.h): the head of the page chain that a sample is on;
 * drop a sample. */
static uint32_t *samples_of_page(uintptr_t object);
static void forget_sample(uintptr_t object);

/* Clears all flags and page chains. The caller frees the tables. */
static void untrack_all(void);

#endif
