#ifndef HEAPPROF_ASIDE_H
#define HEAPPROF_ASIDE_H
/* Memory for code that usually has it from malloc, and also has to work where malloc's lock may be
 * held for ever: in a copy of the process that has one thread. There it comes from memory that
 * was set aside before. */
#include <stddef.h>

/* As malloc, realloc and free. */
void *rb_heapprof_aside_alloc(size_t bytes);
void *rb_heapprof_aside_realloc(void *block, size_t bytes);
void rb_heapprof_aside_free(void *block);

/* As calloc. */
void *rb_heapprof_aside_zeroed(size_t count, size_t bytes);

/* From here on blocks are cut from this memory, and none comes back; blocks from before are not
 * touched any more. Only in a process of one thread. */
void rb_heapprof_aside_begin(void *memory, size_t bytes);

#endif
