#ifndef HEAPPROF_VM_SYMBOLS_H
#define HEAPPROF_VM_SYMBOLS_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Writes the name of the C function that the return address is in, and of its library's file:
 * what is not known is "". May take the dynamic linker's lock and call malloc: not inside the
 * allocator. */
void rb_heapprof_symbol(uintptr_t address, char *function, size_t function_size,
                        char *library, size_t library_size);

/* Calls function with each function of the file that the address is in: its name, where it starts
 * and its size. The same is true of it. */
void rb_heapprof_symbols_each(uintptr_t address,
                              void (*function)(const char *name, uintptr_t start, size_t size));

/* Forgets the symbol tables it has read. */
void rb_heapprof_symbols_free(void);

#endif
