#ifndef HEAPPROF_LOADED_H
#define HEAPPROF_LOADED_H
/* With _GNU_SOURCE, and where HEAPPROF_CAN_INTERPOSE (interpose.h) is true. */
#include <link.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What is wanted of a loaded object. */
struct heapprof_loaded {
    const struct dl_phdr_info *info;
    const ElfW(Sym) *symbols;
    const char *strings;
    const ElfW(Rela) *relocations[2]; /* DT_RELA, DT_JMPREL */
    size_t relocation_bytes[2];
    uintptr_t relro_begin, relro_end; /* what the dynamic linker made read-only */
    bool libc;
    bool writable;                    /* it is not now */
};

/* Whether the function of that name is replaced: what it means in the process, and what stands
 * for it. */
typedef bool heapprof_replaced_p(const char *name, uintptr_t *real, uintptr_t *ours);

/* All of these in a callback of dl_iterate_phdr alone: what info tells is not kept. */

/* Finds the object's relocations. False: it has none. */
bool rb_heapprof_loaded_read(struct heapprof_loaded *object, const struct dl_phdr_info *info);

/* Whether the address is in a segment of the object with these rights (PF_R, PF_W, PF_X). */
bool rb_heapprof_loaded_holds_p(const struct dl_phdr_info *info, uintptr_t address, unsigned int rights);

/* Makes what the dynamic linker made read-only writable; false: the system forbids it. And
 * undoes that. */
bool rb_heapprof_loaded_open(struct heapprof_loaded *object);
void rb_heapprof_loaded_close(struct heapprof_loaded *object);

/* Fills each slot of a replaced function with ours; or, not ours_wanted, each that has ours
 * with the real one. */
void rb_heapprof_loaded_fill(struct heapprof_loaded *object, bool ours_wanted,
                             heapprof_replaced_p *replaced_p);

#endif
