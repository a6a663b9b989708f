#ifndef ATTACH_JIT_H
#define ATTACH_JIT_H
/* Where a frame is that may run compiled code: the contract "jit-code 1".
 *
 * Compiled code writes the pc of its frame late. So the pc of the innermost frame may be old, or
 * left over from another frame, while its thread runs. The thread's registers tell more. */
#include "attach/code.h"
#include "attach/registers.h"

/* No pc: code at this place has no line. */
#define ATTACH_JIT_UNKNOWN UINT64_MAX

/* The pc of the innermost frame of a thread that has run compiled code for that frame. code has the
 * pc that the frame has; the thread's execution context is at ec. registers are the thread's, and
 * it stands still; NULL: they are not known. Returns ATTACH_JIT_UNKNOWN if the line would be a
 * guess. */
uint64_t attach_jit_pc(struct attach_codes *codes, const struct attach_code_key *code, uint64_t ec,
                       const struct unwind_registers *registers);

#endif
