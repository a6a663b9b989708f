#ifndef HEAPPROF_LEAK_TOTALS_H
#define HEAPPROF_LEAK_TOTALS_H
/* What every report of blocks that are left (lost.h, settled) says: how much of each site, and whose it is. */
#include "profiler/leaks/lost.h"
#include "profiler/tables.h"

#define HEAPPROF_FATES (HEAPPROF_REACHABLE + 1)

enum heapprof_leak_value {
    HEAPPROF_LEAK_BLOCKS,
    HEAPPROF_LEAK_BYTES,
    HEAPPROF_LEAK_INDIRECT_BLOCKS, /* of lost ones: what only these lead to, which has its own fate and site as well */
    HEAPPROF_LEAK_INDIRECT_BYTES,
    HEAPPROF_LEAK_VALUES
};

struct heapprof_leak_total {
    int64_t values[HEAPPROF_LEAK_VALUES];
};

/* Of a site, by fate. */
struct heapprof_leak_totals {
    struct heapprof_leak_total of[HEAPPROF_FATES];
};

/* By site, from 0, which is none, to what the tables have; to be given to free. NULL when there is no memory. */
struct heapprof_leak_totals *
rb_heapprof_leak_totals(const struct heapprof_tables *tables, const struct heapprof_lost *lost);

/* Who asked for the blocks of a site; NULL: nobody who has a name. Good as the tables are. */
const struct heapprof_identity *rb_heapprof_leak_caller(const struct heapprof_tables *tables, uint32_t site);

/* Whether that is MRI, whose functions are in the file core, or nobody that is known. */
bool rb_heapprof_leak_core_p(const struct heapprof_tables *tables, const struct heapprof_identity *caller, const char *core);

/* The node itself, or that of the Ruby code that called the C method; 0: none did. */
uint32_t rb_heapprof_leak_placed(const struct heapprof_tables *tables, uint32_t node);

#endif
