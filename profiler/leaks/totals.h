#ifndef HEAPPROF_LEAK_TOTALS_H
#define HEAPPROF_LEAK_TOTALS_H
/* What every report of blocks that are left says: how much each site has, and whose code asked
 * for it. lost is settled (lost.h). */
#include "profiler/leaks/lost.h"
#include "profiler/tables.h"

#define HEAPPROF_FATES (HEAPPROF_REACHABLE + 1)

enum heapprof_leak_value {
    HEAPPROF_LEAK_BLOCKS,
    HEAPPROF_LEAK_BYTES,
    HEAPPROF_LEAK_INDIRECT_BLOCKS, /* what only the lost blocks lead to. It also counts under its
                                      own fate and site */
    HEAPPROF_LEAK_INDIRECT_BYTES,
    HEAPPROF_LEAK_VALUES
};

struct heapprof_leak_total {
    int64_t values[HEAPPROF_LEAK_VALUES];
};

/* The totals of a site, by fate. */
struct heapprof_leak_totals {
    struct heapprof_leak_total of[HEAPPROF_FATES];
};

/* The totals by site; those at 0 are of blocks without a site. The caller gives the array to
 * free. Returns NULL if there is no memory. */
struct heapprof_leak_totals *
rb_heapprof_leak_totals(const struct heapprof_tables *tables, const struct heapprof_lost *lost);

/* The caller that asked for the blocks of a site, or that is at the end of a mismatch. If it
 * belongs to C++'s standard library, the first of its callers that does not. Good as long as the
 * tables stay as they are. */
struct heapprof_leak_caller {
    const struct heapprof_identity *identity; /* NULL: it has no name */
    uint32_t c_path;                          /* its own callers (tables.h) */
};

struct heapprof_leak_caller
rb_heapprof_leak_site_caller(const struct heapprof_tables *tables, uint32_t site);
struct heapprof_leak_caller
rb_heapprof_leak_end_caller(const struct heapprof_tables *tables, uint32_t c_path);

/* What only lost blocks of MRI lead to is lost itself if another has asked for it: reports leave
 * MRI's blocks out. To be called after settle, when callers have names. Returns false if fates are
 * not known. */
bool rb_heapprof_leak_uncover(const struct heapprof_tables *tables, struct heapprof_lost *lost,
                              const char *core);

/* Whether the caller is MRI, whose functions are in the file core, or is not known. */
bool rb_heapprof_leak_core_p(const struct heapprof_tables *tables,
                             const struct heapprof_identity *caller, const char *core);

/* The node itself; or if it is a C method, the node of the Ruby code that called it, 0 if there
 * is none. */
uint32_t rb_heapprof_leak_placed(const struct heapprof_tables *tables, uint32_t node);

#endif
