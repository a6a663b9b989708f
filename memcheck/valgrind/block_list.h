#ifndef HEAPPROF_MEMCHECK_BLOCK_LIST_H
#define HEAPPROF_MEMCHECK_BLOCK_LIST_H
/* The blocks of each loss record of Valgrind. Valgrind's command block_list writes them into a
 * log:
 *
 *     ==12== 336 (112 direct, 224 indirect) bytes in 1 blocks are definitely lost in loss record 2 of 9
 *     ==12==    at 0x48417B4: malloc (...)
 *     ==12== 0x207229F0[112]
 *     ==12==   0x20722950[112] indirect loss record 7        what that block leads to
 *
 * Other lines of the log are ignored. */
#include <stdio.h>

#include "base/mem.h"

struct memcheck_block {
    uint64_t address;
    uint32_t number;                       /* number of its loss record */
    int64_t  bytes;
    int64_t  indirect_blocks, indirect_bytes;
};

struct memcheck_block_list {
    struct heapprof_mem mem;
    struct memcheck_block *blocks;         /* ordered by loss record */
    size_t   capacity, count;
    uint32_t of;                           /* how many loss records exist; 0 if the log has no
                                              list */
};

/* Returns false if there is no memory. The caller frees the list either way. */
bool memcheck_block_list_read(struct memcheck_block_list *list, FILE *log);
void memcheck_block_list_free(struct memcheck_block_list *list);

/* The blocks of a loss record; sets *count. May return NULL if there are none. */
const struct memcheck_block *memcheck_block_list_get(const struct memcheck_block_list *list,
                                                     uint32_t number, size_t *count);

#endif
