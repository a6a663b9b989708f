#ifndef HEAPPROF_ROW_H
#define HEAPPROF_ROW_H
/* A row of a snapshot: what it counts, where that came from, and how much there is.
 *
 *     kind      subject
 *     OBJECTS   their class               "Foo::Bar"
 *     BLOCKS    the caller                "str_enc_new (ruby)"
 *     RUNG      what is in memory         "[VM] slots"
 *
 * Only the kind says which one it is, never a text or a value: a class may have any name.
 */
#include <stdbool.h>
#include <stdint.h>

#define HEAPPROF_AGE_DEAD UINT32_MAX

enum heapprof_row_kind {
    HEAPPROF_ROW_OBJECTS, /* slots; no malloc bytes */
    HEAPPROF_ROW_BLOCKS,  /* memory of the allocator; no objects and no slots */
    HEAPPROF_ROW_RUNG     /* a rung of the ladder (ladder.h); resident_bytes and nothing else */
};

struct heapprof_row {
    enum heapprof_row_kind kind;
    bool     folded;       /* many sites whose stacks were given up for memory; no subject */
    bool     native_leak;  /* suspected (leaks/suspects.h) */
    uint32_t stack;        /* into stacks; 0: allocated outside any frame */
    uint32_t subject;      /* string; 0: not known */
    uint32_t library;      /* string: library of the caller of blocks; 0: not known */
    uint32_t label;        /* string: the text of a set of labels (label_sets.h); 0: none */
    uint32_t gc_age;       /* GCs survived, rounded down to 0 or a power of two */
    uint32_t death_age;    /* of the dead: 1 + GCs survived, rounded down to 0, 1, 2 or 4; 0: it is
                              not known */
    uint32_t owner;        /* string: class of the object that holds the blocks; 0: not known */
    uint32_t owner_stack;  /* into stacks: where that object was allocated; 0: it is not sampled */
    double   alloc_objects;
    double   alloc_slot_bytes;
    double   alloc_malloc_bytes;
    double   temp_objects;      /* of the allocated: what has died before its first GC */
    double   temp_bytes;
    double   peak_objects;      /* what was alive at the peak */
    double   peak_bytes;
    double   inuse_objects;
    double   inuse_slot_bytes;
    double   inuse_malloc_bytes;
    double inuse_variance; /* of the estimate of bytes in use, in bytes squared. Of a difference:
                              of what came and what went */
    double   memsize_bytes;      /* what MRI says of the samples themselves, not weighted */
    double   resident_bytes;     /* of a rung; 0 for samples */
};

/* The subject if it is a class; of the second function, if it is a caller; otherwise 0. */
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
