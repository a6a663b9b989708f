/* sites.c - what is printed at the end about the places in C that call barriers:
 * RUBY_WBCHECK=sites, told. */
#include "ruby/ruby.h"
#include "vm/wbcheck/sites.h"
#include "gc/wbcheck/wbcheck.h"
#include "vm/names/symbol_names.h"
#include <inttypes.h>

/* What to print, and by which function. */
struct saying {
    rb_heapprof_wbcheck_print *print;
    const struct heapprof_barrier_site *sites;
    const struct heapprof_told *told;
    size_t site_count, told_count;
    bool   wants_sites;
};

static const char *
function_of(const struct heapprof_symbol_name *name)
{
    return *name->function ? name->function : "?";
}

static void
say(const struct saying *saying, const char *what, const struct heapprof_symbol_name *name,
    uint64_t count, uint64_t of, const char *why)
{
    char line[512];

    snprintf(line, sizeof(line),
             "ruby: write barrier %s: in %s() of %s: %" PRIu64 " of %" PRIu64 ", %s\n", what,
             function_of(name), name->library, count, of, why);
    saying->print(line);
}

/* Prints a place at which no barrier is known to have been of use. That is no proof: a reference
 * may be overwritten before the object is looked at, or lie too far into its struct to be found. */
static void
say_site(const struct saying *saying, const struct heapprof_barrier_site *site,
         const struct heapprof_symbol_name *name)
{
    if (site->present > site->early) return;
    if (site->early) {
        say(saying, "too early", name, site->early, site->calls, "the store comes after it");
        return;
    }
    if (site->unprotected)
        say(saying, "useless", name, site->unprotected, site->calls,
            "the object is not WB-protected");
    if (site->absent) {
        say(saying, "useless", name, site->absent, site->calls,
            "the object did not refer to that afterwards");
    }
}

static void
say_told(const struct saying *saying, const struct heapprof_told *told,
         const struct heapprof_symbol_name *name)
{
    char line[512], offset[32] = "";

    if (told->offset >= 0) snprintf(offset, sizeof(offset), "+0x%lx", told->offset);
    snprintf(line, sizeof(line), "ruby: write barrier told: %" PRIu64 " of %s%s, in %s() of %s\n",
             told->count, told->type->wrap_struct_name, offset, function_of(name), name->library);
    saying->print(line);
}

static void
say_of(const struct saying *saying, uintptr_t address, const struct heapprof_symbol_name *name)
{
    for (size_t i = 0; saying->wants_sites && i < saying->site_count; i++) {
        if (saying->sites[i].address == address) say_site(saying, &saying->sites[i], name);
    }
    for (size_t i = 0; i < saying->told_count; i++) {
        if (saying->told[i].address == address) say_told(saying, &saying->told[i], name);
    }
}

/* Sites are all callers of barriers, including those that have told of a reference in time. */
static void
say_by_symbol(const struct saying *saying)
{
    struct heapprof_symbols symbols;
    struct heapprof_symbol_name name;

    rb_heapprof_symbols_start();
    rb_heapprof_symbols_init(&symbols);
    for (size_t i = 0; i < saying->site_count; i++)
        rb_heapprof_symbols_add(&symbols, saying->sites[i].address);
    rb_heapprof_symbols_locate(&symbols);
    rb_heapprof_symbols_read_files(&symbols);
    rb_heapprof_symbols_ask_exports(&symbols);
    for (size_t i = 0; i < symbols.count; i++) {
        rb_heapprof_symbols_name(&symbols, i, &name);
        say_of(saying, rb_heapprof_symbols_address(&symbols, i), &name);
    }
    rb_heapprof_symbols_free(&symbols);
}

void
rb_heapprof_wbcheck_say_sites(rb_heapprof_wbcheck_print *print, bool sites)
{
    struct saying saying = { .print = print, .wants_sites = sites };

    saying.sites = rb_heapprof_gc_wbcheck_sites(&saying.site_count);
    saying.told = rb_heapprof_gc_wbcheck_told(&saying.told_count);
    say_by_symbol(&saying);
}
