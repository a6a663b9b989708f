#ifndef HEAPPROF_GC_WBCHECK_H
#define HEAPPROF_GC_WBCHECK_H
/* wbcheck.h - finds write barriers that extensions, or MRI itself, forget. It compares what
 * objects refer to with what barriers have said. wbcheck.c has the picture. All of this is
 * called under the VM lock, by one caller at a time. What is called back makes no Ruby object
 * and starts no GC. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "ruby/ruby.h"

/* parent refers to child. It did not at the last look, and no barrier has said so since. */
struct heapprof_missed {
    VALUE parent;
    VALUE child;
    bool  early;          /* a barrier did say so, but before the last look */
    const char *stack;    /* the Ruby stack where it was missed; NULL: it is the present one */
};

typedef void heapprof_missed_i(const struct heapprof_missed *missed);

/* Writes the present Ruby stack as text. */
typedef void heapprof_stack_i(char *text, size_t size);

struct heapprof_wbcheck_stat {
    uint64_t checks;      /* of all objects */
    uint64_t objects;     /* compared, in all checks */
    uint64_t barriers;
    uint64_t unjudged;    /* checks without a result: objects had moved, or memory was refused */
    uint64_t check_ns;    /* CPU time of the checks */
};

/* A place in C that calls a barrier, and what came of its calls. Each call counts once. A call
 * for a reference that was noted already counts in `calls` only. */
struct heapprof_barrier_site {
    uintptr_t address;     /* the return address of the call */
    uint64_t  calls;
    uint64_t  unprotected; /* barriers do not protect the object */
    uint64_t  present;     /* of typed data: at the next look it had the reference */
    uint64_t  absent;      /* of typed data: at the next look it did not */
    uint64_t  early;       /* of present: at the call the struct did not have the reference yet */
};

/* The offset of a reference in the struct of typed data, in bytes. Returns -1 if it is
 * elsewhere, or behind the first MiB. */
long rb_heapprof_gc_wbcheck_offset(VALUE parent, VALUE child);

/* keep_sites, before the start: sites are kept, too, and, if judged, what came of them. sites
 * returns what is known of them. It is good until the stop. */
void rb_heapprof_gc_wbcheck_keep_sites(bool judged);
const struct heapprof_barrier_site *rb_heapprof_gc_wbcheck_sites(size_t *count);

/* New references of typed data that one call of a barrier has told of before the next look. A
 * reference that the object has at two places counts at the first. */
struct heapprof_told {
    const rb_data_type_t *type;  /* static, of a library that MRI never unloads */
    long      offset;            /* as of rb_heapprof_gc_wbcheck_offset */
    uintptr_t address;           /* the return address of the call */
    uint64_t  count;
};

/* keep_told, before the start: these are kept, and sites with them. told returns what is known
 * of them in this process. It is good until the stop. */
void rb_heapprof_gc_wbcheck_keep_told(void);
const struct heapprof_told *rb_heapprof_gc_wbcheck_told(size_t *count);

/* look_between, before the start: it is also found, in each run, that a barrier came before its
 * store and MRI could have collected between the two. Then newobj is to be called for each new
 * object. */
void rb_heapprof_gc_wbcheck_look_between(heapprof_stack_i *stack_i);
void rb_heapprof_gc_wbcheck_newobj(void);

/* From here on barriers are noted, and objects are compared as each GC begins. Returns NULL, or one
 * line that says why they cannot be. All ractors are stopped, or there is one; at the stop, too. */
const char *rb_heapprof_gc_wbcheck_start(heapprof_missed_i *missed_i);

/* Barriers only tell the collector again, and all that was kept is given back. */
void rb_heapprof_gc_wbcheck_stop(void);

/* Compares all objects that barriers protect with the last look, and keeps what they refer to
 * for the next. All ractors are stopped, or there is one. */
void rb_heapprof_gc_wbcheck_all(void);

/* A C function is about to be called with this receiver, and has returned. What it stored there
 * without a barrier is seen between the two, whenever the next GC is. For typed data only. */
void rb_heapprof_gc_wbcheck_call(VALUE self);
void rb_heapprof_gc_wbcheck_return(VALUE self);

struct heapprof_wbcheck_stat rb_heapprof_gc_wbcheck_stat(void);

#endif
