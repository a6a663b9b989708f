#ifndef HEAPPROF_GC_STATE_H
#define HEAPPROF_GC_STATE_H
/* The profiler's one state, and what gc/ offers to vm/.
 *
 * Written under the VM lock (rb_gc_vm_lock: the GVL alone while there is one
 * ractor), or by the collector with all ractors stopped. profiler/ gets pointers into
 * it and knows nothing of it.
 */
#include "ruby/ruby.h"
#include "profiler/dead_code.h"
#include "profiler/leaks/suspects.h"
#include "profiler/options.h"
#include "profiler/sampler.h"
#include "profiler/thinning.h"
#include "profiler/copies.h"

struct heapprof {
    struct heapprof_options options;  /* of this run */
    struct heapprof_mem     mem;      /* what the tables below draw from */
    struct heapprof_tables  tables;
    struct heapprof_sampler sampler;
    struct heapprof_sampler malloc_sampler; /* of blocks; under their lock */
    uint64_t epoch;                   /* grows whenever all gaps must be drawn again */
    uint64_t total_samples;           /* taken since start, dropped ones included */
    uint64_t dropped;                 /* samples given up for want of memory */
    size_t   dropped_blocks;          /* samples of blocks asked for without the GVL; atomic */
    uint64_t truncated;               /* stacks cut at options.depth */
    bool     auto_interval;           /* it follows how many samples are alive (options.h) */
    uint64_t doublings;               /* of the intervals, for want of memory */
    struct heapprof_thinning thinning; /* and what the last of them has left to thin; the blocks' lock, too */
    uint64_t folded_at_gc;            /* GC count + 1 at the last fold: at most one a GC */
    uint64_t trimmed_at_sample;       /* total_samples at the last trim of all names */
    uint64_t rooms;                   /* how often numbers may have become void, for room */
    uint64_t majors[HEAPPROF_SURVIVED_MAJORS]; /* GC counts of the last major GCs, newest first */
    int64_t  start_ns;                /* wall clock */
    struct heapprof_code before;      /* what there was at start, and no sample is of; only where
                                         malloc does not tell what it has given out */
    struct heapprof_copies *copies;   /* of the snapshot that is being taken; NULL: all is copied */
    bool     reading;                 /* objects are asked for their memsize: no room may be made */
    size_t   wrapper_libraries;       /* entered in callers, with malloc=all (os/interpose.h) */
    bool     ending;                  /* memcheck: samples are at an end, and the tables stay to the end of the process */
    bool     unnamed_callers;         /* callers of the allocator wait for their names */
    bool     went_deep;               /* names were found: the machine stack is used to 2.4 KB (newobj.c) */
    bool     provisional_names;       /* something was named after a class without a name */
};

extern struct heapprof rb_heapprof;

/* Is the profiler on? Changes with all ractors stopped. */
extern bool rb_heapprof_on;

/* The same, or the next dump of the object graph is to tell what was there at the last one (gc/graph/baseline.c). */
extern bool rb_heapprof_clears;

/* Goes up whenever numbers of the tables that nobody holds become void: whoever keeps such numbers compares. Outside of the
 * above, for an edition is never used again. Under the VM lock. */
extern uint64_t rb_heapprof_numbers_edition;

/* For who reads the tables from another process: whether they changed meanwhile. Outside of the above, which a start
 * writes anew. A word is odd while something changes (gc/book/sequence.c). */
struct heapprof_sequence {
    uint64_t tables; /* all but blocks and reported */
    uint64_t blocks; /* these: odd while anybody has their lock */
    uint32_t depth;  /* of changes of tables, one within another */
};

extern struct heapprof_sequence rb_heapprof_sequence;

/* Keys of identities: addresses of objects, small numbers for types of objects without a
 * class, and keys of callers (profiler/callers.h). */
static inline bool
rb_heapprof_object_key_p(uintptr_t key)
{
    return key >= 65536 && !rb_heapprof_callers_key_p(key);
}

/* ---- for vm/: what only the collector's side can do ---- */

