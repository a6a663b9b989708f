#ifndef RUBY_HEAPPROF_H
#define RUBY_HEAPPROF_H
/**
 * @file
 * @brief  The heap profiler's C API.
 *
 * It tells which code holds the memory of this process. Objects are sampled by bytes as the
 * collector allocates them, and followed until it frees them; so are blocks of the allocator.
 *
 * The contract of each function, unless it says otherwise: call it with the GVL, from any
 * ractor. Do not call it from a finalizer's C function, a mark function, or a tracepoint that
 * runs inside the allocator (RUBY_INTERNAL_EVENT_*). No function raises a Ruby exception. A
 * child made by fork goes on profiling, with the samples that it inherited. A pointer may be
 * NULL only where that is said.
 *
 * Structs that the caller allocates begin with their size. A function that takes one is inline
 * here and passes the size the caller was compiled with. So fields may be added at the end, and
 * neither an older extension in a newer ruby nor a newer one in an older ruby is harmed.
 */
#include "ruby/internal/config.h"
#include "ruby/internal/dllexport.h"
#include "ruby/internal/value.h"
#include <stddef.h>
#include <stdint.h>

RBIMPL_SYMBOL_EXPORT_BEGIN()

/** Settings of a run. Fill with rb_heapprof_config_init(), then change what you like. */
struct rb_heapprof_config {
    size_t   size;             /**< bytes of this struct, set by rb_heapprof_config_init() */
    uint64_t interval_bytes;   /**< mean bytes between samples, 1 to 2^40; 1 samples every
                                    object; RB_HEAPPROF_AUTO_INTERVAL: 4096 at first, then
                                    adjusted so that about 20,000 samples are alive */
    uint64_t malloc_interval_bytes; /**< the same for bytes requested from xmalloc and its like;
                                    0: they are not sampled; RB_HEAPPROF_AS_INTERVAL: as
                                    interval_bytes */
    int      malloc_all;       /**< also sample direct calls of malloc, by extensions and
                                    libraries. Linux with glibc on x86-64 or AArch64; elsewhere a
                                    bad config */
    uint32_t depth;            /**< frames kept per stack, innermost first, 1 to 65535 */
    size_t   memory_bytes;     /**< budget of the profiler's own tables, at least 1 MiB */
    const uint64_t *seed;      /**< a fixed random seed, for tests; NULL: from the system */
    uint64_t every_ms;         /**< time between two files that are written while the program
                                    runs, 100 to 604800000; 0: no such files */
    int      signal;           /**< a signal that has such a file written, such as SIGUSR2
                                    (doc/settings.md lists them); 0: no signal */
    uint32_t keep;             /**< how many of these files are kept, up to 100000: the first,
                                    and more of the newer ones; 0: all */
    const char *out;           /**< their names, as RUBY_HEAPPROF's out: %p pid, %e program, %t
                                    time, %n number; NULL: "heapprof-%p-%n.pb.gz". Only with
                                    every_ms or signal */
    int      owners;           /**< these files have owners (RB_HEAPPROF_OWNERS) */
    int      rss;              /**< these files have the rest of RSS (RB_HEAPPROF_RSS) */
    int      peak;             /**< keep what was alive when most was alive */
    int      lifetimes;        /**< count how many GCs the dead have survived */
};

#define RB_HEAPPROF_AS_INTERVAL UINT64_MAX
#define RB_HEAPPROF_AUTO_INTERVAL (UINT64_MAX - 1)

/**
 * rb_heapprof_config_init() for a struct of `size` bytes. Fields that this ruby does not know
 * become 0. A size below that of the first two fields, or above 4096, leaves the struct
 * untouched.
 */
void rb_heapprof_config_init_sized(struct rb_heapprof_config *config, size_t size);

/**
 * Sets the defaults: both intervals 64 KiB, 512 frames, 64 MiB, no seed, no files. If files
 * are asked for, 10 are kept, with owners and rss.
 */
static inline void
rb_heapprof_config_init(struct rb_heapprof_config *config)
{
    rb_heapprof_config_init_sized(config, sizeof(*config));
}

/** What start did. */
enum rb_heapprof_started {
    RB_HEAPPROF_STARTED,       /**< sampling */
    RB_HEAPPROF_RUNNING,       /**< it was running already; nothing changed */
    RB_HEAPPROF_BAD_CONFIG,    /**< a value or size out of the range stated above, or a field set
                                    that this ruby does not know; or a signal that the program or
                                    a library handles itself; nothing changed */
    RB_HEAPPROF_BAD_OUT        /**< no file named out can be written: errno says why; nothing
                                    changed */
};

