/* ahead.c - the reads of the last look, made in one go.
 *
 *   I1  reads that come are held against those of before in their order, so each is found at once or a few further on.
 *   I2  the copy is of the addresses that it is asked for: what is not there any more makes all of it void. */
#include "attach/ahead.h"

#include <string.h>

#include "attach/target.h"

enum {
    READS_MOST = 1024,          /* ranges of one system call */
    BYTES_MOST = 1 << 20,
    FURTHER_ON = 16             /* so many may have been left out this time */
};

/* Into copy; without it nothing was foreseen. */
static void
read_before(struct attach_target *target)
{
    struct attach_ahead *ahead = &target->ahead;
    struct attach_range ranges[READS_MOST];
    struct attach_ahead_list *before = &ahead->before;

    if (!HEAPPROF_MEM_GROW(&target->mem, ahead->copy, ahead->copy_capacity, before->bytes)) before->count = 0;
    for (size_t i = 0; i < before->count; i++) {
        const struct attach_ahead_read *read = &before->reads[i];
        ranges[i] = (struct attach_range){ read->address, ahead->copy + read->at, read->bytes };
    }
    if (before->count && !attach_target_read_all(target, ranges, before->count)) before->count = 0;
}

void
attach_ahead_begin(struct attach_target *target)
{
    struct attach_ahead *ahead = &target->ahead;
    struct attach_ahead_list old = ahead->before;

    if (!target->runs) return;
    ahead->before = ahead->now;
    ahead->now = old;
    ahead->now.count = ahead->now.bytes = ahead->next = 0;
    ahead->on = false;
    read_before(target);
    ahead->on = true;
}

void
attach_ahead_pause(struct attach_target *target)
{
    target->ahead.on = false;
}

void
attach_ahead_go_on(struct attach_target *target)
{
    target->ahead.on = target->runs;
}

void
attach_ahead_free(struct attach_ahead *ahead, struct heapprof_mem *mem)
{
    HEAPPROF_MEM_RELEASE(mem, ahead->before.reads, ahead->before.capacity);
    HEAPPROF_MEM_RELEASE(mem, ahead->now.reads, ahead->now.capacity);
    HEAPPROF_MEM_RELEASE(mem, ahead->copy, ahead->copy_capacity);
}

/* ---- a read ---- */

static bool
take(struct attach_ahead *ahead, const struct attach_range *range)
{
    const struct attach_ahead_list *before = &ahead->before;

    for (size_t i = ahead->next; i < before->count && i < ahead->next + FURTHER_ON; i++) {
        const struct attach_ahead_read *read = &before->reads[i];
        if (read->address != range->address || read->bytes != range->bytes) continue;
        memcpy(range->to, ahead->copy + read->at, range->bytes);
        ahead->next = i + 1;
        return true;
    }
    return false;
}

bool
attach_ahead_take(struct attach_ahead *ahead, const struct attach_range *ranges, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (!take(ahead, &ranges[i])) return false;
    }
    return true;
}

void
attach_ahead_note(struct attach_ahead *ahead, struct heapprof_mem *mem, const struct attach_range *ranges, size_t count)
{
    struct attach_ahead_list *now = &ahead->now;

    for (size_t i = 0; i < count; i++) {
        size_t bytes = ranges[i].bytes;
        if (now->count == READS_MOST || bytes > BYTES_MOST - now->bytes) return;
        if (!HEAPPROF_MEM_GROW(mem, now->reads, now->capacity, now->count + 1)) return;
        now->reads[now->count++] = (struct attach_ahead_read){ ranges[i].address, bytes, now->bytes };
        now->bytes += bytes;
    }
}
