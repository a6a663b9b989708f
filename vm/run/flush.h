#ifndef HEAPPROF_VM_FLUSH_H
#define HEAPPROF_VM_FLUSH_H
#include "profiler/snapshot.h"

/* Returns the snapshot as pprof, packed by gzip, in a block from malloc; its length is in *size.
 * Returns NULL if there is no memory. Needs no GVL. */
char *rb_heapprof_flush_encode(const struct heapprof_snapshot *snapshot, size_t *size);

/* The same, with `by` as the sample type that readers show first. */
char *
rb_heapprof_flush_encode_by(const struct heapprof_snapshot *snapshot, const char *by, size_t *size);

/* Writes a whole file (os/file.h). Returns 0, or errno; then no file is left behind. Frees bytes,
 * which are from malloc, in each case. Serves interrupts, so it may raise; then no file is left
 * either. Gives up the GVL meanwhile. At exit it keeps the GVL for a regular file, and a pipe
 * without a reader is ENXIO; at other times it waits for a reader. */
int rb_heapprof_flush_write(const char *path, char *bytes, size_t size, bool at_exit);

/* The same for a thread of ours, which needs no GVL and does not free bytes: refuses a pipe
 * (ENOTSUP), because a reader that is away would hold up the end of the process. */
int rb_heapprof_flush_write_regular(const char *path, const char *bytes, size_t size);

struct heapprof_series;

/* Why a file could not be written. For some errors that is more than strerror tells. */
const char *rb_heapprof_flush_explain(int error);

/* Says that the profile was not written; path is "" if it has none. */
void rb_heapprof_flush_say_unwritten(const char *path, int error);

/* Says, once in a child of fork, that its files have other names than the template says. */
void rb_heapprof_flush_say_distinct(struct heapprof_series *series, const char *path);

/* ruby_description, which profiles have as the build of their mapping. A reader outside needs
 * this pointer, because the descriptor does not have the length of that array. */
extern const char *const rb_heapprof_description;

#endif
