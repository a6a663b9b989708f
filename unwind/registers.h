#ifndef UNWIND_REGISTERS_H
#define UNWIND_REGISTERS_H
/* The registers of a frame of the machine stack, by their DWARF numbers (os/cfi.h). */
#include "os/cfi.h"

struct unwind_registers {
    uint64_t pc;
    uint64_t values[HEAPPROF_CFI_REGISTERS];
    uint64_t known; /* a bit for each value that is known */
    bool     exact; /* pc is that of the next instruction; otherwise it is a return address, and
                       the call stands before it */
};

static inline bool
unwind_known_p(const struct unwind_registers *registers, uint64_t number)
{
    return number < HEAPPROF_CFI_REGISTERS && registers->known >> number & 1;
}

static inline void
unwind_set(struct unwind_registers *registers, unsigned number, uint64_t value)
{
    registers->values[number] = value;
    registers->known |= UINT64_C(1) << number;
}

static inline uint64_t
unwind_sp(const struct unwind_registers *registers)
{
    return registers->values[HEAPPROF_CFI_SP];
}

/* An address within the instruction that runs, or that has called. */
static inline uint64_t
unwind_place(const struct unwind_registers *registers)
{
    return registers->exact || registers->pc == 0 ? registers->pc : registers->pc - 1;
}

/* Reads a word of the stack. Returns false if it cannot be read. */
struct unwind_memory {
    bool (*word)(void *data, uint64_t address, uint64_t *word);
    void *data;
};

#endif
