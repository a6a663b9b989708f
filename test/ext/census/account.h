#ifndef CENSUS_ACCOUNT_H
#define CENSUS_ACCOUNT_H
/* account.h - an account of the heap that owes nothing to the profiler, to hold against it.
 *
 * MRI tells of each object's birth and death (RUBY_INTERNAL_EVENT_NEWOBJ, FREEOBJ). At birth the
 * census writes down where. So it knows at any moment
 *
 *     living     object -> site        what was born since start and is not dead
 *     sites      text -> born, died    how many, by the whole stack (text.h)
 *
 * Compaction moves objects without an event; the census is told when references are updated.
 *
 * All of it runs inside the allocator and the sweep: libc's malloc only, no Ruby object, no raise.
 */
#include "ruby/ruby.h"

struct census_site {
    char *text;
    size_t born, died;
};

extern struct census_sites {
    struct census_site *all;
    uint32_t count;
} census_sites;

struct census_citizen {
    VALUE object;             /* 0: nobody */
    VALUE klass;              /* at birth; 0: hidden, or none */
    uint32_t site;
};

extern struct census_living {
    struct census_citizen *all;
    size_t count, capacity;   /* capacity: of all, nobodies included */
} census_living;

/* NULL: older than the census, or dead. */
struct census_citizen *census_find(VALUE object);

/* Writes down the class of the object born last, when its allocator has set it up. An object may
 * be hidden, or shown, later on. */
void census_baptize(void);

void census_init(void);
void census_start(void);
void census_stop(void);

#endif
