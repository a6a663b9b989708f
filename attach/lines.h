#ifndef ATTACH_LINES_H
#define ATTACH_LINES_H
/* From a program counter to a line. */
#include "attach/vm.h"

/* The line of the code at pc, as MRI's backtraces say it: pc is behind the instruction that runs.
 * body is a copy of the iseq's body, of vm->body_bytes bytes. Returns 0 if pc is not in that code,
 * or the tables cannot be read. */
uint32_t attach_line_of(struct attach_vm *vm, const void *body, uint64_t pc);

#endif
