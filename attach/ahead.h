#ifndef ATTACH_AHEAD_H
#define ATTACH_AHEAD_H
/* Who looks at a target many times a second reads mostly what it read the last time: a list whose nodes are where they were. Each
 * range costs a system call, as it says where the next one is. So what was read is noted, and read all in one call at the next look:
 *
 *     attach_ahead_begin ---> reads: served, and noted ---> _pause ... _go_on ---> reads ---> _pause
 *
 * What is served is of the moment of _begin, so nothing that is read twice to see whether it has changed may be read so. What
 * was not foreseen is read as ever. */
#include "base/mem.h"
#include <stdint.h>

struct attach_range;
struct attach_target;

struct attach_ahead_read {
    uint64_t address;
    size_t   bytes, at;         /* at: in copy */
};

struct attach_ahead_list {
    struct attach_ahead_read *reads;
    size_t   capacity, count, bytes;
};

struct attach_ahead {
    bool     on;
    struct attach_ahead_list before, now; /* of the last look, and of this one */
    unsigned char *copy;        /* of what before says */
    size_t   copy_capacity, next; /* next: the read that is likely to come */
};

/* Reads what was noted since it was called the last time. Nothing of a target that does not run. */
void attach_ahead_begin(struct attach_target *target);
void attach_ahead_pause(struct attach_target *target);
void attach_ahead_go_on(struct attach_target *target);

void attach_ahead_free(struct attach_ahead *ahead, struct heapprof_mem *mem);

/* ---- for target.c ---- */

/* Whether all of them were foreseen: then they are filled. */
bool attach_ahead_take(struct attach_ahead *ahead, const struct attach_range *ranges, size_t count);

/* They have been read. */
void attach_ahead_note(struct attach_ahead *ahead, struct heapprof_mem *mem, const struct attach_range *ranges, size_t count);

#endif
