#ifndef ATTACH_RENAME_H
#define ATTACH_RENAME_H
/* Names for classes and methods that had no lasting name when they were first seen. A process looks
 * them up again before its own snapshot (rb_heapprof_names_refresh). A reader reads them out of the
 * process, and enters them into the copies. As in settle.h, look reads between two looks at the
 * sequence words, and enter follows later. */
#include "attach/pages.h"
#include "attach/vm.h"
#include "profiler/tables.h"

struct attach_renamed;

struct attach_renames {
    uint64_t *objects;          /* by identity: the live object; 0: unknown */
    size_t    objects_capacity;
    struct attach_renamed *all;
    size_t    capacity, count;
    struct attach_pages
        pages; /* a cache, because classes lie side by side and each is read in many places */
};

/* True if the object at that address is dead, although it has not been swept yet. */
typedef bool attach_gone_i(void *data, uint64_t address);

/* Reads the names. A class or method that cannot be read keeps its name. Returns false without
 * memory. The copies need not have been checked. */
bool
attach_renames_look(struct attach_renames *renames, struct attach_vm *vm, struct heapprof_mem *mem,
                    const struct heapprof_tables *tables, attach_gone_i *gone_i, void *data);

/* Enters the names into copies that have been checked, and whose strings are in their index.
 * Returns false without memory. */
bool attach_renames_enter(const struct attach_renames *renames, struct heapprof_tables *tables);

void attach_renames_free(struct attach_renames *renames, struct heapprof_mem *mem);

#endif
