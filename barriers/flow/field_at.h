#ifndef HEAPPROF_BARRIERS_FIELD_AT_H
#define HEAPPROF_BARRIERS_FIELD_AT_H
/* The name of a field of an object's data by its offset: what the source calls what the collector saw. */
#include "barriers/program.h"

/* "part.elements[2]"; of a union all that are there: "s.nth or c.nth". False: no VALUE is known to be there. */
bool wb_field_at(const struct wb_data_type *type, int64_t offset, char *text, size_t size);

#endif
