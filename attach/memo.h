#ifndef HEAPPROF_ATTACH_MEMO_H
#define HEAPPROF_ATTACH_MEMO_H
/* The stacks of threads that wait, as the last look saw them. Most are the same again: one system call tells, and they
 * have their names. */
#include "attach/walk.h"

/* A frame with its names. */
struct heapprof_look_frame {
    uint32_t function;    /* of looks->names */
    uint32_t line;        /* 0: unknown */
};

struct heapprof_memo_entry {
    uint64_t ec;
    struct heapprof_walk_place place;
    size_t   at, bytes;   /* control frames, in bytes of the memo */
    size_t   first, count; /* named frames */
};

/* Of one look. */
struct heapprof_memo {
    struct heapprof_memo_entry *entries; /* by the number of the thread */
    size_t entry_capacity, entry_count;
    unsigned char *bytes;
    size_t byte_capacity, byte_count;
    struct heapprof_look_frame *frames;
    size_t frame_capacity, frame_count;
};

struct heapprof_memos {
    struct heapprof_mem *mem;
    struct heapprof_vm *vm;
    struct heapprof_memo before, now;
    unsigned char *again;
    size_t again_capacity;
};

void rb_heapprof_memos_init(struct heapprof_memos *memos, struct heapprof_vm *vm, struct heapprof_mem *mem);
void rb_heapprof_memos_free(struct heapprof_memos *memos);

/* Before a look; keep is false when code has been freed or moved since the last one. */
void rb_heapprof_memos_begin(struct heapprof_memos *memos, bool keep);

/* Whether that thread's stack is what it was: its entry, of memos->now; NULL: it is to be read. Threads are asked for in the order
 * of their numbers, each once, and then kept or passed by add. */
const struct heapprof_memo_entry *rb_heapprof_memos_find(struct heapprof_memos *memos, size_t number, uint64_t ec);

/* Keeps a stack that was read while the thread waited. Without memory it is not kept. */
void rb_heapprof_memos_add(struct heapprof_memos *memos, size_t number, const struct heapprof_walk *walk,
                           const struct heapprof_look_frame *frames, size_t count);

#endif
