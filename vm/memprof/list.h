#ifndef HEAPPROF_VM_LIST_H
#define HEAPPROF_VM_LIST_H
/* A list of objects, which Ruby may see or not. It marks them, and so pins them. */
#include "ruby/ruby.h"
#include <stdbool.h>
#include <stddef.h>

struct heapprof_list {
    VALUE *objects;
    size_t count, capacity;
    bool refused; /* memory was */
};

/* An empty list, which is there as long as the object that is returned; Ruby does not see that. May raise NoMemoryError. */
VALUE rb_heapprof_list_new(struct heapprof_list **list);

/* Adds one. No Ruby allocation, no raise. */
void rb_heapprof_list_push(struct heapprof_list *list, VALUE object);

/* Raises NoMemoryError if one could not be added. */
void rb_heapprof_list_check(const struct heapprof_list *list);

#endif
