#ifndef HEAPPROF_DEAD_CODE_H
#define HEAPPROF_DEAD_CODE_H
/* What dead code has allocated, or what is of dead classes: entries that nobody can tell apart
 * become one. So a process that makes code as it runs (eval, templates, classes without a name)
 * has tables as large as its living code needs. doc/design/dead-code.md has the whole story.
 *
 *     eval       a.rb:7  (dead)    12 objects              eval   a.rb:7  (dead)   20 objects
 *     eval       a.rb:7  (dead)     8 objects      --->
 *     eval       a.rb:7            (it lives)              eval   a.rb:7  (it lives)
 *
 * All sums stay what they are: objects, bytes, live samples, pieces of blocks. */
#include "profiler/tables.h"

/* Whether so much has died since the last time that merging is worth its time. Merging takes
 * time in proportion to the tables. So, over time, it costs in proportion to what has died. */
static inline bool
rb_heapprof_dead_code_due_p(const struct heapprof_tables *tables)
{
    enum { LEAST = 64, OF_ENTRIES = 64 };

    return tables->identities.deaths >= LEAST &&
           tables->identities.deaths >= rb_heapprof_tables_entries(tables) / OF_ENTRIES;
}

/* Merges functions of dead code that have the same name, path and first line; dead classes of
 * the same name; then stacks and sites that are equal. At most HEAPPROF_DEAD_NAMES names of
 * dead code, and one for each living function, stay. If more are left, sites without a live
 * sample that have allocated little lose theirs: [dead code] and [dead class] stand for them.
 * Their callers stay, and what they called. Then what nothing names any more is freed.
 *
 * Needs a little memory. Where that is refused, entries stay as they are. Numbers of stacks, sites,
 * functions and identities are void afterwards, except stacks of living code that are held. The
 * caller has finished all copies (copies.h), and holds blocks. */
void rb_heapprof_dead_code_merge(struct heapprof_tables *tables);

#define HEAPPROF_DEAD_NAMES 256

/* How much is of dead code: functions; nodes of these functions; and sites whose innermost frame is
 * in dead code, or whose class is dead. Takes time in proportion to the tables. */
struct heapprof_dead_code_share {
    uint64_t functions;
    uint64_t stack_nodes;
    uint64_t sites;
};
struct heapprof_dead_code_share rb_heapprof_dead_code_share(const struct heapprof_tables *tables);

#endif
