/* walk.c - reads control frames, as vm/names/frames.c does inside (the contract "stack 1"). */
#include "attach/walk.h"

#include <string.h>

enum {
    FRAMES_BYTES_MAX = 64 << 20,
    VALUES_BYTES_MAX = 64 << 20,
    ENVIRONMENTS_MAX = 1000
};

void
attach_walk_init(struct attach_walk *walk, struct attach_vm *vm, struct heapprof_mem *mem)
{
    *walk = (struct attach_walk){.vm = vm, .mem = mem};
}

void
attach_walk_free(struct attach_walk *walk)
{
    HEAPPROF_MEM_RELEASE(walk->mem, walk->frames, walk->frames_capacity);
    HEAPPROF_MEM_RELEASE(walk->mem, walk->again, walk->again_capacity);
    HEAPPROF_MEM_RELEASE(walk->mem, walk->values, walk->values_capacity);
}

/* ---- the copy ---- */

/* Reads the place of a stack from a copy of the execution context. A thread that begins has no
 * stack, and then one without a frame. */
static bool
find_place(const struct attach_vm *vm, const void *copy, struct attach_walk_place *place)
{
    place->stack = attach_field_get(&vm->ec_stack, copy);
    place->frame = attach_field_get(&vm->ec_frame, copy);
    place->label = (uint32_t)attach_field_get(&vm->ec_label, copy);
    place->late = (uint32_t)attach_field_get(&vm->ec_late, copy);
    uint64_t words = attach_field_get(&vm->ec_stack_size, copy);
    uint64_t end = place->stack + words * ATTACH_WORD;
    if (!place->stack || !place->frame || place->frame == end) {
        *place = (struct attach_walk_place){0};
        return true;
    }
    if (words > UINT64_MAX / 16 || end < place->stack || end - place->stack < vm->frame_bytes)
        return false;
    place->dummy = end - vm->frame_bytes; /* the outermost frame, which is no code's */
    return place->frame >= place->stack && place->frame <= place->dummy &&
           place->dummy - place->frame <= FRAMES_BYTES_MAX &&
           (place->dummy - place->frame) % vm->frame_bytes == 0;
}

bool
attach_walk_read(struct attach_vm *vm, uint64_t ec, struct attach_walk_place *place,
                 uint64_t frames, void *to, size_t bytes)
{
    unsigned char copy[ATTACH_LAYOUT_TYPE_MOST];
    const struct attach_range ranges[] = {{ec, copy, vm->ec_bytes}, {frames, to, bytes}};

    return attach_target_read_all(vm->target, ranges, bytes ? 2 : 1) && find_place(vm, copy, place);
}

static const unsigned char *
frame_at(const struct attach_walk *walk, size_t frame)
{
    return walk->frames + (walk->torn + frame) * walk->vm->frame_bytes;
}

/* Copies the values below the innermost frame's sp, where most environments are. Without this copy
 * environments are read one by one. */
static void
copy_values(struct attach_walk *walk, const struct attach_walk_place *place)
{
    uint64_t sp = attach_field_get(&walk->vm->frame_sp, walk->frames);

    walk->values_bytes = 0;
    if (sp <= place->stack || sp > place->frame || sp - place->stack > VALUES_BYTES_MAX) return;
    if (!HEAPPROF_MEM_GROW(walk->mem, walk->values, walk->values_capacity, sp - place->stack))
        return;
    if (!attach_target_read(walk->vm->target, place->stack, walk->values, sp - place->stack))
        return;
    walk->values_at = place->stack;
    walk->values_bytes = sp - place->stack;
}

