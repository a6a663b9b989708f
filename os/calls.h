#ifndef HEAPPROF_CALLS_H
#define HEAPPROF_CALLS_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The counts of one function, of all threads together, over all runs in this process. */
struct heapprof_call_counts {
    const char *name;      /* as in the C library */
    uint64_t calls;
    uint64_t time_ns;      /* from call to return; 0 for malloc and its like */
    uint64_t bytes;        /* bytes read, written or asked for; 0 for free, and for functions
                              that only wait */
    uint64_t actual_bytes; /* what the allocator gave, or free gave back; otherwise 0 */
};

/* Says in one line why calls cannot be counted in this process. Returns NULL if they can. */
const char *rb_heapprof_calls_refusal(void);

/* Begins to count. Does nothing if calls are counted already. The caller does not call this
 * after a refusal. It does not call this while other functions are interposed, because that
 * would end. The caller serialises start, stop and run. */
void rb_heapprof_calls_start(void);

/* Ends counting. A call that is in progress still counts. */
void rb_heapprof_calls_stop(void);

/* Returns the number, from 1, of the start since which calls are counted without a gap. Returns
 * 0 if calls are not counted. Other code that interposes may be the reason. */
unsigned int rb_heapprof_calls_run(void);

/* Reads the counts of a function, numbered from 0. Returns false after the last. */
bool rb_heapprof_calls_read(size_t number, struct heapprof_call_counts *counts);

#endif
