#ifndef ATTACH_SETTLE_H
#define ATTACH_SETTLE_H
/* The in-tray: samples that a process has taken, but not entered into its tables yet. Its own
 * snapshot enters them first (rb_heapprof_gc_resolve_all). A reader enters them into the copies.
 *
 *     target                                      copies
 *     each Ractor's pending sample, its class  -> live, sites, identities
 *     what waits for a site                    -> the piece's site, identities
 *
 * look reads the samples, between the same two looks at the sequence words as the tables. enter
 * follows numbers in the copies, which must have been checked before. */
#include "attach/labels.h"
#include "attach/vm.h"
#include "profiler/snapshot.h"
#include "profiler/tables.h"

struct attach_settle_places {
    struct attach_global waiting, waiting_count;
    struct attach_field pending, object, stack, birth_gc, size_bytes, weight, given, piece, caller;
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

/* Finds out where the samples and labels are. Returns false if the target does not tell; error says
 * what is missing. */
bool attach_settle_fill(struct attach_settling *settling, const struct attach_layout *layout,
                        char error[ATTACH_TARGET_ERROR_MAX]);

/* Reads the samples. One whose object cannot be read is left out. Returns false without memory, or
 * if another part cannot be read. */
bool attach_settle_look(struct attach_settling *settling, struct attach_vm *vm,
                        struct heapprof_mem *mem);

/* Enters the samples, and counts them in the facts. The copies' strings must be in their index.
 * Returns NULL, or what is wrong. */
const char *attach_settle_enter(struct attach_settling *settling, struct heapprof_tables *tables,
                                struct heapprof_facts *facts);

void attach_settle_free(struct attach_settling *settling, struct heapprof_mem *mem);

#endif
