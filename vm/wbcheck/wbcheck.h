#ifndef HEAPPROF_VM_WBCHECK_H
#define HEAPPROF_VM_WBCHECK_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Reads RUBY_WBCHECK. If it says so, barriers are checked from here on. */
void rb_heapprof_wbcheck_boot(void);

/* Checks a last time. If RUBY_WBCHECK has found anything, prints the sum, one line. */
void rb_heapprof_wbcheck_at_exit(void);

/* ---- for GC.wbcheck ---- */

#define HEAPPROF_WBCHECK_WHAT_BYTES 768
#define HEAPPROF_WBCHECK_STACK_BYTES 2048
#define HEAPPROF_WBCHECK_ALLOCATED_BYTES 512

/* A place where barriers are missed. */
struct heapprof_wbcheck_place {
    char what[HEAPPROF_WBCHECK_WHAT_BYTES]; /* JSON::State+0x10 -> String, in JSON::State#configure
                                             */
    char     stack[HEAPPROF_WBCHECK_STACK_BYTES]; /* the innermost lines, as it was first found */
    char parent[HEAPPROF_WBCHECK_ALLOCATED_BYTES]; /* lines: where the parent was allocated; "": not
                                                      known */
    char     child[HEAPPROF_WBCHECK_ALLOCATED_BYTES];  /* the same of the child */
    uint64_t count;
    uint64_t before;  /* count when the block began */
};

/* Begins a block. Returns why barriers cannot be checked, or NULL. Not within another block. */
const char *rb_heapprof_wbcheck_begin_block(void);
bool rb_heapprof_wbcheck_in_block_p(void);

void rb_heapprof_wbcheck_end_block(void);

/* Copies the place of that number. Returns false if there are not so many. New places may be found
 * between two calls. */
bool rb_heapprof_wbcheck_copy_place(size_t number, struct heapprof_wbcheck_place *place);

#endif
