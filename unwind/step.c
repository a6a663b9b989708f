/* step.c - the caller's registers, from a frame's.
 *
 * A function keeps some registers for its caller (the ABI of the machine). If the table says
 * nothing of one of these, its value is still the caller's. All other registers are lost in a call.
 *
 * The stack grows downwards, so each step leads upwards, and a walk ends. Only a signal handler may
 * run on a stack of its own, which can lie anywhere. */
#include "unwind/step.h"

#include "unwind/expression.h"

#if defined(__aarch64__)
enum { LINK = 30 };
# define KEPT (UINT64_C(0x7ff) << 19 | UINT64_C(1) << HEAPPROF_CFI_SP) /* x19 to x29 */
# define ADDRESS_BITS 48 /* above them a return address has its signature */
#else
enum { LINK = 16 };
# define KEPT (UINT64_C(1) << 3 | UINT64_C(1) << 6 | UINT64_C(0xf) << 12) /* rbx rbp r12 to r15 */
# define ADDRESS_BITS 64
#endif

enum { WORD = 8 };

static uint64_t
without_signature(uint64_t address)
{
    return ADDRESS_BITS == 64 ? address : address & ((UINT64_C(1) << (ADDRESS_BITS % 64)) - 1);
}

/* Makes a step, if it leads upwards. */
static enum unwind_result
go_to(struct unwind_registers *registers, struct unwind_registers *caller, uint64_t pc,
      uint64_t end, bool anywhere)
{
    if (pc == 0) return UNWIND_OUTERMOST;
    if (!anywhere && end <= unwind_sp(registers) && !registers->exact) return UNWIND_UNKNOWN;
    if (!anywhere && end < unwind_sp(registers)) return UNWIND_UNKNOWN;
    if (end % WORD) return UNWIND_UNKNOWN;
    caller->pc = without_signature(pc);
    caller->exact = anywhere;
    *registers = *caller;
    return UNWIND_CALLER;
}

/* ---- by the table ---- */

static bool
find_end(const struct heapprof_cfi_row *row, const struct unwind_registers *registers,
         const struct unwind_memory *memory, uint64_t *end)
{
    if (row->end.kind == HEAPPROF_CFI_EXPRESSION)
        return unwind_expression(&row->end, registers, memory, NULL, end);
    if (!unwind_known_p(registers, row->end_register)) return false;
    *end = registers->values[row->end_register] + (uint64_t)row->end.number;
    return true;
}

/* Returns false if the value is not known. */
static bool
value_of(const struct heapprof_cfi_rule *rule, const struct unwind_registers *registers,
         const struct unwind_memory *memory, unsigned number, uint64_t end, uint64_t *value)
{
    switch (rule->kind) {
      case HEAPPROF_CFI_SAME:
        *value = registers->values[number];
        return unwind_known_p(registers, number) && (KEPT >> number & 1 || number == LINK);
      case HEAPPROF_CFI_SAVED:
        return memory->word(memory->data, end + (uint64_t)rule->number, value);
      case HEAPPROF_CFI_VALUE:
        *value = end + (uint64_t)rule->number;
        return true;
      case HEAPPROF_CFI_IN_REGISTER:
        if (!unwind_known_p(registers, (uint64_t)rule->number)) return false;
        *value = registers->values[rule->number];
        return true;
      case HEAPPROF_CFI_SAVED_BY_EXPRESSION:
        return unwind_expression(rule, registers, memory, &end, value) &&
               memory->word(memory->data, *value, value);
      case HEAPPROF_CFI_EXPRESSION:
        return unwind_expression(rule, registers, memory, &end, value);
      default:
        return false;
    }
}

enum unwind_result
unwind_step(const struct heapprof_cfi_row *row, struct unwind_registers *registers,
            const struct unwind_memory *memory)
{
    struct unwind_registers caller = { .known = 0 };
    uint64_t end, value;

    if (row->registers[row->return_register].kind == HEAPPROF_CFI_LOST) return UNWIND_OUTERMOST;
    if (!find_end(row, registers, memory, &end)) return UNWIND_UNKNOWN;
    unwind_set(&caller, HEAPPROF_CFI_SP, end);
    for (unsigned i = 0; i < HEAPPROF_CFI_REGISTERS; i++) {
        if (i == HEAPPROF_CFI_SP && row->registers[i].kind == HEAPPROF_CFI_SAME) continue;
        if (value_of(&row->registers[i], registers, memory, i, end, &value))
            unwind_set(&caller, i, value);
    }
    if (!unwind_known_p(&caller, row->return_register)) return UNWIND_UNKNOWN;
    uint64_t pc = caller.values[row->return_register];
    if (row->return_register == LINK && !row->signal_frame)
        caller.known &= ~(UINT64_C(1) << LINK); /* the call has changed it */
    return go_to(registers, &caller, pc, unwind_sp(&caller), row->signal_frame);
}

/* ---- without a table ---- */

enum unwind_result
unwind_step_by_pointer(struct unwind_registers *registers, const struct unwind_memory *memory)
{
    struct unwind_registers caller = { .known = 0 };
    uint64_t pointer = registers->values[HEAPPROF_CFI_FP], outer, pc;

    if (!unwind_known_p(registers, HEAPPROF_CFI_FP) || pointer < unwind_sp(registers) ||
        pointer % WORD || !memory->word(memory->data, pointer, &outer) ||
        !memory->word(memory->data, pointer + WORD, &pc))
        return UNWIND_UNKNOWN;
    unwind_set(&caller, HEAPPROF_CFI_FP, outer);
    unwind_set(&caller, HEAPPROF_CFI_SP, pointer + 2 * WORD);
    return go_to(registers, &caller, pc, pointer + 2 * WORD, false);
}

enum unwind_result
unwind_step_out(struct unwind_registers *registers, const struct unwind_memory *memory)
{
    struct unwind_registers caller = *registers;
    uint64_t sp = unwind_sp(registers), pc;

#if defined(__aarch64__)
    if (!unwind_known_p(registers, LINK)) return UNWIND_UNKNOWN;
    pc = registers->values[LINK];
    caller.known &= ~(UINT64_C(1) << LINK);
    (void)memory;
#else
    if (!memory->word(memory->data, sp, &pc)) return UNWIND_UNKNOWN;
    sp += WORD;
    unwind_set(&caller, HEAPPROF_CFI_SP, sp);
#endif
    return go_to(registers, &caller, pc, sp, false);
}
