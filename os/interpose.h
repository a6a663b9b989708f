#ifndef HEAPPROF_INTERPOSE_H
#define HEAPPROF_INTERPOSE_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Whether malloc=all is possible: interpose.c knows the dynamic linker of glibc, and the
 * relocations of these machines. */
#if defined(__linux__) && defined(__LP64__) && (defined(__x86_64__) || defined(__aarch64__))
# include <features.h>
#endif
#ifdef __GLIBC__
# define HEAPPROF_CAN_INTERPOSE 1
#else
# define HEAPPROF_CAN_INTERPOSE 0
#endif

typedef void heapprof_function(void); /* a function of any type */

/* A function of the C library, and the function that replaces it. */
struct heapprof_interposed {
    const char *name;
    heapprof_function *ours; /* NULL: the caller wants only real */
    heapprof_function *real; /* the function of that name in this process; NULL: the process has
                                no such function. rb_heapprof_interpose_refusal writes it once,
                                before any call of ours */
};

/* Says in one line why the functions of table cannot be interposed in this process. Returns
 * NULL if they can. The table ends with a NULL name, and has to stay. */
const char *rb_heapprof_interpose_refusal(struct heapprof_interposed *table);

/* From here on callers of the table's functions call ours, also in objects that are loaded
 * later. One table is on at a time: this call ends another one. The caller calls refusal first,
 * and does not call this after a refusal. The caller serialises start, stop and on_p. */
void rb_heapprof_interpose_start(struct heapprof_interposed *table);

/* Returns whether this table is on. */
bool rb_heapprof_interpose_on_p(const struct heapprof_interposed *table);

/* Finds the code of a library whose functions allocate for their callers, as strdup and C++'s
 * new do. Libraries are numbered from 0 in the order in which they were loaded. Returns false
 * if there is no library with that number yet. Never waits. */
bool rb_heapprof_interpose_library(size_t number, uintptr_t *start, size_t *size);

/* Callers call the real function again. Code that copied our address meanwhile still calls
 * ours, which goes on calling the real one. */
void rb_heapprof_interpose_stop(void);

#endif
