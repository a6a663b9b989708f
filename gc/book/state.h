#ifndef HEAPPROF_GC_STATE_H
#define HEAPPROF_GC_STATE_H
/* state.h - the profiler's one state, and what gc/ offers to vm/.
 *
 * The state is the book in which all rooms write. It is written under the VM lock (rb_gc_vm_lock;
 * the GVL alone while there is one ractor), or by the collector with all ractors stopped.
 * profiler/ gets pointers into it and does not know it.
 */
#include "ruby/ruby.h"
#include "profiler/dead_code.h"
#include "profiler/leaks/suspects.h"
#include "profiler/options.h"
#include "profiler/sampler.h"
#include "profiler/thinning.h"
#include "profiler/copies.h"

/* What a run is to do. vm/run writes it at start and when settings change, stopped. */
struct heapprof_run {
    struct heapprof_options options;
    bool     auto_interval;           /* the interval follows how many samples live (options.h) */
    int64_t  start_ns;                /* wall clock */
    struct heapprof_code before;      /* code that was there at start, which has no sample; only
                                         where malloc does not tell what it has given out */
    size_t   wrapper_libraries;       /* those entered in callers: malloc=all (os/interpose.h) */
    bool     ending;                  /* memcheck: no more samples; the tables stay to the exit */
};

/* What has been counted since the start. Each room adds what it has seen, under the VM lock. */
struct heapprof_account {
    uint64_t total_samples;           /* taken, dropped ones included */
    uint64_t dropped;                 /* samples for which there was no memory, or no stack */
    size_t   dropped_blocks;          /* the same, of blocks asked for without the GVL; atomic */
    uint64_t truncated;               /* stacks cut at options.depth; vm/names */
    uint64_t doublings;               /* of the intervals, because memory was refused; room.c */
    uint64_t majors[HEAPPROF_SURVIVED_MAJORS]; /* GC counts of the last major GCs, newest first */
};

/* How far room.c is with making room. Only room.c writes it. */
struct heapprof_room {
    struct heapprof_thinning thinning; /* what the last doubling has left; blocks' lock, too */
    uint64_t folded_at_gc;            /* GC count + 1 at the last fold: at most one a GC */
    uint64_t trimmed_at_sample;       /* total_samples at the last trim of all names */
    uint64_t rooms;                   /* how often numbers may have become void to make room */
};

/* What one room leaves for another to do. */
struct heapprof_work {
    struct heapprof_copies *copies;   /* vm/run: of the snapshot under way; NULL: all is copied */
    bool     reading;                 /* vm/run: a snapshot asks for memsize: no room is made */
    bool     unnamed_callers;         /* gc/blocks: callers wait for names from vm/names */
    bool     provisional_names;       /* vm/names: something was named after a nameless class */
    uint8_t  stack_used;              /* how far down the machine stack a sample went (newobj.c) */
};

/* What takes a sample further down than one of which all is known: it walks the stack, looks up
 * its site, or thins the samples; it finds a name, or makes room. */
enum { HEAPPROF_STACK_WALKED = 1, HEAPPROF_STACK_NAMED = 2 };

/* The book. A start writes all of it anew, except epoch. */
struct heapprof {
    struct heapprof_run     run;
    struct heapprof_mem     mem;      /* the budget of the tables below */
    struct heapprof_tables  tables;
    struct heapprof_sampler sampler;
    struct heapprof_sampler malloc_sampler; /* of blocks; under the blocks' lock */
    uint64_t epoch;                   /* goes up when all gaps must be drawn again */
    struct heapprof_room    room;
    struct heapprof_account account;
    struct heapprof_work    work;
};

extern struct heapprof rb_heapprof;

/* True while a run is on. Changes with all ractors stopped. */
extern bool rb_heapprof_on;

/* True while a run is on, or while the next dump of the object graph is to tell what was there at
 * the last one (gc/graph/baseline.c). */
extern bool rb_heapprof_clears;

/* Goes up when numbers of stacks and sites that nobody holds become void. Whoever keeps such
 * numbers compares. It is not part of the struct above, which a start clears: an edition is never
 * used again. Under the VM lock. */
extern uint64_t rb_heapprof_numbers_edition;

/* Tells a reader in another process whether the tables changed while it read. A word is odd
 * while something changes (gc/book/sequence.c). It is not part of the struct above, which a
 * start clears. */
struct heapprof_sequence {
    uint64_t tables; /* all but blocks and reported */
    uint64_t blocks; /* blocks and reported: odd while a thread has their lock */
    uint32_t depth;  /* of changes of tables within each other */
};

extern struct heapprof_sequence rb_heapprof_sequence;

/* True if this key of an identity is the address of an object. Other keys are small numbers, for
 * the types of objects that have no class, and keys of callers (profiler/callers.h). */
static inline bool
rb_heapprof_object_key_p(uintptr_t key)
{
    return key >= 65536 && !rb_heapprof_callers_key_p(key);
}

