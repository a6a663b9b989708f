#ifndef HEAPPROF_VM_SYMBOLS_H
#define HEAPPROF_VM_SYMBOLS_H
#include "base/mem.h"
#include "os/elf_symbols.h"

#define HEAPPROF_PROGRAM_FILE "/proc/self/exe"
#define HEAPPROF_NO_LIBRARY SIZE_MAX

struct heapprof_symbol {
    uintptr_t address;   /* a return address; the call is the instruction before it */
    size_t    library;   /* index of libraries, or HEAPPROF_NO_LIBRARY */
    size_t    function;  /* offset of its name in texts; 0: not known */
};

struct heapprof_library {
    uintptr_t base;      /* added to an address of the file, it is one in memory */
    size_t    path;      /* of the file to read: an offset of texts */
    bool      program;
    struct heapprof_elf_identity identity;
};

/* Return addresses, and the C functions that they are in. Or, with `variables`, addresses one
 * byte behind the begin of variables, and these variables. Has memory of its own, which is to be
 * freed soon. */
struct heapprof_symbols {
    struct heapprof_mem mem;
    bool variables;
    struct heapprof_symbol *all;
    size_t all_capacity;
    size_t count;
    struct heapprof_library *libraries; /* the addresses are in */
    size_t libraries_capacity;
    size_t library_count;
    char  *texts;                               /* paths and names; [0] is "" */
    size_t texts_capacity;
    size_t texts_bytes;
    size_t visited;                             /* objects that the dynamic linker has reported */
    size_t accounted_bytes; /* how much of mem rb_heapprof_symbols_bytes counts */
};

/* An empty set. Allocates nothing. */
void rb_heapprof_symbols_init(struct heapprof_symbols *symbols);

/* Frees all of it; the set is empty then. */
void rb_heapprof_symbols_free(struct heapprof_symbols *symbols);

/* Adds a return address. Returns false if memory is refused. */
bool rb_heapprof_symbols_add(struct heapprof_symbols *symbols, uintptr_t address);

/* The three steps that find names for all addresses: where each is loaded; what the files say;
 * and, for those that no file names, what libraries export. Not to be called inside the
 * allocator, and better not under the VM lock. locate and ask_exports take the dynamic linker's
 * locks. A child forked while a lock is held could never take it, so they are called with the
 * GVL: then no Ruby thread forks. read_files takes longer, and needs no GVL. */
void rb_heapprof_symbols_locate(struct heapprof_symbols *symbols);
void rb_heapprof_symbols_read_files(struct heapprof_symbols *symbols);
void rb_heapprof_symbols_ask_exports(struct heapprof_symbols *symbols);

/* The i-th address. The three steps change the order. */
uintptr_t rb_heapprof_symbols_address(const struct heapprof_symbols *symbols, size_t i);

/* Calls `function` for each C function of the file that the address is in, with its name, start
 * and size. Reads a file and takes the dynamic linker's lock, as the steps above. */
void rb_heapprof_symbols_each(uintptr_t address,
                              void (*function)(const char *name, uintptr_t start, size_t size,
                                               void *data),
                              void *data);

/* Bytes that all sets of all threads have mapped at present. Any thread may call it; needs no
 * lock. */
size_t rb_heapprof_symbols_bytes(void);

#endif
