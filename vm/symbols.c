/* symbols.c - from a code address to the name of its C function.
 *
 * dladdr knows which file the address is from, and only the functions that file exports; static
 * ones are in the file's own symbol table, if it has not been stripped. So that is read (ELF,
 * System V ABI), once for each file:
 *
 *     address --dladdr--> file, base     file --.symtab or .dynsym--> [start, size, name] ...
 *
 * A file that is not ELF, or away, leaves what dladdr says.
 */
#include "ruby/internal/config.h"
#include "symbols.h"
#include "base/mem.h"
#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

typedef ElfW(Ehdr) elf_header;
typedef ElfW(Shdr) elf_section;
typedef ElfW(Sym)  elf_symbol;

struct function {
    uintptr_t   start; /* as in the file */
    size_t      size;
    const char *name;  /* in the mapping */
};

struct file {
    struct file *next;
    const void  *base;   /* where it is loaded: its key */
    void        *mapping;
    size_t       mapping_size;
    struct function *functions;
    size_t       functions_capacity;
    size_t       count;
    unsigned     asked;     /* how often for a name; after MANY functions are sorted */
};

#define MANY 100

static struct file *files;

/* Not malloc, which would keep what a run needed, in pieces, to its end and beyond. */
static struct heapprof_mem mem = { .budget_bytes = SIZE_MAX };

static const elf_section *
symbol_section(const char *image, size_t size, const elf_header *header)
{
    const elf_section *sections = (const elf_section *)(image + header->e_shoff);
    const elf_section *found = NULL;

    if (header->e_shoff + (size_t)header->e_shnum * sizeof(*sections) > size) return NULL;
    for (int i = 0; i < header->e_shnum; i++) {
        if (sections[i].sh_type == SHT_SYMTAB) return &sections[i];
        if (sections[i].sh_type == SHT_DYNSYM) found = &sections[i];
    }
    return found;
}

/* Lets all[root] sink until those below it in the heap begin no later. */
static void
sift(struct function *all, size_t root, size_t count)
{
    struct function sinking = all[root];

    for (size_t child; (child = 2 * root + 1) < count; root = child) {
        if (child + 1 < count && all[child].start < all[child + 1].start) child++;
        if (all[child].start <= sinking.start) break;
        all[root] = all[child];
    }
    all[root] = sinking;
}

/* By address; in place, for qsort may ask malloc. */
static void
sort_functions(struct function *all, size_t count)
{
    for (size_t root = count / 2; root-- > 0; ) sift(all, root, count);
    while (count-- > 1) {
        struct function last = all[0];
        all[0] = all[count];
        all[count] = last;
        sift(all, 0, count);
    }
}

static void
read_functions(struct file *file)
{
    const char *image = file->mapping;
    const elf_header *header = file->mapping;
    size_t size = file->mapping_size;

    if (size < sizeof(*header) || memcmp(header->e_ident, ELFMAG, SELFMAG) != 0) return;
    const elf_section *symbols = symbol_section(image, size, header);
    if (!symbols || symbols->sh_offset + symbols->sh_size > size) return;
    const elf_section *strings = (const elf_section *)(image + header->e_shoff) + symbols->sh_link;
    if (symbols->sh_link >= header->e_shnum || strings->sh_offset + strings->sh_size > size) return;

    size_t count = symbols->sh_size / sizeof(elf_symbol);
    const elf_symbol *all = (const elf_symbol *)(image + symbols->sh_offset);
    if (!HEAPPROF_MEM_GROW(&mem, file->functions, file->functions_capacity, count)) return;
    for (size_t i = 0; i < count; i++) {
        if (ELF64_ST_TYPE(all[i].st_info) != STT_FUNC || all[i].st_shndx == SHN_UNDEF) continue;
        if (all[i].st_name >= strings->sh_size) continue;
        file->functions[file->count++] = (struct function){
            all[i].st_value, all[i].st_size, image + strings->sh_offset + all[i].st_name
        };
    }
}

