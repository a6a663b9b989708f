#ifndef GRAPH_SPACE_H
#define GRAPH_SPACE_H
/* The arrays of a graph: in memory up to a limit, and beyond it in a file without a name. The
 * users of an array see no difference except in speed. The file is in TMPDIR, or in /var/tmp. */
#include "base/mem.h"

#define GRAPH_SPACE_BLOCKS 64 /* how many arrays can be in the file; there are about 40 */

struct graph_space {
    struct heapprof_mem mem;
    int    file;                 /* -1 before the first use */
    size_t file_bytes;
    struct heapprof_mem_block filed[GRAPH_SPACE_BLOCKS];
};

/* limit_bytes SIZE_MAX means no limit. */
void graph_space_init(struct graph_space *space, size_t limit_bytes);

/* All arrays have been released before this call. */
void graph_space_free(struct graph_space *space);

/* Same contract as rb_heapprof_mem_grow and rb_heapprof_mem_release. */
bool graph_space_grow(struct graph_space *space, void **block, size_t *capacity, size_t count,
                      size_t element_bytes);
void graph_space_release(struct graph_space *space, void **block, size_t *capacity,
                         size_t element_bytes);

#define GRAPH_SPACE_GROW(space, array, capacity, count) \
    ((count) <= (capacity) || \
     graph_space_grow((space), (void **)&(array), &(capacity), (count), sizeof(*(array))))
#define GRAPH_SPACE_RELEASE(space, array, capacity) \
    graph_space_release((space), (void **)&(array), &(capacity), sizeof(*(array)))

#endif
