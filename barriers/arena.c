/* arena.c - blocks of memory, handed out from front to back. */
#include "barriers/arena.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define BLOCK ((size_t)1 << 20)
#define ALIGNMENT 16

void
wb_out_of_memory(void)
{
    fputs("heapprof barriers: out of memory\n", stderr);
    exit(1);
}

void *
wb_shared_memory(size_t bytes)
{
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    if (memory == MAP_FAILED) wb_out_of_memory();
    return memory;
}

void *
wb_arena_take(struct wb_arena *arena, size_t size)
{
    void *taken;

    size = (size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    if (size > arena->left) {
        size_t block = size > BLOCK ? size : BLOCK;
        arena->next = calloc(1, block);
        if (!arena->next) wb_out_of_memory();
        arena->left = block;
    }
    taken = arena->next;
    arena->next += size;
    arena->left -= size;
    return taken;
}

const char *
wb_arena_text(struct wb_arena *arena, const char *text, size_t length)
{
    char *copy = wb_arena_take(arena, length + 1);

    memcpy(copy, text, length);
    return copy;
}
