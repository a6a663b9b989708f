#ifndef HEAPPROF_GC_WBCHECK_H
#define HEAPPROF_GC_WBCHECK_H
/* wbcheck.h - write barriers that extensions, and MRI itself, forget: found by comparing what objects refer to with
 * what barriers have said. wbcheck.c has the picture. Everything here is called with the VM lock, and one caller at a
 * time; what is called back makes no Ruby object and starts no GC. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "ruby/ruby.h"

/* parent refers to child, which it did not when it was last looked at, and no barrier has said so since. */
struct heapprof_missed {
    VALUE parent;
    VALUE child;
    bool  early;          /* a barrier did say so, but before the look that came in between */
};

typedef void heapprof_missed_i(const struct heapprof_missed *missed);

struct heapprof_wbcheck_stat {
    uint64_t checks;      /* of all objects */
    uint64_t objects;     /* compared, in all of them */
    uint64_t barriers;
    uint64_t unjudged;    /* checks after which nothing could be said: objects had moved, or memory was refused */
    uint64_t check_ns;    /* CPU time in them */
};

/* Where in C a barrier is called, and what came of it. Each call once; those of a reference that was noted already are in
 * calls alone. */
struct heapprof_barrier_site {
    uintptr_t address;     /* behind the call */
    uint64_t  calls;
    uint64_t  unprotected; /* the object is none that barriers protect */
    uint64_t  present;     /* of typed data: when it was looked at next it referred to that */
    uint64_t  absent;      /* of typed data: it did not */
    uint64_t  early;       /* of those present: its struct did not have the reference yet when the barrier was called */
};

/* Where in typed data's struct a reference stands, bytes; -1: elsewhere. How long that is nobody tells: so far is looked. */
#define HEAPPROF_WBCHECK_STRUCT_BYTES 1024
long rb_heapprof_gc_wbcheck_offset(VALUE parent, VALUE child);

/* From the start on sites are kept, too, and, if judged, what came of them; and what is known of them. Good until the stop. */
void rb_heapprof_gc_wbcheck_keep_sites(bool judged);
const struct heapprof_barrier_site *rb_heapprof_gc_wbcheck_sites(size_t *count);

/* New references of typed data that one call of a barrier has told of before the next look. One that the object has at two
 * places counts at the first of them. */
struct heapprof_told {
    const rb_data_type_t *type;  /* static, of a library that MRI never unloads */
    long      offset;            /* as of rb_heapprof_gc_wbcheck_offset */
    uintptr_t address;           /* behind the call */
    uint64_t  count;
};

/* From the start on these are kept, and with them sites; and what is known of them in this process. Good until the stop. */
void rb_heapprof_gc_wbcheck_keep_told(void);
const struct heapprof_told *rb_heapprof_gc_wbcheck_told(size_t *count);

/* From now on barriers are noted. NULL, or one line that says why it cannot be. */
const char *rb_heapprof_gc_wbcheck_start(heapprof_missed_i *missed_i);

/* Barriers are the collector's alone again, and all that was kept is given back. */
void rb_heapprof_gc_wbcheck_stop(void);

/* Compares all objects that barriers protect, and takes them as they are now. All ractors are stopped, or there is one. */
void rb_heapprof_gc_wbcheck_all(void);

/* A GC has begun, and not marked yet: the same. */
void rb_heapprof_gc_wbcheck_begun(void);

/* It has marked: what is dead is forgotten, for its slots will be others'. */
void rb_heapprof_gc_wbcheck_marked(void);

/* A function of C is about to be called with this receiver; and has returned. What it stored there without a barrier is
 * seen in between, whenever the next GC is. Of typed data alone. */
void rb_heapprof_gc_wbcheck_call(VALUE self);
void rb_heapprof_gc_wbcheck_return(VALUE self);

struct heapprof_wbcheck_stat rb_heapprof_gc_wbcheck_stat(void);

#endif
