#ifndef HEAPPROF_MEMCHECK_JUDGE_H
#define HEAPPROF_MEMCHECK_JUDGE_H
/* Which records are shown, and why others are not: each is counted as one or the other. */
#include "memcheck/suppressions.h"

struct memcheck_question {
    bool        core;   /* also what is MRI's own */
    const char *only;   /* of that library alone, "nokogiri" or "nokogiri.so"; NULL: of all */
    enum memcheck_kind most; /* kinds up to that; indirect ones only with reachable ones */
    const struct memcheck_suppressions *suppressions; /* NULL: none */
    bool        valgrind; /* the engine */
    bool        generate; /* with each record the line that would suppress it; in the text */
};

enum memcheck_verdict {
    MEMCHECK_SHOWN,
    MEMCHECK_CORE,      /* it is MRI's own */
    MEMCHECK_OTHERS,    /* it is not of the library that was asked for */
    MEMCHECK_KIND,      /* it is of a kind that was not asked for */
    MEMCHECK_SUPPRESSED, /* a file of the user's says so */
    MEMCHECK_VERDICTS
};

/* Why, for people, and for programs; of SHOWN "". */
extern const char *const memcheck_verdict_reasons[MEMCHECK_VERDICTS], *const memcheck_verdict_keys[MEMCHECK_VERDICTS];

enum memcheck_verdict memcheck_judge(const struct memcheck_question *question, const struct memcheck_process *process,
                                     const struct memcheck_record *record);

/* Whether a process has loaded a library of that name, at its end or to lose something; with or without what comes behind its
 * first dot. True where it is not known. */
bool memcheck_loaded_p(const struct memcheck_process *process, const char *name);

/* Of a process: how many records have each verdict, and how many of those that are shown are leaks and errors. */
struct memcheck_tally {
    size_t counts[MEMCHECK_VERDICTS];
    size_t leaks;                       /* definite ones */
    size_t errors;                      /* what Valgrind alone sees */
    uint64_t lost_blocks, lost_bytes;   /* of these, with what they alone lead to */
};

struct memcheck_tally memcheck_tally_of(const struct memcheck_question *question, const struct memcheck_process *process);

/* Of each suppression, by its place, how many of the process's records it keeps out of the report; in a block from malloc. NULL:
 * there are no suppressions, or there is no memory. */
size_t *memcheck_suppressed_counts(const struct memcheck_question *question, const struct memcheck_process *process);

#endif
