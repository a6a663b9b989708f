#ifndef ATTACH_NATIVE_H
#define ATTACH_NATIVE_H
/* C functions among the Ruby frames of a look (look.h). Off until it is begun.
 *
 *     attach_native_note, for each Ruby frame that is shown
 *     attach_native_copy, while the thread stands still ---> attach_native_merge, at any time later
 */
#include "attach/c_frames.h"
#include "attach/memo.h"

enum attach_native_which {
    ATTACH_NATIVE_NONE,
    ATTACH_NATIVE_CALLED, /* those that C methods call, and the collector; not Ruby's own */
    ATTACH_NATIVE_ALL
};

struct attach_native {
    bool     on;
    struct heapprof_mem mem;
    struct attach_names *names;
    struct attach_c_objects *objects;
    struct attach_c_stack stack;
    struct attach_c_frames frames;
    bool     copied;
    uint32_t *controls;             /* the control frame of each Ruby frame that is shown */
    size_t   control_capacity, control_count;
    struct attach_look_frame *merged;
    size_t   merged_capacity, merged_count;
};

/* Begins, unless which is NONE. Returns false without memory. */
bool attach_native_begin(struct attach_native *native, struct attach_vm *vm,
                         struct attach_names *names, enum attach_native_which which);
void attach_native_free(struct attach_native *native);

/* Must be called before a look, and before each stack of it. */
void attach_native_next_look(struct attach_native *native);
void attach_native_next_stack(struct attach_native *native);

/* Says of which control frame the next Ruby frame is. Returns false without memory. */
bool attach_native_note(struct attach_native *native, size_t control);

/* Copies the machine stack of a thread that stands still. */
void attach_native_copy(struct attach_native *native, pid_t tid, uint64_t ec);

/* Gives C functions the file and the line of the Ruby function that called them. Returns false
 * without memory. */
bool attach_native_place(struct attach_names *names, struct attach_look_frame *frames,
                         size_t count);

/* Merges the noted Ruby frames with the C functions of the copy; without a copy there are none. The
 * result is in native->merged. Returns false without memory. */
bool attach_native_merge(struct attach_native *native, const struct attach_walk *walk,
                         const struct attach_look_frame *frames, size_t count);

#endif
