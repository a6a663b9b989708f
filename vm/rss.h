#ifndef HEAPPROF_VM_RSS_H
#define HEAPPROF_VM_RSS_H
#include "gc/interpreter.h" /* fibers, which the collector's side asks for */
#include "profiler/ladder.h"

struct heapprof_snapshot;
struct rb_heapprof_rss;

/* Adds to the snapshot just taken, unless it is NULL, rows for all else that is in memory; when
 * there is no memory for that, frees it and makes it NULL. Under the VM lock, all ractors stopped;
 * no Ruby allocation, nothing from the allocator. */
void rb_heapprof_rss_add(struct heapprof_snapshot **snapshot);

/* Measures all values but size. Takes the VM lock; walks the heap. */
void rb_heapprof_rss_measure(struct rb_heapprof_rss *rss);

/* What there is of code now. Under the VM lock, all ractors stopped; walks the heap. */
struct heapprof_code rb_heapprof_rss_code(void);

#endif
