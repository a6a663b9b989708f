#ifndef HEAPPROF_MEM_H
#define HEAPPROF_MEM_H
/* Memory for the profiler's own tables, under one budget.
 *
 * Pages come straight from the kernel (mmap): no allocator lock is taken, no
 * malloc accounting changes and no GC can start, so every function here may be
 * called while the collector runs. Each table owns a few large blocks that grow;
 * there are no small allocations to keep track of.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HEAPPROF_MEM_BLOCKS 48 /* all tables together have about 30 */

struct heapprof_mem_block {
    uintptr_t address;
    size_t    bytes;        /* mapped; 0: no block */
};

struct heapprof_mem {
    size_t   budget_bytes;  /* the largest that used_bytes may become; SIZE_MAX: no limit */
    size_t   used_bytes;    /* mapped at this moment */
    size_t   peak_bytes;    /* highest used_bytes so far */
    uint64_t refused;       /* requests turned down: over the budget, or by the kernel */
    bool     over_budget;   /* the last refusal came from the budget, not from the kernel */
    void   **refused_block; /* the block that was refused last */
    struct heapprof_mem_block blocks[HEAPPROF_MEM_BLOCKS];
};

/* Starts an account with nothing in use. */
void rb_heapprof_mem_init(struct heapprof_mem *mem, size_t budget_bytes);

/* Grows *block, an array of elements of element_bytes each, until it has room for count
 * elements. It grows by a quarter at least. *capacity is its number of elements; at first *block
 * is NULL and *capacity is 0. New elements are zero. Returns false, with everything as it was,
 * if the budget or the kernel refuses. The block may move. errno is kept. An element is no wider
 * than a page. */
bool rb_heapprof_mem_grow(struct heapprof_mem *mem, void **block, size_t *capacity,
                          size_t count, size_t element_bytes);

/* Gives the block back; *block becomes NULL and *capacity 0. NULL is allowed. */
void rb_heapprof_mem_release(struct heapprof_mem *mem, void **block, size_t *capacity,
                             size_t element_bytes);

/* Touches all pages, so that the kernel gives them now, and not when they are first written to.
 * Contents stay. May run beside everything but grow, shrink and release. */
void rb_heapprof_mem_touch(const struct heapprof_mem *mem);

/* Gives the second half of the block back, in whole pages. Repeats that while the first `used`
 * elements fill at most two thirds of what stays. The block may move. */
void rb_heapprof_mem_shrink(struct heapprof_mem *mem, void **block, size_t *capacity,
                            size_t used, size_t element_bytes);

/* The same as grow. As a rule there is room, and nothing is called. */
static inline bool
rb_heapprof_mem_reserve(struct heapprof_mem *mem, void **block, size_t *capacity,
                        size_t count, size_t element_bytes)
{
    return count <= *capacity || rb_heapprof_mem_grow(mem, block, capacity, count, element_bytes);
}

/* reserve, release and shrink for an array of any type, given with the variable that has its
 * capacity. */
#define HEAPPROF_MEM_GROW(mem, array, capacity, count) \
    rb_heapprof_mem_reserve((mem), (void **)&(array), &(capacity), (count), sizeof(*(array)))
#define HEAPPROF_MEM_RELEASE(mem, array, capacity) \
    rb_heapprof_mem_release((mem), (void **)&(array), &(capacity), sizeof(*(array)))
#define HEAPPROF_MEM_SHRINK(mem, array, capacity, used) \
    rb_heapprof_mem_shrink((mem), (void **)&(array), &(capacity), (used), sizeof(*(array)))

#endif