bool
attach_walk_copy(struct attach_walk *walk, uint64_t ec)
{
    struct attach_walk_place place;

    walk->ec = ec;
    walk->frame_count = walk->torn = walk->values_bytes = 0;
    if (!attach_walk_read(walk->vm, ec, &place, 0, NULL, 0)) return false;
    walk->place = place;
    size_t bytes = place.dummy - place.frame;
    if (bytes == 0) return true;
    if (!HEAPPROF_MEM_GROW(walk->mem, walk->frames, walk->frames_capacity, bytes) ||
        !attach_target_read(walk->vm->target, place.frame, walk->frames, bytes)) return false;
    walk->frame_count = bytes / walk->vm->frame_bytes;
    copy_values(walk, &place);
    return true;
}

/* Copies the frames into again, aligned at the outermost. Returns how many both copies have; *now
 * is how many there are at present. */
static size_t
copy_again(struct attach_walk *walk, size_t *now)
{
    size_t width = walk->vm->frame_bytes, bytes = walk->frame_count * width;
    struct attach_walk_place place;

    *now = 0;
    if (!HEAPPROF_MEM_GROW(walk->mem, walk->again, walk->again_capacity, bytes) ||
        !attach_walk_read(walk->vm, walk->ec, &place, walk->place.frame, walk->again, bytes))
        return 0;
    *now = (place.dummy - place.frame) / width;
    if (place.dummy == walk->place.dummy && *now >= walk->frame_count) return walk->frame_count;
    size_t count = *now < walk->frame_count ? *now : walk->frame_count;
    return attach_target_read(walk->vm->target, place.dummy - count * width, walk->again,
                              count * width)
               ? count
               : 0;
}

/* True if it is the same call. It may have gone on. */
static bool
same_call_p(const struct attach_vm *vm, const unsigned char *one, const unsigned char *other)
{
    return attach_field_get(&vm->frame_iseq, one) == attach_field_get(&vm->frame_iseq, other) &&
           attach_field_get(&vm->frame_ep, one) == attach_field_get(&vm->frame_ep, other);
}

/* The number of outermost frames that have stayed. A frame that has gone on has other callees. */
static size_t
settled(struct attach_walk *walk, size_t *now)
{
    size_t width = walk->vm->frame_bytes, count = copy_again(walk, now), same = 0;
    const unsigned char *was = walk->frames + walk->frame_count * width,
                        *is = walk->again + count * width;

    while (same < count) {
        was -= width;
        is -= width;
        if (!same_call_p(walk->vm, was, is)) break;
        same++;
        if (memcmp(was, is, width)) break;
    }
    return same;
}

bool
attach_walk_same_p(struct attach_walk *walk)
{
    size_t now, count = copy_again(walk, &now);

    return now == walk->frame_count && count == now &&
           (count == 0 || !memcmp(walk->frames, walk->again, count * walk->vm->frame_bytes));
}

void
attach_walk_cut_torn(struct attach_walk *walk)
{
    size_t now, same = settled(walk, &now);

    walk->torn = walk->frame_count - same;
    walk->frame_count = same;
}

/* ---- what a frame runs ---- */

/* Reads an environment from the copied values, or from the heap if it has moved there. */
static bool
read_values(const struct attach_walk *walk, uint64_t address, void *to, size_t bytes)
{
    if (address >= walk->values_at && address - walk->values_at < walk->values_bytes &&
        walk->values_bytes - (address - walk->values_at) >= bytes) {
        memcpy(to, walk->values + (address - walk->values_at), bytes);
        return true;
    }
    return attach_target_read(walk->vm->target, address, to, bytes);
}

/* The words around ep that describe an environment. */
struct environment {
    uint64_t flags, method, previous;
};

static bool
read_environment(const struct attach_walk *walk, uint64_t ep, struct environment *environment)
{
    const struct attach_vm *vm = walk->vm;
    uint64_t words[ATTACH_VM_ENVIRONMENT_WORDS];

    if (!read_values(walk, ep + (uint64_t)vm->env_first * ATTACH_WORD, words, sizeof(words)))
        return false;
    environment->flags = words[vm->env_flags_index - vm->env_first];
    environment->method = words[vm->env_method_index - vm->env_first];
    environment->previous = words[vm->env_previous_index - vm->env_first];
    return true;
}

