#ifndef HEAPPROF_GC_TRACK_H
#define HEAPPROF_GC_TRACK_H
/* track.h - which heap objects the profiler knows, for the handlers in this folder;
 * compiled inside gc.c. An object is tracked while it is a live sample, or an iseq or
 * class whose identity names come from; it has the flag bit exactly as long. */
#include "gc/book/state.h"

/* Enters a live sample. False when memory is refused. */
static bool track_sample(VALUE object, const struct heapprof_sample *sample);

/* The identity of what objects of this kind are labelled with: the class, or for
 * objects without one their internal type. 0 when memory is refused. */
static uint32_t rb_heapprof_class_of(VALUE object);

/* What thinning asks and says of samples (profiler/thinning.h). */
static uint32_t *samples_of_page(uintptr_t object);
static void forget_sample(uintptr_t object);

/* At each sample, where room may be made: thins a little of what is still to be thinned; with an automatic interval
 * that may be all there is; and merges dead code when there is much. And inside a GC: with an automatic interval it samples finer from now on, where a major
 * GC has found too little (run.c). */
static void follow_samples(void);
static void refine(void);

/* Clears all flags and page chains; the tables are freed by who calls this. */
static void untrack_all(void);

#endif
