#ifndef HEAPPROF_OPTIONS_H
#define HEAPPROF_OPTIONS_H
/* The settings of a run, as RUBY_HEAPPROF gives them.
 *
 *     (unset) "" 0          off
 *     1                     on, defaults
 *     key=value,key=value   on; keys: interval malloc_interval malloc out depth memory seed gc
 *                           owners rss
 *
 * Sizes take a suffix k, m or g (1024 based). Of a key given twice the last counts.
 * A comma ends a value; out may hold any other character, with %p (pid) %e (program)
 * %t (time) %n (number) %% in it.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HEAPPROF_OUT_MAX 4096

struct heapprof_options {
    uint64_t interval_bytes; /* mean bytes between samples; default 512 KiB; 1 to 2^40 */
    uint64_t malloc_interval_bytes; /* the same for the allocator's bytes, and 0: none are sampled;
                                       default HEAPPROF_AS_INTERVAL: as interval_bytes */
    bool     malloc_all;     /* also sample what does not ask MRI's own allocator; default false */
    uint32_t depth;          /* frames kept per stack, innermost first; default 512; 1 to 65535 */
    uint64_t memory_bytes;   /* budget of our own tables; default 64 MiB; at least 1 MiB */
    uint64_t seed;           /* used when seeded */
    bool     seeded;         /* false: take the seed from the system */
    bool     gc;             /* a full GC before a file is written; default true */
    bool     owners;         /* a walk of the heap before a file is written, which finds who
                                holds the allocator's blocks; default true */
    bool     rss;            /* a file has the rest of RSS in it; default true */
    char     out[HEAPPROF_OUT_MAX]; /* template; default heapprof-%p.pb.gz */
};

#define HEAPPROF_AS_INTERVAL UINT64_MAX

/* Mean bytes between samples of blocks; 0: none are sampled. */
static inline uint64_t
rb_heapprof_options_malloc_interval(const struct heapprof_options *options)
{
    return options->malloc_interval_bytes == HEAPPROF_AS_INTERVAL ? options->interval_bytes
                                                                  : options->malloc_interval_bytes;
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

/* The key of a setting that is out of the range stated above, with what is accepted in
 * *expected ("1 to 1099511627776 bytes"); NULL when all are good. parse uses it too. */
const char *rb_heapprof_options_out_of_range(const struct heapprof_options *options,
                                             const char **expected);

/* What the template letters stand for. */
struct heapprof_out_values {
    long        pid;
    const char *program;     /* its last path component is used */
    int64_t     time;        /* seconds since the epoch */
    unsigned    number;
};

/* Expands an out template into path. Returns false when the result does not fit in
 * size, at least 1; path is then unspecified. An unknown letter stays as it is. */
bool rb_heapprof_options_expand_out(const char *template_text,
                                    const struct heapprof_out_values *values,
                                    char *path, size_t size);

#endif
