#ifndef HEAPPROF_DEAD_OBJECTS_H
#define HEAPPROF_DEAD_OBJECTS_H
/* Dead objects whose slots are held back: who allocated each, and which GC found it dead. They are
 * in the order in which they died, so the oldest one is let go first.
 *
 *     add                                 oldest, drop_oldest
 *      v                                      ^
 *     [ newest ......................... oldest ]     gc -> dead_gcs: number, Ruby stack
 */
#include "profiler/stacks.h"

struct heapprof_dead_object {
    uintptr_t address;
    uint32_t  bytes;       /* of the slot */
    uint32_t  memory_bytes; /* that nobody else gets as long as it is held back */
    uint32_t  stack;       /* allocated it; held. 0: not known */
    uint32_t  class_name;  /* string; 0: not known */
    uint32_t  gc : 31;     /* index of the GC */
    uint32_t  moved : 1;   /* the object lives on elsewhere: compaction has moved it */
};

struct heapprof_dead_gc {
    uint64_t count;        /* its number, as GC.count has it */
    uint32_t stack;        /* of the Ruby code that ran when it began; held */
    bool     major;
};

struct heapprof_dead_objects {
    struct heapprof_mem *mem;
    struct heapprof_stacks *stacks;
    struct heapprof_dead_object *all;   /* those from `first` up to `end` are held back */
    struct heapprof_dead_gc *gcs;
    size_t   capacity, first, end, gc_capacity, gc_count;
    uint64_t held_bytes;                /* memory of all that are held back */
    uint64_t died;                      /* all that ever were here. Of these, those whose use would
                                           not be seen: */
    uint64_t crowded;                   /* on a page of memory with others that lived */
    uint64_t unmapped;                  /* there were too many mappings */
    uint64_t uncoverable;               /* this machine's pages of memory are too large */
};

/* Empty; allocates nothing. mem and stacks must outlive it. */
void rb_heapprof_dead_objects_init(struct heapprof_dead_objects *dead, struct heapprof_mem *mem,
                                   struct heapprof_stacks *stacks);

/* Gives the memory back; as after init. The stacks keep its holds: they are freed, too. */
void rb_heapprof_dead_objects_free(struct heapprof_dead_objects *dead);

/* A GC has begun. Objects that are added from here on died in it. If memory is refused, they count
 * as of the GC before. */
void rb_heapprof_dead_objects_begin_gc(struct heapprof_dead_objects *dead,
                                       const struct heapprof_dead_gc *gc);

/* Adds an object, and sets its gc. Returns false if memory is refused, or if no GC has begun. */
bool rb_heapprof_dead_objects_add(struct heapprof_dead_objects *dead,
                                  const struct heapprof_dead_object *one);

/* The object that died first; NULL if there is none. Good until the next call. */
const struct heapprof_dead_object *
rb_heapprof_dead_objects_oldest(const struct heapprof_dead_objects *dead);
void rb_heapprof_dead_objects_drop_oldest(struct heapprof_dead_objects *dead);

/* The object whose slot has that address, also in its middle; NULL if there is none. Takes time in
 * proportion to all: it is asked when an error was seen. */
const struct heapprof_dead_object *
rb_heapprof_dead_objects_find(const struct heapprof_dead_objects *dead, uintptr_t address);

#endif
