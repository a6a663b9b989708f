#ifndef HEAPPROF_VM_SYMBOL_NAMES_H
#define HEAPPROF_VM_SYMBOL_NAMES_H
#include "vm/names/symbols.h"

/* Finds out how the file of the program is called. To be called before all else here; again is
 * allowed. */
void rb_heapprof_symbols_start(void);

/* What a C function and its file are called; "" for what is not known. */
struct heapprof_symbol_name {
    const char *function;
    char  library[256];
};

/* The name of the i-th address. Valid until symbols change. */
void rb_heapprof_symbols_name(const struct heapprof_symbols *symbols, size_t i,
                              struct heapprof_symbol_name *name);

/* The name of one return address, from memory alone: a function that its library does not export
 * has no name there. Valid as long as the library is loaded. Takes the dynamic linker's lock. */
void rb_heapprof_symbols_name_from_memory(uintptr_t address, struct heapprof_symbol_name *name);

#endif
