/* vm.c - finds a VM, and fills in where its structures are. */
#include "attach/vm.h"

#include <stdlib.h>

#include "attach/image.h"

static const struct heapprof_want wants[] = {
#define WANT(member, name, number) HEAPPROF_WANT_CONTRACT(struct heapprof_vm, member, name, number),
    HEAPPROF_VM_CONTRACTS(WANT)
#undef WANT
#define WANT(member, name) HEAPPROF_WANT_TYPE(struct heapprof_vm, member, name),
    HEAPPROF_VM_TYPES(WANT)
#undef WANT
#define WANT(member, name) HEAPPROF_WANT_NUMBER(struct heapprof_vm, member, name),
    HEAPPROF_VM_NUMBERS(WANT)
#undef WANT
#define WANT(member, name) HEAPPROF_WANT_BYTES(struct heapprof_vm, member, name, 2 * HEAPPROF_WORD),
    HEAPPROF_VM_LISTS(WANT)
#undef WANT
#define WANT(member, name) HEAPPROF_WANT_BYTES(struct heapprof_vm, member, name, 1),
    HEAPPROF_VM_PLACES(WANT)
#undef WANT
#define WANT(member, name) HEAPPROF_WANT_GLOBAL(struct heapprof_vm, member, name, HEAPPROF_WORD),
    HEAPPROF_VM_GLOBALS(WANT)
#undef WANT
#define WANT(member, name) HEAPPROF_WANT_CONSTANT(struct heapprof_vm, member, name),
    HEAPPROF_VM_CONSTANTS(WANT)
    HEAPPROF_VM_INDEXES(WANT)
#undef WANT
};

static int64_t
least(int64_t one, int64_t other)
{
    return one < other ? one : other;
}

/* Whether the words of an environment that say what it is of stand side by side, as env_first has it. */
static bool
indexes_good_p(struct heapprof_vm *vm)
{
    const int64_t indexes[] = {vm->env_flags_index, vm->env_previous_index, vm->env_method_index};

    vm->env_first = least(indexes[0], least(indexes[1], indexes[2]));
    for (size_t i = 0; i < sizeof(indexes) / sizeof(*indexes); i++) {
        if ((uint64_t)indexes[i] - (uint64_t)vm->env_first >= HEAPPROF_VM_ENVIRONMENT_WORDS) return false;
    }
    return true;
}

/* What divides or shifts elsewhere. */
static bool
constants_good_p(const struct heapprof_vm *vm)
{
    return vm->symbol_unit > 0 && vm->symbol_entry_size > 0 && vm->frame_bytes > 0 &&
           vm->symbol_scope_shift < 64 && vm->array_embed_shift < 64 && vm->imemo_shift < 64;
}

/* The VM that an image has; error says what is missing of it. */
static bool
fill(struct heapprof_vm *vm, const struct heapprof_image *image, char *error)
{
    vm->layout = rb_heapprof_layout_read(vm->target, image->descriptor, error);
    if (!vm->layout ||
        !rb_heapprof_layout_fill(vm->layout, wants, sizeof(wants) / sizeof(*wants), vm, error)) return false;
    if (!constants_good_p(vm) || !indexes_good_p(vm)) {
        rb_heapprof_target_say(vm->target, error, "what it says of its structures cannot be");
        return false;
    }
    return true;
}

/* A libruby that is only loaded has no VM. */
bool
rb_heapprof_vm_find(struct heapprof_vm *vm)
{
    uint64_t at;

    if (!rb_heapprof_global_read(vm->target, &vm->current_vm, &at)) at = 0;
    if (at != vm->at || !vm->objspace) {
        vm->at = at;
        if (!at || !rb_heapprof_vm_get(vm, at, &vm->vm_objspace, &vm->objspace)) vm->objspace = 0;
    }
    return at != 0;
}

struct heapprof_vm *
rb_heapprof_vm_open(struct heapprof_target *target, char error[HEAPPROF_TARGET_ERROR_MAX])
{
    struct heapprof_image images[HEAPPROF_IMAGES_MOST];
    size_t count = rb_heapprof_image_find(target, images, error);
    struct heapprof_vm *vm = calloc(1, sizeof(*vm));

    if (!vm) rb_heapprof_target_say(target, error, "no memory");
    for (size_t i = 0; vm && i < count; i++) {
        vm->target = target;
        if (fill(vm, &images[i], error)) {
            if (rb_heapprof_vm_find(vm)) return vm;
            rb_heapprof_target_say(target, error, "its Ruby has not started yet, or has ended");
        }
        rb_heapprof_layout_free(vm->layout);
        *vm = (struct heapprof_vm){0};
    }
    free(vm);
    return NULL;
}

void
rb_heapprof_vm_close(struct heapprof_vm *vm)
{
    if (!vm) return;
    rb_heapprof_layout_free(vm->layout);
    free(vm);
}

uint64_t
rb_heapprof_vm_objspace(struct heapprof_vm *vm)
{
    if (!vm->objspace) rb_heapprof_vm_find(vm);
    return vm->objspace;
}

bool
rb_heapprof_vm_generation(struct heapprof_vm *vm, struct heapprof_vm_generation *generation)
{
    uint64_t objspace = rb_heapprof_vm_objspace(vm), compactions, compacting;

    if (!rb_heapprof_global_read(vm->target, &vm->code_generation, &generation->freed) ||
        !rb_heapprof_vm_get(vm, objspace, &vm->compactions, &compactions) ||
        !rb_heapprof_vm_get(vm, objspace, &vm->compacting, &compacting)) return false;
    generation->moved = compactions * 2 + (compacting != 0);
    return true;
}
