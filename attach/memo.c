/* memo.c - stacks that have not changed since the last look. */
#include "attach/memo.h"

#include <string.h>

void
rb_heapprof_memos_init(struct heapprof_memos *memos, struct heapprof_vm *vm, struct heapprof_mem *mem)
{
    *memos = (struct heapprof_memos){.mem = mem, .vm = vm};
}

static void
release(struct heapprof_memo *memo, struct heapprof_mem *mem)
{
    HEAPPROF_MEM_RELEASE(mem, memo->entries, memo->entry_capacity);
    HEAPPROF_MEM_RELEASE(mem, memo->bytes, memo->byte_capacity);
    HEAPPROF_MEM_RELEASE(mem, memo->frames, memo->frame_capacity);
}

void
rb_heapprof_memos_free(struct heapprof_memos *memos)
{
    release(&memos->before, memos->mem);
    release(&memos->now, memos->mem);
    HEAPPROF_MEM_RELEASE(memos->mem, memos->again, memos->again_capacity);
}

void
rb_heapprof_memos_begin(struct heapprof_memos *memos, bool keep)
{
    struct heapprof_memo old = memos->before;

    memos->before = memos->now;
    memos->now = old;
    memos->now.entry_count = memos->now.byte_count = memos->now.frame_count = 0;
    if (!keep) memos->before.entry_count = 0;
}

/* Room for an entry of that number, those before it being none, and for what it has. NULL: no memory. */
static struct heapprof_memo_entry *
reserve(struct heapprof_memos *memos, size_t number, size_t bytes, size_t frames)
{
    struct heapprof_memo *now = &memos->now;

    if (!HEAPPROF_MEM_GROW(memos->mem, now->entries, now->entry_capacity, number + 1) ||
        !HEAPPROF_MEM_GROW(memos->mem, now->bytes, now->byte_capacity, now->byte_count + bytes + 1) ||
        !HEAPPROF_MEM_GROW(memos->mem, now->frames, now->frame_capacity, now->frame_count + frames + 1)) return NULL;
    while (now->entry_count <= number) now->entries[now->entry_count++] = (struct heapprof_memo_entry){0};
    return &now->entries[number];
}

static const struct heapprof_memo_entry *
add(struct heapprof_memos *memos, size_t number, const struct heapprof_memo_entry *entry, const void *bytes,
    const struct heapprof_look_frame *frames)
{
    struct heapprof_memo_entry *to = reserve(memos, number, entry->bytes, entry->count);
    struct heapprof_memo *now = &memos->now;

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

/* Where the stack is, and its frames, in one go; then whether they are the same. */
static bool
same_p(struct heapprof_memos *memos, const struct heapprof_memo_entry *entry)
{
    struct heapprof_walk_place place;

    return HEAPPROF_MEM_GROW(memos->mem, memos->again, memos->again_capacity, entry->bytes) &&
           rb_heapprof_walk_read(memos->vm, entry->ec, &place, entry->place.frame, memos->again, entry->bytes) &&
           place.stack == entry->place.stack && place.frame == entry->place.frame && place.dummy == entry->place.dummy &&
           !memcmp(memos->again, memos->before.bytes + entry->at, entry->bytes);
}

const struct heapprof_memo_entry *
rb_heapprof_memos_find(struct heapprof_memos *memos, size_t number, uint64_t ec)
{
    const struct heapprof_memo *before = &memos->before;
    const struct heapprof_memo_entry *entry = number < before->entry_count ? &before->entries[number] : NULL;

    if (!entry || !entry->bytes || entry->ec != ec || !same_p(memos, entry)) return NULL;
    return add(memos, number, entry, before->bytes + entry->at, before->frames + entry->first);
}

void
rb_heapprof_memos_add(struct heapprof_memos *memos, size_t number, const struct heapprof_walk *walk,
                      const struct heapprof_look_frame *frames, size_t count)
{
    struct heapprof_memo_entry entry = {
        .ec = walk->ec, .place = walk->place, .bytes = walk->frame_count * memos->vm->frame_bytes, .count = count
    };

    if (entry.bytes) add(memos, number, &entry, walk->frames, frames);
}
