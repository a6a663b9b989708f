#ifndef ATTACH_ELF_H
#define ATTACH_ELF_H
/* An ELF object that the target has loaded, as its memory has it, and its file. */
#include "attach/target.h"
#include "os/elf_symbols.h"

#include <elf.h>

enum { ATTACH_ELF_NAME_MAX = 256, ATTACH_ELF_PARTS_MOST = 128 };

struct attach_elf {
    uint64_t start;      /* where its headers are in memory */
    uint64_t base;       /* what is added to addresses of the file */
    uint64_t end;        /* one past its last byte in memory */
    struct heapprof_elf_identity identity;
    char     soname[ATTACH_ELF_NAME_MAX];   /* "": it has none */
    Elf64_Phdr parts[ATTACH_ELF_PARTS_MOST]; /* its program headers */
    size_t   part_count;
};

/* Reads the object of a mapping from the target's memory. Returns false if the mapping is not of an
 * ELF object, or if its headers cannot be read. */
bool attach_elf_read(struct attach_target *target, const struct attach_mapping *mapping,
                     struct attach_elf *elf);

/* Opens the file that has that name for the target. If that fails for a process, opens its
 * program's file, which works even after the name has gone. So the caller has to compare the file's
 * identity with that of the object. Returns a descriptor, or -1. Never waits. */
int attach_elf_open_file(const struct attach_target *target, const char *path);

/* Writes the last part of a path, without the kernel's note that the file has been deleted. */
void attach_elf_library(const char *path, char *library, size_t size);

#endif