static void
map_file(struct file *file, const char *path)
{
    struct stat stat;
    int fd = open(path, O_RDONLY | O_CLOEXEC);

    if (fd < 0) return;
    if (fstat(fd, &stat) == 0 && stat.st_size > 0) {
        void *mapping = mmap(NULL, (size_t)stat.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
        if (mapping != MAP_FAILED) {
            file->mapping = mapping;
            file->mapping_size = (size_t)stat.st_size;
        }
    }
    close(fd);
}

static struct file *
file_of(const Dl_info *info)
{
    for (struct file *file = files; file; file = file->next) {
        if (file->base == info->dli_fbase) return file;
    }
    struct file *file = calloc(1, sizeof(*file));
    if (!file) return NULL;
    file->base = info->dli_fbase;
    file->next = files;
    files = file;
    /* The program's own name may be relative. */
    map_file(file, strchr(info->dli_fname, '/') ? info->dli_fname : "/proc/self/exe");
    if (file->mapping) read_functions(file);
    return file;
}

static bool
holds_p(const struct function *function, uintptr_t address)
{
    return address - function->start < function->size;
}

static const char *
search_one_by_one(const struct file *file, uintptr_t address)
{
    for (size_t i = 0; i < file->count; i++) {
        if (holds_p(&file->functions[i], address)) return file->functions[i].name;
    }
    return NULL;
}

/* The last function that begins at or before the address, if it reaches so far. */
static const char *
search_sorted(const struct file *file, uintptr_t address)
{
    size_t low = 0, high = file->count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (file->functions[middle].start <= address) low = middle + 1;
        else high = middle;
    }
    if (low == 0 || !holds_p(&file->functions[low - 1], address)) return NULL;
    return file->functions[low - 1].name;
}

/* Most programs ask for a few dozen names; to sort all functions for those is not worth it. */
static const char *
function_at(struct file *file, uintptr_t address)
{
    if (file->asked < MANY) {
        file->asked++;
        return search_one_by_one(file, address);
    }
    if (file->asked == MANY) {
        sort_functions(file->functions, file->count);
        file->asked++;
    }
    return search_sorted(file, address);
}

/* What to add to an address of the file. An executable at a fixed address has its addresses as
 * they are. */
static uintptr_t
bias(const struct file *file)
{
    const elf_header *header = file->mapping;
    return header->e_type == ET_EXEC ? 0 : (uintptr_t)file->base;
}

void
rb_heapprof_symbol(uintptr_t address, char *function, size_t function_size,
                   char *library, size_t library_size)
{
    const char *name = NULL;
    Dl_info info;

    function[0] = library[0] = '\0';
    address--; /* of the call, which may be the function's last instruction */
    if (!dladdr((void *)address, &info) || !info.dli_fname) return;

    struct file *file = file_of(&info);
    if (file && file->count) name = function_at(file, address - bias(file));
    if (!name) name = info.dli_sname;
    if (name) snprintf(function, function_size, "%s", name);

    const char *slash = strrchr(info.dli_fname, '/');
    snprintf(library, library_size, "%s", slash ? slash + 1 : info.dli_fname);
}

void
rb_heapprof_symbols_each(uintptr_t address,
                         void (*function)(const char *name, uintptr_t start, size_t size))
{
    Dl_info info;

    if (!dladdr((void *)address, &info) || !info.dli_fname) return;
    const struct file *file = file_of(&info);
    for (size_t i = 0; file && i < file->count; i++) {
        const struct function *found = &file->functions[i];
        function(found->name, found->start + bias(file), found->size);
    }
}

void
rb_heapprof_symbols_free(void)
{
    while (files) {
        struct file *file = files;
        files = file->next;
        if (file->mapping) munmap(file->mapping, file->mapping_size);
        HEAPPROF_MEM_RELEASE(&mem, file->functions, file->functions_capacity);
        free(file);
    }
}
