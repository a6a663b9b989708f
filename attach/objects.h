#ifndef ATTACH_OBJECTS_H
#define ATTACH_OBJECTS_H
/* Ruby objects of another process: what kind one is, and the text of strings, symbols and class
 * names. All of it is read where it lies and may be anything: each function has bounds, and says false
 * where what it finds cannot be what it should. */
#include "attach/names.h"
#include "attach/vm.h"

/* The flags of the object at that address; false for what is no object: nil, numbers, 0. An object that compaction has moved is looked
 * for where it is now, and *object says that: those who refer to it are told later. */
bool attach_object_flags(struct attach_vm *vm, uint64_t *object, uint64_t *flags);

/* T_CLASS and so on: of the flags, a vm->constant. */
static inline uint64_t
attach_object_type(const struct attach_vm *vm, uint64_t flags)
{
    return flags & (uint64_t)vm->type_mask;
}

/* Appends a String's bytes, a symbol's name by its ID. */
bool attach_object_add_string(struct attach_vm *vm, uint64_t string, struct attach_text *text);
bool attach_object_add_symbol(struct attach_vm *vm, uint64_t id, struct attach_text *text);

/* Appends "Foo#" or "Foo." of a method's owner, and nothing where MRI's backtraces say nothing: of
 * classes without a permanent name. False: it is none of a class. */
bool attach_object_add_owner(struct attach_vm *vm, uint64_t owner, struct attach_text *text);

/* Of a class the first on the way up, itself included, that is neither a singleton nor an included module. *real 0: there
 * is none. False: it cannot be read. */
bool attach_object_real_class(struct attach_vm *vm, uint64_t klass, uint64_t *real);

/* Appends a class's name; of one without, "#<Class < Foo>" by the first ancestor that has one. */
bool attach_object_add_class(struct attach_vm *vm, uint64_t klass, struct attach_text *text);

/* The element of an Array. */
bool attach_object_element(struct attach_vm *vm, uint64_t array, uint64_t index, uint64_t *element);

#endif
