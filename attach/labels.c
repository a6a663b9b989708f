/* labels.c - what an object of the target is labelled with: a class, or a type. */
#include "attach/labels.h"

#include "attach/objects.h"

#define IMEMO_PREFIX "imemo_"

bool
attach_labels_fill(struct attach_labels *labels, const struct attach_layout *layout,
                   char error[ATTACH_TARGET_ERROR_MAX])
{
    static const struct attach_want wants[] = {
        ATTACH_WANT_CONTRACT(struct attach_labels, contract, "labels", 1),
        ATTACH_WANT_CONSTANT(struct attach_labels, t_node, "T_NODE"),
    };

    return attach_layout_fill(layout, wants, sizeof(wants) / sizeof(*wants), labels, error) &&
           attach_layout_names(layout, "T_", "T_MASK", labels->types, ATTACH_LABEL_TYPES, error) &&
           attach_layout_names(layout, IMEMO_PREFIX, NULL, labels->imemos, ATTACH_LABEL_IMEMOS,
                               error);
}

/* Labels by type, and by detail in parentheses unless it is NULL. The keys of types are smaller
 * than any address of an object. */
static bool
label_by_type(const struct attach_labels *labels, struct attach_vm *vm, uint64_t flags,
              const char *detail, struct attach_label *label)
{
    uint64_t type = attach_object_type(vm, flags);

    if (type >= ATTACH_LABEL_TYPES || !labels->types[type]) return false;
    label->key = 1 + type;
    if (type == (uint64_t)vm->t_imemo) {
        uint64_t kind = flags >> vm->imemo_shift & vm->imemo_mask;
        if (kind >= ATTACH_LABEL_IMEMOS || !labels->imemos[kind]) return false;
        label->key |= (kind + 1) << 8;
        detail = labels->imemos[kind] + sizeof(IMEMO_PREFIX) - 1;
    }
    attach_text_add_cstr(&label->name, labels->types[type]);
    if (!detail) return true;
    attach_text_add_cstr(&label->name, "(");
    attach_text_add_cstr(&label->name, detail);
    attach_text_add_cstr(&label->name, ")");
    return true;
}

bool
attach_labels_find(const struct attach_labels *labels, struct attach_vm *vm, uint64_t object,
                   struct attach_label *label)
{
    uint64_t flags, klass, real;

    if (!attach_object_flags(vm, &object, &flags)) return false;
    uint64_t type = attach_object_type(vm, flags);
    if (type == 0) return true; /* T_NONE: the slot had been taken, and was given up */
    if (type == (uint64_t)vm->t_imemo || type == (uint64_t)vm->t_iclass ||
        type == (uint64_t)labels->t_node) {
        return label_by_type(labels, vm, flags, NULL, label);
    }
    if (!attach_vm_get(vm, object, &vm->basic_class, &klass) ||
        !attach_object_real_class(vm, klass, &real)) return false;
    if (!real) return label_by_type(labels, vm, flags, "hidden", label);
    label->key = real;
    return attach_object_add_class(vm, real, &label->name);
}