/**
 * Starts sampling, with nothing recorded. With config NULL, all settings have their defaults.
 * If config is shorter than this ruby's struct, the missing fields have theirs.
 */
enum rb_heapprof_started rb_heapprof_start(const struct rb_heapprof_config *config);

/**
 * Changes the interval of a run. Samples that were taken keep their weight, so estimates stay
 * right. Returns non-zero, or 0 if the profiler is not running or the interval is out of range.
 */
int rb_heapprof_set_interval(uint64_t interval_bytes);

/** Stops sampling and forgets all samples. Does nothing if the profiler is not running. */
void rb_heapprof_stop(void);

/** Non-zero while sampling. */
int rb_heapprof_running_p(void);

/** A profile at one moment. Immutable; stays valid after stop. */
typedef struct heapprof_snapshot rb_heapprof_snapshot_t;

/** What a snapshot may do in addition. Flags, to be combined by |. */
enum rb_heapprof_with {
    RB_HEAPPROF_GC = 1,        /**< a full GC first, so that unreachable objects are left out
                                    (runs finalizers, so it may raise) */
    RB_HEAPPROF_OWNERS = 2,    /**< a walk over the heap, in slices, that finds the objects that
                                    hold the allocator's blocks; also asks each sampled object's
                                    memsize */
    RB_HEAPPROF_RSS = 4,       /**< adds rows for all resident memory, one frame each: "[VM]
                                    slots", "[VM] free slots" and so on (doc/rss.md). The sum of
                                    rss_space is the resident set size of the process */
    RB_HEAPPROF_NATIVE_LEAKS = 8 /**< finds owners, too, and marks rows of memory that looks
                                    leaked. Memory to which an extension's object points may
                                    look so, too */
};

/**
 * Takes a snapshot. `with` is 0, or flags of enum rb_heapprof_with. Returns NULL if the
 * profiler is not running, or memory is short. Free it with rb_heapprof_snapshot_free().
 */
rb_heapprof_snapshot_t *rb_heapprof_snapshot(unsigned int with);

/**
 * What has changed: a snapshot whose values are those of later minus those of earlier; they may
 * be negative. It has no ages, and no rows that have not changed. It has owners, memsize or rss
 * if both snapshots have them. Returns NULL if memory is short. Needs no GVL.
 */
rb_heapprof_snapshot_t *rb_heapprof_snapshot_difference(const rb_heapprof_snapshot_t *later,
                                                        const rb_heapprof_snapshot_t *earlier);

/** Frees a snapshot. NULL is allowed. Needs no GVL. */
void rb_heapprof_snapshot_free(rb_heapprof_snapshot_t *snapshot);

/**
 * One frame of a stack. Texts end with NUL. They are UTF-8, or in the encoding that the program
 * used.
 */
struct rb_heapprof_frame {
    const char *label;         /**< as in backtraces, such as Foo#bar */
    const char *path;          /**< absolute if there is a file */
    uint32_t lineno;           /**< 0: unknown. A C method has path and line of its caller */
};

/** What a row describes. */
enum rb_heapprof_kind {
    RB_HEAPPROF_KIND_OBJECTS,  /**< objects of a class: they have slots */
    RB_HEAPPROF_KIND_MALLOC,   /**< memory of the allocator */
    RB_HEAPPROF_KIND_RSS       /**< a row of RB_HEAPPROF_RSS */
};

/**
 * A row of a profile. A row of objects has a stack, a class and an age. A row of the
 * allocator's memory has a stack, the C function that asked for it, an owner and an age. Values
 * are rounded estimates, except memsize.
 */
