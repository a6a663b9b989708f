#ifndef HEAPPROF_LOADED_H
#define HEAPPROF_LOADED_H
/* Needs _GNU_SOURCE, and HEAPPROF_CAN_INTERPOSE (interpose.h) to be true. */
#include <link.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What this room needs of a loaded object. */
struct heapprof_loaded {
    const struct dl_phdr_info *info;
    const ElfW(Sym) *symbols;
    const char *strings;
    const ElfW(Rela) *relocations[2]; /* DT_RELA, DT_JMPREL */
    size_t relocation_bytes[2];
    uintptr_t relro_begin, relro_end; /* the range that the dynamic linker made read-only */
    bool libc;
    bool writable;                    /* the linker's read-only part is writable at this moment */
};

/* Returns whether the function of that name is replaced. Gives its real address in the process,
 * and the address of ours. */
typedef bool heapprof_replaced_p(const char *name, uintptr_t *real, uintptr_t *ours);

/* Each function below is called only in a callback of dl_iterate_phdr, because info is not good
 * after it. */

/* Finds the object's relocations. Returns false if the object has no relocations. */
bool rb_heapprof_loaded_read(struct heapprof_loaded *object, const struct dl_phdr_info *info);

/* Returns whether the address is in a segment of the object with these rights (PF_R, PF_W,
 * PF_X). */
bool
rb_heapprof_loaded_holds_p(const struct dl_phdr_info *info, uintptr_t address, unsigned int rights);

/* open makes writable the range that the dynamic linker made read-only. Returns false if the
 * system forbids it. close undoes it. */
bool rb_heapprof_loaded_open(struct heapprof_loaded *object);
void rb_heapprof_loaded_close(struct heapprof_loaded *object);

/* Fills each slot of a replaced function with ours. Without ours_wanted, fills each slot that
 * has ours with the real function. */
void rb_heapprof_loaded_fill(struct heapprof_loaded *object, bool ours_wanted,
                             heapprof_replaced_p *replaced_p);

#endif
