#ifndef HEAPPROF_BARRIERS_ARENA_H
#define HEAPPROF_BARRIERS_ARENA_H
/* Memory for small things that live as long as the program: what was read of the sources, and what
 * follows from it. Nothing is freed. If the system refuses memory, the program ends with a line. */
#include <stddef.h>

struct wb_arena {
    char  *next;
    size_t left;   /* bytes behind next */
};

/* Zeroed memory of that size, aligned for any type. */
void *wb_arena_take(struct wb_arena *arena, size_t size);

/* A copy of a text, with a final NUL. */
const char *wb_arena_text(struct wb_arena *arena, const char *text, size_t length);

void wb_out_of_memory(void) __attribute__((noreturn));

/* Zeroed memory that this process shares with its forked children, until the process ends. */
void *wb_shared_memory(size_t bytes);

#define WB_NEW(arena, type) ((type *)wb_arena_take((arena), sizeof(type)))

#endif
