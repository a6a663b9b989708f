#ifndef HEAPPROF_BARRIERS_HEADERS_H
#define HEAPPROF_BARRIERS_HEADERS_H
/* Where Ruby's headers are, for files that have no Makefile. */
#include "barriers/arena.h"

/* The flags by which they are found, as the ruby says that wb_ruby names. Ends with NULL. It has
 * none if there is no such ruby, or if its headers are not installed. */
const char **wb_ruby_flags(struct wb_arena *arena);

#endif
