/* c_globals.c - the names of C variables that are roots, from the symbol tables of their files. */
#include "ruby/ruby.h"
#include "vm/names/symbol_names.h"
#include "vm/names/c_globals.h"
#include "vm_core.h"
#include <stdio.h>

static char name_bytes[512];

void
rb_heapprof_c_globals_find(struct heapprof_symbols *symbols)
{
    rb_heapprof_symbols_start();
    rb_heapprof_symbols_init(symbols);
    symbols->variables = true;
    for (const struct global_object_list *list = GET_VM()->global_object_list; list;
         list = list->next) {
        if (!rb_heapprof_symbols_add(symbols, (uintptr_t)list->varptr + 1)) return;
    }
    rb_heapprof_symbols_locate(symbols);
    rb_heapprof_symbols_read_files(symbols);
    rb_heapprof_symbols_ask_exports(symbols);
}

const char *
rb_heapprof_c_globals_name(const void *data, const VALUE *address)
{
    const struct heapprof_symbols *symbols = data;
    struct heapprof_symbol_name name;

    for (size_t i = 0; i < symbols->count; i++) {
        if (rb_heapprof_symbols_address(symbols, i) != (uintptr_t)address + 1) continue;
        rb_heapprof_symbols_name(symbols, i, &name);
        if (!*name.library) return NULL;
        snprintf(name_bytes, sizeof(name_bytes), "%.200s in %.256s",
                 *name.function ? name.function : "(no name)", name.library);
        return name_bytes;
    }
    return NULL;
}
