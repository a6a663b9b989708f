/* symbol_names.c - how a C function and its file are called.
 *
 * The program itself has the name of its file, as the kernel knows it. Its argv[0], which the
 * dynamic linker has, becomes the title when the program sets one.
 */
#include "ruby/internal/config.h"
#include "vm/names/symbol_names.h"
#include <dlfcn.h>
#include <limits.h>
#include <link.h>
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

/* ---- the program ---- */

static char program_name[NAME_MAX + 1];

static const char *
base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

void
rb_heapprof_symbols_start(void)
{
    static const char deleted[] = " (deleted)"; /* as the kernel says */
    char path[PATH_MAX];
    ssize_t length = readlink(HEAPPROF_PROGRAM_FILE, path, sizeof(path) - 1);

    if (program_name[0]) return;
    if (length <= 0) {
        const char *executed = (const char *)getauxval(AT_EXECFN);
        snprintf(program_name, sizeof(program_name), "%s", executed ? base_name(executed) : "ruby");
        return;
    }
    path[length] = '\0';
    size_t end = (size_t)length - (sizeof(deleted) - 1);
    if ((size_t)length >= sizeof(deleted) && strcmp(path + end, deleted) == 0) path[end] = '\0';
    snprintf(program_name, sizeof(program_name), "%.*s", NAME_MAX, base_name(path));
}

/* ---- names ---- */

void
rb_heapprof_symbols_name(const struct heapprof_symbols *symbols, size_t i,
                         struct heapprof_symbol_name *name)
{
    const struct heapprof_symbol *symbol = &symbols->all[i];
    const struct heapprof_library *library = NULL;
    const char *file = "";

    if (symbol->library != HEAPPROF_NO_LIBRARY) library = &symbols->libraries[symbol->library];
    if (library && library->program) file = program_name;
    else if (library && library->path) file = base_name(symbols->texts + library->path);
    name->function = symbol->function ? symbols->texts + symbol->function : "";
    snprintf(name->library, sizeof(name->library), "%s", file);
}

/* Finds the loaded object of an address. */
struct symbol_asked {
    uintptr_t address;
    size_t visited;
    struct heapprof_symbol_name *name;
};

static int
ask_i(struct dl_phdr_info *info, size_t size, void *data)
{
    struct symbol_asked *asked = data;
    bool program = asked->visited++ == 0;

    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
        if (segment->p_type != PT_LOAD) continue;
        if (asked->address - (info->dlpi_addr + segment->p_vaddr) >= segment->p_memsz) continue;
        snprintf(asked->name->library, sizeof(asked->name->library), "%s",
                 program ? program_name : base_name(info->dlpi_name));
        return 1;
    }
    return 0;
}

void
rb_heapprof_symbols_name_from_memory(uintptr_t address, struct heapprof_symbol_name *name)
{
    struct symbol_asked asked = { .address = address - 1, .name = name };
    Dl_info info;

    name->library[0] = '\0';
    dl_iterate_phdr(ask_i, &asked);
    bool found = dladdr((void *)asked.address, &info) != 0;
    name->function = found && info.dli_sname ? info.dli_sname : "";
}