/* ---- for vm/: what only the collector's side can do ---- */

/* The identity of a live iseq or class. It is given at first sight. 0 when memory is refused. No
 * GC, no Ruby allocation. */
uint32_t rb_heapprof_gc_identify(VALUE object);

/* All tables except blocks change only between these two. Under the VM lock; nothing may jump
 * out. */
void rb_heapprof_gc_begin_change(void);
void rb_heapprof_gc_end_change(void);

/* Loads the unwinder. Otherwise the first sample of a block would. Takes the dynamic linker's
 * lock, so the caller calls this before sampling is on. */
void rb_heapprof_gc_load_unwinder(void);

/* start turns sampling on, with the settings in rb_heapprof and empty tables. stop turns it off: it
 * forgets every sample and clears every flag. All ractors are stopped, and a change has begun. */
void rb_heapprof_gc_start(void);
void rb_heapprof_gc_stop(void);

/* Makes every pending sample live, so that a snapshot has them. All ractors are stopped. settle_all
 * does more: afterwards the address of an object leads to its sample, in time in proportion to the
 * samples since the last GC. */
void rb_heapprof_gc_resolve_all(void);
void rb_heapprof_gc_settle_all(void);

/* The stack at which that object was allocated. 0 if the object is not sampled. Changes nothing.
 * May be called in a GC. All ractors are stopped, or there is one. */
uint32_t rb_heapprof_gc_stack_of(VALUE object);

/* Draws all gaps anew, as a child of fork must. All ractors are stopped. */
void rb_heapprof_gc_redraw(void);

/* Makes room when memory was refused. First frees what only old totals need. If the budget is
 * used up, it then doubles the intervals and thins the samples (profiler/thinning.h):
 *   - where samples have no room, it thins as many as make some, and samples to come thin the rest;
 *   - where stacks have no room, it thins all, which takes time in proportion to all samples.
 *     Afterwards numbers of stacks that nobody holds are void, and so are numbers of sites
 *     without a live sample. Returns false if nothing could be freed. A caller that repeats this
 *     while it returns true comes to an end: each call thins some samples, which leaves half of
 *     them, and only then do intervals double again. */
bool rb_heapprof_gc_make_room(void);

/* What has been counted so far. total_samples and dropped include dropped_blocks. */
struct heapprof_account rb_heapprof_gc_account(void);

/* Draws every thread's gap in the allocator's bytes anew. Part of start, stop and redraw. */
void rb_heapprof_gc_redraw_blocks(void);

/* Merges what dead code has left, if there is much (profiler/dead_code.h), as a sample does. Does
 * nothing while a snapshot is copied. Numbers become void as with make_room. All ractors are
 * stopped. */
void rb_heapprof_gc_merge_dead_code(void);

/* Samples that wait for this number get their name (profiler/late_sites.h). */
struct heapprof_label;
void rb_heapprof_gc_settle_late(uint32_t number, const struct heapprof_label *name, uint32_t next);

/* settle enters the samples that have waited for the VM lock; part of resolve_all. forget drops
 * them; part of stop. settle_own: this thread has the GVL again, and its Ruby stack is as it was
 * without. Called with the scheduler's lock. */
void rb_heapprof_gc_settle_blocks(void);
void rb_heapprof_gc_settle_own(void);
void rb_heapprof_gc_forget_waiting(void);

/* How many samples wait. Under the blocks' lock. */
size_t rb_heapprof_gc_waiting_blocks(void);

/* The blocks' lock. Between the two no block enters or leaves the tables, whatever other threads
 * do. */
void rb_heapprof_gc_lock_blocks(void);
void rb_heapprof_gc_unlock_blocks(void);

/* Returns false if a thread has it, this one included. Waits for nobody. */
bool rb_heapprof_gc_try_lock_blocks(void);

/* Calls step_i for the length of a slice. A step is a page, or as much of something else. A slice
 * is half a millisecond. After a wait for the VM of more than ten milliseconds it is a twentieth
 * of the wait, and four milliseconds at most: threads that compute keep the GVL for 100 ms each,
 * so beside them that is no pause, and a walk comes to its end. Returns false when step_i has
 * returned false: that was the last. */
bool rb_heapprof_gc_slice(bool (*step_i)(void *data), void *data, int64_t waited_ns);

/* Notes, before copies begin, which objects are dead though not yet swept. was_gone_p tells of
 * those, whatever is swept or dies later. */
void rb_heapprof_gc_note_gone(void);

/* Copies the rest of the snapshot under way. Comes before the tables are packed, trimmed, freed, or
 * changed in any other way that copies do not follow (profiler/copies.h). May be called in a GC. */
void rb_heapprof_gc_copy_rest(void);

/* The same in a copy of the process, where the thread that takes the snapshot may not be. */
void rb_heapprof_gc_copy_rest_alone(void);

