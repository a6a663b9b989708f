#ifndef HEAPPROF_VM_RSS_H
#define HEAPPROF_VM_RSS_H
#include "profiler/ladder.h"

struct heapprof_others;
struct heapprof_pages;
struct heapprof_snapshot;
struct rb_heapprof_rss;

/* Looks at heap pages for the length of a slice, beginning with {0}; false after the last. Takes the VM lock. */
bool rb_heapprof_rss_slice(struct heapprof_pages *pages);

/* Adds to the snapshot just taken rows for all else that is in memory; when there is no memory for that,
 * frees it and makes it NULL. Takes the VM lock, not for long; and lets others run before (others.h; NULL: it does not). */
void rb_heapprof_rss_add(struct heapprof_snapshot **snapshot, const struct heapprof_pages *pages,
                         const struct heapprof_others *others);

/* Measures all values but size, in slices between which only other ractors run. Takes the VM lock. */
void rb_heapprof_rss_measure(struct rb_heapprof_rss *rss);

/* What there is of code now. Under the VM lock, all ractors stopped; walks the heap. */
struct heapprof_code rb_heapprof_rss_code(void);

#endif
