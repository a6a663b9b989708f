#ifndef HEAPPROF_GRAPH_SPACE_H
#define HEAPPROF_GRAPH_SPACE_H
/* Arrays of a graph: in memory up to a limit, beyond it in a file that has no name. Their users see no difference,
 * but for the time it takes. The file is in TMPDIR, or /var/tmp. */
#include "base/mem.h"

#define HEAPPROF_SPACE_BLOCKS 64 /* that can be in the file; there are about 40 */

struct heapprof_space {
    struct heapprof_mem mem;
    int    file;                 /* -1: none yet */
    size_t file_bytes;
    struct heapprof_mem_block filed[HEAPPROF_SPACE_BLOCKS];
};

/* limit_bytes: SIZE_MAX, no limit. */
void rb_heapprof_space_init(struct heapprof_space *space, size_t limit_bytes);

/* Whoever has arrays has given them back. */
void rb_heapprof_space_free(struct heapprof_space *space);

/* As rb_heapprof_mem_grow and rb_heapprof_mem_release. */
bool rb_heapprof_space_grow(struct heapprof_space *space, void **block, size_t *capacity, size_t count,
                            size_t element_bytes);
void rb_heapprof_space_release(struct heapprof_space *space, void **block, size_t *capacity, size_t element_bytes);

#define HEAPPROF_SPACE_GROW(space, array, capacity, count) \
    ((count) <= (capacity) || \
     rb_heapprof_space_grow((space), (void **)&(array), &(capacity), (count), sizeof(*(array))))
#define HEAPPROF_SPACE_RELEASE(space, array, capacity) \
    rb_heapprof_space_release((space), (void **)&(array), &(capacity), sizeof(*(array)))

#endif
