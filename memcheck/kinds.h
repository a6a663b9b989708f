#ifndef HEAPPROF_MEMCHECK_KINDS_H
#define HEAPPROF_MEMCHECK_KINDS_H
/* The kinds of records: what has happened to the memory. */
#include <stdbool.h>

/* From the worst to the least serious. Kinds before DEFINITE are errors, which only Valgrind
 * sees, except that a process sees some mismatched frees itself, and wrong sizes. The rest are
 * Valgrind's words for blocks that are left at the end. */
enum memcheck_kind {
    MEMCHECK_DEAD_OBJECT,
    MEMCHECK_USE_AFTER_FREE,
    MEMCHECK_INVALID_WRITE,
    MEMCHECK_INVALID_READ,
    MEMCHECK_DOUBLE_FREE,
    MEMCHECK_INVALID_FREE,
    MEMCHECK_MISMATCHED_FREE,
    MEMCHECK_FATAL_SIGNAL,
    MEMCHECK_UNDEFINED,
    MEMCHECK_OTHER_ERROR,
    MEMCHECK_WRONG_SIZE,
    MEMCHECK_DEFINITE,
    MEMCHECK_INDIRECT,
    MEMCHECK_POSSIBLE,
    MEMCHECK_REACHABLE,
    MEMCHECK_KINDS
};

extern const char *const memcheck_kind_names[MEMCHECK_KINDS], /* for programs */
                  *const memcheck_kind_titles[MEMCHECK_KINDS]; /* for people */

/* What the stacks of an error show besides the code that did it: who asked for the memory; where
 * the GC began that found an object dead. */
extern const char memcheck_collected_title[];
const char *memcheck_asked_title(enum memcheck_kind kind);

static inline bool
memcheck_error_p(enum memcheck_kind kind)
{
    return kind < MEMCHECK_DEFINITE;
}

#endif
