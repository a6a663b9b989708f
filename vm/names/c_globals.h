#ifndef HEAPPROF_VM_C_GLOBALS_H
#define HEAPPROF_VM_C_GLOBALS_H
#include "ruby/ruby.h"
#include "vm/names/symbols.h"

/* Finds the names of the C variables that are registered as roots (rb_gc_register_address). Reads
 * files and takes the dynamic linker's lock: to be called with the GVL, before the VM lock is
 * taken. rb_heapprof_symbols_free frees what it finds. */
void rb_heapprof_c_globals_find(struct heapprof_symbols *symbols);

/* The name of one of them: "cache in foo.so", or "(no name) in foo.so" if the file has been
 * stripped. Returns NULL if the address is in the data of no file. Valid until the next call.
 * symbols is what rb_heapprof_c_globals_find has filled. */
const char *rb_heapprof_c_globals_name(const void *symbols, const VALUE *address);

#endif
