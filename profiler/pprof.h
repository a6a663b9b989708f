#ifndef HEAPPROF_PPROF_H
#define HEAPPROF_PPROF_H
/* A snapshot as a pprof Profile message (profile.proto), encoded by upb. */
#include "profiler/snapshot.h"

/* Returns the encoded message in a block from malloc, with its length in *size; NULL if there
 * is no memory. binary is the file name of the mapping, build_id its identity. Names that are
 * not UTF-8 are written as utf8.h says. Equal snapshots make equal bytes. Reads only the
 * snapshot; needs no GVL. */
char *rb_heapprof_pprof_encode(const struct heapprof_snapshot *snapshot, const char *binary,
                               const char *build_id, size_t *size);

/* The same, but a viewer shows the sample type `by` first, not inuse_space. */
char *rb_heapprof_pprof_encode_by(const struct heapprof_snapshot *snapshot, const char *by,
                                  const char *binary, const char *build_id, size_t *size);

/* Whether a profile with these facts has a sample type of that name. */
bool rb_heapprof_pprof_type_p(const struct heapprof_facts *facts, const char *name);

#endif
