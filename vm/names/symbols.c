/* symbols.c - from return addresses to the names of C functions.
 *
 * The dynamic linker knows where each object is loaded, and which functions it exports. Static
 * functions are only in the object's file (os/elf_symbols.h), if that has not been stripped:
 *
 *     addresses --dl_iterate_phdr--> object: base, path, build-id
 *                                       \--> file --build-id is the same--> functions
 *                                       \--> else what dladdr says
 *
 *   I1  nothing is remembered from one search to the next: objects are unloaded, others are
 *       loaded in their place, and files are replaced.
 *   I2  a file is believed only if it is of the build that is loaded.
 *   I3  the dynamic linker's lock is held while it is asked, never while a file is read. dladdr
 *       takes another of its locks, so it is not called inside dl_iterate_phdr. Both need the GVL
 *       (symbols.h).
 */
#include "ruby/internal/config.h"
#include "vm/names/symbols.h"
#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define BUDGET_BYTES (16 << 20) /* ruby's own names are half a megabyte */

/* ---- memory ---- */

static size_t bytes_in_all; /* atomic */

size_t
rb_heapprof_symbols_bytes(void)
{
    return __atomic_load_n(&bytes_in_all, __ATOMIC_RELAXED);
}

static void
account(struct heapprof_symbols *symbols)
{
    size_t bytes = symbols->mem.used_bytes;

    if (bytes == symbols->accounted_bytes) return;
    __atomic_add_fetch(&bytes_in_all, bytes - symbols->accounted_bytes, __ATOMIC_RELAXED);
    symbols->accounted_bytes = bytes;
}

/* The offset of the text. 0 if memory is refused, or the text is "". */
static size_t
keep_text(struct heapprof_symbols *symbols, const char *text)
{
    size_t at = symbols->texts_bytes ? symbols->texts_bytes : 1, bytes = strlen(text) + 1;

    if (bytes == 1) return 0;
    if (!HEAPPROF_MEM_GROW(&symbols->mem, symbols->texts, symbols->texts_capacity, at + bytes))
        return 0;
    memcpy(symbols->texts + at, text, bytes);
    symbols->texts_bytes = at + bytes;
    return at;
}

void
rb_heapprof_symbols_init(struct heapprof_symbols *symbols)
{
    *symbols = (struct heapprof_symbols){{0}};
    rb_heapprof_mem_init(&symbols->mem, BUDGET_BYTES);
}

void
rb_heapprof_symbols_free(struct heapprof_symbols *symbols)
{
    HEAPPROF_MEM_RELEASE(&symbols->mem, symbols->all, symbols->all_capacity);
    HEAPPROF_MEM_RELEASE(&symbols->mem, symbols->libraries, symbols->libraries_capacity);
    HEAPPROF_MEM_RELEASE(&symbols->mem, symbols->texts, symbols->texts_capacity);
    account(symbols);
    rb_heapprof_symbols_init(symbols);
}

/* ---- addresses ---- */

bool
rb_heapprof_symbols_add(struct heapprof_symbols *symbols, uintptr_t address)
{
    size_t count = symbols->count;

    if (!HEAPPROF_MEM_GROW(&symbols->mem, symbols->all, symbols->all_capacity, count + 1))
        return false;
    symbols->all[symbols->count++] = (struct heapprof_symbol){
        .address = address, .library = HEAPPROF_NO_LIBRARY
    };
    account(symbols);
    return true;
}

uintptr_t
rb_heapprof_symbols_address(const struct heapprof_symbols *symbols, size_t i)
{
    return symbols->all[i].address;
}

/* The address of the call. The call may be the function's last instruction, so the return address
 * may be in another. */
static uintptr_t
call_of(const struct heapprof_symbol *symbol)
{
    return symbol->address - 1;
}

static int
compare_symbols(const void *left, const void *right)
{
    const struct heapprof_symbol *a = left, *b = right;
    return (a->address > b->address) - (a->address < b->address);
}

/* The first symbol whose call is at `begin` or behind it. */
static size_t
first_from(const struct heapprof_symbols *symbols, uintptr_t begin)
{
    size_t low = 0, high = symbols->count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (call_of(&symbols->all[middle]) < begin) low = middle + 1;
        else high = middle;
    }
    return low;
}

/* The symbol i, or NULL if its call is not among the `size` bytes at `begin`. first_from has
 * begun with `begin`. */
static struct heapprof_symbol *
symbol_within(const struct heapprof_symbols *symbols, size_t i, uintptr_t begin, size_t bytes)
{
    if (i == symbols->count || call_of(&symbols->all[i]) - begin >= bytes) return NULL;
    return &symbols->all[i];
}

