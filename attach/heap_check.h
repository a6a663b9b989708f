#ifndef ATTACH_HEAP_CHECK_H
#define ATTACH_HEAP_CHECK_H
/* Whether tables that were copied from another process can be added up. Inside, their owner keeps them right; these are
 * somebody else's, and whoever adds up follows numbers without looking. */
#include "profiler/tables.h"

/* Every number leads to an entry that is there, every text into the text, every stack outwards to its end. NULL: it
 * is so; otherwise a few words that say what is not. */
const char *attach_heap_check(const struct heapprof_tables *tables);

#endif
