/* callers.c - turns return addresses into C functions, as vm/names/symbols.c does inside.
 *
 *     address --mappings--> file, where it begins in memory --/proc/PID/root--> the file, if it is of the same build
 *                                                                                 \--> functions
 *
 * A file that was replaced, deleted or stripped names no function: then only the library is known.
 * Opening the file never waits, and os/elf_symbols.c has the bounds for reading any file.
 */
#include "attach/callers.h"

#include <elf.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "os/elf_symbols.h"

enum { NAME_MAX_BYTES = 256, HEADERS_MAX = 128, NOTES_MAX = 65536, DYNAMIC_MAX = 1024 };

/* A return address without a name, and what was found. */
struct callers_call {
    uint64_t address;    /* of the call: the instruction before */
    uint32_t identity;
    char     function[NAME_MAX_BYTES];
};

struct callers_naming {
    struct heapprof_tables *tables;
    struct attach_target *target;
    struct heapprof_mem *mem;
    struct callers_call *calls;  /* by address */
    size_t capacity, count;
};

/* An object that is loaded. */
struct callers_object {
    const struct attach_mapping *first;
    uint64_t base;       /* what is added to addresses of the file */
    struct heapprof_elf_identity identity;
    char     soname[NAME_MAX_BYTES]; /* "": none */
};

/* ---- which ---- */

static int
compare_calls(const void *left, const void *right)
{
    const struct callers_call *a = left, *b = right;
    return (a->address > b->address) - (a->address < b->address);
}

/* Returns false without memory. */
static bool
collect(struct callers_naming *naming)
{
    const struct heapprof_identities *identities = &naming->tables->identities;
    const struct heapprof_address_table *table = &identities->addresses;

    for (uint32_t entry = 1; entry < table->numbers.end; entry++) {
        uintptr_t key = rb_heapprof_address_table_address(table, entry);
        uint32_t id = identities->ids[entry];
        if (!rb_heapprof_callers_key_p(key) || id == 0 || id >= identities->numbers.end) continue;
        if (!identities->all[id].used || identities->all[id].name != HEAPPROF_UNNAMED) continue;
        if (!HEAPPROF_MEM_GROW(naming->mem, naming->calls, naming->capacity, naming->count + 1))
            return false;
        naming->calls[naming->count++] =
            (struct callers_call){.address = rb_heapprof_callers_of_key(key) - 1, .identity = id};
    }
    if (naming->count) qsort(naming->calls, naming->count, sizeof(*naming->calls), compare_calls);
    return true;
}

/* ---- what is loaded ---- */

/* The first of the mappings of a file without a gap. It has the file's headers. */
static const struct attach_mapping *
first_of(const struct attach_target *target, const struct attach_mapping *mapping)
{
    while (mapping > target->mappings && mapping[-1].path == mapping->path && mapping->offset != 0)
        mapping--;
    return mapping;
}

static void
read_notes(struct callers_naming *naming, struct callers_object *object, const Elf64_Phdr *part)
{
    unsigned char notes[NOTES_MAX];

    if (part->p_filesz > sizeof(notes)) return;
    if (!attach_target_read(naming->target, object->base + part->p_vaddr, notes, part->p_filesz))
        return;
    rb_heapprof_elf_identity_add_notes(&object->identity, notes, part->p_filesz, part->p_align);
}

/* The name under which a library is loaded, and which dladdr has inside. The file may have another
 * name, to which this one links. As a rule the dynamic linker has turned the place of the strings
 * into an address. */
static void
read_soname(struct callers_naming *naming, struct callers_object *object, const Elf64_Phdr *part)
{
    Elf64_Dyn entries[DYNAMIC_MAX];
    size_t count = part->p_filesz / sizeof(*entries);
    uint64_t strings = 0, name = 0;

    if (count > DYNAMIC_MAX) count = DYNAMIC_MAX;
    if (!attach_target_read(naming->target, object->base + part->p_vaddr, entries,
                            count * sizeof(*entries)))
        return;
    for (size_t i = 0; i < count && entries[i].d_tag != DT_NULL; i++) {
        if (entries[i].d_tag == DT_STRTAB) strings = entries[i].d_un.d_ptr;
        if (entries[i].d_tag == DT_SONAME) name = entries[i].d_un.d_val;
    }
    if (!strings || !name) return;
    if (strings < object->base) strings += object->base;
    attach_target_read_string(naming->target, strings + name, object->soname,
                              sizeof(object->soname));
}

/* Returns false if it is not an ELF object. */
static bool
read_object(struct callers_naming *naming, const struct attach_mapping *mapping,
            struct callers_object *object)
{
    Elf64_Ehdr header;
    Elf64_Phdr parts[HEADERS_MAX];
    uint64_t lowest = UINT64_MAX;

