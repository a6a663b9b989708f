#ifndef CENSUS_ACCOUNT_H
#define CENSUS_ACCOUNT_H
/* account.h - an account of the heap that owes nothing to the profiler, to hold against it.
 *
 * MRI tells of each object's birth and death (RUBY_INTERNAL_EVENT_NEWOBJ, FREEOBJ). At birth the
 * census writes down where. So it knows at any moment
 *
 *     living     object -> site        what was born since start and is not dead
 *     sites      text -> born, died    how many, by the whole stack (text.h); how old the dead were
 *
 * At the end of each sweep it looks whether 5 % more is alive than ever before, and then writes
 * down what is, by site: the peak.
 *
 * Compaction moves objects without an event; the census is told when references are updated.
 *
 * All of it runs inside the allocator and the sweep: libc's malloc only, no Ruby object, no raise.
 */
#include "ruby/ruby.h"

enum { CENSUS_AGES = 4 };     /* GCs that the dead have survived: 0, 1, 2 to 3, 4 and more */

struct census_site {
    char *text;
    size_t born, died;
    size_t died_at[CENSUS_AGES];
    size_t peak_objects, peak_bytes;
};

extern struct census_sites {
    struct census_site *all;
    uint32_t count;
} census_sites;

struct census_citizen {
    VALUE object;             /* 0: nobody */
    VALUE klass;              /* at birth; 0: hidden, or none */
    uint32_t site;
    size_t birth_gc;
};

extern struct census_living {
    struct census_citizen *all;
    size_t count, capacity;   /* capacity: of all, nobodies included */
} census_living;

/* NULL: older than the census, or dead. */
struct census_citizen *census_find(VALUE object);

/* Its place in died_at, if it dies in the GC of now. */
unsigned int census_age(const struct census_citizen *citizen);

/* Writes down the class of the object born last, when its allocator has set it up. An object may
 * be hidden, or shown, later on. */
void census_baptize(void);

void census_init(void);
void census_start(void);
void census_stop(void);

#endif
