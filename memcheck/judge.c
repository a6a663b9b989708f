/* judge.c - shown or not. What was not asked for, and what is MRI's own, is a reason for not; a record has one reason. */
#include "memcheck/judge.h"

#include <string.h>

const char *const memcheck_verdict_reasons[MEMCHECK_VERDICTS] = {
    [MEMCHECK_SHOWN] = "",
    [MEMCHECK_CORE] = "Ruby's own",
    [MEMCHECK_OTHERS] = "of other libraries",
    [MEMCHECK_KIND] = "of other kinds",
    [MEMCHECK_SUPPRESSED] = "suppressed",
};

const char *const memcheck_verdict_keys[MEMCHECK_VERDICTS] = {"", "core", "others", "kind", "suppressed"};

/* Whether the library has that name, with or without what comes behind its first dot. */
static bool
named_p(const struct memcheck_record *record, const char *name)
{
    size_t length = strlen(name);

    if (length > record->library_length || memcmp(record->library, name, length) != 0) return false;
    return length == record->library_length || record->library[length] == '.';
}

enum memcheck_verdict
memcheck_judge(const struct memcheck_question *question, const struct memcheck_process *process,
               const struct memcheck_record *record)
{
    if (record->core && !question->core) return MEMCHECK_CORE;
    if (question->only && !named_p(record, question->only)) return MEMCHECK_OTHERS;
    if (record->kind > question->most) return MEMCHECK_KIND;
    if (record->kind == MEMCHECK_INDIRECT && question->most < MEMCHECK_REACHABLE) return MEMCHECK_KIND;
    bool suppressed = question->suppressions && memcheck_suppressed_p(question->suppressions, process, record);
    return suppressed ? MEMCHECK_SUPPRESSED : MEMCHECK_SHOWN;
}

struct memcheck_tally
memcheck_tally_of(const struct memcheck_question *question, const struct memcheck_process *process)
{
    struct memcheck_tally tally = {.leaks = 0};

    for (size_t i = 0; i < process->record_count; i++) {
        const struct memcheck_record *record = &process->records[i];
        enum memcheck_verdict verdict = memcheck_judge(question, process, record);
        tally.counts[verdict]++;
        if (verdict == MEMCHECK_SHOWN && memcheck_error_p(record->kind)) tally.errors++;
        if (verdict != MEMCHECK_SHOWN || record->kind != MEMCHECK_DEFINITE) continue;
        tally.leaks++;
        tally.lost_blocks += (uint64_t)(record->blocks + record->indirect_blocks);
        tally.lost_bytes += (uint64_t)(record->bytes + record->indirect_bytes);
    }
    return tally;
}
