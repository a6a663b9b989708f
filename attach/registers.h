#ifndef ATTACH_REGISTERS_H
#define ATTACH_REGISTERS_H
/* The registers of a native thread. */
#include "attach/target.h"
#include "unwind/registers.h"

/* Reads the registers of a thread of a process that stands still (stop.h), or of a core. Returns
 * false if they cannot be read, or if the core is of another kind of machine. */
bool attach_registers_read(struct attach_target *target, pid_t tid,
                           struct unwind_registers *registers);

#endif
