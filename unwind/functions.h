#ifndef UNWIND_FUNCTIONS_H
#define UNWIND_FUNCTIONS_H
/* The functions of an ELF file by their addresses, and their names. */
#include "os/elf_symbols.h"

struct unwind_function {
    uint64_t start, bytes; /* as in the file */
    uint32_t name;         /* for the names of elf */
    bool     weak;
};

struct unwind_functions {
    struct heapprof_mem *mem;
    struct unwind_function *all; /* in the order of their addresses */
    size_t   capacity, count;
    char    *names;
    size_t   names_capacity, names_bytes;
};

/* Reads the functions of a file that elf has opened. Returns false, with no functions, if memory is
 * refused or the file has become shorter. elf may be closed afterwards. */
bool unwind_functions_read(struct unwind_functions *functions, struct heapprof_elf *elf);
void unwind_functions_free(struct unwind_functions *functions);

/* The name of the function that has this address of the file; NULL if none has. It is valid until
 * the functions are freed. */
const char *unwind_functions_name(const struct unwind_functions *functions, uint64_t address);

#endif
