/* c_stack.c - walks a machine stack outwards.
 *
 * A frame is left by its row of the unwind table. Code without a row is left by the frame pointer,
 * if that leads to code of a file.
 *
 * YJIT's code has neither: on x86-64 it keeps a frame pointer only if it is asked to (--yjit-perf).
 * But all of its code has one frame of a few words, for it jumps from method to method. Behind
 * these words is the return address, in the interpreter, behind a call by a pointer. The first word
 * that is such an address is the one. */
#include "attach/c_stack.h"

#include <string.h>

#include "unwind/step.h"

enum {
    FRAMES_MOST = 65536,
    BLIND_BYTES = 65536,
    BEHIND_START_BYTES = 4096,
    MACHINE_WORDS_MOST = 64, /* of a frame of YJIT's */
    WORD = 8
};

void
attach_c_stack_init(struct attach_c_stack *stack, struct attach_vm *vm,
                    struct attach_c_objects *objects, struct heapprof_mem *mem)
{
    *stack = (struct attach_c_stack){ .vm = vm, .objects = objects, .mem = mem };
}

void
attach_c_stack_free(struct attach_c_stack *stack)
{
    HEAPPROF_MEM_RELEASE(stack->mem, stack->copy, stack->copy_capacity);
    HEAPPROF_MEM_RELEASE(stack->mem, stack->frames, stack->frame_capacity);
}

/* ---- the copy ---- */

/* How much lies above sp: to the end of its mapping, or, as the mapping of a new thread may not be
 * known, to where the thread's code began. */
static size_t
bytes_above(const struct attach_c_stack *stack, uint64_t sp)
{
    const struct attach_mapping *mapping = attach_target_mapping(stack->vm->target, sp);
    uint64_t start = stack->start > sp ? stack->start - sp : 0, bytes = BLIND_BYTES;

    if (mapping && mapping->writable) {
        bytes = mapping->end - sp;
        if (start && start < bytes && bytes - start > BEHIND_START_BYTES)
            bytes = start + BEHIND_START_BYTES;
    }
    else if (start) bytes = start;
    return bytes < ATTACH_C_STACK_MOST ? (size_t)bytes : ATTACH_C_STACK_MOST;
}

bool
attach_c_stack_copy(struct attach_c_stack *stack, pid_t tid, uint64_t ec)
{
    struct attach_target *target = stack->vm->target;

    stack->copy_bytes = stack->frame_count = 0;
    stack->whole = false;
    if (!tid || !attach_registers_read(target, tid, &stack->registers)) return false;
    if (!attach_vm_get(stack->vm, ec, &stack->vm->ec_stack_start, &stack->start)) stack->start = 0;
    uint64_t sp = unwind_sp(&stack->registers);
    size_t bytes = bytes_above(stack, sp);
    if (!HEAPPROF_MEM_GROW(stack->mem, stack->copy, stack->copy_capacity, bytes)) return false;
    stack->copy_at = sp;
    stack->copy_bytes = attach_target_read_some(target, sp, stack->copy, bytes);
    return stack->copy_bytes > 0;
}

/* Reads a word of the copy. What is outside of it, such as the stack of a signal handler, can be
 * read only if the target does not run. */
static bool
read_word(void *data, uint64_t address, uint64_t *word)
{
    struct attach_c_stack *stack = data;

    if (address >= stack->copy_at && address - stack->copy_at < stack->copy_bytes &&
        stack->copy_bytes - (address - stack->copy_at) >= WORD) {
        memcpy(word, stack->copy + (address - stack->copy_at), WORD);
        return true;
    }
    return !stack->vm->target->runs && attach_target_read(stack->vm->target, address, word, WORD);
}

/* ---- the walk ---- */

/* The role of code to which a guess has led; MACHINE if no file has it. A word of the stack may be
 * anything, and is no reason to list the mappings anew. */
static enum attach_c_role
role_at(struct attach_c_stack *stack, const struct unwind_registers *registers)
{
    uint64_t address = unwind_place(registers);
    const struct attach_mapping *mapping = attach_target_mapping(stack->vm->target, address);
    const struct attach_c_place *place =
        mapping && mapping->executable ? attach_c_objects_find(stack->objects, address) : NULL;

    return place ? (enum attach_c_role)place->role : ATTACH_C_MACHINE;
}

