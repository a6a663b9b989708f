#ifndef ATTACH_MEMO_H
#define ATTACH_MEMO_H
/* Photographs of the stacks of waiting threads, taken by the last look. Most stacks are still the
 * same: one system call tells so, and then their frames have names already. */
#include "attach/walk.h"

/* A frame with its names. */
struct attach_look_frame {
    uint32_t function;    /* of looks->names */
    uint32_t line;        /* 0: unknown */
    bool     native;      /* a C function of the machine stack, or a mark among these */
    size_t   locals;      /* for attach_locals_of; 0: not asked for, or no Ruby code */
};

struct attach_memo_entry {
    uint64_t ec;
    uint64_t call; /* attach_cpu_call of its thread; 0: not known */
    struct attach_walk_place place;
    size_t   at, bytes;   /* control frames, in bytes of the memo */
    size_t   first, count; /* named frames */
};

/* The stacks of one look. */
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

/* Must be called before a look. keep is false if code has been freed or moved since the last
 * look. */
void attach_memos_begin(struct attach_memos *memos, bool keep);

/* Code has been freed or moved during a look: forgets the last look, and this one up to here. */
void attach_memos_forget(struct attach_memos *memos);

/* Returns the entry of a thread's stack, in memos->now, if the stack has not changed; otherwise
 * NULL, and the stack has to be read. Must be called for threads in the order of their numbers,
 * once for each, before add for the same thread. */
const struct attach_memo_entry *
attach_memos_find(struct attach_memos *memos, size_t number, uint64_t ec);

/* Keeps a stack that was read while its thread waited, in that system call. Without memory the
 * stack is not kept. */
void attach_memos_add(struct attach_memos *memos, size_t number, const struct attach_walk *walk,
                      const struct attach_look_frame *frames, size_t count, uint64_t call);

#endif
