/* memo.c - keeps the stacks of waiting threads from one look to the next. */
#include "attach/memo.h"

#include <string.h>

void
attach_memos_init(struct attach_memos *memos, struct attach_vm *vm, struct heapprof_mem *mem)
{
    *memos = (struct attach_memos){.mem = mem, .vm = vm};
}

static void
release(struct attach_memo *memo, struct heapprof_mem *mem)
{
    HEAPPROF_MEM_RELEASE(mem, memo->entries, memo->entry_capacity);
    HEAPPROF_MEM_RELEASE(mem, memo->bytes, memo->byte_capacity);
    HEAPPROF_MEM_RELEASE(mem, memo->frames, memo->frame_capacity);
}

void
attach_memos_free(struct attach_memos *memos)
{
    release(&memos->before, memos->mem);
    release(&memos->now, memos->mem);
    HEAPPROF_MEM_RELEASE(memos->mem, memos->again, memos->again_capacity);
}

void
attach_memos_begin(struct attach_memos *memos, bool keep)
{
    struct attach_memo old = memos->before;

    memos->before = memos->now;
    memos->now = old;
    memos->now.entry_count = memos->now.byte_count = memos->now.frame_count = 0;
    if (!keep) attach_memos_forget(memos);
}

void
attach_memos_forget(struct attach_memos *memos)
{
    memos->before.entry_count = memos->now.entry_count = 0;
}

/* Makes room for the entry of that number and for its contents. Entries before it that were not set
 * are empty. Returns NULL without memory. */
static struct attach_memo_entry *
reserve(struct attach_memos *memos, size_t number, size_t bytes, size_t frames)
{
    struct attach_memo *now = &memos->now;

    if (!HEAPPROF_MEM_GROW(memos->mem, now->entries, now->entry_capacity, number + 1) ||
        !HEAPPROF_MEM_GROW(memos->mem, now->bytes, now->byte_capacity,
                           now->byte_count + bytes + 1) ||
        !HEAPPROF_MEM_GROW(memos->mem, now->frames, now->frame_capacity,
                           now->frame_count + frames + 1))
        return NULL;
    while (now->entry_count <= number)
        now->entries[now->entry_count++] = (struct attach_memo_entry){ 0 };
    return &now->entries[number];
}

static const struct attach_memo_entry *
add(struct attach_memos *memos, size_t number, const struct attach_memo_entry *entry,
    const void *bytes, const struct attach_look_frame *frames)
{
    struct attach_memo_entry *to = reserve(memos, number, entry->bytes, entry->count);
    struct attach_memo *now = &memos->now;

    if (!to) return NULL;
    *to = *entry;
    to->at = now->byte_count;
    to->first = now->frame_count;
    memcpy(now->bytes + to->at, bytes, entry->bytes);
    memcpy(now->frames + to->first, frames, entry->count * sizeof(*frames));
    now->byte_count += entry->bytes;
    now->frame_count += entry->count;
    return to;
}

/* Reads where the stack is, together with its frames, in one system call. Then compares them. The
 * labels may be others. */
static bool
same_p(struct attach_memos *memos, const struct attach_memo_entry *entry,
       struct attach_walk_place *place)
{
    return HEAPPROF_MEM_GROW(memos->mem, memos->again, memos->again_capacity, entry->bytes) &&
           attach_walk_read(memos->vm, entry->ec, place, entry->place.frame, memos->again,
                            entry->bytes) &&
           place->stack == entry->place.stack && place->frame == entry->place.frame &&
           place->dummy == entry->place.dummy &&
           !memcmp(memos->again, memos->before.bytes + entry->at, entry->bytes);
}

const struct attach_memo_entry *
attach_memos_find(struct attach_memos *memos, size_t number, uint64_t ec)
{
    const struct attach_memo *before = &memos->before;
    const struct attach_memo_entry *entry =
        number < before->entry_count ? &before->entries[number] : NULL;

    struct attach_memo_entry now;

    if (!entry || !entry->bytes || entry->ec != ec) return NULL;
    now = *entry;
    if (!same_p(memos, entry, &now.place)) return NULL;
    return add(memos, number, &now, before->bytes + now.at, before->frames + now.first);
}

void
attach_memos_add(struct attach_memos *memos, size_t number, const struct attach_walk *walk,
                 const struct attach_look_frame *frames, size_t count, uint64_t call)
{
    struct attach_memo_entry entry = { .ec = walk->ec,
                                       .call = call,
                                       .place = walk->place,
                                       .bytes = walk->frame_count * memos->vm->frame_bytes,
                                       .count = count };

    if (entry.bytes) add(memos, number, &entry, walk->frames, frames);
}