/* ---- what the dynamic linker tells ---- */

static bool
readable_p(const struct dl_phdr_info *info, const ElfW(Phdr) *part)
{
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
        if (segment->p_type == PT_LOAD && segment->p_flags & PF_R &&
            part->p_vaddr >= segment->p_vaddr &&
            part->p_vaddr - segment->p_vaddr <= segment->p_filesz &&
            part->p_filesz <= segment->p_filesz - (part->p_vaddr - segment->p_vaddr))
            return true;
    }
    return false;
}

static void
identify(struct heapprof_elf_identity *identity, const struct dl_phdr_info *info)
{
    rb_heapprof_elf_identity_init(identity, info->dlpi_phdr,
                                  info->dlpi_phnum * sizeof(*info->dlpi_phdr));
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
        if (segment->p_type != PT_NOTE || !readable_p(info, segment)) continue;
        rb_heapprof_elf_identity_add_notes(identity,
                                           (const void *)(info->dlpi_addr + segment->p_vaddr),
                                           segment->p_filesz, segment->p_align);
    }
}

/* Enters the object as a library. HEAPPROF_NO_LIBRARY if memory is refused. */
static size_t
add_library(struct heapprof_symbols *symbols, const struct dl_phdr_info *info, bool program)
{
    size_t at = symbols->library_count;

    if (!HEAPPROF_MEM_GROW(&symbols->mem, symbols->libraries, symbols->libraries_capacity,
                           at + 1)) {
        return HEAPPROF_NO_LIBRARY;
    }
    symbols->libraries[at] = (struct heapprof_library){
        .base = info->dlpi_addr,
        .path = keep_text(symbols, program ? HEAPPROF_PROGRAM_FILE : info->dlpi_name),
        .program = program,
    };
    identify(&symbols->libraries[at].identity, info);
    symbols->library_count++;
    return at;
}

/* dl_iterate_phdr begins with the program. */
static int
find_i(struct dl_phdr_info *info, size_t size, void *data)
{
    struct heapprof_symbols *symbols = data;
    bool program = symbols->visited++ == 0;
    size_t library = HEAPPROF_NO_LIBRARY;
    struct heapprof_symbol *symbol;

    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
        uintptr_t begin = info->dlpi_addr + segment->p_vaddr;
        if (segment->p_type != PT_LOAD || !(segment->p_flags & (symbols->variables ? PF_W : PF_X)))
            continue;
        size_t at = first_from(symbols, begin);
        for (; (symbol = symbol_within(symbols, at, begin, segment->p_memsz)) != NULL; at++) {
            if (library == HEAPPROF_NO_LIBRARY) library = add_library(symbols, info, program);
            symbol->library = library;
        }
    }
    return 0;
}

void
rb_heapprof_symbols_locate(struct heapprof_symbols *symbols)
{
    qsort(symbols->all, symbols->count, sizeof(*symbols->all), compare_symbols);
    symbols->visited = 0;
    dl_iterate_phdr(find_i, symbols);
}

/* ---- what the files tell ---- */

/* Opens the library's file if it is of the loaded build; else returns -1. O_NONBLOCK: a pipe may
 * have taken its place, and opening that would wait. */
static int
open_file(struct heapprof_symbols *symbols, const struct heapprof_library *library,
          struct heapprof_elf *elf)
{
    int fd = open(symbols->texts + library->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);

    if (fd < 0) return -1;
    if (rb_heapprof_elf_open(elf, &symbols->mem, fd)) {
        account(symbols);
        elf->variables = symbols->variables;
        if (rb_heapprof_elf_same_p(&elf->identity, &library->identity)) return fd;
        rb_heapprof_elf_close(elf);
    }
    close(fd);
    return -1;
}

static void
close_file(struct heapprof_symbols *symbols, struct heapprof_elf *elf, int fd)
{
    rb_heapprof_elf_close(elf);
    account(symbols);
    close(fd);
}

/* A filter of where calls are: a bit for each UNIT_BYTES of addresses; several such units share a
 * bit. Most functions of a file have no bit set. */
enum { UNIT_BYTES = 4096, UNITS = 4096, WORD_BITS = 64 };

struct symbol_reading {
    struct heapprof_symbols *symbols;
    struct heapprof_elf *elf;
    size_t library;
    uintptr_t base;
    uint64_t units[UNITS / WORD_BITS];
};

static void
mark_units(struct symbol_reading *reading)
{
    const struct heapprof_symbols *symbols = reading->symbols;

    for (size_t i = 0; i < symbols->count; i++) {
        uintptr_t unit = call_of(&symbols->all[i]) / UNIT_BYTES % UNITS;
        if (symbols->all[i].library != reading->library) continue;
        reading->units[unit / WORD_BITS] |= UINT64_C(1) << unit % WORD_BITS;
    }
}

