#ifndef HEAPPROF_MEMCHECK_PROCESS_H
#define HEAPPROF_MEMCHECK_PROCESS_H
/* What a process has left at its end, as its file says (README.md has the format): a record for each Ruby stack, C function
 * and kind; or what Valgrind has found in it (join.h). */
#include "memcheck/valgrind/valgrind.h"
#include "pprof/model.h"

/* A Ruby stack, the innermost frame first; without frames it is not known. */
struct memcheck_ruby_stack {
    uint32_t first, count;             /* of the process's locations, */
    bool     told;                     /* or of Valgrind's ruby_frames */
};

struct memcheck_record {
    enum memcheck_kind kind;
    int64_t     blocks, bytes;
    int64_t     indirect_blocks, indirect_bytes; /* of a definite one: what only these blocks lead to */
    const char *function;                        /* C function that asked, not ended by a NUL; "?": not known */
    size_t      function_length;
    const char *library;                         /* the same: the file it is in; "": not known */
    size_t      library_length;
    bool        core;                            /* MRI's own, or nobody's that is known */
    struct memcheck_ruby_stack stack;            /* that asked for the blocks; of an error, that ran */
    uint64_t    address;                         /* of a block with a record of its own; 0: it has none */
    const struct memcheck_error *error;          /* what Valgrind says; NULL: the engine is vm */
    int64_t     times;                           /* of an error: how often it was seen */
    struct memcheck_ruby_stack asked;            /* of an error: that asked for the block it is about */
};

struct memcheck_process {
    struct heapprof_model *model;      /* all texts are its, or Valgrind's; NULL: the process has written no file */
    const struct memcheck_valgrind *valgrind; /* NULL: the engine is vm */
    const char *pid, *program;         /* "?": not known */
    const char *libraries;             /* names of those that were loaded at the end, each ended by a '/'; "": not known */
    bool        decided;               /* each block was known, and all memory was read; or Valgrind has searched it */
    uint64_t    dropped;               /* blocks that nothing is known of */
    struct memcheck_record *records;   /* by kind, of each the largest first */
    size_t      record_count;
    uint32_t   *locations;             /* places in the model */
};

enum memcheck_read {MEMCHECK_IS_ONE, MEMCHECK_IS_NONE, MEMCHECK_NO_MEMORY};

/* Takes the model over; of one that is no file of memcheck's, or without memory, it is freed. Free what IS_ONE. */
enum memcheck_read memcheck_process_read(struct memcheck_process *process, struct heapprof_model *model);
void memcheck_process_free(struct memcheck_process *process);

/* By kind, of each the largest first. */
void memcheck_process_sort(struct memcheck_process *process);

/* ---- frames ---- */

struct memcheck_frame {
    const char *name, *file;
    int64_t     line;
};

/* The frame at that place, 0: the innermost. */
struct memcheck_frame memcheck_frame_at(const struct memcheck_process *process, const struct memcheck_ruby_stack *stack, uint32_t at);

/* A C function of the stacks that Valgrind gives. */
struct memcheck_frame memcheck_c_frame_at(const struct memcheck_process *process, uint32_t number);

#endif
