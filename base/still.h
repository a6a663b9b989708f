#ifndef HEAPPROF_STILL_H
#define HEAPPROF_STILL_H
/* A copy of a table's entries as they are at one moment, made piece by piece while the table goes
 * on. It is a photograph taken house by house: a house that is about to be rebuilt is taken first.
 *
 *     entries   1   2   3   4   5   6   7   8          entries before next are copied
 *     copied    x   x   x           x                  entry 6 was about to change: it was copied early
 *                           ^next
 *
 * Whoever changes an entry says so first (numbers.h). The still then copies it, unless it is
 * copied already. So each entry is copied once, as it was at the beginning. An entry that is added
 * later lies behind the end; or it was free at the beginning, and is copied as a free one.
 *
 * The steps of a shared still may run beside the program. Whoever announces a change, or moves the
 * entries (numbers.h), then waits for the end of a step. Its copy function reads nothing that
 * changes without being announced.
 *
 * Only begin asks for memory. The rest may run anywhere in the collector. The caller serialises
 * all but the steps of a shared still.
 */
#include "base/mem.h"

struct heapprof_still {
    /* The owner's function: copies the entries from first to end - 1. */
    void (*copy)(struct heapprof_still *still, uint32_t first, uint32_t end);
    void     *data;           /* the owner's */
    uint32_t  end;            /* entries below this belong to the copy */
    uint32_t  next;           /* entries below this are copied, or are being copied */
    uint64_t *early;          /* bitmap of the entries that were copied ahead of their turn */
    size_t    early_capacity;
    bool      shared;         /* the owner's */
    uint32_t  turns, turn;    /* of a shared one: how many have been asked for; whose it is */
};

/* Begins a still of the entries below end. Returns false if memory is refused. The caller frees it
 * either way, with the same mem. */
bool rb_heapprof_still_begin(struct heapprof_still *still, struct heapprof_mem *mem, uint32_t end);
void rb_heapprof_still_free(struct heapprof_still *still, struct heapprof_mem *mem);

/* Copies the next entries, at most HEAPPROF_STILL_STEP of them. Returns false if none are left. */
#define HEAPPROF_STILL_STEP 256
bool rb_heapprof_still_step(struct heapprof_still *still);

/* Whether there is something for a step. */
bool rb_heapprof_still_left_p(struct heapprof_still *still);

/* To be called before that entry changes: copies it, unless it is copied or lies behind the end.
 * Seldom called, so the compiler keeps it away from the paths of samples. */
__attribute__((__cold__))
void rb_heapprof_still_keep(struct heapprof_still *still, uint32_t number);

/* No step of a shared still runs between the two: the array of the entries may move. */
__attribute__((__cold__))
void rb_heapprof_still_hold(struct heapprof_still *still);
__attribute__((__cold__))
void rb_heapprof_still_release(struct heapprof_still *still);

/* In a copy of the process, which has no other thread. A step that was cut off there is made
 * again. */
void rb_heapprof_still_alone(struct heapprof_still *still);

#endif
