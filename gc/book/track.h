#ifndef HEAPPROF_GC_TRACK_H
#define HEAPPROF_GC_TRACK_H
/* track.h - which heap objects the profiler knows, for the handlers in this folder;
 * compiled inside gc.c. An object is tracked while it is a live sample, or an iseq or
 * class whose identity names come from; it has the flag bit exactly as long. */
#include "gc/book/state.h"

/* Enters a live sample. False when memory is refused. */
static bool track_sample(VALUE object, const struct heapprof_sample *sample);

/* What thinning asks and says of samples (profiler/thinning.h). */
static uint32_t *samples_of_page(uintptr_t object);
static void forget_sample(uintptr_t object);

/* Clears all flags and page chains; the tables are freed by who calls this. */
static void untrack_all(void);

#endif
