#ifndef HEAPPROF_GC_INTERPOSED_H
#define HEAPPROF_GC_INTERPOSED_H
/* The functions that stand for the C library's allocator while malloc=all: gc/interpose.c has
 * them, vm/interpose.c puts them in its place. */
#include <stddef.h>

typedef void heapprof_function(void); /* of any type */

struct heapprof_interposed {
    const char *name;
    heapprof_function *ours;
    heapprof_function *real; /* what the name means in this process; NULL: nothing. Written before
                                any call of ours, and never again */
};

/* Ends with a NULL name. The first is malloc. */
extern struct heapprof_interposed rb_heapprof_interposed[];

#endif
