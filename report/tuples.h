#ifndef HEAPPROF_REPORT_TUPLES_H
#define HEAPPROF_REPORT_TUPLES_H
/* Rows of a few numbers. Each row is kept once, and is known by its own number, from 1 on. */
#include "base/index.h"

struct report_tuples {
    struct heapprof_mem *mem;
    uint32_t  width;      /* numbers of a tuple */
    uint32_t *all;        /* the tuples, end to end */
    size_t    capacity;
    uint32_t  count;
    struct heapprof_index index;
    uint64_t
        secret; /* a random key of the hash, so that a file cannot make tuples collide on purpose */
};

/* Makes an empty table. Allocates nothing. mem has to outlive the table. */
void report_tuples_init(struct report_tuples *tuples, struct heapprof_mem *mem, uint32_t width);
void report_tuples_free(struct report_tuples *tuples);

/* Returns the tuple's number, after adding the tuple if it is missing. Returns 0 if there is no
 * memory. */
uint32_t report_tuples_add(struct report_tuples *tuples, const uint32_t *tuple);

/* Returns the tuple's number, or 0 if the table does not have it. */
uint32_t report_tuples_find(const struct report_tuples *tuples, const uint32_t *tuple);

static inline const uint32_t *
report_tuples_get(const struct report_tuples *tuples, uint32_t number)
{
    return tuples->all + (size_t)(number - 1) * tuples->width;
}

#endif
