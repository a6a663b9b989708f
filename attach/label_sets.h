#ifndef ATTACH_LABEL_SETS_H
#define ATTACH_LABEL_SETS_H
/* What the fibers of a target say about what they are doing (doc/labels.md), by the contract
 * "label-sets" (doc/descriptor.md). A fiber wears the number of a name tag; what is printed on the
 * tag never changes, so it is read once.
 *
 *     heapprof_label  -->  lease --> lease --> set 12  -->  "endpoint\0(before routing)\0"
 *     heapprof_late   -->  block --> its name   -------->   "endpoint\0/cart\0", a set of ours
 *
 * A target without that contract has no labels. */
#include "attach/vm.h"
#include "profiler/label_sets.h"

struct attach_label_places {
    int64_t  contract, leases_most, lates_most;
    struct attach_global sets, leases, lates;
    uint32_t sets_bytes, string_bytes, lease_bytes, late_bytes;
    struct attach_field texts, text_bytes, strings, strings_end, text_offset, text_length;
    struct attach_field leases_all, lease_number, lease_label;
    struct attach_field lates_all, late_token, late_outer, late_named;
};

struct attach_label_sets {
    struct attach_vm *vm;
    bool     there;                    /* the target says where its labels are */
    unsigned pauses;                   /* how often a table was waited for */
    struct attach_label_places places;
    struct heapprof_label_sets ours;
    uint32_t *known;                   /* by set of the target: the same set of ours; 0: not read */
    size_t   known_capacity;
};

/* vm and mem have to outlive them. */
void attach_label_sets_init(struct attach_label_sets *sets, struct attach_vm *vm,
                            struct heapprof_mem *mem);
void attach_label_sets_free(struct attach_label_sets *sets, struct heapprof_mem *mem);

/* How many pieces of work, as requests, the target has begun: how often a fiber without labels has
 * begun a block of `label`. Returns false if that is not counted there, or cannot be read. */
bool attach_label_sets_begun(struct attach_vm *vm, uint64_t *count);

/* The labels of a fiber whose execution context has these words, as a set of ours, without the name
 * of its thread. Returns 0 if it has none, if they cannot be read, or without memory. */
uint32_t attach_label_sets_of(struct attach_label_sets *sets, uint32_t label, uint32_t late);

/* The text of a set of ours, for rb_heapprof_label_next. Good until the next set is read. */
static inline const char *
attach_label_sets_text(const struct attach_label_sets *sets, uint32_t set, size_t *length)
{
    return rb_heapprof_label_sets_text(&sets->ours, set, length);
}

#endif
