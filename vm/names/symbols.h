#ifndef HEAPPROF_VM_SYMBOLS_H
#define HEAPPROF_VM_SYMBOLS_H
#include "base/mem.h"
#include "os/elf_symbols.h"

#define HEAPPROF_PROGRAM_FILE "/proc/self/exe"
#define HEAPPROF_NO_LIBRARY SIZE_MAX

struct heapprof_symbol {
    uintptr_t address;   /* a return address: the call is before it */
    size_t    library;   /* HEAPPROF_NO_LIBRARY, or where in libraries */
    size_t    function;  /* its name, in texts; 0: not known */
};

struct heapprof_library {
    uintptr_t base;      /* what is added to addresses of the file */
    size_t    path;      /* to read, in texts */
    bool      program;
    struct heapprof_elf_identity identity;
};

/* Return addresses, and the C functions they are in; or addresses behind the first byte of variables, and which these are.
 * Memory of its own, to be freed soon. */
struct heapprof_symbols {
    struct heapprof_mem mem;
    bool variables;
    struct heapprof_symbol *all;
    size_t all_capacity;
    size_t count;
    struct heapprof_library *libraries; /* that they are in */
    size_t libraries_capacity;
    size_t library_count;
    char  *texts;                               /* paths and names; [0] is "" */
    size_t texts_capacity;
    size_t texts_bytes;
    size_t visited;                             /* objects the dynamic linker told of */
    size_t accounted_bytes;                     /* of mem, in rb_heapprof_symbols_bytes */
};

/* None; allocates nothing. And gives back what there is. */
void rb_heapprof_symbols_init(struct heapprof_symbols *symbols);
void rb_heapprof_symbols_free(struct heapprof_symbols *symbols);

/* Adds a return address. False: memory is refused. */
bool rb_heapprof_symbols_add(struct heapprof_symbols *symbols, uintptr_t address);

/* Finds names for all that were added: where they are loaded, what files tell, and what libraries export of those that no
 * file tells of. Not inside the allocator, better not under the VM lock. The first and the last take the dynamic linker's locks,
 * which the child of a fork has for ever if anybody held them: so with the GVL, that nobody forks. Files take longer, and
 * need no GVL. */
void rb_heapprof_symbols_locate(struct heapprof_symbols *symbols);
void rb_heapprof_symbols_read_files(struct heapprof_symbols *symbols);
void rb_heapprof_symbols_ask_exports(struct heapprof_symbols *symbols);

/* The i-th address, in an order that search changes. */
uintptr_t rb_heapprof_symbols_address(const struct heapprof_symbols *symbols, size_t i);

/* Calls function with each function of the file that the address is in: its name, where it starts and its
 * size. As search. */
void rb_heapprof_symbols_each(uintptr_t address,
                              void (*function)(const char *name, uintptr_t start, size_t size, void *data),
                              void *data);

/* What all of them have mapped now, in all threads. Any thread, no lock. */
size_t rb_heapprof_symbols_bytes(void);

#endif
