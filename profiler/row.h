#ifndef HEAPPROF_ROW_H
#define HEAPPROF_ROW_H
/* A row of a snapshot: what it is of, where that came from, and how much there is.
 *
 *     kind      subject
 *     OBJECTS   their class               "Foo::Bar"
 *     BLOCKS    the caller                "str_enc_new (ruby)"
 *     RUNG      what is in memory         "[VM] slots"
 *
 * Which one it is the kind says, never a text or a value: a class may be named as anything else is.
 */
#include <stdbool.h>
#include <stdint.h>

#define HEAPPROF_AGE_DEAD UINT32_MAX

enum heapprof_row_kind {
    HEAPPROF_ROW_OBJECTS, /* slots; no malloc bytes */
    HEAPPROF_ROW_BLOCKS,  /* memory of the allocator: no objects and no slots */
    HEAPPROF_ROW_RUNG     /* of the ladder (ladder.h): resident_bytes and nothing else */
};

struct heapprof_row {
    enum heapprof_row_kind kind;
    bool     folded;       /* of many sites whose stacks were given up for memory; no subject */
    bool     native_leak;  /* suspected (native_leaks.h) */
    uint32_t stack;        /* into stacks; 0: allocated outside any frame */
    uint32_t subject;      /* string; 0: not known */
    uint32_t library;      /* string: of blocks, what the caller is in; 0: not known */
    uint32_t gc_age;       /* GCs survived, rounded down to 0 or a power of two */
    uint32_t owner;        /* string: class of the object that holds the blocks; 0: not known */
    uint32_t owner_stack;  /* into stacks: who allocated that object; 0: it is not sampled */
    double   alloc_objects;
    double   alloc_slot_bytes;
    double   alloc_malloc_bytes;
    double   inuse_objects;
    double   inuse_slot_bytes;
    double   inuse_malloc_bytes;
    double   inuse_variance;     /* of the bytes in use as an estimate, in bytes squared; of a difference
                                    that of what came and what went */
    double   memsize_bytes;      /* what MRI says of the samples themselves, not weighted */
    double   resident_bytes;     /* of a rung; of samples 0 */
};

/* The subject if it is a class, or a caller; otherwise 0. */
static inline uint32_t
rb_heapprof_row_class(const struct heapprof_row *row)
{
    return row->kind == HEAPPROF_ROW_OBJECTS ? row->subject : 0;
}

static inline uint32_t
rb_heapprof_row_caller(const struct heapprof_row *row)
{
    return row->kind == HEAPPROF_ROW_BLOCKS ? row->subject : 0;
}

#endif
