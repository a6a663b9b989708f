/* judge.c - decides whether a record is shown. The reasons against it are tested in a fixed
 * order; a record has one reason. */
#include "memcheck/judge.h"

#include <stdlib.h>
#include <string.h>

#include "memcheck/callers.h"

const char *const memcheck_verdict_reasons[MEMCHECK_VERDICTS] = {
    [MEMCHECK_SHOWN] = "",
    [MEMCHECK_CORE] = "Ruby's own",
    [MEMCHECK_OTHERS] = "of other libraries",
    [MEMCHECK_KIND] = "of other kinds",
    [MEMCHECK_SUPPRESSED] = "suppressed",
    [MEMCHECK_KNOWN] = "known from the baseline",
};

const char *const memcheck_verdict_keys[MEMCHECK_VERDICTS] = { "", "core", "others", "kind",
                                                               "suppressed", "baseline" };

bool
memcheck_loaded_p(const struct memcheck_process *process, const char *name)
{
    if (!process->libraries || !process->libraries[0]) return true;
    for (const char *library = process->libraries, *end; (end = strchr(library, '/')) != NULL;
         library = end + 1) {
        if (memcheck_library_named_p(library, (size_t)(end - library), name)) return true;
    }
    for (size_t i = 0; i < process->record_count; i++) {
        if (memcheck_callers_pass_p(process, &process->records[i], name)) return true;
    }
    return false;
}

enum memcheck_verdict
memcheck_judge(const struct memcheck_question *question, const struct memcheck_process *process,
               const struct memcheck_record *record)
{
    if (record->core && !question->core) return MEMCHECK_CORE;
    if (question->only && !memcheck_callers_pass_p(process, record, question->only))
        return MEMCHECK_OTHERS;
    if (record->kind > question->most) return MEMCHECK_KIND;
    if (record->kind == MEMCHECK_INDIRECT && question->most < MEMCHECK_REACHABLE)
        return MEMCHECK_KIND;
    bool suppressed =
        question->suppressions && memcheck_suppression_of(question->suppressions, process, record);
    if (suppressed) return MEMCHECK_SUPPRESSED;
    return question->baseline && memcheck_baseline_has_p(question->baseline, record->cause)
               ? MEMCHECK_KNOWN
               : MEMCHECK_SHOWN;
}

struct memcheck_tally
memcheck_tally_of(const struct memcheck_question *question, const struct memcheck_process *process)
{
    struct memcheck_tally tally = {.leaks = 0};
    uint64_t cause = 0; /* of the leak before: those of a cause stand together */

    for (size_t i = 0; i < process->record_count; i++) {
        const struct memcheck_record *record = &process->records[i];
        enum memcheck_verdict verdict = memcheck_judge(question, process, record);
        tally.counts[verdict]++;
        if (verdict == MEMCHECK_SHOWN && memcheck_error_p(record->kind)) tally.errors++;
        if (verdict != MEMCHECK_SHOWN || record->kind != MEMCHECK_DEFINITE) continue;
        if (tally.leaks == 0 || record->cause != cause) tally.causes++;
        cause = record->cause;
        tally.leaks++;
        tally.lost_blocks += (uint64_t)(record->blocks + record->indirect_blocks);
        tally.lost_bytes += (uint64_t)(record->bytes + record->indirect_bytes);
    }
    return tally;
}

size_t *
memcheck_suppressed_counts(const struct memcheck_question *question,
                           const struct memcheck_process *process)
{
    const struct memcheck_suppressions *suppressions = question->suppressions;
    size_t *counts = suppressions && suppressions->count > 0
                         ? calloc(suppressions->count, sizeof(*counts))
                         : NULL;

    for (size_t i = 0; counts && i < process->record_count; i++) {
        const struct memcheck_record *record = &process->records[i];
        if (memcheck_judge(question, process, record) != MEMCHECK_SUPPRESSED) continue;
        counts[memcheck_suppression_of(suppressions, process, record) - suppressions->all]++;
    }
    return counts;
}
