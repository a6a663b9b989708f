#ifndef HEAPPROF_VM_C_GLOBALS_H
#define HEAPPROF_VM_C_GLOBALS_H
#include "ruby/ruby.h"
#include "vm/names/symbols.h"

/* What the C variables are called that are registered as roots (rb_gc_register_address). To be freed by
 * rb_heapprof_symbols_free. Reads files and takes the dynamic linker's lock: with the GVL, before the VM lock is taken. */
void rb_heapprof_c_globals_find(struct heapprof_symbols *symbols);

/* "cache in foo.so"; NULL: not known. Good until the next question. symbols: the above. */
const char *rb_heapprof_c_globals_name(const void *symbols, const VALUE *address);

#endif
