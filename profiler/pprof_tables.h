#ifndef HEAPPROF_PPROF_TABLES_H
#define HEAPPROF_PPROF_TABLES_H
/* A snapshot in the shape of a pprof profile: functions, locations and samples, each known
 * by a number, nothing twice, values rounded.
 *
 * A loaded snapshot may have the same stack several times, and a reader of pprof would show
 * rows that look alike. Here such rows become one sample. A snapshot that was taken has no such
 * rows (alike.h).
 */
#include "profiler/snapshot.h"

/* The values of a sample. First for what was allocated, then for what is in use: objects; bytes of
 * slots, of the allocator, of both. Then bytes in memory, which only rungs have (ladder.h), and the
 * variance of the bytes in use. Every profile has these. Then objects and bytes of what was alive
 * at the peak, and of what has died before its first GC, in profiles that have them. */
#define HEAPPROF_PPROF_ALWAYS 10
#define HEAPPROF_PPROF_VALUES 14

/* Whether a profile with these facts has that value. */
bool rb_heapprof_pprof_value_p(const struct heapprof_facts *facts, int value);

/* Names of frames that are not code. They are not among the snapshot's strings. */
#define HEAPPROF_PPROF_NAME_FOLDED   (UINT32_MAX - 1) /* sites given up for memory */
#define HEAPPROF_PPROF_NAME_NO_FRAME (UINT32_MAX - 2) /* allocated outside any frame */

struct heapprof_pprof_sample {
    uint32_t location;   /* of the innermost frame */
    uint32_t outer;      /* the snapshot's stack around it; 0: no stack */
    uint32_t row;        /* the snapshot's first row in this sample, which has the labels of all.
                            Samples are in this order */
    int64_t  values[HEAPPROF_PPROF_VALUES];
    int64_t  memsize_bytes;
};

struct heapprof_pprof_tables {
    struct heapprof_mem       mem;         /* its own account, without a limit */
    struct heapprof_functions functions;   /* one for each name and path */
    struct heapprof_stacks    locations;   /* stacks of one frame, for each function and line */
    uint32_t *location_of;                 /* by the snapshot's stack: location of its innermost
                                              frame */
    size_t    location_of_capacity;
    struct heapprof_pprof_sample *samples;
    size_t    samples_capacity;
    size_t    sample_count;
};

/* Fills tables from the snapshot, which has to outlive them. Returns false if there is no
 * memory. The caller calls free either way. */
bool rb_heapprof_pprof_tables_build(struct heapprof_pprof_tables *tables,
                                    const struct heapprof_snapshot *snapshot);

void rb_heapprof_pprof_tables_free(struct heapprof_pprof_tables *tables);

#endif
