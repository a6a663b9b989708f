/* plugin.c - a library that HeapProfMemcheck.lose_unloaded loads, has lose memory, and unloads. */
#include <stdlib.h>
#include <string.h>

static void *volatile forgotten;

__attribute__((visibility("default"))) void
memcheck_plugin_lose(size_t bytes)
{
    char *memory = malloc(bytes);

    if (memory) memset(memory, 'x', bytes);
    forgotten = memory;
    forgotten = NULL;
}

__attribute__((visibility("default"))) void
Init_heapprof_memcheck_plugin(void)
{
}
