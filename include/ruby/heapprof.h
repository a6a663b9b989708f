#ifndef RUBY_HEAPPROF_H
#define RUBY_HEAPPROF_H
/**
 * @file
 * @brief  The heap profiler's C API.
 *
 * It tells which code holds the memory of this process. Objects are sampled by bytes as the
 * collector allocates them, and followed until it frees them; so are blocks of the allocator.
 *
 * The contract, for every function here unless it says otherwise: call it with the GVL, from any
 * ractor. Do not call it from a finalizer's C function, a mark function, or a tracepoint that runs
 * inside the allocator (RUBY_INTERNAL_EVENT_*). None raises a Ruby exception. A child made by fork
 * goes on profiling, with the samples it inherited. A pointer that may be NULL says so.
 *
 * Structs that the caller allocates begin with their size. A function that takes one is inline here
 * and passes the size the caller was compiled with. So fields may be added at the end, and neither an
 * older extension in a newer ruby nor a newer one in an older ruby is harmed.
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
    uint64_t interval_bytes;   /**< mean bytes between samples, 1 to 2^40; 1 samples every object;
                                    RB_HEAPPROF_AUTO_INTERVAL: 4096 at first, and so that some 20,000
                                    samples are alive */
    uint64_t malloc_interval_bytes; /**< the same for bytes asked of xmalloc and its like; 0: none
                                    are sampled; RB_HEAPPROF_AS_INTERVAL: as interval_bytes */
    int      malloc_all;       /**< also sample who calls malloc without xmalloc: extensions, libraries.
                                    Linux with glibc on x86-64 or AArch64; elsewhere a bad config */
    uint32_t depth;            /**< frames kept per stack, innermost first, 1 to 65535 */
    size_t   memory_bytes;     /**< budget of the profiler's own tables, at least 1 MiB */
    const uint64_t *seed;      /**< a fixed random seed, for tests; NULL: from the system */
    uint64_t every_ms;         /**< between two files that are written while the program runs, 100 to
                                    604800000; 0: none are */
    int      signal;           /**< has such a file written, as SIGUSR2 (README.md says which may); 0: none */
    uint32_t keep;             /**< so many of these files are kept, the first and more of the newer, up to 100000; 0: all */
    const char *out;           /**< their names, as RUBY_HEAPPROF's out: %p pid, %e program, %t time, %n
                                    number; NULL: "heapprof-%p-%n.pb.gz". Only with every_ms or signal */
    int      owners;           /**< these files have owners (RB_HEAPPROF_OWNERS) */
    int      rss;              /**< and the rest of RSS (RB_HEAPPROF_RSS) */
};

#define RB_HEAPPROF_AS_INTERVAL UINT64_MAX
#define RB_HEAPPROF_AUTO_INTERVAL (UINT64_MAX - 1)

/**
 * rb_heapprof_config_init() for a struct of so many bytes: what this ruby does not know is 0. A size
 * below that of the first two fields, or above 4096, leaves it untouched.
 */
void rb_heapprof_config_init_sized(struct rb_heapprof_config *config, size_t size);

/** Sets the defaults: 512 KiB for both, 512 frames, 64 MiB, no seed; no files, or if any then 10, with owners and rss. */
static inline void
rb_heapprof_config_init(struct rb_heapprof_config *config)
{
    rb_heapprof_config_init_sized(config, sizeof(*config));
}

/** What start did. */
enum rb_heapprof_started {
    RB_HEAPPROF_STARTED,       /**< sampling */
    RB_HEAPPROF_RUNNING,       /**< it ran before; nothing changed */
    RB_HEAPPROF_BAD_CONFIG,    /**< a value or size out of the range stated above, or a field set that
                                    this ruby does not know; or a signal that the program or a library
                                    handles itself; nothing changed */
    RB_HEAPPROF_BAD_OUT        /**< there could be no file named out: errno says why; nothing changed */
};

/**
 * Starts sampling with nothing recorded. config may be NULL: the defaults. A shorter config than
 * this ruby's has the defaults of what it lacks.
 */
enum rb_heapprof_started rb_heapprof_start(const struct rb_heapprof_config *config);

/**
 * Samples with another interval from now on; what was sampled keeps its weight, so
 * estimates stay right. Returns non-zero, or 0 when not running or out of range.
 */
int rb_heapprof_set_interval(uint64_t interval_bytes);

/** Stops sampling and forgets every sample. Does nothing when not running. */
void rb_heapprof_stop(void);

/** Non-zero while sampling. */
int rb_heapprof_running_p(void);

/** A profile at one moment. Immutable; stays good after stop. */
typedef struct heapprof_snapshot rb_heapprof_snapshot_t;

