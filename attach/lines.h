#ifndef ATTACH_LINES_H
#define ATTACH_LINES_H
/* From a program counter to a line. */
#include "attach/vm.h"

/* The line that the code at pc is of, in the iseq whose body (a copy of vm->body_bytes bytes) is given; as
 * MRI counts it for a backtrace, so pc is behind the instruction that runs. 0: unknown, because pc is
 * not in that code, or the tables cannot be read. */
uint32_t attach_line_of(struct attach_vm *vm, const void *body, uint64_t pc);

#endif
