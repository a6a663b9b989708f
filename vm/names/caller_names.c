/* caller_names.c - the names of the C functions that call the allocator, and the roles of MRI's
 * functions: which call it on behalf of their own callers, and which never do.
 *
 * A caller is only a return address until there is time to find its name. That means reading the
 * files of libraries, which must not happen inside the allocator or under the VM lock.
 *
 *     unnamed callers --collect--> symbols --search, without a lock--> names --enter--> identities
 *
 * Callers that a search has missed are named from memory, right before a snapshot. Functions with
 * a role are recognised by the begin of their names, once a run, before it starts.
 *
 * Runs under the VM lock, except for finding roles. No Ruby allocation, no raise, no GC.
 */
#include "ruby/ruby.h"
#include "base/markers.h"
#include "vm/names/symbol_names.h"
#include "vm/names/caller_names.h"
#include "vm/names/demangle.h"
#include "gc/book/state.h"
#include "internal.h"
#include <link.h>

/* ---- roles ---- */

static bool
begins_p(const char *function, const char *const *beginnings, size_t count)
{
    if (!function[0] || !function[1] || !function[2]) return false;
    for (size_t i = 0; i < count; i++) {
        char fourth = beginnings[i][3]; /* most functions of ruby begin with rb_ */
        if (fourth && function[3] != fourth) continue;
        if (strncmp(function, beginnings[i], strlen(beginnings[i])) == 0) return true;
    }
    return false;
}

/* The struct of a new object is asked for by whom makes the object: by an extension that says
 * TypedData_Make_Struct, and frees the struct itself. */
static bool
wrapper_p(const char *function)
{
    static const char *const beginnings[] = {
        "ruby_x", "ruby_sized_x", "ruby_strdup", "rb_x", "rb_gc_impl_", "objspace_",
        "rb_alloc_tmp_buffer", "rb_data_object_zalloc", "rb_data_typed_object_zalloc",
        "rb_gc_adjust_memory_usage", "rb_heapprof_",
    };
    return begins_p(function, beginnings, numberof(beginnings));
}

/* The functions that ask the C library for what xmalloc and its like give. Others of the
 * collector ask it for its own tables. */
static bool
xmalloc_p(const char *function)
{
    static const char *const beginnings[] = {
        "ruby_x", "ruby_sized_x", "rb_gc_impl_malloc", "rb_gc_impl_calloc", "rb_gc_impl_realloc",
    };
    return begins_p(function, beginnings, numberof(beginnings));
}

/* The function that runs Ruby code, the parser, and the compiler of what it has parsed. They are
 * recursive, so who called them may be far. */
static bool
edge_p(const char *function)
{
    static const char *const beginnings[] = {
        "vm_exec_core", "pm_", "parse_expression", "parse_statements",
    };
    return begins_p(function, beginnings, numberof(beginnings));
}

static bool
marker_p(const char *function)
{
#define BEGINNING(name) name,
    static const char *const beginnings[] = { HEAPPROF_MARKERS(BEGINNING) };
#undef BEGINNING
    return begins_p(function, beginnings, numberof(beginnings));
}

static void
add_wrapper(const char *name, uintptr_t start, size_t size, void *found)
{
    if (!wrapper_p(name)) return;
    rb_heapprof_callers_add(found, start, size,
                            xmalloc_p(name) ? HEAPPROF_ROLE_XMALLOC : HEAPPROF_ROLE_WRAPPER);
}

static void
add_for_memcheck(const char *name, uintptr_t start, size_t size, void *found)
{
    if (edge_p(name)) rb_heapprof_callers_add(found, start, size, HEAPPROF_ROLE_EDGE);
    else if (marker_p(name)) rb_heapprof_callers_add(found, start, size, HEAPPROF_ROLE_MARKER);
    else add_wrapper(name, start, size, found);
}

static int
find_core_i(struct dl_phdr_info *info, size_t size, void *data)
{
    struct heapprof_callers *found = data;

    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
        uintptr_t begin = info->dlpi_addr + segment->p_vaddr, end = begin + segment->p_memsz;
        if (segment->p_type != PT_LOAD || (uintptr_t)ruby_xmalloc < begin ||
            (uintptr_t)ruby_xmalloc >= end)
            continue;
        found->core = (struct heapprof_code_range){ .start = begin, .end = end };
        return 1;
    }
    return 0;
}

void
rb_heapprof_caller_names_find_roles(struct heapprof_callers *found, bool memcheck)
{
    rb_heapprof_symbols_start();
    dl_iterate_phdr(find_core_i, found);
    rb_heapprof_symbols_each((uintptr_t)ruby_xmalloc, memcheck ? add_for_memcheck : add_wrapper,
                             found);
}

