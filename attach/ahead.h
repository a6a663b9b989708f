#ifndef HEAPPROF_ATTACH_AHEAD_H
#define HEAPPROF_ATTACH_AHEAD_H
/* Who looks at a target many times a second reads mostly what it read the last time: a list whose nodes are where they were. Each
 * range costs a system call, as it says where the next one is. So what was read is noted, and read all in one call at the next look:
 *
 *     rb_heapprof_ahead_begin ---> reads: served, and noted ---> _pause ... _go_on ---> reads ---> _pause
 *
 * What is served is of the moment of _begin, so nothing that is read twice to see whether it has changed may be read so. What
 * was not foreseen is read as ever. */
#include "base/mem.h"
#include <stdint.h>

struct heapprof_range;
struct heapprof_target;

struct heapprof_ahead_read {
    uint64_t address;
    size_t   bytes, at;         /* at: in copy */
};

struct heapprof_ahead_list {
    struct heapprof_ahead_read *reads;
    size_t   capacity, count, bytes;
};

struct heapprof_ahead {
    bool     on;
    struct heapprof_ahead_list before, now; /* of the last look, and of this one */
    unsigned char *copy;        /* of what before says */
    size_t   copy_capacity, next; /* next: the read that is likely to come */
};

/* Reads what was noted since it was called the last time. Nothing of a target that does not run. */
void rb_heapprof_ahead_begin(struct heapprof_target *target);
void rb_heapprof_ahead_pause(struct heapprof_target *target);
void rb_heapprof_ahead_go_on(struct heapprof_target *target);

void rb_heapprof_ahead_free(struct heapprof_ahead *ahead, struct heapprof_mem *mem);

/* ---- for target.c ---- */

/* Whether all of them were foreseen: then they are filled. */
bool rb_heapprof_ahead_take(struct heapprof_ahead *ahead, const struct heapprof_range *ranges, size_t count);

/* They have been read. */
void rb_heapprof_ahead_note(struct heapprof_ahead *ahead, struct heapprof_mem *mem, const struct heapprof_range *ranges, size_t count);

#endif