struct rb_heapprof_row {
    const char *class_name;    /**< "" for memory of the allocator */
    const char *caller;        /**< for memory of the allocator: "function (library)"; else NULL */
    const struct rb_heapprof_frame *frames; /**< innermost first */
    size_t   frame_count;
    const char *owner;         /**< class of the object that holds the memory; NULL if not known */
    const struct rb_heapprof_frame *owner_frames; /**< the stack that allocated that object */
    size_t   owner_frame_count; /**< 0 if that object is not sampled */
    int      native_leak;      /**< non-zero: has no owner, is old and grows; a suspicion. 0
                                    without RB_HEAPPROF_NATIVE_LEAKS */
    int64_t  gc_age;           /**< GCs survived, rounded down to 0 or a power of two; -1:
                                    already dead, a row of the VM, or of a difference */
    int64_t  alloc_objects;    /**< allocated since start */
    int64_t  alloc_slot_space; /**< bytes of their slots */
    int64_t  alloc_malloc_space; /**< bytes requested from the allocator since start */
    int64_t  alloc_space;      /**< the sum of both */
    int64_t  inuse_objects;    /**< alive at the snapshot */
    int64_t  inuse_slot_space; /**< bytes of their slots */
    int64_t  inuse_malloc_space; /**< bytes that were not given back to the allocator */
    int64_t  inuse_space;      /**< the sum of both */
    int64_t  rss_space;        /**< resident bytes, in a row of RB_HEAPPROF_RSS, whose other
                                    values are 0; other rows have 0 here */
    int64_t  memsize;          /**< bytes that MRI counts for the live sampled objects alone, no
                                    estimate for all; 0 without owners */
    enum rb_heapprof_kind kind; /**< what the row describes */
    int64_t  death_age;        /**< GCs that the dead have survived, rounded down to 0, 1, 2 or 4;
                                    -1: not known, or the row is of no dead */
    int64_t  temp_objects;     /**< of the allocated: died before their first GC; 0 without
                                    lifetimes */
    int64_t  temp_space;       /**< their bytes, of slots or of the allocator */
    int64_t  peak_objects;     /**< alive when most was alive; 0 without peak */
    int64_t  peak_space;       /**< their bytes, of slots or of the allocator */
};

/**
 * Calls function for each row until it returns non-zero. The row and all that it points to are
 * valid only during that call. Returns what function returned last, 0 if there are no rows, or
 * -1 if memory is short. Needs no GVL if function needs none.
 */
int rb_heapprof_snapshot_each(const rb_heapprof_snapshot_t *snapshot,
                              int (*function)(const struct rb_heapprof_row *row, void *data),
                              void *data);

/**
 * Writes the snapshot as pprof (profile.proto), packed by gzip, mode 0600. The file has a
 * temporary name until it is complete. Returns the bytes written, or -1 with errno set and no
 * file left: ELOOP for a link in a directory that other users may write to. Waits for a pipe's
 * reader. Needs no GVL, and does not give it up.
 */
int64_t rb_heapprof_snapshot_write(const rb_heapprof_snapshot_t *snapshot, const char *path);

/**
 * The stack that allocated an object. Calls function once, with a row of this object only (the
 * objects that it stands for, its class, its age). Returns what function returned, 0 if the
 * object is not sampled or the profiler is not running, or -1 if memory is short. function must
 * not jump out.
 */
int rb_heapprof_allocation_stack(VALUE object,
                                 int (*function)(const struct rb_heapprof_row *row, void *data),
                                 void *data);

/** Numbers about the profiler itself. If it is not running, all except size are 0. */
struct rb_heapprof_stat {
    size_t   size;             /**< bytes of this struct that were filled in. The fields behind
                                    them, which this ruby does not know, are 0 */
    uint64_t interval_bytes;   /**< in force */
    uint64_t malloc_interval_bytes; /**< the same, for the allocator's bytes; 0: they are not
                                    sampled */
    uint64_t malloc_all;       /**< 1: direct calls of malloc are sampled, too */
    uint64_t live_samples;     /**< sampled objects not freed yet */
    uint64_t total_samples;    /**< taken since start */
    uint64_t dropped;          /**< samples lost: no memory, no stack, or no room to wait for the
                                    VM lock */
    uint64_t folded;           /**< sites of dead objects given up to save memory; others stand
                                    for them */
    uint64_t truncated;        /**< stacks cut at depth frames */
    uint64_t sites;            /**< stack and class pairs known */
    uint64_t stack_nodes;      /**< nodes of the stack trie */
    uint64_t functions;        /**< functions known */
    uint64_t memory_used;      /**< bytes of our own tables */
    uint64_t memory_peak;      /**< highest memory_used so far */
    uint64_t memory_budget;    /**< cap of memory_used */
    uint64_t doublings;        /**< how often both intervals were doubled to save memory */
    uint64_t dead_functions;   /**< functions of dead code. This and the next two take time in
                                    proportion to the tables, if the struct has room for them */
    uint64_t dead_stack_nodes; /**< nodes of such functions */
    uint64_t dead_sites;       /**< sites whose line is in such a function, or whose class is
                                    dead */
    uint64_t merged_sites;     /**< dead sites, since start, that were added to others that look
                                    the same */
    uint64_t nameless_sites;   /**< dead sites, since start, that were moved to [dead code] or
                                    [dead class], because there were too many names */
    uint64_t other_labels;     /**< values of labels, since the process began, that became
                                    "(other)": there were too many of the key */
    uint64_t left_out_labels;  /**< labels left out: too many keys or sets, or no memory */
};

