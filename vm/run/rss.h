#ifndef HEAPPROF_VM_RSS_H
#define HEAPPROF_VM_RSS_H
#include "profiler/ladder.h"

struct heapprof_others;
struct heapprof_pages;
struct heapprof_snapshot;
struct rb_heapprof_rss;

/* Measures heap pages for the length of a slice. *pages is {0} before the first one. Returns
 * false after the last one. Takes the VM lock. */
bool rb_heapprof_rss_slice(struct heapprof_pages *pages);

/* Adds rows to a new snapshot for everything else that is in memory. If there is no memory for
 * them, frees the snapshot and sets it to NULL. Takes the VM lock for a short time; before that
 * it lets other threads run, unless `others` is NULL. */
void rb_heapprof_rss_add(struct heapprof_snapshot **snapshot, const struct heapprof_pages *pages,
                         const struct heapprof_others *others);

/* Measures all values except `size`. Takes the VM lock, in slices; only other ractors run between
 * them. */
void rb_heapprof_rss_measure(struct rb_heapprof_rss *rss);

/* How much memory code takes at present. Walks the heap, under the VM lock with all ractors
 * stopped. */
struct heapprof_code rb_heapprof_rss_code(void);

/* Measures what the kernel and, with that, the allocator say: the part that needs no lock of
 * Ruby's. */
void rb_heapprof_rss_measure_outside(struct heapprof_measured *measured, bool with_allocator);

/* In a copy of the process: what its parent has measured like that. NULL: measure it. */
extern const struct heapprof_measured *rb_heapprof_rss_given;

#endif
