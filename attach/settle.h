#ifndef HEAPPROF_ATTACH_SETTLE_H
#define HEAPPROF_ATTACH_SETTLE_H
/* What a process has sampled and not entered into its tables yet, which its own snapshot enters first
 * (rb_heapprof_gc_resolve_all): here it is entered into the copies.
 *
 *     target                                      copies
 *     each Ractor's pending sample, its class  -> live, sites, identities
 *     what waits for a site                    -> the piece's site, identities
 *
 * look reads it, between the same two looks at the sequence words as the tables; enter follows numbers of the
 * copies, which have been checked by then. */
#include "attach/names.h"
#include "attach/vm.h"
#include "profiler/snapshot.h"
#include "profiler/tables.h"

struct heapprof_settle_places {
    struct heapprof_global waiting, waiting_count;
    struct heapprof_field pending, object, stack, birth_gc, size_bytes, weight, piece, caller;
    uint32_t pending_bytes, waiting_bytes;
};

struct heapprof_pending_sample;
struct heapprof_waiting_sample;

struct heapprof_settling {
    struct heapprof_settle_places places;
    struct heapprof_pending_sample *pending; /* in the order of their Ractors */
    size_t pending_capacity, pending_count;
    struct heapprof_waiting_sample *waiting;
    size_t waiting_capacity, waiting_count;
};

/* Where all that is. False: error says what the target does not tell. */
bool rb_heapprof_settle_fill(struct heapprof_settling *settling, const struct heapprof_layout *layout,
                             char error[HEAPPROF_TARGET_ERROR_MAX]);

/* Reads it; an object that cannot be read is left out. False: no memory, or the rest cannot be read. */
bool rb_heapprof_settle_look(struct heapprof_settling *settling, struct heapprof_vm *vm, struct heapprof_mem *mem);

/* Enters it, and counts it in the facts; the copies' strings are in their index. NULL: it is done; otherwise what
 * is wrong. */
const char *rb_heapprof_settle_enter(struct heapprof_settling *settling, struct heapprof_tables *tables,
                                     struct heapprof_facts *facts);

void rb_heapprof_settle_free(struct heapprof_settling *settling, struct heapprof_mem *mem);

#endif
