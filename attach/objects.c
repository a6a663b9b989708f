/* objects.c - strings, symbols and class names, by the layout that the target tells. */
#include "attach/objects.h"

enum { ANCESTORS_MAX = 1000 }; /* on the way to one that counts, or has a name */

/* Immediates have one of the lowest three bits; nil and false are below any page. */
static bool
object_p(uint64_t value)
{
    return value % 8 == 0 && value >= 4096;
}

bool
attach_object_flags(struct attach_vm *vm, uint64_t *object, uint64_t *flags)
{
    if (!object_p(*object) || !attach_vm_get(vm, *object, &vm->basic_flags, flags)) return false;
    if (attach_object_type(vm, *flags) != vm->t_moved) return true;
    return attach_vm_get(vm, *object, &vm->moved_to, object) && object_p(*object) &&
           attach_vm_get(vm, *object, &vm->basic_flags, flags);
}

static bool
typed(struct attach_vm *vm, uint64_t *object, uint64_t type, uint64_t *flags)
{
    return attach_object_flags(vm, object, flags) && attach_object_type(vm, *flags) == type;
}

bool
attach_object_add_string(struct attach_vm *vm, uint64_t string, struct attach_text *text)
{
    uint64_t flags, length, start;
    size_t room = sizeof(text->bytes) - text->length;

    if (!typed(vm, &string, vm->t_string, &flags)) return false;
    start = string + vm->string_embedded.offset;
    if (!attach_vm_get(vm, string, &vm->string_length, &length)) return false;
    if (flags & vm->string_heap_flag && !attach_vm_get(vm, string, &vm->string_heap, &start))
        return false;
    if (length > room) length = room;
    if (!attach_target_read(vm->target, start, text->bytes + text->length, length)) return false;
    text->length += length;
    return true;
}

/* Finds where the elements of an Array are, and how many there are. */
static bool
array_place(struct attach_vm *vm, uint64_t array, uint64_t *start, uint64_t *length)
{
    uint64_t flags;

    if (!typed(vm, &array, vm->t_array, &flags)) return false;
    *start = array + vm->array_embedded.offset;
    *length = (flags & vm->array_embed_mask) >> vm->array_embed_shift;
    return flags & vm->array_embed_flag || (attach_vm_get(vm, array, &vm->array_length, length) &&
                                            attach_vm_get(vm, array, &vm->array_heap, start));
}

bool
attach_object_element(struct attach_vm *vm, uint64_t array, uint64_t index, uint64_t *element)
{
    uint64_t length, start;

    return array_place(vm, array, &start, &length) && index < length &&
           attach_vm_word(vm, start + index * ATTACH_WORD, element);
}

bool
attach_object_array_size(struct attach_vm *vm, uint64_t array, uint64_t *size)
{
    uint64_t start;

    return array_place(vm, array, &start, size);
}

bool
attach_object_string_size(struct attach_vm *vm, uint64_t string, uint64_t *size)
{
    uint64_t flags;

    return typed(vm, &string, vm->t_string, &flags) &&
           attach_vm_get(vm, string, &vm->string_length, size);
}

/* Its table is behind it: a small one, whose size is in the flags, or an st_table. */
bool
attach_object_hash_size(struct attach_vm *vm, uint64_t hash, uint64_t *size)
{
    uint64_t flags;

    if (!typed(vm, &hash, vm->t_hash, &flags)) return false;
    if (flags & vm->hash_table_flag)
        return attach_vm_get(vm, hash + vm->hash_bytes, &vm->hash_table_entries, size);
    *size = (flags & vm->hash_size_mask) >> vm->hash_size_shift;
    return true;
}

/* get_id_serial_entry in symbol.c. */
bool
attach_object_add_symbol(struct attach_vm *vm, uint64_t id, struct attach_text *text)
{
    uint64_t serial = id > (uint64_t)vm->symbol_last_operator ? id >> vm->symbol_scope_shift : id;
    uint64_t last, ids, unit, string;

    return attach_vm_get(vm, vm->symbols.address, &vm->symbols_last, &last) && serial <= last &&
           attach_vm_get(vm, vm->symbols.address, &vm->symbols_ids, &ids) &&
           attach_object_element(vm, ids, serial / vm->symbol_unit, &unit) &&
           attach_object_element(vm, unit, serial % vm->symbol_unit * vm->symbol_entry_size,
                                 &string) &&
           attach_object_add_string(vm, string, text);
}

/* rb_gen_method_name in vm_backtrace.c. */
bool
attach_object_add_owner(struct attach_vm *vm, uint64_t owner, struct attach_text *text)
{
    const char *separator = "#";
    uint64_t flags, permanent, path;

    if (!attach_object_flags(vm, &owner, &flags)) return false;
    if (attach_object_type(vm, flags) == vm->t_class && flags & vm->singleton_flag) {
        if (!attach_vm_get(vm, owner + vm->class_ext.offset, &vm->class_attached, &owner))
            return false;
        if (!attach_object_flags(vm, &owner, &flags))
            return true; /* an immediate has a singleton: nil's */
        separator = ".";
    }
    uint64_t type = attach_object_type(vm, flags);
    if (type != vm->t_class && type != vm->t_module) return separator[0] == '.';

    uint64_t ext = owner + vm->class_ext.offset;
    if (!attach_vm_get(vm, ext, &vm->class_path, &path) ||
        !attach_vm_get(vm, ext, &vm->class_path_permanent, &permanent)) return false;
    if (!permanent || !object_p(path)) return true;
    if (!attach_object_add_string(vm, path, text)) return false;
    attach_text_add_cstr(text, separator);
    return true;
}

/* real_class in vm/names/names.c; *left steps may be made. */
static bool
real_class(struct attach_vm *vm, uint64_t klass, uint64_t *real, int *left)
{
    uint64_t flags;

    while ((*left)-- > 0) {
        *real = object_p(klass) ? klass : 0;
        if (!*real) return true;
        if (!attach_object_flags(vm, &klass, &flags)) return false;
        uint64_t type = attach_object_type(vm, flags);
        if (type != vm->t_iclass && !(type == vm->t_class && flags & vm->singleton_flag))
            return true;
        if (!attach_vm_get(vm, klass, &vm->class_super, &klass)) return false;
    }
    return false;
}

bool
attach_object_real_class(struct attach_vm *vm, uint64_t klass, uint64_t *real)
{
    int left = ANCESTORS_MAX;
    return real_class(vm, klass, real, &left);
}

/* *path 0: it has none. */
static bool
read_path(struct attach_vm *vm, uint64_t klass, uint64_t *path)
{
    if (!attach_vm_get(vm, klass + vm->class_ext.offset, &vm->class_path, path)) return false;
    if (!object_p(*path)) *path = 0;
    return true;
}

/* class_name in vm/names/names.c. */
bool
attach_object_add_class(struct attach_vm *vm, uint64_t klass, struct attach_text *text)
{
    uint64_t path, super;
    int left = ANCESTORS_MAX;

    if (!read_path(vm, klass, &path)) return false;
    if (path) return attach_object_add_string(vm, path, text);
    while (!path) {
        if (!attach_vm_get(vm, klass, &vm->class_super, &super) ||
            !real_class(vm, super, &klass, &left))
            return false;
        if (!klass) break;
        if (!read_path(vm, klass, &path)) return false;
    }
    attach_text_add_cstr(text, "#<Class");
    if (path) attach_text_add_cstr(text, " < ");
    if (path && !attach_object_add_string(vm, path, text)) return false;
    attach_text_add_cstr(text, ">");
    return true;
}
