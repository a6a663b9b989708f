#ifndef HEAPPROF_BARRIERS_FIELD_AT_H
#define HEAPPROF_BARRIERS_FIELD_AT_H
/* The name of a field by its offset in the data. The collector reports offsets, and the source
 * has names. */
#include "barriers/program.h"

/* Writes the name, as "part.elements[2]". For a union it names all members: "s.nth or c.nth".
 * Returns false if no VALUE is known at that offset. */
bool wb_field_at(const struct wb_data_type *type, int64_t offset, char *text, size_t size);

#endif