/* The identity of a live iseq or class, given on first sight; 0 when memory is
 * refused. No GC, no Ruby allocation. */
uint32_t rb_heapprof_gc_identify(VALUE object);

/* Tables change between the two alone, but for blocks. Under the VM lock; nothing may jump out. */
void rb_heapprof_gc_begin_change(void);
void rb_heapprof_gc_end_change(void);

/* Loads the unwinder, which the first sample of a block would do otherwise. Takes the dynamic
 * linker's lock; to be called before sampling is on. */
void rb_heapprof_gc_load_unwinder(void);

/* Turns sampling on for the settings in rb_heapprof, tables being empty; and off,
 * forgetting every sample and clearing every flag. All ractors are stopped, and a change has begun. */
void rb_heapprof_gc_start(void);
void rb_heapprof_gc_stop(void);

/* Makes every pending sample live, so that a snapshot has them. All ractors are stopped. */
void rb_heapprof_gc_resolve_all(void);

/* The stack at which that object was allocated; 0: it is not sampled. Changes nothing; also in a GC. All ractors are stopped, or there
 * is one. */
uint32_t rb_heapprof_gc_stack_of(VALUE object);

/* Draws all gaps anew, as a child of fork must. All ractors are stopped. */
void rb_heapprof_gc_redraw(void);

/* For a request that memory was refused for: frees what only old totals need; then, if it is the
 * budget that is used up, doubles the intervals and thins what there is (profiler/thinning.h): where samples have no
 * room, as much of it as makes some, and the samples to come thin the rest; where stacks have none, all, which takes time in
 * proportion to that. Numbers of stacks that nobody holds, and of sites without a live
 * sample, are void afterwards. False: nothing was to be had. Who asks again, as long as it is true,
 * comes to an end: each time some of the samples are thinned, which leaves half of them, and only then do intervals double again. */
bool rb_heapprof_gc_make_room(void);

/* The same for every thread's gap in the allocator's bytes; part of the three above. */
void rb_heapprof_gc_redraw_blocks(void);

/* Merges what dead code has left, if there is much (profiler/dead_code.h), as a sample does; not
 * while a snapshot is copied. What make_room says of numbers goes for this, too. All ractors are
 * stopped. */
void rb_heapprof_gc_merge_dead_code(void);

/* Enters what has waited for the VM lock, and gives that up; parts of resolve_all and stop. */
void rb_heapprof_gc_settle_blocks(void);
void rb_heapprof_gc_forget_waiting(void);

/* How many samples wait; while blocks are held. */
size_t rb_heapprof_gc_waiting_blocks(void);

/* Between the two no block enters or leaves the tables, whatever other threads do. */
void rb_heapprof_gc_lock_blocks(void);
void rb_heapprof_gc_unlock_blocks(void);

/* Steps for the length of a slice; a step is a page, or as much of something else. That is half a millisecond; or, after a
 * wait for the VM that was longer than ten, a twentieth of the wait, and four at most: beside threads that compute,
 * each of which keeps the GVL for 100 ms, that is no pause, and walks do not take for ever.
 * False when a step has said that it was the last. */
bool rb_heapprof_gc_slice(bool (*step_i)(void *data), void *data, int64_t waited_ns);

/* Notes which objects are dead though not yet swept, before copies begin: gone_p tells of those, whatever is
 * swept or dies later. */
void rb_heapprof_gc_note_gone(void);

/* Copies what is left of the snapshot under way, before the tables are packed, trimmed, freed or otherwise
 * not followed (profiler/copies.h). Also inside a GC. */
void rb_heapprof_gc_copy_rest(void);

/* A walk over the heap for owners, in slices, between which the program runs. {0}: it has not begun. */
struct heapprof_walk {
    uint64_t pass;             /* over the heap, whose end is the walk's (gc/owners/owners.c) */
    unsigned int again;        /* passes that were made once more, for what came in between */
    int64_t waited_ns;         /* the caller, before the slice to come; the caller sets it */
};

