/* loaded.c - fills again the slots by which a loaded ELF object calls functions of other objects.
 *
 * The dynamic linker fills them by the object's relocations. interpose.c says for which names
 * they are filled again, and why. The format is the System V ABI's, chapter 5 "Dynamic Linking",
 * and its supplements for x86-64 and AArch64.
 */
#ifndef _GNU_SOURCE
# define _GNU_SOURCE /* struct dl_phdr_info */
#endif
#include "os/interpose.h"

#if HEAPPROF_CAN_INTERPOSE

#include "os/loaded.h"
#include <sys/mman.h>
#include <unistd.h>

#ifdef __x86_64__
# define RELOCATION_CALL    R_X86_64_JUMP_SLOT
# define RELOCATION_ADDRESS R_X86_64_GLOB_DAT
# define RELOCATION_WORD    R_X86_64_64
#else
# define RELOCATION_CALL    R_AARCH64_JUMP_SLOT
# define RELOCATION_ADDRESS R_AARCH64_GLOB_DAT
# define RELOCATION_WORD    R_AARCH64_ABS64
#endif

/* glibc turns these values into addresses when it loads an object, unless the object's dynamic
 * section is read-only. */
static const void *
address_in(const struct dl_phdr_info *info, ElfW(Addr) value)
{
    return (const void *)(value < info->dlpi_addr ? info->dlpi_addr + value : value);
}

static void
read_dynamic(struct heapprof_loaded *object, const ElfW(Dyn) *dynamic)
{
    for (; dynamic->d_tag != DT_NULL; dynamic++) {
        const void *address = address_in(object->info, dynamic->d_un.d_ptr);
        switch (dynamic->d_tag) {
          case DT_SYMTAB:   object->symbols = address; break;
          case DT_STRTAB:   object->strings = address; break;
          case DT_RELA:     object->relocations[0] = address; break;
          case DT_RELASZ:   object->relocation_bytes[0] = dynamic->d_un.d_val; break;
          case DT_JMPREL:   object->relocations[1] = address; break;
          case DT_PLTRELSZ: object->relocation_bytes[1] = dynamic->d_un.d_val; break;
        }
    }
}

bool
rb_heapprof_loaded_read(struct heapprof_loaded *object, const struct dl_phdr_info *info)
{
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);

    *object = (struct heapprof_loaded){ .info = info };
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
        uintptr_t begin = info->dlpi_addr + segment->p_vaddr;
        if (segment->p_type == PT_DYNAMIC) read_dynamic(object, (const ElfW(Dyn) *)begin);
        if (segment->p_type == PT_GNU_RELRO) { /* rounded as _dl_protect_relro does */
            object->relro_begin = begin & ~(page - 1);
            object->relro_end = (begin + segment->p_memsz) & ~(page - 1);
        }
    }
    return object->symbols && object->strings;
}

bool
rb_heapprof_loaded_holds_p(const struct dl_phdr_info *info, uintptr_t address, unsigned int rights)
{
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
        uintptr_t begin = info->dlpi_addr + segment->p_vaddr;
        if (segment->p_type == PT_LOAD && (segment->p_flags & rights) == rights &&
            address >= begin && address - begin < segment->p_memsz) return true;
    }
    return false;
}

/* Returns whether the slot is not bound yet: then it leads back into the object's PLT. If the
 * object defines the name itself, the slot may be bound to that definition. But libc's slots
 * are bound like those of any object. */
static bool
unbound_p(const struct heapprof_loaded *object, const ElfW(Rela) *relocation, uintptr_t value)
{
    const ElfW(Sym) *symbol = &object->symbols[ELF64_R_SYM(relocation->r_info)];

    return ELF64_R_TYPE(relocation->r_info) == RELOCATION_CALL &&
           (symbol->st_shndx == SHN_UNDEF || object->libc) &&
           rb_heapprof_loaded_holds_p(object->info, value, PF_X);
}

bool
rb_heapprof_loaded_open(struct heapprof_loaded *object)
{
    if (!object->writable) {
        object->writable =
            mprotect((void *)object->relro_begin, object->relro_end - object->relro_begin,
                     PROT_READ | PROT_WRITE) == 0;
    }
    return object->writable;
}

void
rb_heapprof_loaded_close(struct heapprof_loaded *object)
{
    if (!object->writable) return;
    mprotect((void *)object->relro_begin, object->relro_end - object->relro_begin, PROT_READ);
    object->writable = false;
}

static void
slot_write(struct heapprof_loaded *object, uintptr_t *slot, uintptr_t from, uintptr_t to)
{
    uintptr_t address = (uintptr_t)slot;
    bool read_only = address >= object->relro_begin && address < object->relro_end;

    if (read_only && !rb_heapprof_loaded_open(object)) return;
    /* The program may be writing there, too. */
    __atomic_compare_exchange_n(slot, &from, to, false, __ATOMIC_RELEASE, __ATOMIC_RELAXED);
}

static bool
relocation_of_function_p(const ElfW(Rela) *relocation)
{
    switch (ELF64_R_TYPE(relocation->r_info)) {
      case RELOCATION_CALL:
      case RELOCATION_ADDRESS:
        return true;
      case RELOCATION_WORD:
        return relocation->r_addend == 0;
      default:
        return false;
    }
}

static void
slot_fill(struct heapprof_loaded *object, const ElfW(Rela) *relocation, bool ours_wanted,
          heapprof_replaced_p *replaced_p)
{
    uintptr_t *slot = (uintptr_t *)(object->info->dlpi_addr + relocation->r_offset);
    const ElfW(Sym) *symbol = &object->symbols[ELF64_R_SYM(relocation->r_info)];
    uintptr_t real, ours;

    if ((uintptr_t)slot % sizeof(*slot) != 0) return;
    if (!rb_heapprof_loaded_holds_p(object->info, (uintptr_t)slot, PF_W)) return;
    if (!replaced_p(object->strings + symbol->st_name, &real, &ours)) return;

    uintptr_t value = *slot;
    if (!ours_wanted) {
        if (value == ours) slot_write(object, slot, value, real);
    }
    else if (value == real || unbound_p(object, relocation, value)) {
        slot_write(object, slot, value, ours);
    }
}

void
rb_heapprof_loaded_fill(struct heapprof_loaded *object, bool ours_wanted,
                        heapprof_replaced_p *replaced_p)
{
    for (int table = 0; table < 2; table++) {
        const ElfW(Rela) *relocation = object->relocations[table];
        const ElfW(Rela) *end = relocation + object->relocation_bytes[table] / sizeof(*relocation);
        for (; relocation < end; relocation++) {
            if (relocation_of_function_p(relocation))
                slot_fill(object, relocation, ours_wanted, replaced_p);
        }
    }
    rb_heapprof_loaded_close(object);
}

#endif
