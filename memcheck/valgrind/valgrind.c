/* valgrind.c - finds who caused an error.
 *
 * It is the innermost function of an extension, or of a library that is neither Ruby nor the C
 * library, because Ruby works for its caller; and so do functions of C++'s standard library,
 * which the compiler puts into any file. The search stops at the interpreter: behind it
 * other code ran. For an error, it also stops at the collector and the profiler, which read
 * stacks and freed objects as they find them. The stacks of an error are searched in their
 * order. So an error in Ruby with a block that an extension has freed belongs to the extension.
 *
 * The Ruby stack of an error is that of a C method, which reports it when it calls another
 * method or returns. If the interpreter itself, or code outside of any method, caused the
 * error, the report came too late and from another method: such an error has no Ruby stack.
 *
 * A dead object is used by the interpreter, too, when Ruby code gets it from an extension. That is
 * nobody's fault but an extension's, so such an error is never Ruby's own, unless a function that
 * walks over all objects made it; and a stack that may be a little late is better than none. */
#include "memcheck/valgrind/valgrind.h"

#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "base/cxx_name.h"
#include "base/markers.h"

#define BUDGET_BYTES ((size_t)512 << 20)
#define METHODS_BYTES 1024 /* longer text is cut */

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
    HEAPPROF_MEM_RELEASE(&valgrind->mem, valgrind->ruby_frames, valgrind->ruby_frame_capacity);
    HEAPPROF_MEM_RELEASE(&valgrind->mem, valgrind->methods, valgrind->method_capacity);
    *valgrind = (struct memcheck_valgrind){0};
}

/* ---- the role of a frame ---- */

static bool
matches_p(const char *const patterns[], const char *name)
{
    for (; *patterns; patterns++) {
        if (fnmatch(*patterns, name, 0) == 0) return true;
    }
    return false;
}

/* Functions of Valgrind, and functions that allocate for their caller. */
static bool
wrapper_p(const char *library)
{
    static const char *const wrappers[] = {
        "vgpreload_*", "libc.so*",     "libc-[0-9]*", "ld-*",     "libstdc++.so*",
        "libc++*.so*", "libgcc_s.so*", "libpthread*", "libm.so*", "libdl.so*",
        NULL
    };
    return matches_p(wrappers, library);
}

static bool
interpreter_p(const char *function)
{
    static const char *const loops[] = {"vm_exec*", "rb_vm_exec*", "vm_call_cfunc*", "vm_sendish",
                                        "rb_ec_exec_node", NULL};
    return matches_p(loops, function);
}

/* Functions that read memory as they find it. */
static bool
reader_p(const char *function)
{
    static const char *const readers[] = {"gc_*", "rb_gc*", "rb_heapprof_*", NULL};
    return matches_p(readers, function);
}

static bool
marker_p(const char *function)
{
#define PATTERN(name) name "*",
    static const char *const markers[] = { HEAPPROF_MARKERS(PATTERN) NULL };
#undef PATTERN
    return matches_p(markers, function);
}

static enum memcheck_role
role_of(const char *function, const char *library, const char *core)
{
    if (!library[0] || wrapper_p(library) || strncmp(function, "rb_heapprof_all_", 16) == 0)
        return MEMCHECK_WRAPPER;
    if (strcmp(library, core) != 0) return MEMCHECK_OF_EXTENSION;
    return interpreter_p(function) ? MEMCHECK_INTERPRETER : MEMCHECK_OF_CORE;
}

/* ---- who caused an error ---- */

static bool
std_p(const struct memcheck_valgrind *valgrind, uint32_t function)
{
    size_t length;
    const char *name = rb_heapprof_strings_get(&valgrind->strings, function, &length);
    return rb_heapprof_cxx_std_p(name, length);
}

/* The function did it if none is found yet, or only one of C++'s standard library. */
static void
attribute_frame(struct memcheck_valgrind *valgrind, struct memcheck_error *error, uint32_t number)
{
    const struct memcheck_c_frame *frame = &valgrind->frames[number];

    if (!error->core && (!std_p(valgrind, error->function) ||
                         std_p(valgrind, frame->function))) return;
    error->function = frame->function;
    error->library = frame->library;
    error->first_caller = number + 1;
    error->core = false;
}

/* Ruby's headers have functions that read objects, which are inlined into an extension. */
static bool
of_header_p(const struct memcheck_valgrind *valgrind, const struct memcheck_c_frame *frame)
{
    return strstr(memcheck_valgrind_string(valgrind, frame->file), "/ruby/internal/") != NULL;
}

/* True if an extension further out is innocent: the collector has read memory as it is, or was
 * started there. What a mark function does wrong shows when it calls the collector. */
static bool
collects_p(const struct memcheck_error *error, const char *function)
{
    if (error->kind == MEMCHECK_DEAD_OBJECT || error->kind == MEMCHECK_FATAL_SIGNAL)
        return marker_p(function);
    return memcheck_error_p(error->kind) && reader_p(function);
}

static void
attribute_stack(struct memcheck_valgrind *valgrind, struct memcheck_error *error,
                const struct memcheck_c_stack *stack)
{
    uint32_t i;

    if (!error->core) return;
    for (i = 0; i < stack->frame_count; i++) {
        const struct memcheck_c_frame *frame = &valgrind->frames[stack->first_frame + i];
        const char *function = memcheck_valgrind_string(valgrind, frame->function);
        if (frame->role == MEMCHECK_INTERPRETER) break;
        if (frame->role == MEMCHECK_OF_CORE && collects_p(error, function)) break;
        bool of_header = error->kind == MEMCHECK_DEAD_OBJECT && of_header_p(valgrind, frame);
        if (frame->role == MEMCHECK_OF_EXTENSION && !of_header)
            attribute_frame(valgrind, error, stack->first_frame + i);
    }
    if (!error->core) error->caller_count = stack->first_frame + i - error->first_caller;
}

