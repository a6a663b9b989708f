#ifndef ATTACH_RECORD_H
#define ATTACH_RECORD_H
/* Looks added up: how often each stack was seen. The result is a profile in the general model
 * (pprof/model.h).
 *
 *     by stack    (stack, thread) -> how often             collapsed, pprof, speedscope
 *     in order    stack, stack, stack ... of each thread   a chart over time: a value type for each thread
 */
#include "attach/look.h"
#include "pprof/model.h"
#include "profiler/stacks.h"

enum attach_record_mode {
    ATTACH_RECORD_WALL, /* threads that are not idle */
    ATTACH_RECORD_CPU,  /* threads that a processor runs, or that wait for one */
    ATTACH_RECORD_GVL   /* threads that have their Ractor's GVL */
};

struct attach_record_options {
    enum attach_record_mode mode;
    bool     threads;     /* keep threads apart, by a label */
    bool     thread_frames; /* or by an outermost frame, for formats without labels */
    bool idle; /* count idle threads: those that sleep, or wait for anything but a processor or a
                  lock */
    bool     collections; /* a garbage collection is a frame of its own */
    bool     no_lines;    /* keep only functions */
    bool     in_order;
    uint64_t period_ns;   /* between two looks */
};

struct attach_record_entry {
    uint32_t stack, thread; /* numbers in stacks, and in threads; thread 0: any */
    uint64_t count;
};

struct attach_record_thread {
    uint64_t address;
    int      pid;
    uint32_t label;       /* string of names: the thread's given name, or its native id */
    uint32_t last;        /* in order: the entry of its last stack */
};

struct attach_record {
    struct attach_record_options options;
    struct heapprof_mem mem;
    struct attach_names names;       /* for the looks */
    struct heapprof_stacks stacks;
    struct attach_record_entry *entries; /* [0] unused, as in threads */
    size_t   entry_capacity;
    uint32_t entry_count;
    struct heapprof_index index;       /* (stack, thread) -> entry; in order: empty */
    struct attach_record_thread *threads;
    size_t   thread_capacity;
    uint32_t thread_count;
    struct heapprof_index thread_index;
    uint64_t added;                    /* stacks */
};

void attach_record_init(struct attach_record *record, const struct attach_record_options *options);
void attach_record_free(struct attach_record *record);

/* Adds the stacks of a look, each so many periods. Returns false without memory; some of them may
 * have been added. */
bool attach_record_add(struct attach_record *record, struct attach_looks *looks, uint64_t periods);

/* All of it as a profile, which the caller frees. comments are its lines of text; the last pointer
 * is NULL. Returns NULL without memory. */
struct heapprof_model *
attach_record_model(struct attach_record *record, const char *const *comments, int64_t time_ns,
                    int64_t duration_ns);

#endif
