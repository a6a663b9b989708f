/* registers.c - from the kernel's order of registers (NT_PRSTATUS) to DWARF's. A process and a core
 * have the same order. */
#include "attach/registers.h"

#if defined(__x86_64__)

/* The place of each DWARF register among the kernel's words: rax rdx rcx rbx rsi rdi rbp rsp, r8 to
 * r15, rip. */
static const unsigned char places[] = { 10, 12, 11, 5, 13, 14, 4, 19, 9, 8, 7, 6, 3, 2, 1, 0, 16 };
enum { PC = 16, WORDS = 27 };

#elif defined(__aarch64__)

static const unsigned char places[] = { 0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10,
                                        11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21,
                                        22, 23, 24, 25, 26, 27, 28, 29, 30, 31 };
enum { PC = 32, WORDS = 34 };

#else

static const unsigned char places[] = { 0 };
enum { PC = 0, WORDS = 0 };

#endif

bool
attach_registers_read(struct attach_target *target, pid_t tid, struct unwind_registers *registers)
{
    uint64_t words[WORDS + 1];

    *registers = (struct unwind_registers){ .exact = true };
    if (WORDS == 0 || !target->kind->registers ||
        !target->kind->registers(target, tid, words, WORDS * sizeof(*words)))
        return false;
    for (unsigned i = 0; i < sizeof(places); i++) unwind_set(registers, i, words[places[i]]);
    registers->pc = words[PC];
    return true;
}
