#ifndef HEAPPROF_LATE_SITES_H
#define HEAPPROF_LATE_SITES_H
/* Sites whose labels are named late. A web server does not know the endpoint before the router has
 * run. What it allocates until then is written down like a parcel without an address: under the
 * number of the one who waits for it.
 *
 *     site   class    label                         late
 *     12     String   endpoint "(before routing)"   3        a request that is not routed yet
 *     13     String   endpoint "(before routing)"   4        another one, at the same time
 *     14     String   endpoint "/cart"              0
 *
 * When number 3 is named "/cart", site 12 becomes equal to site 14, which then stands for both. */
#include "profiler/label_sets.h"
#include "profiler/tables.h"

enum { HEAPPROF_LATES = 255 }; /* numbers that wait: 1 to this */

/* Sites that wait for this number wait for next from now on; 0: for nothing. With a name, those
 * whose label of that key is HEAPPROF_LABEL_UNNAMED get its value. Under the blocks' lock, without
 * copies under way (copies.h). Numbers of sites may be void afterwards. Where memory is refused,
 * labels stay as they are. */
void rb_heapprof_late_sites_settle(struct heapprof_tables *tables, uint32_t late,
                                   const struct heapprof_label *name, uint32_t next);

#endif