/**
 * rb_heapprof_stat() for a struct of `size` bytes. A size below that of the first two fields,
 * or above 4096, leaves the struct untouched.
 */
void rb_heapprof_stat_sized(struct rb_heapprof_stat *stat, size_t size);

/** Fills in the struct. */
static inline void
rb_heapprof_stat(struct rb_heapprof_stat *stat)
{
    rb_heapprof_stat_sized(stat, sizeof(*stat));
}

/**
 * What the resident memory of the process consists of, in bytes. rss is the sum of all fields
 * that follow it, except absent. doc/rss.md says what each field is and how it is measured. The
 * profiler need not run.
 */
struct rb_heapprof_rss {
    size_t   size;             /**< as in struct rb_heapprof_stat */
    uint64_t rss;              /**< resident set size; 0 if the system does not tell it */
    uint64_t slots;            /**< slots of the heap in use */
    uint64_t free_slots;       /**< free slots, also of empty pages */
    uint64_t page_overhead;    /**< headers, padding and descriptors of heap pages */
    uint64_t iseqs;            /**< compiled code, outside slots */
    uint64_t method_tables;    /**< tables of classes and modules, outside slots */
    uint64_t symbols;          /**< tables of symbols and of interned strings */
    uint64_t malloc;           /**< everything else that is in use of the allocator */
    uint64_t allocator_slack;  /**< what the allocator keeps free */
    uint64_t stacks;           /**< of threads and fibers: machine and VM */
    uint64_t jit_code;         /**< generated code */
    uint64_t profiler;         /**< the profiler's tables */
    uint64_t files;            /**< the executable, libraries and other mapped files */
    uint64_t unexplained;      /**< the rest */
    uint64_t absent;           /**< no part of rss: requested from the allocator, and not
                                    resident. Up to this much unexplained memory may be counted
                                    as malloc */
};

/**
 * rb_heapprof_rss() for a struct of `size` bytes, within the bounds of
 * rb_heapprof_stat_sized().
 */
void rb_heapprof_rss_sized(struct rb_heapprof_rss *rss, size_t size);

/** Measures it at once. Walks the heap. */
static inline void
rb_heapprof_rss(struct rb_heapprof_rss *rss)
{
    rb_heapprof_rss_sized(rss, sizeof(*rss));
}

/**
 * How the graph of all objects is dumped. If all except size is 0: no values, no GC, and a
 * child writes it.
 */
struct rb_heapgraph_config {
    size_t   size;             /**< bytes of this struct */
    size_t   values_bytes;     /**< how many bytes of each String are written; SIZE_MAX: all; 0:
                                    values are hidden */
    int      gc;               /**< run a full GC before */
    int      in_place;         /**< the process writes the file itself; all its threads wait */
};

/**
 * Writes all objects, their references, and the roots to a file. The file gets its name when it
 * is complete. With config NULL, all settings are 0. Returns when the file is there. Other
 * threads run meanwhile, unless an interrupt is pending for this one. Returns the number of
 * bytes, or -1 with errno; EINVAL if the size is out of range, or a field is set that this ruby
 * does not know; ECHILD if the process that writes the file was killed.
 */
int64_t rb_heapgraph_dump(const char *path, const struct rb_heapgraph_config *config);

/**
 * Labels: what the program says about what it is doing, as "endpoint" is "POST /cart". A label set
 * is a number, 0 without labels. It never changes, and is good until the process ends. These
 * functions work whether or not the profiler runs, and need the GVL.
 */
typedef uint32_t rb_heapprof_label_t;

/**
 * A set like base in which key is value, which has `length` bytes; value NULL takes the key away.
 * A key has 1 to 63 bytes of UTF-8. Any bytes may be a value. What is beyond the limits
 * (ObjectSpace::HeapProfile.label) is left out, or "(other)"; so is a key that heapprof itself
 * uses, such as "thread". A base that is no label set has no labels.
 */
rb_heapprof_label_t rb_heapprof_label_with(rb_heapprof_label_t base, const char *key,
                                           const char *value, size_t length);

/**
 * Gives this fiber those labels from now on. Returns those that it had, for another call that
 * restores them. Costs a few instructions.
 */
rb_heapprof_label_t rb_heapprof_label_set(rb_heapprof_label_t label);

/** The labels that this fiber has. */
rb_heapprof_label_t rb_heapprof_label_get(void);

RBIMPL_SYMBOL_EXPORT_END()

#endif /* RUBY_HEAPPROF_H */
