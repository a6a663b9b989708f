#ifndef HEAPPROF_ELF_SYMBOLS_H
#define HEAPPROF_ELF_SYMBOLS_H
/* The functions that an ELF file names, and an identity that tells one build of it from another. */
#include "base/mem.h"

#define HEAPPROF_ELF_BUILD_ID_MAX 32

/* The identity of a build, of a file or of a loaded object. */
struct heapprof_elf_identity {
    uint64_t headers;                              /* hash of the program headers */
    size_t   build_id_bytes;                       /* 0: no build-id */
    uint8_t  build_id[HEAPPROF_ELF_BUILD_ID_MAX];
};

struct heapprof_elf {
    struct heapprof_mem *mem;
    int      fd;
    bool     variables;         /* rb_heapprof_elf_each gives variables, not functions; the
                                   caller sets it after open */
    uint64_t file_bytes;
    uint64_t symbols;           /* place of the symbols in the file */
    uint64_t symbol_count;
    bool     dynamic;           /* the symbols are only those of the dynamic linker: the file has
                                   no others */
    uint64_t names;             /* place of the symbols' names in the file */
    uint64_t names_bytes;
    struct heapprof_elf_identity identity;
    char    *buffer;
    size_t   buffer_capacity;
    char    *loaded;            /* the names and a NUL, after load_names; else NULL */
    size_t   loaded_capacity;
};

struct heapprof_elf_function {
    uintptr_t start;            /* as in the file; a loaded object adds its base */
    size_t    size_bytes;
    uint32_t  name;             /* for rb_heapprof_elf_name and _loaded_name */
    bool      weak;             /* as a rule another name of a function that has one */
};

/* Begins to read the file. The caller closes fd. Returns false if fd is not a regular file, not
 * an ELF object for this machine, or not whole, or if memory is refused. Then there is nothing
 * to close. An object without symbols is good. Draws on mem, which must outlive elf. */
bool rb_heapprof_elf_open(struct heapprof_elf *elf, struct heapprof_mem *mem, int fd);

/* Gives the memory back. */
void rb_heapprof_elf_close(struct heapprof_elf *elf);

/* Calls `function` with each function of the file, or each variable, in the file's order, until
 * `function` returns false. Ends early if the file does. */
void rb_heapprof_elf_each(struct heapprof_elf *elf,
                          bool (*function)(const struct heapprof_elf_function *, void *data),
                          void *data);

/* Writes a function's name as it is in the file, cut to size bytes (more than 0). Returns
 * false, with "", if the file does not have it. */
bool rb_heapprof_elf_name(const struct heapprof_elf *elf, uint32_t name, char *text, size_t size);

/* Reads all names into memory, for a caller that needs many. Returns false if memory is
 * refused, or if the file has become shorter. */
bool rb_heapprof_elf_load_names(struct heapprof_elf *elf);

/* Returns a function's name among the loaded names, or "" if it is not there. The name is good
 * until close. */
const char *rb_heapprof_elf_loaded_name(const struct heapprof_elf *elf, uint32_t name);

/* Makes the identity of a loaded object: init from its program headers, then add_notes for each
 * PT_NOTE segment, with the segment's alignment. */
void rb_heapprof_elf_identity_init(struct heapprof_elf_identity *identity, const void *headers,
                                   size_t headers_bytes);
void rb_heapprof_elf_identity_add_notes(struct heapprof_elf_identity *identity, const void *notes,
                                        size_t bytes, size_t align);

/* Returns whether both are of one build: by their build-ids, or by their program headers if
 * neither has a build-id. */
bool rb_heapprof_elf_same_p(const struct heapprof_elf_identity *a,
                            const struct heapprof_elf_identity *b);

#endif
