/* native.c - from a machine stack and a Ruby stack of one moment to the frames that are shown. */
#include "attach/native.h"

#define BUDGET_BYTES ((size_t)256 << 20)

bool
attach_native_begin(struct attach_native *native, struct attach_vm *vm, struct attach_names *names,
                    enum attach_native_which which)
{
    if (which == ATTACH_NATIVE_NONE) return true;
    rb_heapprof_mem_init(&native->mem, BUDGET_BYTES);
    native->names = names;
    native->objects = attach_c_objects_new(vm, names);
    attach_c_stack_init(&native->stack, vm, native->objects, &native->mem);
    attach_c_frames_init(&native->frames, names, &native->mem,
                         which == ATTACH_NATIVE_ALL);
    native->on = native->objects != NULL;
    return native->on;
}

void
attach_native_free(struct attach_native *native)
{
    if (!native->on) return;
    attach_c_stack_free(&native->stack);
    attach_c_frames_free(&native->frames);
    attach_c_objects_free(native->objects);
    HEAPPROF_MEM_RELEASE(&native->mem, native->controls, native->control_capacity);
    HEAPPROF_MEM_RELEASE(&native->mem, native->merged, native->merged_capacity);
}

void
attach_native_next_look(struct attach_native *native)
{
    if (native->on) attach_c_objects_begin(native->objects);
}

void
attach_native_next_stack(struct attach_native *native)
{
    native->copied = false;
    native->control_count = 0;
    native->frames.collecting = false;
}

bool
attach_native_note(struct attach_native *native, size_t control)
{
    if (!native->on) return true;
    if (!HEAPPROF_MEM_GROW(&native->mem, native->controls, native->control_capacity,
                           native->control_count + 1))
        return false;
    native->controls[native->control_count++] = (uint32_t)control;
    return true;
}

void
attach_native_copy(struct attach_native *native, pid_t tid, uint64_t ec)
{
    native->copied = native->on && attach_c_stack_copy(&native->stack, tid, ec);
}

static bool
add_merged(struct attach_native *native, struct attach_look_frame frame)
{
    if (!HEAPPROF_MEM_GROW(&native->mem, native->merged, native->merged_capacity,
                           native->merged_count + 1))
        return false;
    native->merged[native->merged_count++] = frame;
    return true;
}

static bool
add_c_frame(struct attach_native *native, size_t number)
{
    return add_merged(native, (struct attach_look_frame){
                                  .function = native->frames.shown[number].function,
                                  .native = true });
}

/* Both lists are in order: a C function comes before the Ruby frame that it is inside of. */
static bool
merge(struct attach_native *native, const struct attach_look_frame *frames, size_t count)
{
    size_t c = 0;

    native->merged_count = 0;
    for (size_t i = 0; i < count; i++) {
        for (; c < native->frames.count && native->frames.shown[c].before <= native->controls[i];
             c++) {
            if (!add_c_frame(native, c)) return false;
        }
        if (!add_merged(native, frames[i])) return false;
    }
    for (; c < native->frames.count; c++) {
        if (!add_c_frame(native, c)) return false;
    }
    return true;
}

bool
attach_native_merge(struct attach_native *native, const struct attach_walk *walk,
                    const struct attach_look_frame *frames, size_t count)
{
    native->frames.count = 0;
    if (native->copied &&
        (!attach_c_stack_walk(&native->stack) ||
         !attach_c_frames_place(&native->frames, &native->stack, walk,
                                attach_c_objects_named_p(native->objects))))
        return false;
    return merge(native, frames, count);
}

bool
attach_native_place(struct attach_names *names, struct attach_look_frame *frames, size_t count)
{
    uint32_t caller = 0, line = 0;

    for (size_t i = count; i-- > 0; ) {
        struct attach_look_frame *frame = &frames[i];
        if (!attach_names_get(names, frame->function)->cfunc) {
            caller = frame->function;
            line = frame->line;
        }
        else if (caller) {
            frame->function = attach_names_called_from(names, frame->function, caller);
            frame->line = line;
            if (!frame->function) return false;
        }
    }
    return true;
}
