/* jit.c - from the registers of a thread to the pc of its innermost frame.
 *
 *     the next instruction is  | the frame is
 *     -------------------------|-----------------------------------------------------------
 *     in compiled code         | where the mark of that code says
 *     in C                     | where its own pc says, if the interpreter called C, or compiled
 *                              | code that has written the pc; otherwise where the mark of the
 *                              | return address in compiled code says
 *
 * C functions may call each other, so the return address lies anywhere on the machine stack between
 * sp and the VM's innermost tag, which vm_exec has put there before it called compiled code. There
 * may be others, of calls that are over. So all of them are taken, and the frame's own pc: the true
 * place is among them. The line is known if it is the same for all.
 *
 * A place outside of the frame's code is of a call that is over.
 */
#include "attach/jit.h"

enum {
    STACK_BYTES_MOST = 64 << 10, /* of C functions without a frame of the VM */
    WORDS_MOST = 32              /* different addresses in compiled code, on the machine stack */
};

#define MARKS_MOST (UINT64_C(1) << 32)

/* A copy of the target's heapprof_jit_code. */
struct jit {
    uint64_t code, code_bytes, marks, mark_count;
};

static bool
read_jit(struct attach_vm *vm, struct jit *jit)
{
    uint64_t at = vm->jit_code.address;
    unsigned char copy[ATTACH_LAYOUT_TYPE_MOST];

    if (!attach_target_read(vm->target, at, copy, vm->jit_bytes)) return false;
    *jit = (struct jit){ .code = attach_field_get(&vm->jit_begin, copy),
                         .code_bytes = attach_field_get(&vm->jit_code_bytes, copy),
                         .marks = attach_field_get(&vm->jit_marks, copy),
                         .mark_count = attach_field_get(&vm->jit_mark_count, copy) };
    return jit->mark_count < MARKS_MOST;
}

static bool
compiled_p(const struct jit *jit, uint64_t address)
{
    return address >= jit->code && address - jit->code < jit->code_bytes;
}

/* ---- marks ---- */

/* The number of marks at or before the address. Returns 0 if they cannot be read. */
static uint64_t
count_before(struct attach_vm *vm, const struct jit *jit, uint64_t address)
{
    uint64_t low = 0, high = jit->mark_count, code;

    while (low < high) {
        uint64_t middle = low + (high - low) / 2;
        if (!attach_vm_get(vm, jit->marks + middle * vm->jit_mark_bytes, &vm->jit_mark_code, &code))
            return 0;
        if (code <= address) low = middle + 1;
        else high = middle;
    }
    return low;
}

static uint64_t
chunk_of(const struct attach_vm *vm, const struct jit *jit, uint64_t address)
{
    return (address - jit->code) / vm->jit_chunk_bytes;
}

/* The pc of the compiled code at that address; 0 if the code has none. The last mark holds for
 * nothing. Marks may have been moved or forgotten meanwhile by a thread of another Ractor. */
static uint64_t
pc_of_mark(struct attach_vm *vm, const struct jit *jit, uint64_t address)
{
    uint64_t before = count_before(vm, jit, address), code, pc;
    uint64_t mark = jit->marks + (before - 1) * vm->jit_mark_bytes;
    struct jit now;

    if (before == 0 || before == jit->mark_count) return 0;
    if (!attach_vm_get(vm, mark, &vm->jit_mark_code, &code) ||
        !attach_vm_get(vm, mark, &vm->jit_mark_pc, &pc) || !read_jit(vm, &now)) return 0;
    if (now.marks != jit->marks || now.mark_count < jit->mark_count) return 0;
    return chunk_of(vm, jit, code) == chunk_of(vm, jit, address) ? pc : 0;
}

/* ---- the places where the frame may be ---- */

/* What is known of the line so far. */
struct jit_finding {
    struct attach_codes *codes;
    struct attach_code_key code;
    uint32_t line; /* of pc; 0: there is no pc yet */
    uint64_t pc;
};

/* The frame may be at pc; 0 is no place, nor is a pc outside of its code. Returns false if there
 * are two lines, or no memory. */
