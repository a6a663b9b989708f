#ifndef ATTACH_LABELS_H
#define ATTACH_LABELS_H
/* The name tag of an object in a heap profile: its class, or its type if Ruby code cannot see the
 * object.
 *
 *     "Array"   "#<Class < Object>"   "T_IMEMO(iseq)"   "T_ARRAY(hidden)"   "T_ICLASS"
 *
 * The rule is the contract "labels" (doc/descriptor.md), which gc/objects/label.c follows inside
 * the process. The names of types are those of the target's descriptor: its constants T_* and
 * imemo_*. */
#include "attach/names.h"
#include "attach/vm.h"

enum {
    ATTACH_LABEL_TYPES = 32,    /* numbers that T_MASK leaves */
    ATTACH_LABEL_IMEMOS = 16    /* numbers that IMEMO_MASK leaves */
};

struct attach_labels {
    int64_t contract;
    int64_t t_node;
    const char *types[ATTACH_LABEL_TYPES];   /* "T_ARRAY"; NULL if no type has that number */
    const char *imemos[ATTACH_LABEL_IMEMOS]; /* "imemo_iseq"; the same */
};

struct attach_label {
    uint64_t
        key; /* the class's address, or a small number for a type; 0: the object was never made */
    struct attach_text name;    /* empty if key is 0 */
};

/* Reads the names from the layout, which has to outlive the labels. Returns false if the target
 * does not tell them, or follows another rule; then error says which. */
bool attach_labels_fill(struct attach_labels *labels, const struct attach_layout *layout,
                        char error[ATTACH_TARGET_ERROR_MAX]);

/* Finds the label of an object. *label is zero before. Returns false if the object cannot be read,
 * or has a type without a name. */
bool attach_labels_find(const struct attach_labels *labels, struct attach_vm *vm, uint64_t object,
                        struct attach_label *label);

#endif
