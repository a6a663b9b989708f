#ifndef HEAPPROF_CALLS_H
#define HEAPPROF_CALLS_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Of one function, by all threads together, of whatever has been counted in this process. */
struct heapprof_call_counts {
    const char *name;      /* that of the C library */
    uint64_t calls;
    uint64_t time_ns;      /* from its call to its return; 0 of malloc and its like */
    uint64_t bytes;        /* read or written; asked for; 0 of free, and of who only waits */
    uint64_t actual_bytes; /* what the allocator gave, or free gave back; 0 of all others */
};

/* Why calls cannot be counted in this process, in one line; NULL: they can. */
const char *rb_heapprof_calls_refusal(void);

/* Counts from now on; does nothing if it does already. Not after a refusal, nor while other
 * functions are interposed, which would end. Calls of start, stop and run are serialised. */
void rb_heapprof_calls_start(void);

/* Counts no longer. Who is in such a function is counted yet. */
void rb_heapprof_calls_stop(void);

/* Which start it is since when calls are counted without a gap, from 1; 0: they are not, which
 * somebody else who interposes can be the reason of. */
unsigned int rb_heapprof_calls_run(void);

/* The counts of a function, numbered from 0. False: there are no more. */
bool rb_heapprof_calls_read(size_t number, struct heapprof_call_counts *counts);

#endif
