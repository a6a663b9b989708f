#ifndef ATTACH_MEMO_H
#define ATTACH_MEMO_H
/* The stacks of threads that wait, as the last look saw them. Most are the same again: one system call tells, and they
 * have their names. */
#include "attach/walk.h"

/* A frame with its names. */
struct attach_look_frame {
    uint32_t function;    /* of looks->names */
    uint32_t line;        /* 0: unknown */
};

struct attach_memo_entry {
    uint64_t ec;
    struct attach_walk_place place;
    size_t   at, bytes;   /* control frames, in bytes of the memo */
    size_t   first, count; /* named frames */
};

/* Of one look. */
struct attach_memo {
    struct attach_memo_entry *entries; /* by the number of the thread */
    size_t entry_capacity, entry_count;
    unsigned char *bytes;
    size_t byte_capacity, byte_count;
    struct attach_look_frame *frames;
    size_t frame_capacity, frame_count;
};

struct attach_memos {
    struct heapprof_mem *mem;
    struct attach_vm *vm;
    struct attach_memo before, now;
    unsigned char *again;
    size_t again_capacity;
};

void attach_memos_init(struct attach_memos *memos, struct attach_vm *vm, struct heapprof_mem *mem);
void attach_memos_free(struct attach_memos *memos);

/* Before a look; keep is false when code has been freed or moved since the last one. */
void attach_memos_begin(struct attach_memos *memos, bool keep);

/* Whether that thread's stack is what it was: its entry, of memos->now; NULL: it is to be read. Threads are asked for in the order
 * of their numbers, each once, and then kept or passed by add. */
const struct attach_memo_entry *attach_memos_find(struct attach_memos *memos, size_t number, uint64_t ec);

/* Keeps a stack that was read while the thread waited. Without memory it is not kept. */
void attach_memos_add(struct attach_memos *memos, size_t number, const struct attach_walk *walk,
                           const struct attach_look_frame *frames, size_t count);

#endif
