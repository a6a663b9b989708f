#ifndef HEAPPROF_OPTIONS_H
#define HEAPPROF_OPTIONS_H
/* The settings of a run, as RUBY_HEAPPROF gives them.
 *
 *     (unset) "" 0          off
 *     locked                no process outside can start or ask anything; off, unless settings stand
 *                           beside it
 *     1                     on, defaults
 *     key=value,key=value   on; the keys are those of HEAPPROF_SETTINGS; "1," may come first
 *
 * Sizes take a suffix k, m or g (1024 based), or K, M, G. If a key is given twice, the last one
 * counts. A comma ends a value. out may have any other character; after a '%' only p (pid),
 * e (program), t (time), n (number) or another '%' may stand.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "os/signals.h"

#define HEAPPROF_OUT_MAX 4096
#define HEAPPROF_MARKS 4
#define HEAPPROF_MARK_LEAST 1048576 /* bytes */
#define HEAPPROF_INTERVAL_MAX 1099511627776 /* written out, because messages show it */

/* The default of out if several files are written: each has a number of its own. */
#define HEAPPROF_OUT_NUMBERED "heapprof-%p-%n.pb.gz"

/* Every setting, and all that is said of it. What is read, defaults, ranges and messages come from
 * here. options_test.cc holds the table of doc/settings.md to it.
 *
 *     X(key, kind, field, default, least, most, what a well-formed value is)
 *
 * The default is written as in doc/settings.md, and as RUBY_HEAPPROF could have it, except the two
 * defaults that are a phrase. */
#define HEAPPROF_SETTINGS(X) \
    X(interval, INTERVAL, interval_bytes, "64k", 1, HEAPPROF_INTERVAL_MAX, \
      "bytes between samples, such as 4096, 512k or 1m; or auto") \
    X(malloc_interval, AS_INTERVAL, malloc_interval_bytes, "as `interval`", 0, \
      HEAPPROF_INTERVAL_MAX, "bytes of malloc between samples, such as 4096, 512k or 0") \
    X(malloc, WHOSE, malloc_all, "ruby", 0, 1, \
      "ruby (what asks MRI's allocator) or all (extensions and libraries, too)") \
    X(out, NAME, out, "heapprof-%p.pb.gz", 0, 4095, \
      "a file name, such as heapprof-%p.pb.gz (%p pid, %e program, %t time, %n number, %%), " \
      "or nothing: no file") \
    X(every, SECONDS, every_ms, "0", 100, 604800000, \
      "seconds between two files while the program runs, such as 60 or 0.5; " \
      "or 0: none are written") \
    X(signal, SIGNAL, signal, "none", 1, 64, \
      "a signal that has a file written: " HEAPPROF_SIGNALS "; or none") \
    X(at, MARKS, at, "0", 1, 4, \
      "marks of memory at which a file is written, such as 85%, 70%/90% or 512m; or 0: none") \
    X(graph, SWITCH, graph, "1", 0, 1, \
      "1 (at a mark, also dump all objects, if there is room) or 0") \
    X(keep, COUNT, keep, "10", 0, 100000, \
      "how many of these files are kept, such as 10; or 0: all") \
    X(depth, FRAMES, depth, "512", 1, 65535, \
      "frames per stack, such as 512") \
    X(labels, COUNT, labels, "1000", 0, 60000, \
      "how many values a label may have, such as 1000; or 0: no labels") \
    X(memory, BYTES, memory_bytes, "64m", 1048576, 18446744073709551615, \
      "bytes for the profiler's own tables, such as 64m") \
    X(seed, SEED, seed, "from the system", 0, 18446744073709551615, \
      "a number, such as 42: equal seeds sample equally") \
    X(gc, SWITCH, gc, "1", 0, 1, \
      "1 (a full GC before a file is written) or 0") \
    X(owners, SWITCH, owners, "1", 0, 1, \
      "1 (find who holds malloc'ed memory before a file is written) or 0") \
    X(rss, SWITCH, rss, "1", 0, 1, \
      "1 (a file has the rest of the resident memory, too) or 0") \
    X(peak, SWITCH, peak, "0", 0, 1, \
      "1 (a file also has what was alive when most was alive) or 0") \
    X(lifetimes, SWITCH, lifetimes, "0", 0, 1, \
      "1 (a file also has how many GCs the dead have survived) or 0") \
    X(memcheck, SWITCH, memcheck, "0", 0, 1, \
      "1 (all that is Ruby's is freed at the end, and the file has the blocks that are left) " \
      "or 0") \
    X(quarantine, BYTES, quarantine_bytes, "0", 0, 18446744073709551615, \
      "bytes of dead objects that are held back to find their uses, such as 256m; or 0: none") \
    X(sizes, SWITCH, sizes, "0", 0, 1, \
      "1 (memcheck compares what dsize functions say with what objects hold) or 0") \
    X(gc_stress, COUNT, gc_stress, "0", 0, 1000000000, \
      "after how many allocations there is a GC, such as 100; or 0: as always")

