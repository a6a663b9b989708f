#ifndef HEAPPROF_GAUGE_H
#define HEAPPROF_GAUGE_H
/* Marks of memory, and which of them memory crosses upwards. */
#include <stdbool.h>
#include <stdint.h>

#include "profiler/options.h"

/* What memory is at a moment, in bytes. */
struct heapprof_level {
    uint64_t resident;           /* of the process */
    uint64_t used, limit;        /* of the limit that is fullest; limit is 0 if there is none */
};

struct heapprof_gauge {
    struct heapprof_gauge_mark {
        uint64_t value;          /* options.h: up to 100 percent of the limit, else bytes of RSS;
                                    0: no mark */
        bool     armed;          /* memory was below it since it has rung */
        int64_t  next_ns;        /* it does not ring before that */
    } marks[HEAPPROF_MARKS];
};

void rb_heapprof_gauge_init(struct heapprof_gauge *gauge, const uint64_t values[HEAPPROF_MARKS]);

/* Looks at memory. Returns the highest mark that rings now, or 0. Sets *wait_ns to when to look
 * again, at the latest. */
uint64_t rb_heapprof_gauge_look(struct heapprof_gauge *gauge, const struct heapprof_level *level,
                                int64_t now_ns, int64_t *wait_ns);

/* In a child of fork, which has written no file: marks do not wait for the end of a minute. */
void rb_heapprof_gauge_fork(struct heapprof_gauge *gauge);

#endif
