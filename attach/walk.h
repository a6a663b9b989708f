#ifndef ATTACH_WALK_H
#define ATTACH_WALK_H
/* The frames of one thread or fiber, copied in one go, and what each of them runs.
 *
 *     vm_stack                sp                 cfp                                 end
 *     |  values, environments |     (free)       | innermost frame |  ...  |  dummy  |
 *     '--- copied: values ----'                  '-------- copied: frames -'
 *
 * The copy is made while the thread cannot change it, because it waits or is stopped; or it is made
 * twice and compared (attach_walk_settle). All else is done on the copy, when the target goes on. */
#include "attach/code.h"

/* Addresses; all 0: there is no stack, yet or any more. */
struct attach_walk_place {
    uint64_t stack, frame, dummy;
};

struct attach_walk {
    struct attach_vm *vm;
    struct heapprof_mem *mem;
    uint64_t ec;                /* execution context: which thread or fiber */
    struct attach_walk_place place; /* where it was copied */
    size_t   frame_count;       /* without the dummy; of the copy */
    size_t   torn;              /* innermost frames that were cut off, because they changed meanwhile */
    unsigned char *frames, *again, *values;
    size_t   frames_capacity, again_capacity, values_capacity;
    uint64_t values_at;
    size_t   values_bytes;
};

/* Where the stack of that execution context is; and in the same call what lies where its frames have been, unless bytes is 0. False: it
 * cannot be read, or is no stack. */
bool attach_walk_read(struct attach_vm *vm, uint64_t ec, struct attach_walk_place *place,
                           uint64_t frames, void *to, size_t bytes);

void attach_walk_init(struct attach_walk *walk, struct attach_vm *vm, struct heapprof_mem *mem);
void attach_walk_free(struct attach_walk *walk);

/* Copies the frames of that execution context; none for a thread that has no stack yet. False: they cannot be
 * read, or are no stack. */
bool attach_walk_copy(struct attach_walk *walk, uint64_t ec);

/* Copies them once more: whether nothing has changed. */
bool attach_walk_same_p(struct attach_walk *walk);

/* The same, and cuts off what has changed: of the outermost frame that has gone on, the callees; of one that is
 * another, itself and its callees. What stays was there both times. */
void attach_walk_settle(struct attach_walk *walk);

/* What a frame of the copy runs, 0 being the innermost; its method is looked up in its environments. */
struct attach_code_key attach_walk_code(struct attach_walk *walk, struct attach_codes *codes, size_t frame);

#endif
