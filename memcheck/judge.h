#ifndef HEAPPROF_MEMCHECK_JUDGE_H
#define HEAPPROF_MEMCHECK_JUDGE_H
/* Decides which records are shown. Each record that is not shown is counted with one reason. */
#include "memcheck/baseline.h"
#include "memcheck/suppressions.h"

struct memcheck_question {
    bool        core;   /* also show records of MRI itself */
    const char *only;   /* show only what a function of this library asked for or led to,
                           "nokogiri" or "nokogiri.so"; NULL for all */
    enum memcheck_kind most; /* show kinds up to this one; indirect ones only together with
                                reachable ones */
    const struct memcheck_suppressions *suppressions; /* NULL if there are none */
    const struct memcheck_baseline *baseline; /* causes that were known before; NULL: none */
    bool        valgrind; /* the engine is Valgrind */
    bool        generate; /* in the text: print with each record the line that would suppress it */
};

enum memcheck_verdict {
    MEMCHECK_SHOWN,
    MEMCHECK_CORE,      /* it belongs to MRI itself */
    MEMCHECK_OTHERS,    /* the library that the user asked for has no part in it */
    MEMCHECK_KIND,      /* its kind was not asked for */
    MEMCHECK_SUPPRESSED, /* a suppression of the user matches it */
    MEMCHECK_KNOWN,     /* its cause is in the baseline */
    MEMCHECK_VERDICTS
};

/* The reasons for people, and the keys for programs; "" for SHOWN. */
extern const char *const memcheck_verdict_reasons[MEMCHECK_VERDICTS],
                  *const memcheck_verdict_keys[MEMCHECK_VERDICTS];

enum memcheck_verdict memcheck_judge(const struct memcheck_question *question,
                                     const struct memcheck_process *process,
                                     const struct memcheck_record *record);

/* True if the process had loaded a library of that name, either at its end or at the time of a
 * leak. Compares the name with and without what follows its first dot. Returns true if it is
 * not known. */
bool memcheck_loaded_p(const struct memcheck_process *process, const char *name);

/* Counts for one process: records by verdict, and the leaks and errors among the shown ones. */
struct memcheck_tally {
    size_t counts[MEMCHECK_VERDICTS];
    size_t leaks;                       /* definite leaks */
    size_t causes;                      /* of the leaks */
    size_t errors;
    uint64_t lost_blocks, lost_bytes;   /* of the leaks, including blocks that only they lead to */
};

struct memcheck_tally memcheck_tally_of(const struct memcheck_question *question,
                                        const struct memcheck_process *process);

/* Returns an array from malloc: for each suppression, how many records of the process it hides.
 * Returns NULL if there are no suppressions or no memory. */
size_t *memcheck_suppressed_counts(const struct memcheck_question *question,
                                   const struct memcheck_process *process);

#endif