/* A damaged file may claim any size. */
static bool
maybe_called_p(const struct symbol_reading *reading, uintptr_t begin, size_t bytes)
{
    uintptr_t unit = begin / UNIT_BYTES;

    if (bytes >= UNITS * (size_t)UNIT_BYTES) return true;
    for (size_t left = (begin % UNIT_BYTES + bytes) / UNIT_BYTES + 1; left > 0; left--, unit++) {
        if (reading->units[unit % UNITS / WORD_BITS] >> unit % WORD_BITS & 1) return true;
    }
    return false;
}

/* If functions overlap, the first one has the address. */
static bool
name_i(const struct heapprof_elf_function *function, void *data)
{
    const struct symbol_reading *reading = data;
    struct heapprof_symbols *symbols = reading->symbols;
    uintptr_t begin = reading->base + function->start;
    size_t name = 0;
    char text[1024]; /* of C++, a name may be long */
    struct heapprof_symbol *symbol;

    if (!maybe_called_p(reading, begin, function->size_bytes)) return true;
    for (size_t i = first_from(symbols, begin);
         (symbol = symbol_within(symbols, i, begin, function->size_bytes)) != NULL; i++) {
        if (symbol->library != reading->library || symbol->function) continue;
        if (!name) {
            if (!rb_heapprof_elf_name(reading->elf, function->name, text, sizeof(text)))
                return true;
            name = keep_text(symbols, text);
        }
        symbol->function = name;
    }
    return true;
}

static void
name_from_file(struct heapprof_symbols *symbols, size_t library)
{
    struct heapprof_elf elf;
    struct symbol_reading reading = { .symbols = symbols,
                                      .elf = &elf,
                                      .library = library,
                                      .base = symbols->libraries[library].base };
    int fd = symbols->libraries[library].path
                 ? open_file(symbols, &symbols->libraries[library], &elf)
                 : -1;

    if (fd < 0) return;
    mark_units(&reading);
    rb_heapprof_elf_each(&elf, name_i, &reading);
    close_file(symbols, &elf, fd);
}

static void
name_from_memory(struct heapprof_symbols *symbols, struct heapprof_symbol *symbol)
{
    Dl_info info;

    if (!dladdr((void *)call_of(symbol), &info) || !info.dli_sname) return;
    symbol->function = keep_text(symbols, info.dli_sname);
}

void
rb_heapprof_symbols_read_files(struct heapprof_symbols *symbols)
{
    for (size_t library = 0; library < symbols->library_count; library++)
        name_from_file(symbols, library);
}

void
rb_heapprof_symbols_ask_exports(struct heapprof_symbols *symbols)
{
    for (size_t i = 0; i < symbols->count; i++) {
        if (!symbols->all[i].function) name_from_memory(symbols, &symbols->all[i]);
    }
    account(symbols);
}

/* ---- all functions ---- */

struct symbol_each {
    struct heapprof_elf *elf;
    uintptr_t base;
    void (*function)(const char *name, uintptr_t start, size_t size, void *data);
    void *data;
};

static bool
each_i(const struct heapprof_elf_function *function, void *data)
{
    const struct symbol_each *each = data;
    const char *name = rb_heapprof_elf_loaded_name(each->elf, function->name);

    each->function(name, each->base + function->start, function->size_bytes, each->data);
    return true;
}

static void
each_of(struct heapprof_symbols *symbols, const struct heapprof_library *library,
        struct symbol_each *each)
{
    struct heapprof_elf elf;
    int fd = open_file(symbols, library, &elf);

    if (fd < 0) return;
    each->elf = &elf;
    each->base = library->base;
    if (rb_heapprof_elf_load_names(&elf)) rb_heapprof_elf_each(&elf, each_i, each);
    close_file(symbols, &elf, fd);
}

void
rb_heapprof_symbols_each(uintptr_t address,
                         void (*function)(const char *name, uintptr_t start, size_t size,
                                          void *data),
                         void *data)
{
    struct symbol_each each = { .function = function, .data = data };
    struct heapprof_symbols symbols;

    rb_heapprof_symbols_init(&symbols);
    if (rb_heapprof_symbols_add(&symbols, address + 1)) rb_heapprof_symbols_locate(&symbols);
    if (symbols.library_count > 0 && symbols.libraries[0].path)
        each_of(&symbols, &symbols.libraries[0], &each);
    rb_heapprof_symbols_free(&symbols);
}
