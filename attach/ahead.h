#ifndef ATTACH_AHEAD_H
#define ATTACH_AHEAD_H
/* The shopping list of the last look: everything on it is fetched in one system call at the next
 * look.
 *
 * A reader that looks at a target many times a second reads mostly what it read the last time: a
 * list whose nodes are where they were. Each range would cost a system call of its own, because
 * each range says where the next one is. So the ranges of a look are noted, and the next look
 * begins with one call for all of them:
 *
 *     begin ---> reads: served from the copy, and noted ---> pause ... resume ---> reads ---> pause
 *
 * The copy is of the moment of begin. So a range that is read twice, to see whether it has changed,
 * must be read in a pause. A range that was not on the list is read from the target as usual. */
#include "base/mem.h"
#include <stdint.h>

/* Where to read, and where to put it. */
struct attach_range {
    uint64_t address;
    void    *to;
    size_t   bytes;
};

/* Fills all of the ranges. Returns false if one of them cannot be read. */
typedef bool attach_ahead_read_i(void *data, const struct attach_range *ranges, size_t count);

struct attach_ahead_read {
    uint64_t address;
    size_t   bytes;
    size_t   at;                /* in copy */
};

struct attach_ahead_list {
    struct attach_ahead_read *reads;
    size_t   capacity, count;
    size_t   bytes;             /* sum of the reads' */
};

/* Looks of different kinds read different things. Each kind has a list of its own. */
enum attach_ahead_kind { ATTACH_AHEAD_FULL, ATTACH_AHEAD_QUIET, ATTACH_AHEAD_KINDS };

struct attach_ahead {
    attach_ahead_read_i *read;  /* called with data */
    void    *data;
    struct heapprof_mem *mem;
    bool     on;                /* reads are served and noted */
    unsigned kind;              /* of this look */
    struct attach_ahead_list kept[ATTACH_AHEAD_KINDS]; /* of the looks before, by their kind */
    struct attach_ahead_list before; /* the ranges of the last look of its kind: copy holds them */
    struct attach_ahead_list now;    /* the ranges of this look */
    unsigned char *copy;
    size_t   copy_capacity;
    size_t   next;              /* index in before: the read that is likely to come next */
};

/* All else in *ahead is zero. data and mem have to outlive it. */
void attach_ahead_init(struct attach_ahead *ahead, attach_ahead_read_i *read, void *data,
                       struct heapprof_mem *mem);
void attach_ahead_free(struct attach_ahead *ahead);

/* Begins a look: reads what has been noted since the last begin. */
void attach_ahead_begin(struct attach_ahead *ahead, enum attach_ahead_kind kind);

/* From pause to resume reads are neither served nor noted. */
void attach_ahead_pause(struct attach_ahead *ahead);
void attach_ahead_resume(struct attach_ahead *ahead);

/* Fills the ranges from the copy. Returns false, with any of them filled, if one is not in it or in
 * a pause. */
bool attach_ahead_take(struct attach_ahead *ahead, const struct attach_range *ranges, size_t count);

/* Puts ranges that have been read on the list for the next look. Does nothing in a pause. */
void attach_ahead_note(struct attach_ahead *ahead, const struct attach_range *ranges, size_t count);

#endif
