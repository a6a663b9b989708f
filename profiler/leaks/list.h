#ifndef HEAPPROF_LEAK_LIST_H
#define HEAPPROF_LEAK_LIST_H
/* What extensions have lost, for HeapProfile.native_leaks: fields of text, each with a zero
 * byte behind it.
 *
 *     list   leak ... "end"
 *     leak   blocks, bytes, indirect blocks, indirect bytes, C function, library, number of
 *            frames, frame ...
 *     frame  "path:line:in 'label'", or as much of it as is known; the innermost first
 *
 * There is a leak for each site: for each Ruby stack, C function, and path of C functions to it. */
#include "profiler/leaks/lost.h"
#include "profiler/tables.h"

/* Returns the list in a block from malloc, with its length in *size; NULL if there is no
 * memory. lost is settled. core is the file that MRI's own functions are in: these are left
 * out. */
char *rb_heapprof_leak_list(const struct heapprof_tables *tables, const struct heapprof_lost *lost,
                            const char *core, size_t *size);

#endif
