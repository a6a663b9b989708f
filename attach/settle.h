#ifndef ATTACH_SETTLE_H
#define ATTACH_SETTLE_H
/* What a process has sampled and not entered into its tables yet, which its own snapshot enters first
 * (rb_heapprof_gc_resolve_all): here it is entered into the copies.
 *
 *     target                                      copies
 *     each Ractor's pending sample, its class  -> live, sites, identities
 *     what waits for a site                    -> the piece's site, identities
 *
 * look reads it, between the same two looks at the sequence words as the tables; enter follows numbers of the
 * copies, which have been checked by then. */
#include "attach/labels.h"
#include "attach/vm.h"
#include "profiler/snapshot.h"
#include "profiler/tables.h"

struct attach_settle_places {
    struct attach_global waiting, waiting_count;
    struct attach_field pending, object, stack, birth_gc, size_bytes, weight, piece, caller;
    uint32_t pending_bytes, waiting_bytes;
};

struct attach_pending_sample;
struct attach_waiting_sample;

struct attach_settling {
    struct attach_settle_places places;
    struct attach_labels labels;
    struct attach_pending_sample *pending; /* in the order of their Ractors */
    size_t pending_capacity, pending_count;
    struct attach_waiting_sample *waiting;
    size_t waiting_capacity, waiting_count;
};

/* Where all that is. False: error says what the target does not tell. */
bool attach_settle_fill(struct attach_settling *settling, const struct attach_layout *layout,
                             char error[ATTACH_TARGET_ERROR_MAX]);

/* Reads it; an object that cannot be read is left out. False: no memory, or the rest cannot be read. */
bool attach_settle_look(struct attach_settling *settling, struct attach_vm *vm, struct heapprof_mem *mem);

/* Enters it, and counts it in the facts; the copies' strings are in their index. NULL: it is done; otherwise what
 * is wrong. */
const char *attach_settle_enter(struct attach_settling *settling, struct heapprof_tables *tables,
                                     struct heapprof_facts *facts);

void attach_settle_free(struct attach_settling *settling, struct heapprof_mem *mem);

#endif
