#ifndef HEAPPROF_LEAK_LIST_H
#define HEAPPROF_LEAK_LIST_H
/* What extensions have lost, for the Ruby code that asked (HeapProfile.native_leaks): fields of text, each with a zero byte behind it.
 *
 *     list   leak ... "end"
 *     leak   blocks, bytes, indirect blocks, indirect bytes, C function, library, number of frames, frame ...
 *     frame  "path:line:in 'label'", or what else there is, the innermost first
 *
 * A leak for each Ruby stack and C function. */
#include "profiler/leaks/lost.h"
#include "profiler/tables.h"

/* The list, in a block from malloc, its length in *size; NULL when there is no memory. core: the file that MRI's own functions are in,
 * which are left out. lost is settled. */
char *rb_heapprof_leak_list(const struct heapprof_tables *tables, const struct heapprof_lost *lost, const char *core, size_t *size);

#endif