    object->soname[0] = '\0';
    object->first = first_of(naming->target, mapping);
    if (object->first->offset != 0 ||
        !attach_target_read(naming->target, object->first->start, &header, sizeof(header)) ||
        memcmp(header.e_ident, ELFMAG, SELFMAG) || header.e_ident[EI_CLASS] != ELFCLASS64 ||
        header.e_phnum == 0 || header.e_phnum > HEADERS_MAX ||
        header.e_phentsize != sizeof(*parts) ||
        !attach_target_read(naming->target, object->first->start + header.e_phoff, parts,
                            header.e_phnum * sizeof(*parts)))
        return false;
    for (int i = 0; i < header.e_phnum; i++) {
        if (parts[i].p_type == PT_LOAD && parts[i].p_vaddr < lowest) lowest = parts[i].p_vaddr;
    }
    object->base = object->first->start - (lowest & ~UINT64_C(4095));
    rb_heapprof_elf_identity_init(&object->identity, parts, header.e_phnum * sizeof(*parts));
    for (int i = 0; i < header.e_phnum; i++) {
        if (parts[i].p_type == PT_NOTE) read_notes(naming, object, &parts[i]);
        if (parts[i].p_type == PT_DYNAMIC) read_soname(naming, object, &parts[i]);
    }
    return true;
}

/* ---- what its file says ---- */

/* Opens the file that has that name for the target. If that fails for the program itself, opens
 * /proc/PID/exe, which works even after the name has gone. */
static int
open_named(const struct callers_naming *naming, const char *path)
{
    enum { flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY };
    char name[4200];

    if (!naming->target->runs) return open(path, flags);
    snprintf(name, sizeof(name), "/proc/%d/root%s", (int)naming->target->pid, path);
    int fd = open(name, flags);
    if (fd >= 0) return fd;
    snprintf(name, sizeof(name), "/proc/%d/exe", (int)naming->target->pid);
    return open(name, flags);
}

/* The file's functions, for the calls from first to end. */
struct finding {
    struct heapprof_elf *elf;
    struct callers_call *first, *end;
    uint64_t base;
};

static bool
name_i(const struct heapprof_elf_function *function, void *data)
{
    struct finding *finding = data;
    uint64_t begin = finding->base + function->start;
    size_t low = 0, high = (size_t)(finding->end - finding->first);

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (finding->first[middle].address < begin) low = middle + 1;
        else high = middle;
    }
    for (struct callers_call *call = finding->first + low;
         call < finding->end && call->address - begin < function->size_bytes; call++) {
        if (!call->function[0])
            rb_heapprof_elf_name(finding->elf, function->name, call->function,
                                 sizeof(call->function));
    }
    return true;
}

static void
read_file(struct callers_naming *naming, const struct callers_object *object, const char *path,
          struct callers_call *first, struct callers_call *end)
{
    struct heapprof_elf elf;
    struct finding finding = {.elf = &elf, .first = first, .end = end, .base = object->base};
    int fd = open_named(naming, path);

    if (fd >= 0 && rb_heapprof_elf_open(&elf, naming->mem, fd)) {
        if (rb_heapprof_elf_same_p(&elf.identity, &object->identity))
            rb_heapprof_elf_each(&elf, name_i, &finding);
        rb_heapprof_elf_close(&elf);
    }
    if (fd >= 0) close(fd);
}

/* ---- names ---- */

static void
enter(struct callers_naming *naming, const struct callers_call *call, const char *library)
{
    struct heapprof_strings *strings = &naming->tables->strings;
    struct heapprof_identity *identity = &naming->tables->identities.all[call->identity];
    char text[2 * NAME_MAX_BYTES + 8];

    snprintf(text, sizeof(text), "%s (%s)", call->function[0] ? call->function : "?", library);
    uint32_t number = rb_heapprof_strings_intern(strings, library, strlen(library));
    uint32_t name = rb_heapprof_strings_intern(strings, text, strlen(text));
    if (number == UINT32_MAX || name == UINT32_MAX) return;
    identity->library = number;
    identity->name = name;
}

/* The last part of a path, without the kernel's note that the file has been deleted. */
static void
library_of(const char *path, char *library, size_t size)
{
    static const char deleted[] = " (deleted)";
    const char *slash = strrchr(path, '/');

    snprintf(library, size, "%s", slash ? slash + 1 : "?");
    size_t length = strlen(library), suffix = sizeof(deleted) - 1;
    if (length > suffix && !strcmp(library + length - suffix, deleted))
        library[length - suffix] = 0;
}

/* Names the calls in the object of the first one. Returns the index behind them. */
static struct callers_call *
name_object(struct callers_naming *naming, struct callers_call *first)
{
    struct callers_call *end = first, *last = naming->calls + naming->count;
    const struct attach_mapping *mapping = attach_target_mapping(naming->target, first->address);
    const char *path = mapping ? attach_target_path(naming->target, mapping) : "";
    char library[NAME_MAX_BYTES];
    struct callers_object object;

    library_of(path, library, sizeof(library));
    do end++;
    while (mapping && end < last && end->address < mapping->end);
    if (path[0] == '/' && read_object(naming, mapping, &object)) {
        if (object.soname[0]) snprintf(library, sizeof(library), "%s", object.soname);
        read_file(naming, &object, path, first, end);
    }
    for (struct callers_call *call = first; call < end; call++) enter(naming, call, library);
    return end;
}

void
attach_callers_name_all(struct heapprof_tables *tables, struct attach_target *target,
                        struct heapprof_mem *mem)
{
    struct callers_naming naming = {.tables = tables, .target = target, .mem = mem};

    if (collect(&naming) && naming.count) {
        for (struct callers_call *call = naming.calls; call < naming.calls + naming.count; )
            call = name_object(&naming, call);
    }
    HEAPPROF_MEM_RELEASE(mem, naming.calls, naming.capacity);
}
