/* ahead.c - notes the reads of a look, and makes them in one go at the beginning of the next look.
 *
 *   I1  Reads come in about the same order in every look. So the search for a read begins behind
 *       the last one that was found, and ends after FURTHER_ON reads.
 *   I2  The copy holds all of the list, or the list is empty: if one range has gone, nothing is
 *       served in this look. */
#include "attach/ahead.h"

#include <string.h>

enum {
    READS_MOST = 1024, /* ranges of one system call */
    BYTES_MOST = 1 << 20,
    FURTHER_ON = 16 /* at most so many reads of the last look may be missing in this one */
};

void
attach_ahead_init(struct attach_ahead *ahead, attach_ahead_read_i *read, void *data,
                  struct heapprof_mem *mem)
{
    *ahead = (struct attach_ahead){.read = read, .data = data, .mem = mem};
}

void
attach_ahead_free(struct attach_ahead *ahead)
{
    HEAPPROF_MEM_RELEASE(ahead->mem, ahead->before.reads, ahead->before.capacity);
    HEAPPROF_MEM_RELEASE(ahead->mem, ahead->now.reads, ahead->now.capacity);
    for (size_t i = 0; i < ATTACH_AHEAD_KINDS; i++)
        HEAPPROF_MEM_RELEASE(ahead->mem, ahead->kept[i].reads, ahead->kept[i].capacity);
    HEAPPROF_MEM_RELEASE(ahead->mem, ahead->copy, ahead->copy_capacity);
}

/* ---- a look ---- */

/* Fills the copy with what the list says. Returns false if one range cannot be read, or without
 * memory. */
static bool
read_list(struct attach_ahead *ahead)
{
    struct attach_range ranges[READS_MOST];
    const struct attach_ahead_list *before = &ahead->before;

    if (!HEAPPROF_MEM_GROW(ahead->mem, ahead->copy, ahead->copy_capacity, before->bytes))
        return false;
    for (size_t i = 0; i < before->count; i++) {
        const struct attach_ahead_read *read = &before->reads[i];
        ranges[i] = (struct attach_range){ read->address, ahead->copy + read->at, read->bytes };
    }
    return before->count == 0 || ahead->read(ahead->data, ranges, before->count);
}

static void
swap(struct attach_ahead_list *one, struct attach_ahead_list *other)
{
    struct attach_ahead_list old = *one;

    *one = *other;
    *other = old;
}

void
attach_ahead_begin(struct attach_ahead *ahead, enum attach_ahead_kind kind)
{
    swap(&ahead->now, &ahead->kept[ahead->kind]);
    swap(&ahead->before, &ahead->kept[kind]);
    ahead->kind = kind;
    ahead->now.count = ahead->now.bytes = ahead->next = 0;
    if (!read_list(ahead)) ahead->before.count = 0; /* I2 */
    ahead->on = true;
}

void
attach_ahead_pause(struct attach_ahead *ahead)
{
    ahead->on = false;
}

void
attach_ahead_resume(struct attach_ahead *ahead)
{
    ahead->on = true;
}

/* ---- a read ---- */

static bool
take_range(struct attach_ahead *ahead, const struct attach_range *range)
{
    const struct attach_ahead_list *before = &ahead->before;

    for (size_t i = ahead->next; i < before->count && i < ahead->next + FURTHER_ON; i++) { /* I1 */
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
    if (!ahead->on) return false;
    for (size_t i = 0; i < count; i++) {
        if (!take_range(ahead, &ranges[i])) return false;
    }
    return true;
}

void
attach_ahead_note(struct attach_ahead *ahead, const struct attach_range *ranges, size_t count)
{
    struct attach_ahead_list *now = &ahead->now;

    if (!ahead->on) return;
    for (size_t i = 0; i < count; i++) {
        size_t bytes = ranges[i].bytes;
        if (now->count == READS_MOST || bytes > BYTES_MOST - now->bytes) return;
        if (!HEAPPROF_MEM_GROW(ahead->mem, now->reads, now->capacity, now->count + 1)) return;
        now->reads[now->count++] =
            (struct attach_ahead_read){ ranges[i].address, bytes, now->bytes };
        now->bytes += bytes;
    }
}
