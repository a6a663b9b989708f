#ifndef ATTACH_RENAME_H
#define ATTACH_RENAME_H
/* Names of what had none that lasts when it was first seen: a process asks for them anew before its own snapshot
 * (rb_heapprof_names_refresh); here they are read out of it, and entered into the copies. As with what waits
 * (settle.h), look reads, between two looks at the sequence words, and enter follows. */
#include "attach/pages.h"
#include "attach/vm.h"
#include "profiler/tables.h"

struct attach_renamed;

struct attach_renames {
    uint64_t *objects;          /* by identity: what is alive; 0: nothing is known */
    size_t    objects_capacity;
    struct attach_renamed *all;
    size_t    capacity, count;
    struct attach_pages pages; /* classes lie side by side, and each is read in many places */
};

/* Whether the object at that address is dead, though not swept yet. */
typedef bool attach_gone_i(void *data, uint64_t address);

/* What cannot be read keeps its name. False: no memory. The copies need not have been checked. */
bool attach_renames_look(struct attach_renames *renames, struct attach_vm *vm, struct heapprof_mem *mem,
                              const struct heapprof_tables *tables, attach_gone_i *gone_i, void *data);

/* Into copies that have been checked, and whose strings are in their index. False: no memory. */
bool attach_renames_enter(const struct attach_renames *renames, struct heapprof_tables *tables);

void attach_renames_free(struct attach_renames *renames, struct heapprof_mem *mem);

#endif
