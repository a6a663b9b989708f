/* judge.c - decides whether a record is shown. The reasons against it are tested in a fixed
 * order; a record has one reason. */
#include "memcheck/judge.h"

#include <stdlib.h>
#include <string.h>

const char *const memcheck_verdict_reasons[MEMCHECK_VERDICTS] = {
    [MEMCHECK_SHOWN] = "",
    [MEMCHECK_CORE] = "Ruby's own",
    [MEMCHECK_OTHERS] = "of other libraries",
    [MEMCHECK_KIND] = "of other kinds",
    [MEMCHECK_SUPPRESSED] = "suppressed",
};

const char *const memcheck_verdict_keys[MEMCHECK_VERDICTS] = { "", "core", "others", "kind",
                                                               "suppressed" };

/* True if the library has that name, with or without what follows its first dot. */
static bool
named_p(const char *library, size_t library_length, const char *name)
{
    size_t length = strlen(name);

    if (length > library_length || memcmp(library, name, length) != 0) return false;
    return length == library_length || library[length] == '.';
}

bool
memcheck_loaded_p(const struct memcheck_process *process, const char *name)
{
    if (!process->libraries || !process->libraries[0]) return true;
    for (const char *library = process->libraries, *end; (end = strchr(library, '/')) != NULL;
         library = end + 1) {
        if (named_p(library, (size_t)(end - library), name)) return true;
    }
    for (size_t i = 0; i < process->record_count; i++) {
        if (named_p(process->records[i].library, process->records[i].library_length,
                    name)) return true;
    }
    return false;
}

enum memcheck_verdict
memcheck_judge(const struct memcheck_question *question, const struct memcheck_process *process,
               const struct memcheck_record *record)
{
    if (record->core && !question->core) return MEMCHECK_CORE;
    if (question->only && !named_p(record->library, record->library_length,
                                   question->only)) return MEMCHECK_OTHERS;
    if (record->kind > question->most) return MEMCHECK_KIND;
    if (record->kind == MEMCHECK_INDIRECT && question->most < MEMCHECK_REACHABLE)
        return MEMCHECK_KIND;
    bool suppressed =
        question->suppressions && memcheck_suppression_of(question->suppressions, process, record);
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