/* A walk over the heap for owners, in slices, between which the program runs. {0} before it
 * begins. */
struct heapprof_walk {
    uint64_t pass;             /* the pass whose end is the walk's (gc/owners/owners.c) */
    unsigned int again;        /* passes made once more, because GCs came in between */
    int64_t waited_ns;         /* how long the caller waited for this slice; the caller sets it */
};

/* Names the owners of known blocks, for the length of a slice. If reached is true, it then also
 * names owners of blocks that are only reached from the structs of extensions' objects and from
 * the data of libraries: that takes time in proportion to the allocator's memory. Returns false
 * at the end of the walk. What it has found stays until the next walk begins. All ractors are
 * stopped. */
bool rb_heapprof_gc_find_owners(struct heapprof_walk *walk, bool reached);

/* True if the walk has come to its end and what it has found is still there. Another walk that
 * began since has forgotten it, until that walk is at its own end. */
bool rb_heapprof_gc_owners_known_p(const struct heapprof_walk *walk, bool reached);

/* How many compactions there were. An owner's address is good while this stays
 * (profiler/blocks.h). */
uint32_t rb_heapprof_gc_moves(void);

/* True if the last walk saw all that objects and libraries lead to. Then a block that has no
 * owner may be suspected. */
bool rb_heapprof_gc_owners_complete_p(void);

/* One line that says why malloc=all cannot be had in this process. NULL if it can. */
const char *rb_heapprof_gc_malloc_all_refusal(void);

/* Counts what the C library is asked for, until rb_heapprof_interpose_stop. on_p: whether it
 * does. */
void rb_heapprof_gc_malloc_all_start(void);
bool rb_heapprof_gc_malloc_all_on_p(void);

/* What this thread asks of the C library between the two is the profiler's own work, and is not
 * sampled (malloc=all). end takes what begin returned. */
bool rb_heapprof_gc_begin_own_work(void);
void rb_heapprof_gc_end_own_work(bool before);

/* rb_gc_adjust_memory_usage for memory of the profiler's own. It counts for the collector, and is
 * never a sample. */
void rb_heapprof_gc_report_own(ssize_t diff_bytes);

/* true before this thread allocates an object of the profiler's own, which is never a sample.
 * false when it has been allocated. */
void rb_heapprof_gc_own_object(bool next);

/* The filter of addresses that may be known blocks. For the debug build's checks, and
 * tables_init. */
extern uint8_t rb_heapprof_block_filter[HEAPPROF_BLOCK_FILTER_SIZE];

/* What heap pages hold, in bytes that are in memory, and the code that their objects stand for,
 * in bytes of the allocator. A dead object that is not swept counts as a free slot. */
struct heapprof_pages {
    uint64_t slots;
    uint64_t free_slots;
    uint64_t padding;
    uint64_t descriptors;      /* of pages; from the allocator */
    uint64_t fiber_stacks;
    struct heapprof_code code;
    uintptr_t walked;          /* pages up to this address are counted */
    int64_t waited_ns;         /* how long the caller waited for this slice; the caller sets it */
};

/* Adds up for the length of a slice. The caller begins with {0}. Returns false when all pages
 * have been seen, each as it was at that time. No Ruby allocation, no GC. All ractors are
 * stopped. */
bool rb_heapprof_gc_pages_slice(struct heapprof_pages *pages);

/* Calls function for each object that has finalizers, with an Array of them that Ruby does not
 * see. function makes no Ruby object and starts no GC. */
void rb_heapprof_gc_each_finalizer(void (*function)(VALUE object, VALUE finalizers, void *data),
                                   void *data);

/* Takes the finalizers away from all objects: they will not run. */
void rb_heapprof_gc_drop_finalizers(void);

/* each_foreign calls function with each object of an extension, and the words by which it leads to
 * its memory: its struct, or the pointer to that. each_fiber calls function with the struct
 * rb_fiber_struct of each fiber that is an object and has not ended. All ractors are stopped.
 * function makes no Ruby object and starts no GC. */
void rb_heapprof_gc_each_foreign(void (*function)(VALUE object, uintptr_t begin, uintptr_t end,
                                                  void *data),
                                 void *data);
void rb_heapprof_gc_each_fiber(void (*function)(void *fiber, void *data), void *data);

/* A path of C functions (tables.h) that has this function alone. Returns 0 when memory is refused.
 * Within begin_change and end_change. */
uint32_t rb_heapprof_gc_path_to(uintptr_t function);

/* gone_p: the object is dead but not swept. was_gone_p: it was so when copies began, if it was in
 * the tables then. memsize: what memsize says of it. */
bool rb_heapprof_gc_gone_p(uintptr_t address, void *unused);
bool rb_heapprof_gc_was_gone_p(uintptr_t address, void *unused);
size_t rb_heapprof_gc_memsize(uintptr_t address, void *unused);

#endif
