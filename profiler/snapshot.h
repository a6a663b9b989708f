#ifndef HEAPPROF_SNAPSHOT_H
#define HEAPPROF_SNAPSHOT_H
/* A profile at one moment: copies of the tables and the rows they add up to.
 * Immutable once taken, owns all its memory, shares nothing with the profiler; it
 * can be read, encoded and freed on any thread, without the GVL, after a stop.
 *
 * A row (row.h) is a stack, a class and an age; or a stack, a C function that asks the allocator
 * there, an owner if owners are known, and an age. Of each site there is one row for every age
 * among its live samples, and one of age HEAPPROF_AGE_DEAD for what was allocated and is gone. So
 * the alloc columns and the inuse columns both add up.
 * Values are estimates of the true numbers (already weighted), in whole numbers that
 * add up; of one sample alone (take_sample) they are not rounded.
 */
#include "profiler/ladder.h"
#include "profiler/row.h"
#include "profiler/tables.h"

/* What a profile says about itself. */
struct heapprof_facts {
    uint64_t interval_bytes;
    uint64_t malloc_interval_bytes; /* 0: blocks are not sampled */
    uint64_t gc_count;        /* the GC whose marking the live samples are as of */
    uint64_t live_samples;
    uint64_t total_samples;   /* taken since start */
    uint64_t dropped;         /* samples given up: no memory */
    uint64_t folded;          /* sites folded: no memory */
    uint64_t truncated;       /* stacks cut at depth frames */
    uint64_t doublings;       /* of the intervals: no memory */
    uint64_t budget_bytes;
    uint64_t used_bytes;
    int64_t  start_ns;        /* wall clock, ns since the epoch */
    int64_t  time_ns;         /* of the snapshot */
    uint64_t old_gc;          /* what was born before this GC has survived several major ones; 0: not
                                 yet, or leaks are not looked for */
    bool     owners;          /* those of blocks are known */
    bool     owner_frames;    /* of who allocated them only the innermost frame: it was loaded (load.h) */
    bool     difference;      /* of two snapshots: values are changes */
    uint32_t moves;           /* how often objects have been moved: which addresses of owners are good */
};

/* What a snapshot asks about objects. */
struct heapprof_asks {
    bool   (*gone_p)(uintptr_t address, void *data);  /* dead though not yet swept? NULL: none is */
    size_t (*memsize)(uintptr_t address, void *data); /* bytes MRI counts for it; NULL: not asked */
    void   (*lock_blocks)(void *data);    /* between the two no block changes; NULL: none does */
    void   (*unlock_blocks)(void *data);
    void   *data;
};

struct heapprof_snapshot {
    struct heapprof_mem       mem;       /* its own account, without a limit */
    struct heapprof_strings   strings;
    struct heapprof_functions functions; /* to read by number: its index is empty */
    struct heapprof_stacks    stacks;    /* the same */
    struct heapprof_row      *rows;      /* by site, then age; the folded row last */
    size_t                    rows_capacity;
    size_t                    row_count;
    bool                      distinct;  /* no two rows look alike: it was taken (alike.h) */
    struct heapprof_facts     facts;
    struct heapprof_ladder    ladder;    /* zero: without the rest of RSS */
    uint32_t                  origin;    /* string: lines "key: value" that say which process; 0: none */
};

/* The profile of one live sample, by its entry: one row, and of the tables only what that needs; NULL
 * when there is no memory. facts come from the caller. The tables stay as they are meanwhile. Of all
 * samples: copies.h. */
struct heapprof_snapshot *
rb_heapprof_snapshot_take_sample(const struct heapprof_tables *tables,
                                 const struct heapprof_facts *facts, uint32_t entry);

/* Gives the memory back. NULL is allowed. Part of the C API as it is
 * (include/ruby/heapprof.h), hence visible to extensions. */
__attribute__((__visibility__("default")))
void rb_heapprof_snapshot_free(struct heapprof_snapshot *snapshot);

/* Bytes it occupies. */
size_t rb_heapprof_snapshot_memsize(const struct heapprof_snapshot *snapshot);

/* A frame of a row's stack, ready to show. */
struct heapprof_frame {
    uint32_t name;  /* string */
    uint32_t path;  /* string; of a C function, the path and line that called it */
    uint32_t line;
    uint32_t first_line;
};

/* Writes the stack's frames, innermost first, into frames, at most capacity of
 * them; returns how many there are. The empty stack has none. */
size_t rb_heapprof_snapshot_frames(const struct heapprof_snapshot *snapshot, uint32_t stack,
                                   struct heapprof_frame *frames, size_t capacity);

/* The same of a stack of the tables themselves; allocates nothing. */
size_t rb_heapprof_stack_frames(const struct heapprof_stacks *stacks, const struct heapprof_functions *functions, uint32_t stack,
                                struct heapprof_frame *frames, size_t capacity);

/* One without rows or copies, for who fills it; NULL when there is no memory. */
struct heapprof_snapshot *rb_heapprof_snapshot_new(const struct heapprof_facts *facts);

/* The same for what a file says, whose author may have chosen names and lines that are in each other's way: the
 * indices have a secret. */
struct heapprof_snapshot *rb_heapprof_snapshot_new_salted(const struct heapprof_facts *facts);

#endif
