#ifndef ATTACH_RECORD_H
#define ATTACH_RECORD_H
/* Looks added up: how much time each stack took. The result is a profile in the general model
 * (pprof/model.h).
 *
 *     by stack    (stack, who, labels) -> time                     collapsed, pprof, speedscope
 *     in order    stack, stack, stack ... of each thread   a chart over time
 *
 * A look stands for the time since the look before, however long that was. So the sum is the time
 * of the clock, also where looks come late. In mode cpu the time is what the kernel says that a
 * thread has run. */
#include "attach/origin.h"
#include "attach/pace.h"
#include "attach/roster.h"
#include "pprof/model.h"
#include "profiler/stacks.h"

enum attach_record_mode {
    ATTACH_RECORD_WALL, /* threads that are not idle */
    ATTACH_RECORD_CPU,  /* time on a processor, by the kernel's accounts */
    ATTACH_RECORD_GVL,  /* threads that have their Ractor's GVL */
    ATTACH_RECORD_OFF   /* threads that wait; what they wait for is a frame, and a label */
};

struct attach_record_options {
    enum attach_record_mode mode;
    bool     threads;     /* keep threads apart, by a label */
    bool     thread_frames; /* or by an outermost frame, for formats without labels */
    bool     process_frames; /* of several processes, each by an outermost frame */
    bool     idle;        /* mode wall: count idle threads, too. They sleep, or wait for anything
                             but a processor or a lock */
    bool     collections; /* a garbage collection is a frame of its own */
    bool     no_lines;    /* keep only functions */
    bool     in_order;
    int64_t  period_ns;   /* between two looks, if they come in time */
};

struct attach_record_entry {
    uint32_t stack, who;  /* numbers in stacks, and in the roster's whos */
    uint32_t labels;      /* string of names: the text of a set (profiler/label_sets.h); 0: none */
    uint64_t count, ns;   /* looks, and the time for which they stand */
    int64_t  began_ns;    /* in order: since the record began */
};

struct attach_record {
    struct attach_record_options options;
    int64_t  began_ns, looked_ns;    /* when it began; time of the last look */
    struct heapprof_mem mem;
    struct attach_names names;       /* for the looks */
    struct attach_roster roster;
    struct heapprof_stacks stacks;
    struct attach_record_entry *entries; /* [0] unused */
    size_t   entry_capacity;
    uint32_t entry_count;
    struct heapprof_index index;       /* (stack, who, labels) -> entry; in order: empty */
    uint64_t added;                    /* stacks */
    int64_t  longest_ns;               /* between two looks */
    struct attach_pace pace;           /* the caller's, for the comments */
    uint64_t alarmed;                  /* and this: looks because an alarm rang */
    struct attach_look_counts counts;  /* so are these */
    uint64_t missed;                   /* and this: children that ended before any look */
    char     origin[ATTACH_ORIGIN_TEXT_MAX]; /* of the first process, as first seen; or "" */
};

/* What a thread waits for, as a frame and as the value of the label "waits". The numbers are those
 * of enum attach_look_wait; the last one is the queue of a processor. */
enum { ATTACH_RECORD_QUEUE = ATTACH_WAITS_IO + 1, ATTACH_RECORD_WAITS };
struct attach_record_wait {
    const char *frame, *label;
};
extern const struct attach_record_wait attach_record_waits[ATTACH_RECORD_WAITS];

/* The record begins at that time. All times are of one clock, which never goes back. */
void attach_record_init(struct attach_record *record, const struct attach_record_options *options,
                        int64_t now_ns);
void attach_record_free(struct attach_record *record);

/* Which stacks the looks have to read for these options. */
enum attach_look_wanted attach_record_wanted(const struct attach_record_options *options);

/* After how much CPU time of a thread it is to be looked at (attach/alarms.h); 0: at no such time.
 * In order, what a thread does between two alarms is to be seen, too. */
int64_t attach_record_alarms_ns(const struct attach_record_options *options);

/* Labels the stacks that are added from here on with the pid, title or container of their process.
 * Returns false without memory. */
bool attach_record_label(struct attach_record *record, const struct attach_looks *looks,
                         enum attach_roster_label label, const char *text);

/* Adds the stacks of a look, which was taken at that time. Returns false without memory; some of
 * them may have been added. */
bool attach_record_add(struct attach_record *record, struct attach_looks *looks, int64_t now_ns);

/* The program of the looks with that number has ended, at a time that is not known. */
void attach_record_end(struct attach_record *record, uint32_t number, int64_t now_ns);

/* All of it as a profile, which the caller frees. time_ns is when it began, since the epoch. Its
 * comments say how it was made. Returns NULL without memory. */
struct heapprof_model *attach_record_model(struct attach_record *record, int64_t time_ns);

/* ---- for record_model.c ---- */

/* Adds the key's count and time to those of its stack, who and labels. Returns the entry's number,
 * or 0 without memory. */
uint32_t attach_record_count(struct attach_record *record, const struct attach_record_entry *key);

/* In order: the entry lasts until that time of the record. */
void attach_record_extend(struct attach_record *record, uint32_t number, int64_t end_ns);

/* A stack of that one frame, or that frame called by parent; HEAPPROF_NO_STACK without memory. */
uint32_t attach_record_mark(struct attach_record *record, uint32_t parent, const char *name);

#endif
