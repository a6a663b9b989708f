#ifndef ATTACH_CALLERS_H
#define ATTACH_CALLERS_H
/* Names for the C functions that call the allocator. Tables copied from another process have them
 * as return addresses. The names come from the symbols of the files that the target has loaded, if
 * the files are still of the build that it runs. */
#include "attach/target.h"
#include "profiler/tables.h"

/* Names the callers in copied tables that have no name yet: "function (library)", with "?" for an
 * unknown part. The identities and their addresses have been copied, and the strings are in their
 * index. Without memory some callers stay unnamed. */
void attach_callers_name_all(struct heapprof_tables *tables, struct attach_target *target,
                             struct heapprof_mem *mem);

#endif