static bool
add_place(struct jit_finding *finding, uint64_t pc)
{
    if (pc == 0) return true;
    finding->code.pc = pc;
    const struct attach_code_known *known = attach_code_find(finding->codes, &finding->code);
    if (!known) return false;
    if (known->line == 0 || known->line == finding->line) return true;
    if (finding->line) return false;
    finding->line = known->line;
    finding->pc = pc;
    return true;
}

/* ---- return addresses in compiled code ---- */

/* YJIT calls its compiler from code without marks, which pushes six registers before. So a return
 * address in such code is of a call that is over, if another one stands in the place of a
 * register. */
#ifdef __x86_64__
# define PUSHED_WORDS 6
#else
# define PUSHED_WORDS 0
#endif

/* A word on the machine stack that is an address in compiled code. */
struct word {
    uint64_t address;
    bool     follows_call;
    uint64_t pc; /* of the mark of that call; 0: it has none */
};

/* True if the instruction before the address may be a call. If the call has been overwritten since,
 * all code was made void while it went on. A call that allows for that has written the pc. */
static bool
follows_call_p(struct attach_vm *vm, uint64_t address)
{
#ifdef __x86_64__
    unsigned char code[5];

    if (!attach_target_read(vm->target, address - sizeof(code), code, sizeof(code))) return true;
    return code[0] == 0xe8 || (code[3] == 0xff && code[4] >> 3 == 0xd0 >> 3);
#else
    return (void)vm, (void)address, true;
#endif
}

/* Returns NULL if there are too many different words. */
static const struct word *
find_word(struct attach_vm *vm, const struct jit *jit, uint64_t address, struct word *words,
          size_t *count)
{
    for (size_t i = 0; i < *count; i++) {
        if (words[i].address == address) return &words[i];
    }
    if (*count == WORDS_MOST) return NULL;
    struct word *word = &words[(*count)++];
    *word = (struct word){ .address = address, .follows_call = follows_call_p(vm, address) };
    if (word->follows_call) word->pc = pc_of_mark(vm, jit, address - 1);
    return word;
}

/* Adds the places of all calls whose return addresses are on the machine stack, from the outermost
 * to the innermost. */
static bool
add_calls(struct jit_finding *finding, const struct jit *jit, uint64_t ec, uint64_t sp)
{
    struct attach_vm *vm = finding->codes->vm;
    uint64_t stack[STACK_BYTES_MOST / ATTACH_WORD], tag;
    struct word words[WORDS_MOST];
    size_t count = 0, marked = SIZE_MAX;

    if (!attach_vm_get(vm, ec, &vm->ec_tag, &tag)) return false;
    if (tag <= sp || tag - sp > sizeof(stack) || sp % ATTACH_WORD) return false;
    if (!attach_target_read(vm->target, sp, stack, (size_t)(tag - sp))) return false;
    for (size_t i = (size_t)(tag - sp) / ATTACH_WORD; i-- > 0;) {
        if (!compiled_p(jit, stack[i] - 1)) continue;
        const struct word *word = find_word(vm, jit, stack[i], words, &count);
        if (!word) return false;
        if (!word->follows_call) continue;
        if (!word->pc && marked - i > PUSHED_WORDS) return false;
        if (!word->pc) continue;
        if (!add_place(finding, word->pc)) return false;
        marked = i;
    }
    return true;
}

uint64_t
attach_jit_pc(struct attach_codes *codes, const struct attach_code_key *code, uint64_t ec,
              const struct unwind_registers *registers)
{
    struct attach_vm *vm = codes->vm;
    struct jit_finding finding = { .codes = codes, .code = *code };
    struct jit jit;
    bool found;

    if (!registers || !read_jit(vm, &jit)) return ATTACH_JIT_UNKNOWN;
    if (compiled_p(&jit, registers->pc)) {
        uint64_t pc = pc_of_mark(vm, &jit, registers->pc);
        found = add_place(&finding, pc == (uint64_t)vm->jit_returned ? code->pc : pc);
    }
    else {
        found = add_place(&finding, code->pc) &&
                add_calls(&finding, &jit, ec, unwind_sp(registers));
    }
    return found && finding.line ? finding.pc : ATTACH_JIT_UNKNOWN;
}
