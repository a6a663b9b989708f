#ifndef HEAPPROF_MEMCHECK_PROCESS_H
#define HEAPPROF_MEMCHECK_PROCESS_H
/* What a process has left at its end, as its file says (README.md has the format): a record for each Ruby stack, C function
 * and kind. */
#include "pprof/model.h"

/* In Valgrind's words; from the worst to the best. */
enum memcheck_kind {MEMCHECK_DEFINITE, MEMCHECK_INDIRECT, MEMCHECK_POSSIBLE, MEMCHECK_REACHABLE, MEMCHECK_KINDS};

extern const char *const memcheck_kind_names[MEMCHECK_KINDS], *const memcheck_kind_titles[MEMCHECK_KINDS]; /* for programs, for people */

struct memcheck_record {
    enum memcheck_kind kind;
    int64_t     blocks, bytes;
    int64_t     indirect_blocks, indirect_bytes; /* of a definite one: what only these blocks lead to */
    const char *function;                        /* C function that asked, not ended by a NUL; "?": not known */
    size_t      function_length;
    const char *library;                         /* the same: the file it is in; "": not known */
    size_t      library_length;
    bool        core;                            /* MRI's own, or nobody's that is known */
    uint32_t    first_location, location_count;  /* in locations, the innermost first */
};

struct memcheck_process {
    struct heapprof_model *model;      /* all texts are its */
    const char *pid, *program;         /* "?": not known */
    bool        decided;               /* each block was known, and all memory was read */
    uint64_t    dropped;               /* blocks that nothing is known of */
    struct memcheck_record *records;   /* by kind, of each the largest first */
    size_t      record_count;
    uint32_t   *locations;             /* places in the model */
};

enum memcheck_read {MEMCHECK_IS_ONE, MEMCHECK_IS_NONE, MEMCHECK_NO_MEMORY};

/* Takes the model over; of one that is no file of memcheck's, or without memory, it is freed. Free what IS_ONE. */
enum memcheck_read memcheck_process_read(struct memcheck_process *process, struct heapprof_model *model);
void memcheck_process_free(struct memcheck_process *process);

/* ---- a record's Ruby stack ---- */

struct memcheck_frame {
    const char *name, *file;
    int64_t     line;
};

/* The frame at that place, 0: the innermost, of location_count. */
struct memcheck_frame memcheck_frame_at(const struct memcheck_process *process, const struct memcheck_record *record, uint32_t at);

#endif