/* Reads an environment. If it is moving to the heap, the new place stands where its flags belong
 * (vm/names/frames.c), and *ep is set to that. */
static bool
find_environment(const struct attach_walk *walk, uint64_t *ep, struct environment *environment)
{
    if (!read_environment(walk, *ep, environment)) return false;
    if (environment->flags & 1) return true;
    return attach_vm_get(walk->vm, environment->flags, &walk->vm->env_ep, ep) &&
           read_environment(walk, *ep, environment);
}

static uint64_t
method_of(struct attach_walk *walk, struct attach_codes *codes, uint64_t ep)
{
    const struct attach_vm *vm = walk->vm;
    struct environment environment;

    for (int i = 0; ep && i < ENVIRONMENTS_MAX; i++) {
        if (!find_environment(walk, &ep, &environment)) return 0;
        uint64_t method = attach_code_method(codes, environment.method);
        if (method || environment.flags & vm->env_local_flag) return method;
        ep = environment.previous & ~UINT64_C(3);
    }
    return 0;
}

struct attach_code_key
attach_walk_code(struct attach_walk *walk, struct attach_codes *codes, size_t frame)
{
    const struct attach_vm *vm = walk->vm;
    const unsigned char *copy = frame_at(walk, frame);
    struct attach_code_key code = {.iseq = attach_field_get(&vm->frame_iseq, copy)};

    if (code.iseq) code.pc = attach_field_get(&vm->frame_pc, copy);
    code.method = method_of(walk, codes, attach_field_get(&vm->frame_ep, copy));
    return code;
}

enum attach_walk_kind
attach_walk_kind(const struct attach_walk *walk, size_t frame)
{
    const struct attach_vm *vm = walk->vm;
    const unsigned char *copy = frame_at(walk, frame);
    uint64_t ep = attach_field_get(&vm->frame_ep, copy);
    struct environment environment;

    if (!find_environment(walk, &ep, &environment))
        return attach_field_get(&vm->frame_iseq, copy) ? ATTACH_WALK_RUBY : ATTACH_WALK_C;
    uint64_t magic = environment.flags & vm->frame_mask;
    if (magic == vm->frame_dummy) return ATTACH_WALK_NAME;
    if (magic == vm->frame_cfunc || magic == vm->frame_ifunc) return ATTACH_WALK_C;
    return environment.flags & vm->frame_finish ? ATTACH_WALK_ENTRY : ATTACH_WALK_RUBY;
}

bool
attach_walk_pc_old_p(const struct attach_walk *walk, size_t frame)
{
    const struct attach_vm *vm = walk->vm;
    const unsigned char *copy = frame_at(walk, frame);

    return frame == 0 && walk->torn == 0 && attach_field_get(&vm->frame_iseq, copy) &&
           attach_field_get(&vm->frame_jit, copy);
}

uint64_t
attach_walk_iseq(const struct attach_walk *walk, size_t frame)
{
    const struct attach_vm *vm = walk->vm;
    const unsigned char *copy = frame_at(walk, frame);
    bool counts = attach_field_get(&vm->frame_pc, copy) || attach_walk_pc_old_p(walk, frame);

    return counts ? attach_field_get(&vm->frame_iseq, copy) : 0;
}

/* The variables stand before the words that describe the environment. */
bool
attach_walk_locals(const struct attach_walk *walk, size_t frame, uint64_t *values, size_t count)
{
    uint64_t ep = attach_field_get(&walk->vm->frame_ep, frame_at(walk, frame));
    uint64_t words = count + walk->vm->env_words - 1;
    struct environment environment;

    return find_environment(walk, &ep, &environment) &&
           (count == 0 || read_values(walk, ep - words * ATTACH_WORD, values, count * ATTACH_WORD));
}
