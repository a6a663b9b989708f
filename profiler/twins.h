#ifndef HEAPPROF_TWINS_H
#define HEAPPROF_TWINS_H
/* Which functions of a snapshot a frame could be of, and look the same: its name, path and line
 * are all that is shown. */
#include "profiler/snapshot.h"

struct heapprof_twins {
    bool  *all;               /* by node: whether its frame may look like another function's */
    size_t capacity;
};

/* Looks for them; false when there is no memory. Free them either way, with that mem. */
bool rb_heapprof_twins_find(struct heapprof_twins *twins, struct heapprof_mem *mem,
                            const struct heapprof_snapshot *snapshot);
void rb_heapprof_twins_free(struct heapprof_twins *twins, struct heapprof_mem *mem);

#endif
