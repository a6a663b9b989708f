#ifndef HEAPPROF_ELF_SYMBOLS_H
#define HEAPPROF_ELF_SYMBOLS_H
/* The functions that an ELF file names, and what tells one build of it from another. */
#include "base/mem.h"

#define HEAPPROF_ELF_BUILD_ID_MAX 32

/* Of a file, or of an object that is loaded. */
struct heapprof_elf_identity {
    uint64_t headers;                              /* a hash of its program headers */
    size_t   build_id_bytes;                       /* 0: it has none */
    uint8_t  build_id[HEAPPROF_ELF_BUILD_ID_MAX];
};

struct heapprof_elf {
    struct heapprof_mem *mem;
    int      fd;
    bool     variables;         /* each calls with these, not with functions; set after open */
    uint64_t file_bytes;
    uint64_t symbols;           /* where they are in the file, and how many */
    uint64_t symbol_count;
    uint64_t names;             /* the same of the symbols' names, in bytes */
    uint64_t names_bytes;
    struct heapprof_elf_identity identity;
    char    *buffer;
    size_t   buffer_capacity;
    char    *loaded;            /* the names, if they were asked for, and a NUL; else NULL */
    size_t   loaded_capacity;
};

struct heapprof_elf_function {
    uintptr_t start;            /* as in the file: what is loaded is further on by its base */
    size_t    size_bytes;
    uint32_t  name;             /* for rb_heapprof_elf_name and _loaded_name */
};

/* Begins to read the file, which stays the caller's to close. False, with nothing to close, when it
 * is no file, no ELF object for this machine, not whole, or memory is refused; an object without
 * symbols is one. Draws on mem, which must outlive it. */
bool rb_heapprof_elf_open(struct heapprof_elf *elf, struct heapprof_mem *mem, int fd);

/* Gives the memory back. */
void rb_heapprof_elf_close(struct heapprof_elf *elf);

/* Calls function with each function of the file, or each variable, in the file's order, until
 * it returns false. Ends early, too, where the file ends early. */
void rb_heapprof_elf_each(struct heapprof_elf *elf,
                          bool (*function)(const struct heapprof_elf_function *, void *data), void *data);

/* Writes a function's name as it is in the file, cut to what there is room for (size > 0);
 * false, with "", when the file does not have it. */
bool rb_heapprof_elf_name(const struct heapprof_elf *elf, uint32_t name, char *text, size_t size);

/* Reads all names into memory, for who wants those of many functions. False: memory is refused,
 * or the file has become shorter. */
bool rb_heapprof_elf_load_names(struct heapprof_elf *elf);

/* A function's name among those that have been loaded, "" when it is not there; until close. */
const char *rb_heapprof_elf_loaded_name(const struct heapprof_elf *elf, uint32_t name);

/* Puts together what a loaded object is, from its program headers and then from each PT_NOTE
 * segment. A note's align is the segment's. */
void rb_heapprof_elf_identity_init(struct heapprof_elf_identity *identity, const void *headers,
                                   size_t headers_bytes);
void rb_heapprof_elf_identity_add_notes(struct heapprof_elf_identity *identity, const void *notes,
                                        size_t bytes, size_t align);

/* Are they of one build? By their build-ids; where neither has one by their program headers. */
bool rb_heapprof_elf_same_p(const struct heapprof_elf_identity *a,
                            const struct heapprof_elf_identity *b);

#endif
