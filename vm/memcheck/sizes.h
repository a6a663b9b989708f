#ifndef HEAPPROF_VM_SIZES_H
#define HEAPPROF_VM_SIZES_H
/* sizes.h - types of extensions whose dsize says something else than their objects hold. */
#include "profiler/leaks/profile.h"

/* Looks at all objects. Calls dsize functions. core: the file that MRI's own functions are in.
 * Under the VM lock, all ractors stopped, as own work. */
void rb_heapprof_sizes_find(const char *core);

/* What it has found; *count of them. */
const struct heapprof_wrong_size *rb_heapprof_sizes_wrong(size_t *count);

#endif
