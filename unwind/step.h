#ifndef UNWIND_STEP_H
#define UNWIND_STEP_H
/* Steps from a frame of the machine stack to its caller's. */
#include "unwind/registers.h"

enum unwind_result {
    UNWIND_CALLER,    /* the registers are the caller's */
    UNWIND_OUTERMOST, /* the function has no caller */
    UNWIND_UNKNOWN    /* the caller is not known; the registers are as they were */
};

/* Steps by a row of the unwind table. */
enum unwind_result unwind_step(const struct heapprof_cfi_row *row,
                               struct unwind_registers *registers,
                               const struct unwind_memory *memory);

/* Steps by the frame pointer: the caller's stands where it points, and the return address behind
 * that. The caller has to check whether the new pc is in code. */
enum unwind_result unwind_step_by_pointer(struct unwind_registers *registers,
                                          const struct unwind_memory *memory);

/* Steps out of code that has no frame, or whose address is wrong, as after a call of a NULL
 * pointer. The caller has to check whether the new pc is in code. */
enum unwind_result unwind_step_out(struct unwind_registers *registers,
                                   const struct unwind_memory *memory);

#endif
