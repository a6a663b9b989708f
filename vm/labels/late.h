#ifndef HEAPPROF_VM_LABELS_LATE_H
#define HEAPPROF_VM_LABELS_LATE_H
/* late.h - labels whose value is known late, as the endpoint of a request is known to the router,
 * and not before.
 *
 *     label(late: :endpoint) do          endpoint "(before routing)"
 *       parse                            its samples wait
 *       label(endpoint: "/cart") { }     the block has its name: what waited gets it
 *       log                              "/cart", too
 *     end
 *
 * A block has a token, which fibers and threads that are made in it have, too. A token is good
 * for long after its block: until 255 others have begun. If more blocks are open, the oldest is
 * given up: what waits for it stays "(before routing)". Under the GVL and the VM lock. */
#include <stdbool.h>
#include <stdint.h>

struct heapprof_label; /* profiler/label_sets.h */

/* Begins a block inside that of the token outer. unnamed: the set of the label that waits. Returns
 * its token. */
uint32_t rb_heapprof_late_begin(uint32_t outer, uint32_t unnamed);

/* Whether a block around already waits for that label. */
bool rb_heapprof_late_waits_p(uint32_t token, uint32_t unnamed);

/* Returns the token of the outer block. */
uint32_t rb_heapprof_late_end(uint32_t token);

/* A fiber of this block had the set before, and has this one now. The first that names what waits
 * does so for the block. */
void rb_heapprof_late_name(uint32_t token, uint32_t before, uint32_t set);

/* The set, with the names that blocks have got meanwhile. */
uint32_t rb_heapprof_late_set(uint32_t token, uint32_t set);

/* The number that samples of this block wait for; 0 if they need not wait. */
uint32_t rb_heapprof_late_number(uint32_t token);

/* gc/ gives what waits for a number its name, if there is one. Then it waits for next, unless that
 * is 0. Set by vm/run/run.c. */
extern void (*rb_heapprof_late_settle)(uint32_t number, const struct heapprof_label *name,
                                       uint32_t next);

#endif
