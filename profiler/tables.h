#ifndef HEAPPROF_TABLES_H
#define HEAPPROF_TABLES_H
/* All that one profile knows, table by table. README.md draws who names whom. */
#include "profiler/blocks.h"
#include "profiler/callers.h"
#include "profiler/functions.h"
#include "profiler/identities.h"
#include "profiler/live_table.h"
#include "profiler/reported.h"
#include "profiler/sites.h"
#include "base/strings.h"

struct heapprof_tables {
    struct heapprof_strings    strings;
    struct heapprof_identities identities;
    struct heapprof_functions  functions;
    struct heapprof_stacks     stacks;
    struct heapprof_sites      sites;
    struct heapprof_live_table live;
    struct heapprof_blocks     blocks;
    struct heapprof_reported   reported;
    struct heapprof_callers    callers;
    uint64_t merged_sites;     /* since start, of dead code: others stand for them (dead_code.h) */
    uint64_t nameless_sites;   /* the same: they lost the names of what is dead */
};

/* Empty tables under one budget; allocates nothing. mem and block_filter (blocks.h) must
 * outlive them, and they must stay where they are: sites name stacks by address. */
void rb_heapprof_tables_init(struct heapprof_tables *tables, struct heapprof_mem *mem,
                             uint8_t *block_filter);

/* A little room in each of the tables of samples, before others have all of the budget: what is in a table can be thinned to make
 * room for more of its kind, but nothing can where there is none. */
void rb_heapprof_tables_reserve(struct heapprof_tables *tables);

/* Gives the memory back; the tables are then as after init. The caller clears its page
 * heads. */
void rb_heapprof_tables_free(struct heapprof_tables *tables);

/* How many entries there are that a trim goes through; and of all tables, where a live sample is less work than others. */
uint32_t rb_heapprof_tables_trim_entries(const struct heapprof_tables *tables);

static inline uint32_t
rb_heapprof_tables_entries(const struct heapprof_tables *tables)
{
    return tables->stacks.numbers.count + tables->functions.numbers.count + tables->identities.numbers.count +
           tables->strings.numbers.count + tables->sites.numbers.count +
           (tables->blocks.numbers.count + tables->live.addresses.numbers.count) / 4;
}

/* Frees what nothing leads to any more: stack nodes nobody holds, functions no node names, identities
 * that no function, site or owner names (of living objects, too, unless letting_go is NULL), and
 * their names. Numbers of such are void afterwards. Allocates nothing. Returns how many it freed. */
uint32_t rb_heapprof_tables_trim(struct heapprof_tables *tables,
                                 const struct heapprof_letting_go *letting_go);

/* Which tables can take no more: they have no free entry, and used up the room they have. Asked
 * when memory has been refused. */
enum {
    HEAPPROF_FULL_OBJECTS = 1, /* live */
    HEAPPROF_FULL_BLOCKS  = 2,
    HEAPPROF_FULL_STACKS  = 4  /* sites, stacks, or what they name */
};
unsigned int rb_heapprof_tables_full(const struct heapprof_tables *tables);

/* Asserts the invariants of each table and those between them (tables.c). */
void rb_heapprof_tables_check(const struct heapprof_tables *tables);

#endif