/* HEAPPROF_SETTINGS has the ranges and defaults. */
struct heapprof_options {
    uint64_t interval_bytes; /* mean bytes between samples. HEAPPROF_AUTO_INTERVAL: chosen by how
                                many samples are alive */
    uint64_t malloc_interval_bytes; /* the same for the allocator's bytes. 0: not sampled.
                                       HEAPPROF_AS_INTERVAL: as interval_bytes */
    bool     malloc_all;     /* also sample memory that is not asked of MRI's own allocator */
    uint64_t every_ms;       /* between two files of a run; 0: a file at its end only */
    uint32_t signal;         /* number of the signal that has a file written; 0: no signal */
    uint64_t at[HEAPPROF_MARKS]; /* a file when memory crosses it: 1 to 100: percent of a limit;
                                    beyond: bytes of RSS; 0: no more marks */
    bool     graph;          /* at a mark, also dump all objects */
    uint32_t keep; /* how many files of a process are kept, with every or signal; 0: all */
    uint32_t labels;         /* values that a label may have; 0: there are no labels */
    uint32_t depth;          /* frames kept per stack, innermost first */
    uint64_t memory_bytes;   /* budget of our own tables */
    uint64_t seed;           /* used if seeded */
    bool     seeded;         /* false: take the seed from the system */
    bool     gc;             /* run a full GC before a file is written */
    bool     owners;         /* walk the heap before a file is written, to find who holds the
                                allocator's blocks */
    bool     rss;            /* a file has the rest of RSS in it */
    bool     peak;           /* keep what was alive of each site at the peak */
    bool     lifetimes;      /* count of each site how old its dead were */
    bool     memcheck;       /* free everything at the end; the file has the blocks that are left */
    uint64_t quarantine_bytes; /* how many bytes of dead objects are held back; 0: none */
    bool     sizes;          /* at the end, compare dsize functions with what objects hold */
    uint32_t gc_stress;      /* a GC at each allocation of this number; 0: none */
    bool     named;          /* out is not the default */
    char     out[HEAPPROF_OUT_MAX]; /* template */
};

#define HEAPPROF_AS_INTERVAL UINT64_MAX
#define HEAPPROF_AUTO_INTERVAL (UINT64_MAX - 1)

/* An auto interval begins at AUTO_LEAST_BYTES and never is less. It doubles, and samples are
 * thinned, when more than twice AUTO_SAMPLES samples are alive. It halves when a major GC finds
 * less than half of AUTO_SAMPLES. */
enum { HEAPPROF_AUTO_LEAST_BYTES = 4096, HEAPPROF_AUTO_SAMPLES = 20000 };

/* Mean bytes between samples of blocks; 0: blocks are not sampled. */
static inline uint64_t
rb_heapprof_options_malloc_interval(const struct heapprof_options *options)
{
    return options->malloc_interval_bytes == HEAPPROF_AS_INTERVAL ? options->interval_bytes
                                                                  : options->malloc_interval_bytes;
}

/* Whether files are written while the program runs. */
static inline bool
rb_heapprof_options_periodic_p(const struct heapprof_options *options)
{
    return options->every_ms > 0 || options->signal > 0;
}

enum heapprof_options_result {
    HEAPPROF_OPTIONS_OFF,
    HEAPPROF_OPTIONS_ON,
    HEAPPROF_OPTIONS_BAD     /* message says which key, which value, what is accepted */
};

/* The settings of RUBY_HEAPPROF=1. */
void rb_heapprof_options_default(struct heapprof_options *options);

/* Reads text (NULL: unset) into *options, defaults first. On BAD, message has one line without a
 * newline, such as "nonsense=1: no such key; known keys are ...", and *options is unspecified. */
enum heapprof_options_result
rb_heapprof_options_parse(const char *text, struct heapprof_options *options,
                          char *message, size_t message_size);

/* Whether "locked" is one of the settings: the process takes no requests from outside. */
bool rb_heapprof_options_locked_p(const char *text);

/* Sets out to its default for several files, if several are written and out is not named. parse
 * does that by itself. */
void rb_heapprof_options_name_files(struct heapprof_options *options);

/* The default of a key. Its value is a number. */
uint64_t rb_heapprof_options_default_number(const char *key);

/* The key of a setting that is out of its range, with what is accepted in *expected
 * ("1 to 1099511627776 bytes"). Returns NULL if all are good. parse uses it too. */
const char *rb_heapprof_options_out_of_range(const struct heapprof_options *options,
                                             const char **expected);

#endif
