#ifndef HEAPPROF_TABLES_H
#define HEAPPROF_TABLES_H
/* All that one profile knows, table by table. README.md draws which table names which. */
#include "profiler/blocks.h"
#include "profiler/callers.h"
#include "profiler/dead_objects.h"
#include "profiler/functions.h"
#include "profiler/identities.h"
#include "profiler/live_table.h"
#include "profiler/mismatches.h"
#include "profiler/reported.h"
#include "profiler/sites.h"
#include "profiler/sums.h"
#include "profiler/uses.h"
#include "base/strings.h"

/* The moment at which most was alive. */
struct heapprof_peak {
    double   bytes;            /* of objects and blocks; 0: there was none yet */
    uint64_t gc_count;
    int64_t  time_ns;          /* wall clock */
};

struct heapprof_tables {
    struct heapprof_strings    strings;
    struct heapprof_identities identities;
    struct heapprof_functions  functions;
    struct heapprof_stacks     stacks;
    struct heapprof_stacks     c_paths; /* of C functions: a node's function is the identity of
                                           a caller. Only with memcheck; never trimmed */
    struct heapprof_sites      sites;
    struct heapprof_live_table live;
    struct heapprof_blocks     blocks;
    struct heapprof_reported   reported;
    struct heapprof_callers    callers;
    struct heapprof_mismatches mismatches; /* only with memcheck */
    struct heapprof_dead_objects dead_objects; /* only with a quarantine */
    struct heapprof_uses       uses;       /* of these */
    uint32_t *label_strings;   /* by set of labels (label_sets.h): the string with its text */
    size_t    label_strings_capacity;
    struct heapprof_peak peak; /* whose sums sites have, if they are kept */
    uint64_t merged_sites;     /* sites of dead code that were merged since start (dead_code.h) */
    uint64_t nameless_sites;   /* sites that have lost the names of dead code since start */
};

/* Empty tables under one budget; allocates nothing. mem and block_filter (blocks.h) must
 * outlive them, and they must stay where they are: sites name stacks by address. */
void rb_heapprof_tables_init(struct heapprof_tables *tables, struct heapprof_mem *mem,
                             uint8_t *block_filter);

/* Says what sites are to have besides their totals. Comes behind init. */
void rb_heapprof_tables_keep(struct heapprof_tables *tables, bool peak, bool lifetimes);

/* Keeps what is alive as the peak, which has so many bytes (sites.h). Under the blocks' lock. */
void rb_heapprof_tables_keep_peak(struct heapprof_tables *tables, double bytes, uint64_t gc_count,
                                  int64_t time_ns);

/* Makes a little room in each table of samples, before other tables use up the budget. A table
 * that has entries can be thinned to make room for more of their kind. An empty table cannot. */
void rb_heapprof_tables_reserve(struct heapprof_tables *tables);

/* Gives the memory back; the tables are then as after init. The caller clears its page
 * heads. */
void rb_heapprof_tables_free(struct heapprof_tables *tables);

/* Samples of sites that another one stands for (sites.h) are samples of that one from now on. Under
 * the blocks' lock, and in time in proportion to what is alive. */
void rb_heapprof_tables_follow_sites(struct heapprof_tables *tables);

/* The identity with that key, which is no object's. A new one gets the name. Returns 0 if memory is
 * refused for one of the two. page_head: as rb_heapprof_identities_add. */
uint32_t rb_heapprof_tables_named(struct heapprof_tables *tables, uint32_t *page_head,
                                  uintptr_t key, const char *name, size_t length);

/* The string with the text of a set of labels. It stays until the tables are freed. Returns
 * UINT32_MAX if memory is refused. Set 0 has string 0. */
uint32_t rb_heapprof_tables_label(struct heapprof_tables *tables, uint32_t set, const char *text,
                                  size_t length);

/* The same if it is known already; else 0. */
static inline uint32_t
rb_heapprof_tables_known_label(const struct heapprof_tables *tables, uint32_t set)
{
    return set < tables->label_strings_capacity ? tables->label_strings[set] : 0;
}

/* Returns how many entries a trim goes through. The second function counts entries of all
 * tables. Four live samples or pieces count as one, because they are less work. */
uint32_t rb_heapprof_tables_trim_entries(const struct heapprof_tables *tables);

static inline uint32_t
rb_heapprof_tables_entries(const struct heapprof_tables *tables)
{
    return tables->stacks.numbers.count + tables->functions.numbers.count +
           tables->identities.numbers.count + tables->strings.numbers.count +
           tables->sites.numbers.count +
           (tables->blocks.numbers.count + tables->live.addresses.numbers.count) / 4;
}

/* Frees everything that nothing leads to: stack nodes that no entry holds, functions that no
 * node names, identities that no function, site or owner names, and the strings that this
 * leaves. Living objects lose their identities, too, unless letting_go is NULL. Numbers of
 * freed entries are void afterwards. Allocates nothing. Returns how many entries it freed. */
uint32_t rb_heapprof_tables_trim(struct heapprof_tables *tables,
                                 const struct heapprof_letting_go *letting_go);

/* Which tables can take no more entries: they have no free entry and no room left. The caller
 * asks after memory has been refused. */
enum {
    HEAPPROF_FULL_OBJECTS = 1, /* live */
    HEAPPROF_FULL_BLOCKS  = 2,
    HEAPPROF_FULL_STACKS  = 4  /* sites, stacks, or what they name */
};
unsigned int rb_heapprof_tables_full(const struct heapprof_tables *tables);

/* Asserts the invariants of each table and those between them (tables.c). */
void rb_heapprof_tables_check(const struct heapprof_tables *tables);

#endif
