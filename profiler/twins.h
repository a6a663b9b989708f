#ifndef HEAPPROF_TWINS_H
#define HEAPPROF_TWINS_H
/* Which frames of a snapshot look like a frame of another function. Only its name, path and
 * line are shown of a frame. */
#include "profiler/snapshot.h"

struct heapprof_twins {
    bool  *all;               /* by node: whether its frame may look like one of another function */
    size_t capacity;
};

/* Looks for such frames. Returns false if there is no memory. The caller frees twins either
 * way, with the same mem. */
bool rb_heapprof_twins_find(struct heapprof_twins *twins, struct heapprof_mem *mem,
                            const struct heapprof_snapshot *snapshot);
void rb_heapprof_twins_free(struct heapprof_twins *twins, struct heapprof_mem *mem);

#endif
