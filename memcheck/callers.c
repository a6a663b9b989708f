/* callers.c - which C functions led to a record: from the labels of the process's file, or from
 * Valgrind's stacks. */
#include "memcheck/callers.h"

#include <string.h>

static struct memcheck_c_function
function_of_frame(const struct memcheck_valgrind *valgrind, uint32_t number)
{
    const struct memcheck_c_frame *frame = &valgrind->frames[number];
    struct memcheck_c_function one;

    one.function =
        rb_heapprof_strings_get(&valgrind->strings, frame->function, &one.function_length);
    one.library = rb_heapprof_strings_get(&valgrind->strings, frame->library, &one.library_length);
    return one;
}

bool
memcheck_callers_next(const struct memcheck_process *process, const struct memcheck_record *record,
                      struct memcheck_callers_walk *walk)
{
    while (walk->seen < record->caller_count) {
        uint32_t number = record->first_caller + walk->seen++;
        if (record->error &&
            process->valgrind->frames[number].role != MEMCHECK_OF_EXTENSION) continue;
        walk->at = record->error ? function_of_frame(process->valgrind, number)
                                 : process->callers[number];
        return true;
    }
    return false;
}

bool
memcheck_callers_named_p(const struct memcheck_c_function *one)
{
    return one->function_length > 0 && !(one->function_length == 1 && one->function[0] == '?');
}

struct memcheck_c_function
memcheck_callers_own(const struct memcheck_record *record)
{
    return (struct memcheck_c_function){record->function, record->library, record->function_length,
                                        record->library_length};
}

bool
memcheck_callers_for(const struct memcheck_process *process, const struct memcheck_record *record,
                     struct memcheck_c_function *found)
{
    const struct memcheck_c_function own = memcheck_callers_own(record);
    struct memcheck_callers_walk walk = {0};
    bool any = false;

    while (memcheck_callers_next(process, record, &walk)) {
        bool other = walk.at.library_length != own.library_length ||
                     memcmp(walk.at.library, own.library, own.library_length) != 0;
        if (!memcheck_callers_named_p(&walk.at)) continue;
        if (!other && (any || memcheck_callers_named_p(&own))) continue;
        *found = walk.at;
        any = true;
        if (other) return true;
    }
    return any;
}

struct memcheck_c_function
memcheck_callers_named(const struct memcheck_process *process, const struct memcheck_record *record)
{
    struct memcheck_c_function own = memcheck_callers_own(record), whom;

    if (memcheck_callers_named_p(&own) || !memcheck_callers_for(process, record, &whom)) return own;
    return whom;
}

bool
memcheck_library_named_p(const char *library, size_t library_length, const char *name)
{
    size_t length = strlen(name);

    if (length > library_length || memcmp(library, name, length) != 0) return false;
    return length == library_length || library[length] == '.';
}

/* Behind the interpreter other code ran. */
static bool
stack_passes_p(const struct memcheck_valgrind *valgrind, const struct memcheck_c_stack *stack,
               const char *library)
{
    for (uint32_t i = 0; i < stack->frame_count; i++) {
        uint32_t number = stack->first_frame + i;
        enum memcheck_role role = valgrind->frames[number].role;
        if (role == MEMCHECK_INTERPRETER) return false;
        struct memcheck_c_function one = function_of_frame(valgrind, number);
        if (role == MEMCHECK_OF_EXTENSION &&
            memcheck_library_named_p(one.library, one.library_length, library)) return true;
    }
    return false;
}

bool
memcheck_callers_pass_p(const struct memcheck_process *process,
                        const struct memcheck_record *record, const char *library)
{
    struct memcheck_callers_walk walk = {0};

    if (memcheck_library_named_p(record->library, record->library_length, library)) return true;
    while (memcheck_callers_next(process, record, &walk)) {
        if (memcheck_library_named_p(walk.at.library, walk.at.library_length, library)) return true;
    }
    for (uint32_t i = 0; record->error && i < record->error->stack_count; i++) {
        const struct memcheck_c_stack *stack =
            &process->valgrind->stacks[record->error->first_stack + i];
        if (stack_passes_p(process->valgrind, stack, library)) return true;
    }
    return false;
}
