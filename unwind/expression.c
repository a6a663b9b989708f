/* expression.c - computes DWARF expressions (DWARF 5 chapter 2.5) of unwind tables.
 *
 * An expression has no jumps here, so each operation takes at least a byte of it, and it ends. */
#include "unwind/expression.h"

enum { STACK_MOST = 64 };

enum {
    OP_DEREF = 0x06,
    OP_CONST1U = 0x08, OP_CONST1S, OP_CONST2U, OP_CONST2S, OP_CONST4U, OP_CONST4S, OP_CONST8U,
    OP_CONST8S, OP_CONSTU, OP_CONSTS, OP_DUP, OP_DROP, OP_OVER,
    OP_SWAP = 0x16,
    OP_AND = 0x1a,
    OP_MINUS = 0x1c, OP_MUL = 0x1e, OP_NEG, OP_NOT, OP_OR, OP_PLUS, OP_PLUS_UCONST, OP_SHL, OP_SHR,
    OP_SHRA, OP_XOR,
    OP_EQ = 0x29, OP_GE, OP_GT, OP_LE, OP_LT, OP_NE,
    OP_LIT0 = 0x30, OP_LIT31 = 0x4f,
    OP_BREG0 = 0x70, OP_BREG31 = 0x8f,
    OP_BREGX = 0x92,
    OP_NOP = 0x96
};

struct expression_run {
    struct heapprof_cfi_reader reader;
    const struct unwind_registers *registers;
    const struct unwind_memory *memory;
    uint64_t stack[STACK_MOST];
    size_t   count;
    bool     failed;
};

static void
push_value(struct expression_run *run, uint64_t value)
{
    if (run->count == STACK_MOST) run->failed = true;
    else run->stack[run->count++] = value;
}

static uint64_t
pop_value(struct expression_run *run)
{
    if (run->count == 0) {
        run->failed = true;
        return 0;
    }
    return run->stack[--run->count];
}

static void
push_register(struct expression_run *run, uint64_t number)
{
    int64_t offset = rb_heapprof_cfi_signed(&run->reader);

    if (!unwind_known_p(run->registers, number)) run->failed = true;
    else push_value(run, run->registers->values[number] + (uint64_t)offset);
}

/* Pushes a number of so many bytes. */
static void
push_number(struct expression_run *run, size_t bytes, bool is_signed)
{
    uint64_t value = rb_heapprof_cfi_bytes(&run->reader, bytes);
    unsigned rest = 64 - 8 * (unsigned)bytes;

    push_value(run, is_signed ? (uint64_t)((int64_t)(value << rest) >> rest) : value);
}

static uint64_t
shift(unsigned operation, uint64_t value, uint64_t by)
{
    if (operation == OP_SHRA) return (uint64_t)((int64_t)value >> (by < 63 ? by : 63));
    if (by > 63) return 0;
    return operation == OP_SHL ? value << by : value >> by;
}

static bool
compare(unsigned operation, int64_t left, int64_t right)
{
    switch (operation) {
      case OP_EQ: return left == right;
      case OP_GE: return left >= right;
      case OP_GT: return left > right;
      case OP_LE: return left <= right;
      case OP_LT: return left < right;
      default: return left != right;
    }
}

/* An operation on the two values on top. */
static void
combine(struct expression_run *run, unsigned operation)
{
    uint64_t right = pop_value(run), left = pop_value(run);

    switch (operation) {
      case OP_AND: push_value(run, left & right); break;
      case OP_MINUS: push_value(run, left - right); break;
      case OP_MUL: push_value(run, left * right); break;
      case OP_OR: push_value(run, left | right); break;
      case OP_PLUS: push_value(run, left + right); break;
      case OP_XOR: push_value(run, left ^ right); break;
      case OP_SHL: case OP_SHR: case OP_SHRA: push_value(run, shift(operation, left, right)); break;
      case OP_EQ: case OP_GE: case OP_GT: case OP_LE: case OP_LT: case OP_NE:
        push_value(run, compare(operation, (int64_t)left, (int64_t)right));
        break;
      default: run->failed = true;
    }
}

static void
copy_value(struct expression_run *run, size_t below)
{
    if (run->count <= below) run->failed = true;
    else push_value(run, run->stack[run->count - 1 - below]);
}

static void
swap_values(struct expression_run *run)
{
    uint64_t top = pop_value(run), below = pop_value(run);

    push_value(run, top);
    push_value(run, below);
}

static void
push_word(struct expression_run *run)
{
    uint64_t address = pop_value(run), word = 0;

    if (run->failed || !run->memory->word(run->memory->data, address, &word)) run->failed = true;
    push_value(run, word);
}

static void
run_operation(struct expression_run *run)
{
    unsigned operation = (unsigned)rb_heapprof_cfi_bytes(&run->reader, 1);

    if (operation >= OP_LIT0 && operation <= OP_LIT31) push_value(run, operation - OP_LIT0);
    else if (operation >= OP_BREG0 && operation <= OP_BREG31)
        push_register(run, operation - OP_BREG0);
    else switch (operation) {
      case OP_DEREF: push_word(run); break;
      case OP_CONST1U: case OP_CONST1S: push_number(run, 1, operation == OP_CONST1S); break;
      case OP_CONST2U: case OP_CONST2S: push_number(run, 2, operation == OP_CONST2S); break;
      case OP_CONST4U: case OP_CONST4S: push_number(run, 4, operation == OP_CONST4S); break;
      case OP_CONST8U: case OP_CONST8S: push_number(run, 8, false); break;
      case OP_CONSTU: push_value(run, rb_heapprof_cfi_unsigned(&run->reader)); break;
      case OP_CONSTS: push_value(run, (uint64_t)rb_heapprof_cfi_signed(&run->reader)); break;
      case OP_DUP: copy_value(run, 0); break;
      case OP_DROP: pop_value(run); break;
      case OP_OVER: copy_value(run, 1); break;
      case OP_SWAP: swap_values(run); break;
      case OP_NEG: push_value(run, 0 - pop_value(run)); break;
      case OP_NOT: push_value(run, ~pop_value(run)); break;
      case OP_PLUS_UCONST:
        push_value(run, pop_value(run) + rb_heapprof_cfi_unsigned(&run->reader));
        break;
      case OP_BREGX: push_register(run, rb_heapprof_cfi_unsigned(&run->reader)); break;
      case OP_NOP: break;
      default: combine(run, operation);
    }
}

bool
unwind_expression(const struct heapprof_cfi_rule *rule, const struct unwind_registers *registers,
                  const struct unwind_memory *memory, const uint64_t *push, uint64_t *value)
{
    struct expression_run run = {
        .reader = { .at = rule->expression, .end = rule->expression + rule->number },
        .registers = registers, .memory = memory
    };

    if (push) push_value(&run, *push);
    while (run.reader.at < run.reader.end && !run.failed && !run.reader.failed) run_operation(&run);
    *value = pop_value(&run);
    return !run.failed && !run.reader.failed;
}
