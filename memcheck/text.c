/* text.c - the report for people: of each process what it has lost, and how much else there is that is not shown. */
#include "memcheck/report.h"

#include <inttypes.h>

#include "report/text.h"

#define FRAMES_MOST 20

static const char *
plural(uint64_t count)
{
    return count == 1 ? "" : "s";
}

static void
put_amount(FILE *out, uint64_t blocks, uint64_t bytes)
{
    fprintf(out, "%" PRIu64 " byte%s in %" PRIu64 " block%s", bytes, plural(bytes), blocks, plural(blocks));
}

static void
put_frames(FILE *out, const struct memcheck_process *process, const struct memcheck_record *record)
{
    for (uint32_t i = 0; i < record->location_count && i < FRAMES_MOST; i++) {
        struct memcheck_frame frame = memcheck_frame_at(process, record, i);
        fputs("        ", out);
        if (frame.file[0]) {
            report_put(out, frame.file, 0, false);
            fprintf(out, ":%" PRId64 ":in '", frame.line);
        }
        report_put(out, frame.name, 0, false);
        fputs(frame.file[0] ? "'\n" : "\n", out);
    }
    if (record->location_count > FRAMES_MOST) {
        fprintf(out, "        ... %" PRIu32 " more\n", record->location_count - FRAMES_MOST);
    }
}

/* Names are as long as anybody made them. */
static void
put_part(FILE *out, const char *text, size_t length)
{
    char part[256];

    snprintf(part, sizeof(part), "%.*s", length < sizeof(part) ? (int)length : (int)sizeof(part) - 1, text);
    report_put(out, part, 0, false);
}

void
memcheck_headline_put(FILE *out, const struct memcheck_record *record, const char *separator)
{
    fprintf(out, "%s: ", memcheck_kind_titles[record->kind]);
    put_amount(out, (uint64_t)record->blocks, (uint64_t)record->bytes);
    if (record->indirect_blocks > 0) {
        fputs(", which alone lead to ", out);
        put_amount(out, (uint64_t)record->indirect_blocks, (uint64_t)record->indirect_bytes);
    }
    fputs(separator, out);
    put_part(out, record->function, record->function_length);
    if (record->library_length > 0) {
        fputs(" (", out);
        put_part(out, record->library, record->library_length);
        putc(')', out);
    }
}

static void
put_record(FILE *out, const struct memcheck_process *process, const struct memcheck_record *record)
{
    fputs("\n  ", out);
    memcheck_headline_put(out, record, "\n    ");
    putc('\n', out);
    put_frames(out, process, record);
}

static void
put_tally(FILE *out, const struct memcheck_tally *tally)
{
    if (tally->leaks == 0) fputs("no leaks", out);
    else {
        fprintf(out, "%zu leak%s, ", tally->leaks, plural(tally->leaks));
        put_amount(out, tally->lost_blocks, tally->lost_bytes);
    }
    const char *before = "; not shown: ";
    for (int verdict = MEMCHECK_SHOWN + 1; verdict < MEMCHECK_VERDICTS; verdict++) {
        if (tally->counts[verdict] == 0) continue;
        fprintf(out, "%s%zu record%s %s", before, tally->counts[verdict], plural(tally->counts[verdict]),
                memcheck_verdict_reasons[verdict]);
        before = ", ";
    }
    putc('\n', out);
}

static void
put_process(FILE *out, const struct memcheck_question *question, const struct memcheck_process *process)
{
    struct memcheck_tally tally = memcheck_tally_of(question, process);

    report_put(out, process->program, 0, false);
    fputs(" (", out);
    report_put(out, process->pid, 0, false);
    fputs("): ", out);
    if (!process->decided) {
        fputs("not decided: there were too many blocks to know each; give more by RUBY_HEAPPROF=memory=\n", out);
        return;
    }
    put_tally(out, &tally);
    if (process->dropped > 0) {
        fprintf(out, "  nothing is known of %" PRIu64 " blocks, which may be leaks, too\n", process->dropped);
    }
    for (size_t i = 0; i < process->record_count; i++) {
        if (memcheck_judge(question, process, &process->records[i]) != MEMCHECK_SHOWN) continue;
        put_record(out, process, &process->records[i]);
        if (!question->generate) continue;
        fputs("    suppressed by: ", out);
        memcheck_suppression_put(out, process, &process->records[i]);
    }
    if (tally.counts[MEMCHECK_SHOWN] > 0) putc('\n', out);
}

bool
memcheck_text(FILE *out, const struct memcheck_question *question, const struct memcheck_process *processes, size_t count)
{
    for (size_t i = 0; i < count; i++) put_process(out, question, &processes[i]);
    return true;
}
