#ifndef HEAPPROF_OPTIONS_H
#define HEAPPROF_OPTIONS_H
/* The settings of a run, as RUBY_HEAPPROF gives them.
 *
 *     (unset) "" 0          off
 *     1                     on, defaults
 *     key=value,key=value   on; the keys are those of HEAPPROF_SETTINGS; "1," may come first
 *
 * Sizes take a suffix k, m or g (1024 based), or K, M, G. Of a key given twice the last counts.
 * A comma ends a value; out may hold any other character, and %p (pid) %e (program) %t (time)
 * %n (number) %% alone after a '%'.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "os/signals.h"

#define HEAPPROF_OUT_MAX 4096
#define HEAPPROF_INTERVAL_MAX 1099511627776 /* digits: messages have it, too */

/* The default of out when several files are written: each has a number of its own. */
#define HEAPPROF_OUT_NUMBERED "heapprof-%p-%n.pb.gz"

/* Every setting, and all that is said of it: what is read, defaults, ranges and messages come from
 * here, and README's table is held to it (options_test.cc).
 *
 *     X(key, kind, field, default, least, most, what a well-formed value is)
 *
 * The default is as README has it, and as RUBY_HEAPPROF could; but for the two that are a phrase. */
#define HEAPPROF_SETTINGS(X) \
    X(interval, INTERVAL, interval_bytes, "512k", 1, HEAPPROF_INTERVAL_MAX, \
      "bytes between samples, such as 4096, 512k or 1m; or auto") \
    X(malloc_interval, AS_INTERVAL, malloc_interval_bytes, "as `interval`", 0, HEAPPROF_INTERVAL_MAX, \
      "bytes of malloc between samples, such as 4096, 512k or 0") \
    X(malloc, WHOSE, malloc_all, "ruby", 0, 1, \
      "ruby (what asks MRI's allocator) or all (extensions and libraries, too)") \
    X(out, NAME, out, "heapprof-%p.pb.gz", 0, 4095, \
      "a file name, such as heapprof-%p.pb.gz (%p pid, %e program, %t time, %n number, %%), or nothing: no file") \
    X(every, SECONDS, every_ms, "0", 100, 604800000, \
      "seconds between two files while the program runs, such as 60 or 0.5; or 0: none are written") \
    X(signal, SIGNAL, signal, "none", 1, 64, \
      "a signal that has a file written: " HEAPPROF_SIGNALS "; or none") \
    X(keep, COUNT, keep, "10", 0, 100000, \
      "how many of these files are kept, such as 10; or 0: all") \
    X(depth, FRAMES, depth, "512", 1, 65535, \
      "frames per stack, such as 512") \
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
    X(memcheck, SWITCH, memcheck, "0", 0, 1, \
      "1 (all that is Ruby's is freed at the end, and the file has the blocks that are left) or 0")

/* Ranges and defaults are HEAPPROF_SETTINGS'. */
struct heapprof_options {
    uint64_t interval_bytes; /* mean bytes between samples; HEAPPROF_AUTO_INTERVAL: by how many
                                samples are alive */
    uint64_t malloc_interval_bytes; /* the same for the allocator's bytes, and 0: none are sampled;
                                       HEAPPROF_AS_INTERVAL: as interval_bytes */
    bool     malloc_all;     /* also sample what does not ask MRI's own allocator */
    uint64_t every_ms;       /* between two files of a run; 0: none but at its end */
    uint32_t signal;         /* its number: it has a file written; 0: none has */
    uint32_t keep;           /* so many files of a process with every or signal; 0: all */
    uint32_t depth;          /* frames kept per stack, innermost first */
    uint64_t memory_bytes;   /* budget of our own tables */
    uint64_t seed;           /* used when seeded */
    bool     seeded;         /* false: take the seed from the system */
    bool     gc;             /* a full GC before a file is written */
    bool     owners;         /* a walk of the heap before a file is written, which finds who
                                holds the allocator's blocks */
    bool     rss;            /* a file has the rest of RSS in it */
    bool     memcheck;       /* at the end of the process everything is freed, and its file has what is left */
    bool     named;          /* out is not the default */
    char     out[HEAPPROF_OUT_MAX]; /* template */
};

#define HEAPPROF_AS_INTERVAL UINT64_MAX
#define HEAPPROF_AUTO_INTERVAL (UINT64_MAX - 1)

/* With that the interval begins here and never is less; it doubles, and samples are thinned, when more
 * than twice so many are alive, and halves when a major GC finds less than half so many. */
enum { HEAPPROF_AUTO_LEAST_BYTES = 4096, HEAPPROF_AUTO_SAMPLES = 20000 };

/* Mean bytes between samples of blocks; 0: none are sampled. */
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

/* Reads text (NULL: unset) into *options, defaults first. On BAD, message holds one
 * line without a newline, e.g. "nonsense=1: no such key; known keys are ...";
 * *options is then unspecified. */
enum heapprof_options_result
rb_heapprof_options_parse(const char *text, struct heapprof_options *options,
                          char *message, size_t message_size);

/* Gives out its default where several files are written, unless it is named. parse does. */
void rb_heapprof_options_name_files(struct heapprof_options *options);

/* The default of a key whose value is a number. */
uint64_t rb_heapprof_options_default_number(const char *key);

/* The key of a setting that is out of its range, with what is accepted in *expected
 * ("1 to 1099511627776 bytes"); NULL when all are good. parse uses it too. */
const char *rb_heapprof_options_out_of_range(const struct heapprof_options *options,
                                             const char **expected);

#endif