/* Names the owners of known blocks, for the length of a slice. reached: then also of what is only
 * reached from the structs of extensions' objects and from the data of libraries, which takes time in
 * proportion to the allocator's memory. False when it has come to its end. What has been found
 * stays until the next walk begins. All ractors are stopped. */
bool rb_heapprof_gc_find_owners(struct heapprof_walk *walk, bool reached);

/* Whether the walk has come to its end, and what it has found is there. Another that has begun since has
 * forgotten it until it is at its own end. */
bool rb_heapprof_gc_owners_known_p(const struct heapprof_walk *walk, bool reached);

/* How often objects have been moved: what the address of an owner is worth (profiler/blocks.h). */
uint32_t rb_heapprof_gc_moves(void);

/* Whether the last walk saw all that objects and libraries lead to: what has no owner then may be
 * suspected. */
bool rb_heapprof_gc_owners_complete_p(void);

/* One line that says why malloc=all cannot be had in this process; NULL: it can. */
const char *rb_heapprof_gc_malloc_all_refusal(void);

/* Has what asks the C library for memory be counted, until rb_heapprof_interpose_stop; and whether it is. */
void rb_heapprof_gc_malloc_all_start(void);
bool rb_heapprof_gc_malloc_all_on_p(void);

/* What this thread asks of the C library between the two is the profiler's own, and not sampled
 * (malloc=all). end takes what begin returned. */
bool rb_heapprof_gc_begin_own_work(void);
void rb_heapprof_gc_end_own_work(bool before);

/* rb_gc_adjust_memory_usage of memory that is the profiler's: it counts for the collector, and is no
 * sample. */
void rb_heapprof_gc_report_own(ssize_t diff_bytes);

/* true: the object this thread allocates next is the profiler's own, and no sample. false: it has
 * been allocated. */
void rb_heapprof_gc_own_object(bool next);

/* What the debug build wants to see of blocks, and tables_init. */
extern uint8_t rb_heapprof_block_filter[HEAPPROF_BLOCK_FILTER_SIZE];

/* What heap pages hold, in bytes in memory, and the code their objects stand for, in bytes of the
 * allocator. An object that is dead but not swept is a free slot. */
struct heapprof_pages {
    uint64_t slots;
    uint64_t free_slots;
    uint64_t padding;
    uint64_t descriptors;      /* from the allocator */
    uint64_t fiber_stacks;
    struct heapprof_code code;
    uintptr_t walked;          /* pages up to this address are in it */
    int64_t waited_ns;         /* the caller, before the slice to come; the caller sets it */
};

/* Adds up for the length of a slice, beginning with {0}; false when all pages have been seen, each as it was
 * then. No Ruby allocation, no GC. All ractors are stopped. */
bool rb_heapprof_gc_pages_slice(struct heapprof_pages *pages);

/* Calls function for each object that has finalizers, with an Array of them that Ruby does not see. In function no Ruby
 * allocation, no GC. */
void rb_heapprof_gc_each_finalizer(void (*function)(VALUE object, VALUE finalizers, void *data), void *data);

/* Has no object any finalizer: those that there are will not run. */
void rb_heapprof_gc_drop_finalizers(void);

/* Calls function with the words by which each object of an extension's leads to its memory: its struct, or the pointer to that; with the
 * struct rb_fiber_struct of each fiber that is an object and has not ended. All ractors are stopped. In function no Ruby allocation, no GC. */
void rb_heapprof_gc_each_foreign(void (*function)(uintptr_t begin, uintptr_t end, void *data), void *data);
void rb_heapprof_gc_each_fiber(void (*function)(void *fiber, void *data), void *data);

/* Dead but not swept. For copies: that was so when they began, of an object that was in the tables then;
 * and what memsize says. */
bool rb_heapprof_gc_gone_p(uintptr_t address, void *unused);
bool rb_heapprof_gc_was_gone_p(uintptr_t address, void *unused);
size_t rb_heapprof_gc_memsize(uintptr_t address, void *unused);

#endif
