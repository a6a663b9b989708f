/* plugin.c - a library that the extension ../memcheck loads, and that loses memory. It is stripped:
 * only what it exports has a name. */
#include <stdlib.h>
#include <string.h>

static void *volatile forgotten;

static inline void
forget_block(size_t bytes)
{
    char *memory = malloc(bytes);

    if (memory) memset(memory, 'x', bytes);
    forgotten = memory;
    forgotten = NULL;
}

__attribute__((visibility("default"))) void
memcheck_plugin_lose(size_t bytes)
{
    forget_block(bytes);
}

__attribute__((noinline)) static void
nameless(size_t bytes)
{
    forget_block(bytes);
    forgotten = NULL; /* or the call of malloc's caller would be the last instruction */
}

__attribute__((visibility("default"))) void
memcheck_plugin_lose_inside(size_t bytes)
{
    nameless(bytes);
    forgotten = NULL; /* as above */
}

/* As MRI calls functions. */
__attribute__((visibility("default"))) void *
memcheck_plugin_lose_for_mri(void *bytes)
{
    nameless((size_t)bytes);
    return NULL;
}

__attribute__((visibility("default"))) void
Init_heapprof_memcheck_plugin(void)
{
}