/** What a snapshot may do beside copying; or them together. */
enum rb_heapprof_with {
    RB_HEAPPROF_GC = 1,        /**< a full GC first, so that what is not reachable is not in it (runs
                                    finalizers, may therefore raise) */
    RB_HEAPPROF_OWNERS = 2,    /**< a walk over the heap, in slices, that names the objects that hold
                                    the allocator's blocks; asks each sampled object's memsize */
    RB_HEAPPROF_RSS = 4,       /**< with rows for what is in memory, one frame each, "[VM] slots", "[VM]
                                    free slots" and so on (doc/rss.md): rss_space of all rows together
                                    is the resident set size of the process */
    RB_HEAPPROF_NATIVE_LEAKS = 8 /**< with owners, and rows of memory that looks leaked marked; what an
                                    extension's object points to may look so, too */
};

/**
 * Takes a snapshot; with: 0 or of enum rb_heapprof_with. NULL when not running, or out of
 * memory. Free it with rb_heapprof_snapshot_free().
 */
rb_heapprof_snapshot_t *rb_heapprof_snapshot(unsigned int with);

/**
 * What changed: a snapshot with later's values minus earlier's, which may be below 0. It has no
 * ages, and nothing that has not changed. It has owners, memsize or rss if both have them. NULL when
 * out of memory. Needs no GVL.
 */
rb_heapprof_snapshot_t *rb_heapprof_snapshot_difference(const rb_heapprof_snapshot_t *later,
                                                        const rb_heapprof_snapshot_t *earlier);

/** Frees it; NULL is allowed. Needs no GVL. */
void rb_heapprof_snapshot_free(rb_heapprof_snapshot_t *snapshot);

/** One frame of a stack. Texts are UTF-8 or what the program used, NUL-terminated. */
struct rb_heapprof_frame {
    const char *label;         /**< as in backtraces, such as Foo#bar */
    const char *path;          /**< absolute where there is a file */
    uint32_t lineno;           /**< 0: unknown. A C method has path and line of its caller */
};

/** What a row is of. */
enum rb_heapprof_kind {
    RB_HEAPPROF_KIND_OBJECTS,  /**< objects of a class: they have slots */
    RB_HEAPPROF_KIND_MALLOC,   /**< memory of the allocator */
    RB_HEAPPROF_KIND_RSS       /**< a row of RB_HEAPPROF_RSS */
};

/** A row of a profile: a stack, a class, an age; or of memory of the allocator a stack, the C
 * function that asked, an owner, an age. Values are estimates, rounded, but for memsize. */
struct rb_heapprof_row {
    const char *class_name;    /**< of memory of the allocator: "" */
    const char *caller;        /**< of memory of the allocator: "function (library)"; otherwise NULL */
    const struct rb_heapprof_frame *frames; /**< innermost first */
    size_t   frame_count;
    const char *owner;         /**< class of the object that holds the memory; NULL: not known */
    const struct rb_heapprof_frame *owner_frames; /**< who allocated that object */
    size_t   owner_frame_count; /**< 0: it is not sampled */
    int      native_leak;      /**< non-zero: ownerless, old and growing; a suspicion. 0 without
                                    RB_HEAPPROF_NATIVE_LEAKS */
    int64_t  gc_age;           /**< GCs survived, rounded down to 0 or a power of two; -1: already dead,
                                    a row of the VM, or of a difference */
    int64_t  alloc_objects;    /**< allocated since start */
    int64_t  alloc_slot_space; /**< and their slots' bytes */
    int64_t  alloc_malloc_space; /**< bytes asked of the allocator since start */
    int64_t  alloc_space;      /**< both */
    int64_t  inuse_objects;    /**< alive at the snapshot */
    int64_t  inuse_slot_space; /**< and their slots' bytes */
    int64_t  inuse_malloc_space; /**< bytes the allocator has not got back */
    int64_t  inuse_space;      /**< both */
    int64_t  rss_space;        /**< bytes in memory, in a row of RB_HEAPPROF_RSS; others have 0, and these
                                    have nothing else */
    int64_t  memsize;          /**< bytes MRI counts for the samples alive themselves; 0 without owners */
    enum rb_heapprof_kind kind; /**< what it is of */
};

/**
 * Calls function for each row until it returns non-zero. The row and all it points
 * to are good during that call only. Returns what function returned last, 0 without
 * rows; -1 when out of memory. Needs no GVL if function does not.
 */
int rb_heapprof_snapshot_each(const rb_heapprof_snapshot_t *snapshot,
                              int (*function)(const struct rb_heapprof_row *row, void *data), void *data);

/**
 * Writes it as gzip'd pprof (profile.proto), to a temporary name first; mode 0600. Returns the
 * bytes written, or -1 with errno set and no file left: ELOOP for a link that lies in a directory
 * others may write to. Waits for a pipe's reader. Needs no GVL; releases none.
 */
int64_t rb_heapprof_snapshot_write(const rb_heapprof_snapshot_t *snapshot, const char *path);

/**
 * The stack that allocated an object: calls function once with a row of this object
 * alone (what it stands for, its class, its age). Returns what function returned, 0 when
 * the object is not sampled or nothing runs; -1 when out of memory. function must not
 * jump out.
 */
int rb_heapprof_allocation_stack(VALUE object,
                                 int (*function)(const struct rb_heapprof_row *row, void *data), void *data);

