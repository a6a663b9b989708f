/* valgrind.c - who an error is by.
 *
 * It is the innermost function of an extension, or of a library that is neither Ruby nor the C library, for what Ruby does is
 * done for who called it; but behind the interpreter nobody is looked for: Ruby code ran in between. Nor is it behind the
 * collector or the profiler for an error, for these read stacks and freed objects as they find them. The stacks are asked in their
 * order, so an error in Ruby with a block that an extension has freed is that extension's.
 */
#include "memcheck/valgrind.h"

#include <fnmatch.h>
#include <string.h>

#define BUDGET_BYTES ((size_t)512 << 20)

void
memcheck_valgrind_init(struct memcheck_valgrind *valgrind)
{
    *valgrind = (struct memcheck_valgrind){0};
    rb_heapprof_mem_init(&valgrind->mem, BUDGET_BYTES);
    rb_heapprof_strings_init(&valgrind->strings, &valgrind->mem);
}

void
memcheck_valgrind_free(struct memcheck_valgrind *valgrind)
{
    rb_heapprof_strings_free(&valgrind->strings);
    HEAPPROF_MEM_RELEASE(&valgrind->mem, valgrind->frames, valgrind->frame_capacity);
    HEAPPROF_MEM_RELEASE(&valgrind->mem, valgrind->stacks, valgrind->stack_capacity);
    HEAPPROF_MEM_RELEASE(&valgrind->mem, valgrind->errors, valgrind->error_capacity);
    HEAPPROF_MEM_RELEASE(&valgrind->mem, valgrind->documents, valgrind->document_capacity);
    *valgrind = (struct memcheck_valgrind){0};
}

/* ---- whose a frame is ---- */

static bool
matches_p(const char *const patterns[], const char *name)
{
    for (; *patterns; patterns++) {
        if (fnmatch(*patterns, name, 0) == 0) return true;
    }
    return false;
}

/* Valgrind's, and those that call malloc for others. */
static bool
wrapper_p(const char *library)
{
    static const char *const wrappers[] = {
        "vgpreload_*", "libc.so*", "libc-[0-9]*", "ld-*", "libstdc++.so*", "libc++*.so*", "libgcc_s.so*", "libpthread*", "libm.so*",
        "libdl.so*", NULL
    };
    return matches_p(wrappers, library);
}

static bool
interpreter_p(const char *function)
{
    static const char *const loops[] = {"vm_exec*", "rb_vm_exec*", "vm_call_cfunc*", "vm_sendish", "rb_ec_exec_node", NULL};
    return matches_p(loops, function);
}

/* Reads what it finds. */
static bool
reader_p(const char *function)
{
    static const char *const readers[] = {"gc_*", "rb_gc*", "rb_heapprof_*", NULL};
    return matches_p(readers, function);
}

static enum memcheck_role
role_of(const char *function, const char *library, const char *core)
{
    if (!library[0] || wrapper_p(library) || strncmp(function, "rb_heapprof_all_", 16) == 0) return MEMCHECK_WRAPPER;
    if (strcmp(library, core) != 0) return MEMCHECK_OF_EXTENSION;
    return interpreter_p(function) ? MEMCHECK_INTERPRETER : MEMCHECK_OF_CORE;
}

/* ---- who an error is by ---- */

static void
attribute_stack(struct memcheck_valgrind *valgrind, struct memcheck_error *error, const struct memcheck_c_stack *stack)
{
    for (uint32_t i = 0; i < stack->frame_count && error->core; i++) {
        const struct memcheck_c_frame *frame = &valgrind->frames[stack->first_frame + i];
        const char *function = memcheck_valgrind_string(valgrind, frame->function);
        if (frame->role == MEMCHECK_INTERPRETER) return;
        if (frame->role == MEMCHECK_OF_CORE && memcheck_error_p(error->kind) && reader_p(function)) return;
        if (frame->role != MEMCHECK_OF_EXTENSION) continue;
        error->function = frame->function;
        error->library = frame->library;
        error->core = false;
    }
}

/* The innermost function but for wrappers. */
static void
attribute_to_core(struct memcheck_valgrind *valgrind, struct memcheck_error *error)
{
    const struct memcheck_c_stack *stack = &valgrind->stacks[error->first_stack];

    for (uint32_t i = 0; error->stack_count > 0 && i < stack->frame_count; i++) {
        const struct memcheck_c_frame *frame = &valgrind->frames[stack->first_frame + i];
        if (frame->role == MEMCHECK_WRAPPER) continue;
        error->function = frame->function;
        error->library = frame->library;
        return;
    }
}

void
memcheck_valgrind_attribute(struct memcheck_valgrind *valgrind, const char *core)
{
    for (uint32_t i = 0; i < valgrind->frame_count; i++) {
        struct memcheck_c_frame *frame = &valgrind->frames[i];
        frame->role = role_of(memcheck_valgrind_string(valgrind, frame->function),
                              memcheck_valgrind_string(valgrind, frame->library), core);
    }
    for (uint32_t i = 0; i < valgrind->error_count; i++) {
        struct memcheck_error *error = &valgrind->errors[i];
        uint32_t asked = error->kind == MEMCHECK_UNDEFINED && error->stack_count > 1 ? 1 : error->stack_count;
        error->core = true;
        for (uint32_t s = 0; s < asked; s++) {
            attribute_stack(valgrind, error, &valgrind->stacks[error->first_stack + s]);
        }
        if (error->core) attribute_to_core(valgrind, error);
    }
}
