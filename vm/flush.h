#ifndef HEAPPROF_VM_FLUSH_H
#define HEAPPROF_VM_FLUSH_H
#include "profiler/snapshot.h"

/* The snapshot as gzip'd pprof in a block from malloc, its length in *size; NULL when
 * out of memory. Needs no GVL. */
char *rb_heapprof_flush_encode(const struct heapprof_snapshot *snapshot, size_t *size);

/* Writes a whole file (file.h) and frees bytes, which are from malloc. 0, or errno with nothing
 * left behind. Serves interrupts, so it may raise; then, too. The GVL is given up meanwhile, unless
 * hold_gvl and the file is a regular one; for a pipe it is always, since that may wait for ever. */
int rb_heapprof_flush_write(const char *path, char *bytes, size_t size, bool hold_gvl);

/* The path of the file that the out template stands for now, absolute; directory is
 * where a relative one starts. False: too long. */
bool rb_heapprof_flush_path(const char *out, const char *directory, char *path, size_t size);

#endif
