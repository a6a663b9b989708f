/* frame_step.c - makes a step of a row of the unwind table (os/cfi.c).
 *
 * Of the caller's registers only rbp matters, because the end is found by rsp or rbp. This file
 * does not know ends that are found in another way: signal handlers, the linker's stubs, functions
 * that align their stack. */
#include "os/frame_step.h"

#if defined(__x86_64__)

#include "os/cfi.h"

enum { RETURN_ADDRESS = 16 };

/* True if the caller's rbp is in memory, or still in rbp. */
static bool
rbp_known_p(const struct heapprof_cfi_rule *rbp)
{
    const int64_t word = sizeof(uintptr_t);

    if (rbp->kind == HEAPPROF_CFI_SAME || rbp->kind == HEAPPROF_CFI_LOST) return true;
    return rbp->kind == HEAPPROF_CFI_SAVED && rbp->number <= 0 && rbp->number % word == 0 &&
           rbp->number / word >= -INT16_MAX;
}

static struct heapprof_frame_step
step_of_row(const struct heapprof_cfi_row *row)
{
    const int64_t word = sizeof(uintptr_t);
    const struct heapprof_cfi_rule *rbp = &row->registers[HEAPPROF_CFI_FP],
                                   *returns = &row->registers[RETURN_ADDRESS];
    struct heapprof_frame_step step = { .kind = HEAPPROF_STEP_UNKNOWN };

    if (row->signal_frame || row->return_register != RETURN_ADDRESS) return step;
    if (returns->kind == HEAPPROF_CFI_LOST) step.kind = HEAPPROF_STEP_LAST;
    if (returns->kind != HEAPPROF_CFI_SAVED || returns->number != -word) return step;
    if (row->end.kind != HEAPPROF_CFI_VALUE || !rbp_known_p(rbp) ||
        row->end.number > INT32_MAX || row->end.number < INT32_MIN + word)
        return step;
    if (row->end_register == HEAPPROF_CFI_SP) {
        step.kind = HEAPPROF_STEP_BY_PLACE;
        step.bytes = (int32_t)row->end.number;
    }
    else if (row->end_register == HEAPPROF_CFI_FP) {
        step.kind = HEAPPROF_STEP_BY_RBP;
        step.bytes = (int32_t)row->end.number;
    }
    if (rbp->kind == HEAPPROF_CFI_SAVED) step.saved = (int16_t)(-rbp->number / word);
    return step;
}

struct heapprof_frame_step
rb_heapprof_frame_step_read(const void *record, uintptr_t function, uintptr_t address)
{
    const struct heapprof_cfi_section anywhere = { 0, UINTPTR_MAX };
    struct heapprof_cfi_row row;

    return rb_heapprof_cfi_read(&row, &anywhere, record, function, address)
               ? step_of_row(&row)
               : (struct heapprof_frame_step){ .kind = HEAPPROF_STEP_UNKNOWN };
}

#else

struct heapprof_frame_step
rb_heapprof_frame_step_read(const void *record, uintptr_t function, uintptr_t address)
{
    (void)record, (void)function, (void)address;
    return (struct heapprof_frame_step){ .kind = HEAPPROF_STEP_UNKNOWN };
}

#endif
