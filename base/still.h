#ifndef HEAPPROF_STILL_H
#define HEAPPROF_STILL_H
/* A copy of a table's entries as they are at one moment, made piece by piece while the table goes on.
 *
 *     entries   1   2   3   4   5   6   7   8          next: those before it have been copied
 *     copied    x   x   x           x                  6 was about to change: it was copied early
 *                           ^next
 *
 * Who changes an entry says so before (numbers.h); then the still has it copied if it has not been. So
 * each is copied once, as it was at the beginning. What is added later lies behind the end, or in an
 * entry that was free, and has been copied as such.
 *
 * Only begin asks for memory; the rest may run anywhere in the collector. The caller serialises.
 */
#include "base/mem.h"

struct heapprof_still {
    void (*copy)(struct heapprof_still *still, uint32_t first, uint32_t end); /* the owner's: those entries */
    void     *data;           /* the owner's */
    uint32_t  end;            /* numbers below this are copied */
    uint32_t  next;           /* those below this have been, or are being, */
    uint64_t *early;          /* and these have been before their turn: a bit each */
    size_t    early_capacity;
};

/* A still of the entries below end; false when memory is refused. Free it either way, with that mem. */
bool rb_heapprof_still_begin(struct heapprof_still *still, struct heapprof_mem *mem, uint32_t end);
void rb_heapprof_still_free(struct heapprof_still *still, struct heapprof_mem *mem);

/* Copies the next entries, at most HEAPPROF_STILL_STEP of them; false: there are none. */
#define HEAPPROF_STILL_STEP 256
bool rb_heapprof_still_step(struct heapprof_still *still);

/* That entry is about to change: copies it, unless it has been, or is none of the still's. Seldom called: the
 * compiler is to keep it away from the paths of samples. */
__attribute__((__cold__))
void rb_heapprof_still_keep(struct heapprof_still *still, uint32_t number);

#endif
