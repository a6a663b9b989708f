/* elf.c - reads the headers of a loaded object, and opens its file. Every count is bounded, and a
 * number that is wrong leads to an address that cannot be read. */
#include "attach/elf.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>

enum { NOTES_MAX = 65536, DYNAMIC_MAX = 1024 };

/* The first of the mappings of a file without a gap. It has the file's headers. */
static const struct attach_mapping *
first_of(const struct attach_target *target, const struct attach_mapping *mapping)
{
    while (mapping > target->mappings && mapping[-1].path == mapping->path && mapping->offset != 0)
        mapping--;
    return mapping;
}

static void
read_notes(struct attach_target *target, struct attach_elf *elf, const Elf64_Phdr *part)
{
    unsigned char notes[NOTES_MAX];

    if (part->p_filesz > sizeof(notes)) return;
    if (!attach_target_read(target, elf->base + part->p_vaddr, notes, part->p_filesz)) return;
    rb_heapprof_elf_identity_add_notes(&elf->identity, notes, part->p_filesz, part->p_align);
}

/* The name under which a library is loaded, and which dladdr has inside. The file may have another
 * name, to which this one links. As a rule the dynamic linker has turned the place of the strings
 * into an address. */
static void
read_soname(struct attach_target *target, struct attach_elf *elf, const Elf64_Phdr *part)
{
    Elf64_Dyn entries[DYNAMIC_MAX];
    size_t count = part->p_filesz / sizeof(*entries);
    uint64_t strings = 0, name = 0;

    if (count > DYNAMIC_MAX) count = DYNAMIC_MAX;
    if (!attach_target_read(target, elf->base + part->p_vaddr, entries, count * sizeof(*entries)))
        return;
    for (size_t i = 0; i < count && entries[i].d_tag != DT_NULL; i++) {
        if (entries[i].d_tag == DT_STRTAB) strings = entries[i].d_un.d_ptr;
        if (entries[i].d_tag == DT_SONAME) name = entries[i].d_un.d_val;
    }
    if (!strings || !name) return;
    if (strings < elf->base) strings += elf->base;
    attach_target_read_string(target, strings + name, elf->soname, sizeof(elf->soname));
}

/* Sets where the object lies: from its lowest address to its highest. */
static void
find_span(struct attach_elf *elf)
{
    uint64_t lowest = UINT64_MAX, highest = 0;

    for (size_t i = 0; i < elf->part_count; i++) {
        const Elf64_Phdr *part = &elf->parts[i];
        if (part->p_type != PT_LOAD || part->p_memsz > UINT64_MAX - part->p_vaddr) continue;
        if (part->p_vaddr < lowest) lowest = part->p_vaddr;
        if (part->p_vaddr + part->p_memsz > highest) highest = part->p_vaddr + part->p_memsz;
    }
    elf->base = elf->start - (lowest & ~UINT64_C(4095));
    elf->end = elf->base + highest;
}

bool
attach_elf_read(struct attach_target *target, const struct attach_mapping *mapping,
                struct attach_elf *elf)
{
    const struct attach_mapping *first = first_of(target, mapping);
    Elf64_Ehdr header;

    elf->soname[0] = '\0';
    elf->start = first->start;
    if (first->offset != 0 || !attach_target_read(target, first->start, &header, sizeof(header)) ||
        memcmp(header.e_ident, ELFMAG, SELFMAG) || header.e_ident[EI_CLASS] != ELFCLASS64 ||
        header.e_phnum == 0 || header.e_phnum > ATTACH_ELF_PARTS_MOST ||
        header.e_phentsize != sizeof(*elf->parts) ||
        !attach_target_read(target, first->start + header.e_phoff, elf->parts,
                            header.e_phnum * sizeof(*elf->parts)))
        return false;
    elf->part_count = header.e_phnum;
    find_span(elf);
    rb_heapprof_elf_identity_init(&elf->identity, elf->parts,
                                  elf->part_count * sizeof(*elf->parts));
    for (size_t i = 0; i < elf->part_count; i++) {
        if (elf->parts[i].p_type == PT_NOTE) read_notes(target, elf, &elf->parts[i]);
        if (elf->parts[i].p_type == PT_DYNAMIC) read_soname(target, elf, &elf->parts[i]);
    }
    return true;
}

int
attach_elf_open_file(const struct attach_target *target, const char *path)
{
    enum { flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY };
    char name[4200];

    if (!target->runs) return open(path, flags);
    snprintf(name, sizeof(name), "/proc/%d/root%s", (int)target->pid, path);
    int fd = open(name, flags);
    if (fd >= 0) return fd;
    snprintf(name, sizeof(name), "/proc/%d/exe", (int)target->pid);
    return open(name, flags);
}

void
attach_elf_library(const char *path, char *library, size_t size)
{
    static const char deleted[] = " (deleted)";
    const char *slash = strrchr(path, '/');

    snprintf(library, size, "%s", slash ? slash + 1 : "?");
    size_t length = strlen(library), suffix = sizeof(deleted) - 1;
    if (length > suffix && !strcmp(library + length - suffix, deleted))
        library[length - suffix] = 0;
}
