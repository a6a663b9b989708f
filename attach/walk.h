#ifndef ATTACH_WALK_H
#define ATTACH_WALK_H
/* The frames of one thread or fiber, copied at once, and the code that each of them runs.
 *
 *     vm_stack                sp                 cfp                                 end
 *     |  values, environments |     (free)       | innermost frame |  ...  |  dummy  |
 *     '--- copied: values ----'                  '-------- copied: frames -'
 *
 * The copy is made while the thread cannot change its frames, because it waits or is stopped.
 * Otherwise two copies are made and compared (attach_walk_cut_torn). The rest is done on the copy,
 * while the target runs again. */
#include "attach/code.h"

/* Addresses, and what the fiber is labelled with (label_sets.h). All are 0 if there is no stack:
 * the thread has not begun, or has ended. */
struct attach_walk_place {
    uint64_t stack, frame, dummy;
    uint32_t label, late;
};

struct attach_walk {
    struct attach_vm *vm;
    struct heapprof_mem *mem;
    uint64_t ec;                /* execution context: which thread or fiber */
    struct attach_walk_place place; /* where it was copied */
    size_t   frame_count;       /* in the copy, without the dummy */
    size_t torn; /* number of innermost frames that were cut off, because they changed meanwhile */
    unsigned char *frames, *again, *values;
    size_t   frames_capacity, again_capacity, values_capacity;
    uint64_t values_at;
    size_t   values_bytes;
};

/* Reads where the stack of that execution context is. In the same system call reads bytes from the
 * address frames, where its frames were the last time; bytes may be 0. Returns false if it cannot
 * be read, or is not a stack. */
bool attach_walk_read(struct attach_vm *vm, uint64_t ec, struct attach_walk_place *place,
                      uint64_t frames, void *to, size_t bytes);

void attach_walk_init(struct attach_walk *walk, struct attach_vm *vm, struct heapprof_mem *mem);
void attach_walk_free(struct attach_walk *walk);

/* Copies the frames of that execution context; a thread without a stack has none. Returns false if
 * they cannot be read, or are not a stack. */
bool attach_walk_copy(struct attach_walk *walk, uint64_t ec);

/* Copies the frames once more. Returns true if nothing has changed. */
bool attach_walk_same_p(struct attach_walk *walk);

/* Copies the frames once more, and cuts off what has changed. If the outermost changed frame is the
 * same call but has gone on, its callees are cut off. If it is another call, it is cut off, too.
 * The frames that stay were there both times. */
void attach_walk_cut_torn(struct attach_walk *walk);

/* The code that a frame of the copy runs; frame 0 is the innermost. The method is looked up in the
 * frame's environments. */
struct attach_code_key
attach_walk_code(struct attach_walk *walk, struct attach_codes *codes, size_t frame);

/* How a frame was begun. */
enum attach_walk_kind {
    ATTACH_WALK_RUBY,  /* Ruby code, called by the Ruby code outside of it */
    ATTACH_WALK_ENTRY, /* Ruby code, for which C code has entered the interpreter */
    ATTACH_WALK_C,     /* a C method, or a block of C */
    ATTACH_WALK_NAME   /* it runs nothing: it names a file that is being read */
};

enum attach_walk_kind attach_walk_kind(const struct attach_walk *walk, size_t frame);

/* True if compiled code has run for that frame, and the frame has called no other: its pc is old if
 * the thread runs. */
bool attach_walk_pc_old_p(const struct attach_walk *walk, size_t frame);

/* The code of a frame, an iseq; 0: it is a C method, or does not count. */
uint64_t attach_walk_iseq(const struct attach_walk *walk, size_t frame);

/* Reads the values of the local variables of a frame that has so many. Returns false if they cannot
 * be read. */
bool attach_walk_locals(const struct attach_walk *walk, size_t frame, uint64_t *values,
                        size_t count);

#endif
