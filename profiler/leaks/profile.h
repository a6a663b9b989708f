#ifndef HEAPPROF_LEAK_PROFILE_H
#define HEAPPROF_LEAK_PROFILE_H
/* The blocks that are left at the very end of a process, as a pprof Profile message: a sample for
 * each stack, C function and fate, or for each block. doc/design/memcheck.md says what is in it. */
#include "profiler/leaks/lost.h"
#include "profiler/tables.h"

enum heapprof_leaks_known {
    HEAPPROF_LEAKS_DECIDED,     /* settle has decided */
    HEAPPROF_LEAKS_NOT_DECIDED, /* it could not */
    HEAPPROF_LEAKS_CRASHED      /* nothing was searched, for the process crashes */
};

/* A type whose dsize function says something else than its objects hold. */
struct heapprof_wrong_size {
    struct heapprof_mismatch_end code; /* the dsize function, and who made such an object. The
                                        * stack is held */
    uint32_t type;                     /* a string: wrap_struct_name */
    uint32_t objects;
    uint64_t said, held;               /* bytes. held: of blocks that only they lead to if said is
                                        * less, and of all that one object leads to if it is more */
};

struct heapprof_leak_profile {
    const struct heapprof_tables *tables;
    const struct heapprof_lost *lost;      /* settled */
    const char *build;                     /* the ruby, as ruby -v */
    const char *core;                      /* the file that MRI's own functions are in */
    const struct heapprof_wrong_size *wrong_sizes;
    size_t      wrong_size_count;
    uint32_t origin;       /* string: which process, in lines "key: value"; 0: not known */
    const char *libraries; /* names of the files that are loaded, each ended by a '/' */
    uint64_t    dropped;                   /* blocks that were not recorded */
    uint64_t    interval_bytes;            /* 1: every block is known */
    int64_t     start_ns, time_ns;         /* wall clock */
    enum heapprof_leaks_known known;
    bool        each_block;                /* a sample for each block, with its address */
};

/* Returns the encoded message in a block from malloc, with its length in *size; NULL if there
 * is no memory. The tables stay as they are meanwhile. */
char *rb_heapprof_leak_profile_encode(const struct heapprof_leak_profile *profile, size_t *size);

#endif
