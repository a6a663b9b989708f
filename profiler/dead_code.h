#ifndef HEAPPROF_DEAD_CODE_H
#define HEAPPROF_DEAD_CODE_H
/* What has been allocated by code that is no more, or of classes that are no more: what of it
 * cannot be told apart is made one, so that a process that makes code as it runs (eval,
 * templates, classes without a name) has the tables of its living code.
 *
 *     eval       a.rb:7  (dead)    12 objects              eval   a.rb:7  (dead)   20 objects
 *     eval       a.rb:7  (dead)     8 objects      --->
 *     eval       a.rb:7            (it lives)              eval   a.rb:7  (it lives)
 *
 * All sums stay what they are: objects, bytes, live samples, pieces of blocks. */
#include "profiler/tables.h"

/* Whether so much has died since the last time that merging is worth its time, which is in
 * proportion to all that there is: so what merging costs is in proportion to what has died. */
static inline bool
rb_heapprof_dead_code_due_p(const struct heapprof_tables *tables)
{
    enum { LEAST = 64, OF_ENTRIES = 64 };

    return tables->identities.deaths >= LEAST &&
           tables->identities.deaths >= rb_heapprof_tables_entries(tables) / OF_ENTRIES;
}

/* Merges functions of dead code that have the same name, path and first line, dead classes of the
 * same name, and stacks and sites that are equal then. Where more names of dead code are left
 * than HEAPPROF_DEAD_NAMES and one for each living function, sites without a live sample that
 * have allocated little lose theirs: [dead code] and [dead class] stand for them, their callers
 * and what they called stay. Then what nothing names any more is freed.
 *
 * Needs a little memory; what is refused stays as it is. Numbers of stacks, sites, functions and
 * identities are void afterwards, except stacks of living code that are held. All is copied
 * (copies.h), and blocks are held. */
void rb_heapprof_dead_code_merge(struct heapprof_tables *tables);

#define HEAPPROF_DEAD_NAMES 256

/* How much is of dead code: functions; nodes of these; and sites whose line is in it, or whose
 * class is dead. Takes time in proportion to all that there is. */
struct heapprof_dead_code_share {
    uint64_t functions;
    uint64_t stack_nodes;
    uint64_t sites;
};
struct heapprof_dead_code_share rb_heapprof_dead_code_share(const struct heapprof_tables *tables);

#endif
