#ifndef HEAPPROF_GROWN_H
#define HEAPPROF_GROWN_H
/* Who has grown from one file to the next, told without the file before: by the place that has
 * allocated and the class, in a table whose memory is the caller's. */
#include "profiler/snapshot.h"

#define HEAPPROF_GROWN_PLACES 4096 /* the table has room for so many; a power of two */
#define HEAPPROF_GROWN_TOLD 5

struct heapprof_grown {
    bool known;                  /* there was a file before */
    struct heapprof_grown_sum {
        uint64_t key;            /* of the place; 0: free */
        uint64_t row;            /* 1 + one of its rows, in the snapshot of now; 0: it has none */
        double   before, now;    /* bytes in use */
    } sums[HEAPPROF_GROWN_PLACES];
};

/* Adds up what is in use, writes a line "grew: 1234 bytes, CLASS, NAME PATH:LINE" for each of the
 * places that have grown most since the last call, and remembers what is in use. Returns the length
 * of the text. The first call has nothing to compare with, and writes nothing. Allocates nothing.
 */
size_t rb_heapprof_grown_tell(struct heapprof_grown *grown,
                              const struct heapprof_snapshot *snapshot, char *text, size_t size);

#endif
