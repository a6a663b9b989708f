#ifndef ATTACH_OBJECTS_H
#define ATTACH_OBJECTS_H
/* Ruby objects of another process: their types, and the text of strings, symbols and class names.
 * The memory may hold anything. So each function has bounds, and returns false if what it finds
 * cannot be such an object. */
#include "attach/names.h"
#include "attach/vm.h"

/* Reads the flags of the object at that address. Returns false if it has none: nil, numbers, 0. If
 * compaction has moved the object, *object is set to the new address: the references to it may not
 * have been updated yet. */
bool attach_object_flags(struct attach_vm *vm, uint64_t *object, uint64_t *flags);

/* The type in an object's flags, to compare with vm->t_class and so on. */
static inline uint64_t
attach_object_type(const struct attach_vm *vm, uint64_t flags)
{
    return flags & (uint64_t)vm->type_mask;
}

/* Append the bytes of a String; the name of the symbol with that ID. */
bool attach_object_add_string(struct attach_vm *vm, uint64_t string, struct attach_text *text);
bool attach_object_add_symbol(struct attach_vm *vm, uint64_t id, struct attach_text *text);

/* Appends "Foo#" or "Foo." for a method's owner. Like MRI's backtraces, appends nothing for a class
 * without a permanent name. Returns false if owner is not a class. */
bool attach_object_add_owner(struct attach_vm *vm, uint64_t owner, struct attach_text *text);

/* Finds the first class on the way from klass to its ancestors, klass included, that is neither a
 * singleton class nor an included module. *real is 0 if there is none. Returns false if a class
 * cannot be read. */
bool attach_object_real_class(struct attach_vm *vm, uint64_t klass, uint64_t *real);

/* Appends the name of a class. A class without a name is "#<Class < Foo>", where Foo is its first
 * ancestor with a name. */
bool attach_object_add_class(struct attach_vm *vm, uint64_t klass, struct attach_text *text);

/* The size of a String is its bytes, that of an Array its elements, that of a Hash its pairs. Each
 * of these returns false for an object of another type, or if it cannot be read. */
bool attach_object_string_size(struct attach_vm *vm, uint64_t string, uint64_t *size);
bool attach_object_array_size(struct attach_vm *vm, uint64_t array, uint64_t *size);
bool attach_object_hash_size(struct attach_vm *vm, uint64_t hash, uint64_t *size);

/* Reads an element of an Array. */
bool attach_object_element(struct attach_vm *vm, uint64_t array, uint64_t index, uint64_t *element);

#endif