/* The place of the error; NULL if Valgrind does not say. */
static const struct memcheck_c_stack *
place_of(const struct memcheck_valgrind *valgrind, const struct memcheck_error *error)
{
    return error->stack_count ? &valgrind->stacks[error->first_stack] : NULL;
}

/* The innermost function that is not a wrapper. If a dead object was marked (gc/uses/marked.c), it
 * is the one that has called the mark function. Returns whether one was. */
static bool
attribute_to_core(struct memcheck_valgrind *valgrind, struct memcheck_error *error)
{
    const struct memcheck_c_stack *stack = place_of(valgrind, error);
    bool marked = false;

    for (uint32_t i = 0; stack && i < stack->frame_count; i++) {
        const struct memcheck_c_frame *frame = &valgrind->frames[stack->first_frame + i];
        const char *function = memcheck_valgrind_string(valgrind, frame->function);
        marked |= strcmp(function, "rb_heapprof_uses_marked") == 0;
        if (frame->role == MEMCHECK_WRAPPER || (marked && !marker_p(function))) continue;
        error->function = frame->function;
        error->library = frame->library;
        break;
    }
    return marked;
}

/* ---- the Ruby stack ---- */

/* True if a C method and its callees ran, without an instruction of Ruby code in between. */
static bool
in_method_p(const struct memcheck_valgrind *valgrind, const struct memcheck_error *error)
{
    static const char *const calls[] = {"vm_call_cfunc*", "vm_call0_cfunc*", NULL};
    const struct memcheck_c_stack *stack = place_of(valgrind, error);

    for (uint32_t i = 0; stack && i < stack->frame_count; i++) {
        const struct memcheck_c_frame *frame = &valgrind->frames[stack->first_frame + i];
        const char *function = memcheck_valgrind_string(valgrind, frame->function);
        if (frame->role != MEMCHECK_INTERPRETER && frame->role != MEMCHECK_OF_CORE) continue;
        if (matches_p(calls, function)) return true;
        if (frame->role == MEMCHECK_INTERPRETER) return false;
    }
    return false;
}

/* ---- which methods a function is ---- */

static int
compare_methods(const void *left, const void *right)
{
    const struct memcheck_method *a = left, *b = right;

    if (a->library != b->library) return a->library < b->library ? -1 : 1;
    if (a->function != b->function) return a->function < b->function ? -1 : 1;
    return (a->name > b->name) - (a->name < b->name);
}

/* The first method of that function; the end of the array if there is none. */
static uint32_t
first_method(const struct memcheck_valgrind *valgrind, const struct memcheck_c_frame *frame)
{
    const struct memcheck_method key = {.library = frame->library, .function = frame->function};
    uint32_t low = 0, high = valgrind->method_count;

    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (compare_methods(&valgrind->methods[middle], &key) < 0) low = middle + 1;
        else high = middle;
    }
    return low;
}

/* Each process repeats the list, and so does each class that includes a module. */
static uint32_t
methods_of(struct memcheck_valgrind *valgrind, const struct memcheck_c_frame *frame)
{
    char text[METHODS_BYTES];
    size_t length = 0;
    uint32_t last = 0;

    for (uint32_t i = first_method(valgrind, frame); i < valgrind->method_count; i++) {
        const struct memcheck_method *method = &valgrind->methods[i];
        if (method->library != frame->library || method->function != frame->function) break;
        if (method->name == last) continue;
        last = method->name;
        const char *name = memcheck_valgrind_string(valgrind, method->name);
        int added = snprintf(text + length, sizeof(text) - length, "%s%s", length ? ", " : "",
                             name);
        if ((size_t)added >= sizeof(text) - length) break;
        length += (size_t)added;
    }
    uint32_t methods = rb_heapprof_strings_intern(&valgrind->strings, text, length);
    return methods == UINT32_MAX ? 0 : methods;
}

static void
find_methods(struct memcheck_valgrind *valgrind)
{
    if (valgrind->method_count == 0) return;
    qsort(valgrind->methods, valgrind->method_count, sizeof(*valgrind->methods), compare_methods);
    for (uint32_t i = 0; i < valgrind->frame_count; i++) {
        struct memcheck_c_frame *frame = &valgrind->frames[i];
        if (frame->role == MEMCHECK_OF_EXTENSION) frame->methods = methods_of(valgrind, frame);
    }
}

/* ---- the attribution ---- */

void
memcheck_valgrind_attribute(struct memcheck_valgrind *valgrind, const char *core)
{
    for (uint32_t i = 0; i < valgrind->frame_count; i++) {
        struct memcheck_c_frame *frame = &valgrind->frames[i];
        frame->role = role_of(memcheck_valgrind_string(valgrind, frame->function),
                              memcheck_valgrind_string(valgrind, frame->library), core);
    }
    find_methods(valgrind);
    for (uint32_t i = 0; i < valgrind->error_count; i++) {
        struct memcheck_error *error = &valgrind->errors[i];
        uint32_t asked =
            error->kind == MEMCHECK_UNDEFINED && error->stack_count > 1 ? 1 : error->stack_count;
        error->core = true;
        for (uint32_t s = 0; s < asked; s++) {
            attribute_stack(valgrind, error, &valgrind->stacks[error->first_stack + s]);
        }
        bool marked = error->core && attribute_to_core(valgrind, error);
        if (error->kind == MEMCHECK_DEAD_OBJECT)
            error->core = error->core && !marked &&
                          reader_p(memcheck_valgrind_string(valgrind, error->function));
        else if (!in_method_p(valgrind, error)) error->ruby_frame_count = 0;
    }
}
