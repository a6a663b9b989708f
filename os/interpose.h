#ifndef HEAPPROF_INTERPOSE_H
#define HEAPPROF_INTERPOSE_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Whether malloc=all is to be had: interpose.c knows the dynamic linker of glibc, and the
 * relocations of these machines. */
#if defined(__linux__) && defined(__LP64__) && (defined(__x86_64__) || defined(__aarch64__))
# include <features.h>
#endif
#ifdef __GLIBC__
# define HEAPPROF_CAN_INTERPOSE 1
#else
# define HEAPPROF_CAN_INTERPOSE 0
#endif

typedef void heapprof_function(void); /* of any type */

/* A function of the C library, and what stands for it. */
struct heapprof_interposed {
    const char *name;
    heapprof_function *ours; /* NULL: only real is wanted */
    heapprof_function *real; /* what the name means in this process; NULL: nothing. Written by
                                refusal, before any call of ours, and never again */
};

/* One line that says why the functions of table, which ends with a NULL name, cannot be
 * interposed in this process; NULL: they can. The table has to stay. */
const char *rb_heapprof_interpose_refusal(struct heapprof_interposed *table);

/* From now on, and in whatever is loaded later, callers of the table's functions call ours. Another
 * table's functions are called no longer: one is on at a time. Not to be called before refusal, nor
 * after a refusal. Calls of start, stop and on_p are serialised. */
void rb_heapprof_interpose_start(struct heapprof_interposed *table);

/* Whether it is this table that is on. */
bool rb_heapprof_interpose_on_p(const struct heapprof_interposed *table);

/* The code of a library that asks for somebody else, as strdup and C++'s new do; numbered from 0 in
 * the order they were loaded. False: there are no more yet. Waits for nobody. */
bool rb_heapprof_interpose_library(size_t number, uintptr_t *start, size_t *size);

/* They call the real one again, but for those that copied our address meanwhile: ours goes on
 * handing over for them. */
void rb_heapprof_interpose_stop(void);

#endif
