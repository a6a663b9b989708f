#ifndef HEAPPROF_VM_LIST_H
#define HEAPPROF_VM_LIST_H
#include "ruby/ruby.h"
#include <stdbool.h>
#include <stddef.h>

/* A list of objects, also of those that Ruby code cannot see. It marks them, and so pins them. */
struct heapprof_list {
    VALUE *objects;
    size_t count, capacity;
    bool refused; /* memory was refused */
};

/* Makes an empty list. It lives as long as the returned object, which Ruby code cannot see.
 * Raises NoMemoryError. */
VALUE rb_heapprof_list_new(struct heapprof_list **list);

/* Adds an object. Makes no Ruby object, and does not raise. */
void rb_heapprof_list_push(struct heapprof_list *list, VALUE object);

/* Raises NoMemoryError if an object could not be added. */
void rb_heapprof_list_check(const struct heapprof_list *list);

#endif
