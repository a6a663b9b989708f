#ifndef ATTACH_CALLERS_H
#define ATTACH_CALLERS_H
/* Names for the C functions that ask the allocator, which tables copied from another process have as return
 * addresses: by the symbols of the files that the target has loaded, if they are still of the build that it runs. */
#include "attach/target.h"
#include "profiler/tables.h"

/* Names the callers without a name in copied tables, whose identities and their addresses are there, and whose strings
 * are in their index: "function (library)", with "?" for what is not known. Without memory some stay as they are. */
void attach_callers_name_all(struct heapprof_tables *tables, struct attach_target *target,
                                  struct heapprof_mem *mem);

#endif
