#ifndef HEAPPROF_FRAME_STEP_H
#define HEAPPROF_FRAME_STEP_H
/* Steps from a C function's frame to its caller's, by what the compiler says of it in .eh_frame.
 *
 *     frame of a callee   [rbp of the caller, or what else was saved] [return address] <- place
 *     frame of the caller [ ........ rbp ........ ] [return address] <- place, one step further
 *                                                                    <- end of the caller's frame
 *
 * The end lies at a fixed distance from the place of the callee's return address, or from the value
 * of rbp in the caller. So a step is known by the return address alone, and takes a few
 * instructions. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum heapprof_frame_step_kind {
    HEAPPROF_STEP_UNKNOWN,  /* only the unwinder knows this step */
    HEAPPROF_STEP_LAST,     /* the function has no caller */
    HEAPPROF_STEP_BY_PLACE, /* bytes from behind the place of the return address to the end of
                               the frame */
    HEAPPROF_STEP_BY_RBP    /* bytes from rbp to the end */
};

struct heapprof_frame_step {
    int32_t bytes;
    int16_t saved;  /* place of the caller's rbp, in words before the end; 0: still in rbp */
    uint8_t kind;
};

/* The frame of a function that has called another one. */
struct heapprof_c_frame {
    const uintptr_t *place; /* where its return address is stored */
    uintptr_t rbp;
};

/* Reads what a record of .eh_frame says of a return address in a function that begins at
 * `function`. The record (an FDE) is as long as it says, and its CIE is where it says. Returns
 * UNKNOWN on machines that are not x86-64, too. */
struct heapprof_frame_step
rb_heapprof_frame_step_read(const void *record, uintptr_t function, uintptr_t address);

/* Steps to the caller's frame. Returns false, with the frame as it was, if there is no caller,
 * if the step is not known, or if the new frame would not lie further out and below limit. */
static inline bool
rb_heapprof_frame_step_take(const struct heapprof_frame_step *step, struct heapprof_c_frame *frame,
                            uintptr_t limit)
{
    const uintptr_t word = sizeof(uintptr_t), behind = (uintptr_t)(frame->place + 1);
    uintptr_t end = (step->kind == HEAPPROF_STEP_BY_RBP ? frame->rbp : behind) +
                    (uintptr_t)(intptr_t)step->bytes;

    if (step->kind < HEAPPROF_STEP_BY_PLACE) return false;
    if (end % word != 0 || end <= behind || end > limit ||
        (uintptr_t)step->saved * word > end - behind)
        return false;
    if (step->saved > 0) frame->rbp = *((const uintptr_t *)end - step->saved);
    frame->place = (const uintptr_t *)end - 1;
    return true;
}

#endif