/* True for the interpreter, which alone calls YJIT's code. */
static bool
interpreter_p(struct attach_c_stack *stack, const struct unwind_registers *registers)
{
    enum attach_c_role role = role_at(stack, registers);
    return role == ATTACH_C_LOOP || role == ATTACH_C_ENTRY;
}

#if defined(__x86_64__)

/* True if a call by a pointer stands before the address: by a register, or by memory that a
 * register leads to. */
static bool
behind_call_p(struct attach_c_stack *stack, uint64_t address)
{
    unsigned char code[6];

    if (!attach_target_read(stack->vm->target, address - sizeof(code), code, sizeof(code)))
        return false;
    return (code[4] == 0xff && (code[5] & 0xf8) == 0xd0) ||
           (code[3] == 0xff && ((code[4] & 0xf8) == 0x50 || (code[4] & 0xf8) == 0x10)) ||
           (code[0] == 0xff && (code[1] & 0xf8) == 0x90);
}

/* Steps out of a frame of YJIT's. */
static bool
leave_machine_code(struct attach_c_stack *stack, const struct unwind_memory *memory)
{
    const struct unwind_registers *from = &stack->registers;
    struct unwind_registers caller = { .known = 0 };

    if (unwind_known_p(from, HEAPPROF_CFI_FP))
        unwind_set(&caller, HEAPPROF_CFI_FP, from->values[HEAPPROF_CFI_FP]);
    for (unsigned i = 0; i < MACHINE_WORDS_MOST; i++) {
        uint64_t place = unwind_sp(from) + i * WORD;
        if (!memory->word(memory->data, place, &caller.pc)) return false;
        if (!interpreter_p(stack, &caller) || !behind_call_p(stack, caller.pc)) continue;
        unwind_set(&caller, HEAPPROF_CFI_SP, place + WORD);
        stack->registers = caller;
        return true;
    }
    return false;
}

#else

static bool
leave_machine_code(struct attach_c_stack *stack, const struct unwind_memory *memory)
{
    return (void)stack, (void)memory, false;
}

#endif

/* Steps without a row. The innermost frame may have called a wrong address. */
static enum unwind_result
step_blindly(struct attach_c_stack *stack, const struct attach_c_place *place,
             const struct unwind_memory *memory)
{
    struct unwind_registers by_pointer = stack->registers, out = stack->registers;
    bool pointer = place && unwind_step_by_pointer(&by_pointer, memory) == UNWIND_CALLER;

    if (place && place->role == ATTACH_C_MACHINE && !(pointer && interpreter_p(stack, &by_pointer)))
        if (leave_machine_code(stack, memory)) return UNWIND_CALLER;
    if (pointer && role_at(stack, &by_pointer) != ATTACH_C_MACHINE) {
        stack->registers = by_pointer;
        return UNWIND_CALLER;
    }
    if (stack->registers.exact && unwind_step_out(&out, memory) == UNWIND_CALLER &&
        role_at(stack, &out) != ATTACH_C_MACHINE) {
        stack->registers = out;
        return UNWIND_CALLER;
    }
    return UNWIND_UNKNOWN;
}

/* Adds the frame of a place, and steps to the caller's. */
static enum unwind_result
step(struct attach_c_stack *stack, const struct attach_c_place *place)
{
    const struct unwind_memory memory = { read_word, stack };

    if (place)
        stack->frames[stack->frame_count++] =
            (struct attach_c_frame){ place->function, place->role };
    if (place && place->has_row) return unwind_step(&place->row, &stack->registers, &memory);
    return step_blindly(stack, place, &memory);
}

bool
attach_c_stack_walk(struct attach_c_stack *stack)
{
    enum unwind_result result = UNWIND_CALLER;

    while (result == UNWIND_CALLER && stack->frame_count < FRAMES_MOST) {
        if (!HEAPPROF_MEM_GROW(stack->mem, stack->frames, stack->frame_capacity,
                               stack->frame_count + 1))
            return false;
        result = step(stack, attach_c_objects_find(stack->objects,
                                                   unwind_place(&stack->registers)));
    }
    stack->whole = result == UNWIND_OUTERMOST ||
                   (stack->start && unwind_sp(&stack->registers) >= stack->start);
    return true;
}
