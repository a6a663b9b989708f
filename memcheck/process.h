#ifndef HEAPPROF_MEMCHECK_PROCESS_H
#define HEAPPROF_MEMCHECK_PROCESS_H
/* What one process has left behind at its end. The process's file has a record for each Ruby
 * stack, C function and kind (doc/design/memcheck.md). Under Valgrind the records come from
 * join.h. */
#include "memcheck/valgrind/valgrind.h"
#include "pprof/model.h"

/* A Ruby stack, innermost frame first. No frames: the stack is not known. */
struct memcheck_ruby_stack {
    uint32_t first, count;             /* indices in the process's locations; or, if told, */
    bool     told;                     /* in Valgrind's ruby_frames */
};

/* A C function. Its texts are not ended by NUL. */
struct memcheck_c_function {
    const char *function, *library;    /* "?", "": not known */
    size_t      function_length, library_length;
};

struct memcheck_record {
    enum memcheck_kind kind;
    int64_t     blocks, bytes;
    int64_t     indirect_blocks, indirect_bytes; /* for a definite leak: what only these blocks
                                                    lead to */
    const char *function;                        /* C function that allocated, not ended by NUL;
                                                    "?" if not known */
    size_t      function_length;
    const char *library;                         /* likewise: its library; "" if not known */
    size_t      library_length;
    uint32_t    first_caller, caller_count;      /* the C functions that led to it, innermost
                                                    first: in the process's callers, or with
                                                    Valgrind in its frames (callers.h) */
    bool        core;                            /* belongs to MRI, or to nobody that is known */
    struct memcheck_ruby_stack stack;            /* allocated the blocks; for an error, was
                                                    running */
    uint64_t    address;                         /* of the block, if it has a record of its own;
                                                    else 0 */
    const struct memcheck_error *error;          /* what Valgrind says; NULL if the process itself
                                                    has found it */
    const char *what;                            /* for an error: what has happened */
    int64_t     pair;                            /* for an error in the process's file: its number;
                                                    else 0 */
    uint64_t    cause;                           /* its number (causes.h) */
    int64_t     cause_bytes;                     /* of all records of that cause */
    int64_t     times;                           /* for an error: how often it was seen */
    struct memcheck_ruby_stack asked;            /* for an error: allocated the block that it is
                                                    about */
    struct memcheck_ruby_stack collected;        /* for the use of a dead object: ran when the GC
                                                    began that found it dead */
    struct memcheck_c_function asked_by;         /* likewise, in C; only if the process has found
                                                    it */
};

struct memcheck_process {
    struct heapprof_model *model;      /* owns all texts that are not Valgrind's; NULL if the
                                          process has written no file */
    const struct memcheck_valgrind *valgrind; /* NULL with the engine vm */
    const char *pid, *program;         /* "?" if not known */
    const char *libraries;             /* loaded at the end, each name ended by '/'; "" if not
                                          known */
    bool        decided;               /* every block was known and all memory was read; or
                                          Valgrind has searched */
    bool        crashed;               /* it has only told what was found before */
    uint64_t    dropped;               /* blocks without any information */
    uint64_t    dead_objects;          /* that were held back */
    uint64_t    dead_crowded;          /* whose use could not be seen: on a page of memory with
                                          others that lived; */
    uint64_t    dead_unmapped;         /* or there were too many mappings; */
    uint64_t    dead_uncoverable;      /* or this machine's pages of memory are too large */
    uint64_t    unknown_uses;          /* of dead objects: only the number is known */
    struct memcheck_record *records;   /* in the order of causes.h */
    size_t      record_count;
    uint32_t   *locations;             /* indices in the model */
    struct memcheck_c_function *callers;
};

enum memcheck_read {MEMCHECK_IS_ONE, MEMCHECK_IS_NONE, MEMCHECK_NO_MEMORY};

/* Takes over the model. Frees it at once if it is no file of memcheck or if there is no memory.
 * The caller frees the process only after IS_ONE. */
enum memcheck_read memcheck_process_read(struct memcheck_process *process,
                                         struct heapprof_model *model);
void memcheck_process_free(struct memcheck_process *process);

/* ---- frames ---- */

struct memcheck_frame {
    const char *name, *file;
    int64_t     line;
};

/* The frame of a stack at that index; 0 is the innermost. */
struct memcheck_frame memcheck_frame_at(const struct memcheck_process *process,
                                        const struct memcheck_ruby_stack *stack, uint32_t at);

/* The C frame with that number, from the stacks that Valgrind gives. */
struct memcheck_frame memcheck_c_frame_at(const struct memcheck_process *process, uint32_t number);

#endif
