#ifndef HEAPPROF_BARRIERS_ARENA_H
#define HEAPPROF_BARRIERS_ARENA_H
/* Small things that live as long as the program does: what is read of the sources, and what is worked out of it. Nothing
 * is given back. Memory that the system refuses ends the program with a line. */
#include <stddef.h>

struct wb_arena {
    char  *next;
    size_t left;   /* bytes behind next */
};

/* Zeroed memory for a thing of that size, aligned for any. */
void *wb_arena_take(struct wb_arena *arena, size_t size);

/* A copy of a text, with a final NUL. */
const char *wb_arena_text(struct wb_arena *arena, const char *text, size_t length);

void wb_out_of_memory(void) __attribute__((noreturn));

/* Zeroed memory that children of fork share, to the end of the process. */
void *wb_shared_memory(size_t bytes);

#define WB_NEW(arena, type) ((type *)wb_arena_take((arena), sizeof(type)))

#endif
