/* vm.c - finds a VM, and reads where its structures are. */
#include "attach/vm.h"

#include <stdlib.h>

#include "attach/image.h"
#include "attach/pages.h"

static const struct attach_want wants[] = {
#define WANT(member, name, number) ATTACH_WANT_CONTRACT(struct attach_vm, member, name, number),
    ATTACH_VM_CONTRACTS(WANT)
#undef WANT
#define WANT(member, name) ATTACH_WANT_TYPE(struct attach_vm, member, name),
    ATTACH_VM_TYPES(WANT)
#undef WANT
#define WANT(member, name) ATTACH_WANT_NUMBER(struct attach_vm, member, name),
    ATTACH_VM_NUMBERS(WANT)
#undef WANT
#define WANT(member, name) ATTACH_WANT_BYTES(struct attach_vm, member, name, 2 * ATTACH_WORD),
    ATTACH_VM_LISTS(WANT)
#undef WANT
#define WANT(member, name) ATTACH_WANT_BYTES(struct attach_vm, member, name, 1),
    ATTACH_VM_PLACES(WANT)
#undef WANT
#define WANT(member, name) ATTACH_WANT_GLOBAL(struct attach_vm, member, name, ATTACH_WORD),
    ATTACH_VM_GLOBALS(WANT)
#undef WANT
#define WANT(member, name) ATTACH_WANT_CONSTANT(struct attach_vm, member, name),
    ATTACH_VM_CONSTANTS(WANT)
    ATTACH_VM_INDEXES(WANT)
#undef WANT
};

static int64_t
least(int64_t one, int64_t other)
{
    return one < other ? one : other;
}

/* True if the words that describe an environment stand side by side from env_first on. */
static bool
indexes_good_p(struct attach_vm *vm)
{
    const int64_t indexes[] = {vm->env_flags_index, vm->env_previous_index, vm->env_method_index};

    vm->env_first = least(indexes[0], least(indexes[1], indexes[2]));
    for (size_t i = 0; i < sizeof(indexes) / sizeof(*indexes); i++) {
        if ((uint64_t)indexes[i] - (uint64_t)vm->env_first >= ATTACH_VM_ENVIRONMENT_WORDS)
            return false;
    }
    return true;
}

/* Checks the numbers that are used to divide or to shift. */
static bool
constants_good_p(const struct attach_vm *vm)
{
    return vm->symbol_unit > 0 && vm->symbol_entry_size > 0 && vm->frame_bytes > 0 &&
           vm->jit_chunk_bytes > 0 && vm->symbol_scope_shift < 64 &&
           vm->array_embed_shift < 64 && vm->imemo_shift < 64 && vm->hash_size_shift < 64 &&
           vm->special_shift < 64 && vm->env_words < 64 &&
           vm->float_value.size == sizeof(double);
}

/* Reads the descriptor of a process through a cache: it is a thousand small reads. A core needs no
 * cache, and its pages may be cut short. */
static struct attach_layout *
read_layout(struct attach_target *target, uint64_t descriptor, char *error)
{
    struct attach_pages *pages = target->runs ? malloc(sizeof(*pages)) : NULL;

    if (pages) attach_pages_begin(pages, target);
    struct attach_layout *layout =
        attach_layout_read(pages ? &pages->target : target, descriptor, error);
    free(pages);
    return layout;
}

/* The VM of an image. On failure error says what is missing. */
static bool
fill(struct attach_vm *vm, const struct attach_image *image, char *error)
{
    vm->layout = read_layout(vm->target, image->descriptor, error);
    if (!vm->layout ||
        !attach_layout_fill(vm->layout, wants, sizeof(wants) / sizeof(*wants), vm, error))
        return false;
#define FIND(member, name) attach_layout_field(vm->layout, name, &vm->member);
    ATTACH_VM_OPTIONAL(FIND)
#undef FIND
    if (!constants_good_p(vm) || !indexes_good_p(vm)) {
        attach_target_say(vm->target, error, "what it says of its structures cannot be");
        return false;
    }
    return true;
}

/* A libruby that is only loaded has no VM. */
bool
attach_vm_find(struct attach_vm *vm)
{
    uint64_t at;

    if (!attach_global_read(vm->target, &vm->current_vm, &at)) at = 0;
    if (at != vm->at || !vm->objspace) {
        vm->at = at;
        if (!at || !attach_vm_get(vm, at, &vm->vm_objspace, &vm->objspace)) vm->objspace = 0;
    }
    return at != 0;
}

struct attach_vm *
attach_vm_open(struct attach_target *target, char error[ATTACH_TARGET_ERROR_MAX])
{
    struct attach_image images[ATTACH_IMAGES_MOST];
    size_t count = attach_image_find(target, images, error);
    struct attach_vm *vm = calloc(1, sizeof(*vm));

    if (!vm) attach_target_say(target, error, "no memory");
    for (size_t i = 0; vm && i < count; i++) {
        vm->target = target;
        if (fill(vm, &images[i], error)) {
            if (attach_vm_find(vm)) return vm;
            attach_target_say(target, error, "its Ruby has not started yet, or has ended");
        }
        attach_layout_free(vm->layout);
        *vm = (struct attach_vm){0};
    }
    attach_target_blame(target, error);
    free(vm);
    return NULL;
}

void
attach_vm_close(struct attach_vm *vm)
{
    if (!vm) return;
    attach_layout_free(vm->layout);
    free(vm);
}

uint64_t
attach_vm_objspace(struct attach_vm *vm)
{
    if (!vm->objspace) attach_vm_find(vm);
    return vm->objspace;
}

bool
attach_vm_generation(struct attach_vm *vm, struct attach_vm_generation *generation)
{
    uint64_t objspace = attach_vm_objspace(vm), compactions, compacting;

    if (!attach_global_read(vm->target, &vm->code_generation, &generation->freed) ||
        !attach_vm_get(vm, objspace, &vm->compactions, &compactions) ||
        !attach_vm_get(vm, objspace, &vm->compacting, &compacting)) return false;
    generation->moved = compactions * 2 + (compacting != 0);
    return true;
}