void
rb_heapprof_caller_names_add_roles(const struct heapprof_callers *found)
{
    struct heapprof_callers *callers = &rb_heapprof.tables.callers;

    for (size_t i = 0; i < found->count; i++) {
        const struct heapprof_code_range *code = &found->all[i];
        rb_heapprof_callers_add(callers, code->start, code->end - code->start, code->role);
    }
    callers->core = found->core;
    rb_heapprof_callers_sort(callers);
}

/* ---- callers ---- */

enum { FUNCTION_BYTES = 256 }; /* longer names are cut: of C++ */

/* Calls `function` with the key of each caller that has no name, until it returns false. Returns
 * how many there were. */
static size_t
each_unnamed_caller(bool (*function)(uintptr_t key, void *data), void *data)
{
    const struct heapprof_identities *identities = &rb_heapprof.tables.identities;
    const struct heapprof_address_table *table = &identities->addresses;
    size_t count = 0;

    for (uint32_t entry = 1; entry < table->numbers.end; entry++) {
        uintptr_t key = rb_heapprof_address_table_address(table, entry);
        if (!rb_heapprof_callers_key_p(key)) continue;
        if (identities->all[identities->ids[entry]].name != HEAPPROF_UNNAMED) continue;
        count++;
        if (!function(key, data)) break;
    }
    return count;
}

static bool
collect_caller(uintptr_t key, void *symbols)
{
    return rb_heapprof_symbols_add(symbols, rb_heapprof_callers_of_key(key));
}

bool
rb_heapprof_caller_names_collect(struct heapprof_symbols *unnamed)
{
    if (!rb_heapprof.work.unnamed_callers) return false;
    if (each_unnamed_caller(collect_caller, unnamed) > 0) return unnamed->count > 0;
    rb_heapprof.work.unnamed_callers = false;
    return false;
}

static const char *
or_unknown(const char *name)
{
    return name[0] ? name : "?";
}

/* Names it "function (library)", unless it has got a name, or has been forgotten, meanwhile. */
static void
name_caller(uintptr_t key, const struct heapprof_symbol_name *name)
{
    struct heapprof_identities *identities = &rb_heapprof.tables.identities;
    struct heapprof_strings *strings = &rb_heapprof.tables.strings;
    uint32_t id = rb_heapprof_identities_find(identities, key);
    const char *library = or_unknown(name->library);
    char plain[FUNCTION_BYTES], text[FUNCTION_BYTES + sizeof(name->library) + 3];

    if (id == 0 || identities->all[id].name != HEAPPROF_UNNAMED) return;
    snprintf(text, sizeof(text), "%.*s (%s)", FUNCTION_BYTES - 1,
             or_unknown(rb_heapprof_demangle(name->function, plain, sizeof(plain))), library);
    uint32_t number = rb_heapprof_strings_intern(strings, library, strlen(library));
    if (number == UINT32_MAX) return;
    struct heapprof_identity *identity = rb_heapprof_identities_change(identities, id);
    identity->library = number;
    identity->name = rb_heapprof_strings_intern(strings, text, strlen(text));
}

void
rb_heapprof_caller_names_enter(const struct heapprof_symbols *named)
{
    struct heapprof_symbol_name name;

    if (named->count == 0) return;
    rb_heapprof_gc_begin_change();
    for (size_t i = 0; i < named->count; i++) {
        rb_heapprof_symbols_name(named, i, &name);
        name_caller(rb_heapprof_callers_key(rb_heapprof_symbols_address(named, i)), &name);
    }
    rb_heapprof_gc_end_change();
}

static bool
name_from_memory(uintptr_t key, void *unused)
{
    struct heapprof_symbol_name name;

    rb_heapprof_symbols_name_from_memory(rb_heapprof_callers_of_key(key), &name);
    name_caller(key, &name);
    return true;
}

void
rb_heapprof_caller_names_refresh(void)
{
    if (!rb_heapprof.work.unnamed_callers) return;
    rb_heapprof_gc_begin_change();
    each_unnamed_caller(name_from_memory, NULL);
    rb_heapprof_gc_end_change();
}

void
rb_heapprof_caller_names_find(void)
{
    struct heapprof_symbols symbols;

    rb_heapprof_symbols_init(&symbols);
    if (rb_heapprof_caller_names_collect(&symbols)) {
        rb_heapprof_symbols_locate(&symbols);
        rb_heapprof_symbols_read_files(&symbols);
        rb_heapprof_symbols_ask_exports(&symbols);
        rb_heapprof_caller_names_enter(&symbols);
    }
    rb_heapprof_symbols_free(&symbols);
    rb_heapprof_caller_names_refresh();
}
