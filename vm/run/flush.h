#ifndef HEAPPROF_VM_FLUSH_H
#define HEAPPROF_VM_FLUSH_H
#include "profiler/snapshot.h"

/* The snapshot as gzip'd pprof in a block from malloc, its length in *size; NULL when
 * out of memory. Needs no GVL. */
char *rb_heapprof_flush_encode(const struct heapprof_snapshot *snapshot, size_t *size);

/* The same, looked at by that sample type first. */
char *rb_heapprof_flush_encode_by(const struct heapprof_snapshot *snapshot, const char *by, size_t *size);

/* Writes a whole file (file.h) and frees bytes, which are from malloc. 0, or errno with nothing
 * left behind. Serves interrupts, so it may raise; then, too. The GVL is given up meanwhile. At exit
 * it is held for a regular file; and a pipe that nobody reads is ENXIO, where it is waited for else. */
int rb_heapprof_flush_write(const char *path, char *bytes, size_t size, bool at_exit);

struct heapprof_series;

/* Why a file could not be written. For some errors that is more than strerror tells. */
const char *rb_heapprof_flush_explain(int error);

/* Says that the profile was not written; path is "" if it has none. */
void rb_heapprof_flush_say_unwritten(const char *path, int error);

/* Says, once in a child of fork, that its files have other names than the template says. */
void rb_heapprof_flush_say_distinct(struct heapprof_series *series, const char *path);

/* What profiles have for the build of their mapping, ruby_description; and for who reads from outside, which cannot be
 * told how long that array is. */
extern const char *const rb_heapprof_description;

#endif
