#ifndef HEAPPROF_ROOTS_H
#define HEAPPROF_ROOTS_H
/* The writable memory of this process in which pointers to used blocks may be. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum heapprof_memory_kind {
    HEAPPROF_MEMORY,       /* variables, and other mappings */
    HEAPPROF_MEMORY_STACK, /* the used part of a thread's stack, with its variables */
    HEAPPROF_MEMORY_HEAP   /* blocks of glibc's malloc, and its free memory */
};

struct heapprof_memory {
    uintptr_t begin, end;
    enum heapprof_memory_kind kind;
};

/* What the caller knows about stacks. */
struct heapprof_root_stacks {
    uintptr_t innermost;   /* an address on the caller's stack: the part further in is left out */
    size_t    ended_bytes; /* length of stacks that no thread uses, each behind a guard page; 0:
                              there are no such stacks */
    const uintptr_t *pointers; /* stack pointers of threads that run on another stack: from there
                                  on their own is in use */
    size_t    pointer_count;
};

/* Calls memory_i with each writable part: variables of the program and of libraries, stacks
 * from where they are in use, mappings of any code, heaps of glibc's. Leaves out stacks that
 * belong to no thread, and the places where glibc lists free chunks. Another allocator's memory
 * is told like any mapping. A caller that knows the blocks has to leave these out. fd: to read
 * memory through (peek.h).
 *
 * Returns false if the system does not tell. Asks malloc for a little. */
bool rb_heapprof_roots_read(int fd, const struct heapprof_root_stacks *stacks,
                            void (*memory_i)(const struct heapprof_memory *memory, void *data),
                            void *data);

/* Returns the second word of each freed block in glibc's caches, which glibc uses as a mark.
 * Returns 0 if malloc is not glibc's, or writes no mark. */
uintptr_t rb_heapprof_roots_freed_key(int fd);

#endif