/** Numbers about the profiler itself; all but size 0 when not running. */
struct rb_heapprof_stat {
    size_t   size;             /**< bytes of this struct that were filled in. What this ruby does not
                                    know lies behind, and is 0 */
    uint64_t interval_bytes;   /**< in force */
    uint64_t malloc_interval_bytes; /**< the same, of the allocator's bytes; 0: none are sampled */
    uint64_t malloc_all;       /**< 1: who calls malloc without xmalloc is sampled, too */
    uint64_t live_samples;     /**< sampled objects not freed yet */
    uint64_t total_samples;    /**< taken since start */
    uint64_t dropped;          /**< samples given up: no memory from the system, or of room to wait for the VM lock */
    uint64_t folded;           /**< sites of dead objects given up for want of memory: others stand for them */
    uint64_t truncated;        /**< stacks cut at depth frames */
    uint64_t sites;            /**< stack and class pairs known */
    uint64_t stack_nodes;      /**< nodes of the stack trie */
    uint64_t functions;        /**< functions known */
    uint64_t memory_used;      /**< bytes of our own tables */
    uint64_t memory_peak;      /**< highest memory_used so far */
    uint64_t memory_budget;    /**< cap of memory_used */
    uint64_t doublings;        /**< of both intervals, for want of memory: they are in force as doubled */
    uint64_t dead_functions;   /**< functions of code that is no more. These three take time in proportion to
                                    what is known, where the struct has room for them */
    uint64_t dead_stack_nodes; /**< nodes of such functions */
    uint64_t dead_sites;       /**< sites whose line is in such a function, or whose class is no more */
    uint64_t merged_sites;     /**< of these, since start: added to others that look the same */
    uint64_t nameless_sites;   /**< the same: moved to [dead code] or [dead class], for there were too many names */
};

/**
 * rb_heapprof_stat() for a struct of so many bytes. A size below that of the first two fields, or
 * above 4096, leaves it untouched.
 */
void rb_heapprof_stat_sized(struct rb_heapprof_stat *stat, size_t size);

/** Fills it in. */
static inline void
rb_heapprof_stat(struct rb_heapprof_stat *stat)
{
    rb_heapprof_stat_sized(stat, sizeof(*stat));
}

/**
 * What the resident memory of the process consists of, in bytes: rss is the sum of all
 * that follow it but absent. doc/rss.md says what each one is and how it is measured. Needs no run.
 */
struct rb_heapprof_rss {
    size_t   size;             /**< as in struct rb_heapprof_stat */
    uint64_t rss;              /**< resident set size; 0: the system does not tell */
    uint64_t slots;            /**< slots of the heap in use */
    uint64_t free_slots;       /**< free slots, also of empty pages */
    uint64_t page_overhead;    /**< headers, padding and descriptors of heap pages */
    uint64_t iseqs;            /**< compiled code, outside slots */
    uint64_t method_tables;    /**< tables of classes and modules, outside slots */
    uint64_t symbols;          /**< tables of symbols and of interned strings */
    uint64_t malloc;           /**< all else that is in use of the allocator */
    uint64_t allocator_slack;  /**< what the allocator keeps free */
    uint64_t stacks;           /**< of threads and fibers: machine and VM */
    uint64_t jit_code;         /**< generated code */
    uint64_t profiler;         /**< the profiler's tables */
    uint64_t files;            /**< the executable, libraries and other mapped files */
    uint64_t unexplained;      /**< the rest */
    uint64_t absent;           /**< no part of rss: asked of the allocator, and not in memory. Unexplained
                                    memory up to as much may pass for malloc */
};

/** rb_heapprof_rss() for a struct of so many bytes, within the bounds of rb_heapprof_stat_sized(). */
void rb_heapprof_rss_sized(struct rb_heapprof_rss *rss, size_t size);

/** Measures it now; walks the heap. */
static inline void
rb_heapprof_rss(struct rb_heapprof_rss *rss)
{
    rb_heapprof_rss_sized(rss, sizeof(*rss));
}

/** How the graph of all objects is dumped. All 0 but size: no values, no GC, by a child. */
struct rb_heapgraph_config {
    size_t   size;             /**< bytes of this struct */
    size_t   values_bytes;     /**< most of what a String holds that is in the file; SIZE_MAX: all; 0: values are hidden */
    int      gc;               /**< a full GC comes before */
    int      in_place;         /**< the process writes itself, and all its threads wait */
};

/**
 * Writes all objects, what they refer to, and the roots, to a file that appears under its name when it is complete. config may be
 * NULL: all 0. Returns when the file is there; other threads run meanwhile, unless an interrupt waits for this one. The number of
 * bytes, or -1 with errno; EINVAL: a size out of range, or a field set that this ruby does not know.
 */
int64_t rb_heapgraph_dump(const char *path, const struct rb_heapgraph_config *config);

RBIMPL_SYMBOL_EXPORT_END()

#endif /* RUBY_HEAPPROF_H */
