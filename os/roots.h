#ifndef HEAPPROF_ROOTS_H
#define HEAPPROF_ROOTS_H
/* The memory of this process that is no allocator's: where pointers to blocks may be that are
 * in use. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum heapprof_memory_kind {
    HEAPPROF_MEMORY,       /* variables, and mappings of anybody's */
    HEAPPROF_MEMORY_STACK, /* what is in use of a thread's stack, with its variables */
    HEAPPROF_MEMORY_HEAP   /* blocks of glibc's malloc, and what it has not given out */
};

struct heapprof_memory {
    uintptr_t begin, end;
    enum heapprof_memory_kind kind;
};

/* What is known of stacks. */
struct heapprof_root_stacks {
    uintptr_t innermost;   /* an address on the caller's: what lies further in is not told */
    size_t    ended_bytes; /* so long is each stack of a kind that nobody uses any more, which lies behind a page of guard; 0: none */
    const uintptr_t *pointers; /* on threads' own stacks, while these use others: from there on they are in use */
    size_t    pointer_count;
};

/* Calls memory_i with each writable part: variables of the program and of libraries, stacks
 * from where they are in use, mappings of anybody's, heaps of glibc's. Of a stack that belongs
 * to no thread any more nothing is told, nor where glibc lists free chunks. Another allocator's
 * memory is told as anybody's: who knows the blocks has to leave them out. fd: to read memory
 * through (peek.h).
 *
 * False: the system does not tell. Asks malloc for a little. */
bool rb_heapprof_roots_read(int fd, const struct heapprof_root_stacks *stacks,
                            void (*memory_i)(const struct heapprof_memory *memory, void *data), void *data);

/* The word that glibc writes behind the first of each block in its caches of freed ones; 0:
 * malloc is not glibc's, or has none. */
uintptr_t rb_heapprof_roots_freed_key(int fd);

#endif
