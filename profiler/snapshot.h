#ifndef HEAPPROF_SNAPSHOT_H
#define HEAPPROF_SNAPSHOT_H
/* A profile at one moment: copies of the tables and the rows they add up to. It never changes
 * once it is taken, owns all its memory, and shares nothing with the profiler. It can be read,
 * encoded and freed on any thread, without the GVL, after a stop.
 *
 * A row (row.h) has a stack, a class and an age; or a stack, a C function that asks the
 * allocator there, an age, and an owner if owners are known. Each site has one row for every
 * age among its live samples, and one of age HEAPPROF_AGE_DEAD for what was allocated and is
 * gone: one for each age at death, if these are known. If the peak is known, one more row says what
 * the site had then. So the alloc columns and the inuse columns both add up. Values are estimates
 * of the true numbers (already weighted), in whole numbers that add up. The values of one sample
 * alone (take_sample) are not rounded.
 */
#include "profiler/ladder.h"
#include "profiler/row.h"
#include "profiler/tables.h"

/* What a profile says about itself. */
struct heapprof_facts {
    uint64_t interval_bytes;
    uint64_t malloc_interval_bytes; /* 0: blocks are not sampled */
    uint64_t gc_count;        /* the live samples are those that this GC has marked */
    uint64_t live_samples;
    uint64_t total_samples;   /* taken since start */
    uint64_t dropped;         /* samples given up for lack of memory */
    uint64_t folded;          /* sites folded for lack of memory */
    uint64_t truncated;       /* stacks cut at depth frames */
    uint64_t doublings;       /* of the intervals, for lack of memory */
    uint64_t other_labels;    /* values of labels that became "(other)" (label_sets.h) */
    uint64_t left_out_labels; /* labels beyond the limits */
    uint64_t budget_bytes;
    uint64_t used_bytes;
    int64_t  start_ns;        /* wall clock, ns since the epoch */
    int64_t  time_ns;         /* of the snapshot */
    uint64_t old_gc; /* what was born before this GC has survived several major GCs; 0: there
                        were too few, or leaks are not looked for */
    bool     lifetimes;       /* rows of the dead tell their ages */
    bool     peak_kept;       /* rows tell what was alive at the peak, if there was one */
    double   peak_bytes;      /* what was alive at the peak; 0: there was none yet */
    uint64_t peak_gc;         /* the GC after which that was */
    int64_t  peak_ns;         /* when; wall clock */
    bool     owners;          /* the owners of blocks are known */
    bool owner_frames; /* owners' stacks have only the innermost frame: it was loaded (load.h) */
    bool     difference;      /* it is a difference of two snapshots: values are changes */
    uint32_t moves; /* how often objects have been moved: tells which owners' addresses hold */
};

/* What a snapshot asks about objects. */
struct heapprof_asks {
    bool (*gone_p)(uintptr_t address, void *data); /* dead and not yet swept? NULL: no object is */
    size_t (*memsize)(uintptr_t address,
                      void *data);   /* bytes MRI counts for it; NULL: not wanted */
    void (*lock_blocks)(void *data); /* no block changes until unlock; NULL: no block ever does */
    void   (*unlock_blocks)(void *data);
    void   *data;
};

struct heapprof_snapshot {
    struct heapprof_mem       mem;       /* its own account, without a limit */
    struct heapprof_strings   strings;
    struct heapprof_functions functions; /* read by number only: the index is empty */
    struct heapprof_stacks    stacks;    /* read by number only */
    struct heapprof_row      *rows;      /* by site, then age; the folded row last */
    size_t                    rows_capacity;
    size_t                    row_count;
    bool                      distinct;  /* no two rows look alike, since it was taken (alike.h) */
    struct heapprof_facts     facts;
    struct heapprof_ladder    ladder;    /* zero if the rest of RSS is not in it */
    uint32_t                  origin;    /* string: lines "key: value" about the process; 0: none */
};

/* The profile of one live sample, given by its entry: one row, and only those parts of the
 * tables that the row needs. Returns NULL if there is no memory. The tables stay as they are
 * meanwhile. copies.h makes the profile of all samples. */
struct heapprof_snapshot *
rb_heapprof_snapshot_take_sample(const struct heapprof_tables *tables,
                                 const struct heapprof_facts *facts, uint32_t entry);

/* Gives the memory back. NULL is allowed. The function is part of the C API
 * (include/ruby/heapprof.h), hence visible to extensions. */
__attribute__((__visibility__("default")))
void rb_heapprof_snapshot_free(struct heapprof_snapshot *snapshot);

/* How many bytes the snapshot occupies. */
size_t rb_heapprof_snapshot_memsize(const struct heapprof_snapshot *snapshot);

/* A frame of a row's stack, ready to show. */
struct heapprof_frame {
    uint32_t name;  /* string */
    uint32_t path;  /* string. For a C function, path and line are those that called it */
    uint32_t line;
    uint32_t first_line;
};

/* Writes the stack's frames, innermost first, into frames, at most capacity of
 * them; returns how many there are. The empty stack has none. */
size_t rb_heapprof_snapshot_frames(const struct heapprof_snapshot *snapshot, uint32_t stack,
                                   struct heapprof_frame *frames, size_t capacity);

/* The same for a stack of the tables themselves. Allocates nothing. */
size_t rb_heapprof_stack_frames(const struct heapprof_stacks *stacks,
                                const struct heapprof_functions *functions, uint32_t stack,
                                struct heapprof_frame *frames, size_t capacity);

/* Makes a snapshot without rows or copies, for the caller to fill. Returns NULL if there is no
 * memory. */
struct heapprof_snapshot *rb_heapprof_snapshot_new(const struct heapprof_facts *facts);

/* The same for the content of a file. The indices have a secret, because the author of the file
 * may have chosen names and lines that collide. */
struct heapprof_snapshot *rb_heapprof_snapshot_new_salted(const struct heapprof_facts *facts);

#endif
