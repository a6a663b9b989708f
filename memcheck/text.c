/* text.c - the report for people: what each process has lost, and how many records are not
 * shown. */
#include "memcheck/report.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "memcheck/callers.h"
#include "memcheck/causes.h"
#include "report/text.h"

#define FRAMES_MOST 20

static void
put_amount(FILE *out, uint64_t blocks, uint64_t bytes)
{
    fprintf(out, "%" PRIu64 " %s in %" PRIu64 " %s", bytes, report_plural(bytes, "byte", "bytes"),
            blocks, report_plural(blocks, "block", "blocks"));
}

static void
put_frames(FILE *out, const struct memcheck_process *process,
           const struct memcheck_ruby_stack *stack)
{
    for (uint32_t i = 0; i < stack->count && i < FRAMES_MOST; i++) {
        struct memcheck_frame frame = memcheck_frame_at(process, stack, i);
        fputs("        ", out);
        if (frame.file[0]) {
            report_put(out, frame.file, 0, false);
            fprintf(out, ":%" PRId64 ":in '", frame.line);
        }
        report_put(out, frame.name, 0, false);
        fputs(frame.file[0] ? "'\n" : "\n", out);
    }
    if (stack->count > FRAMES_MOST)
        fprintf(out, "        ... %" PRIu32 " more\n", stack->count - FRAMES_MOST);
}

static void
put_error(FILE *out, const struct memcheck_record *record)
{
    report_put(out, record->what, 0, false);
    if (record->times > 1) fprintf(out, ", %" PRId64 " times", record->times);
}

static void
put_leak(FILE *out, const struct memcheck_record *record)
{
    put_amount(out, (uint64_t)record->blocks, (uint64_t)record->bytes);
    if (record->indirect_blocks == 0) return;
    fputs(", which alone lead to ", out);
    put_amount(out, (uint64_t)record->indirect_blocks, (uint64_t)record->indirect_bytes);
}

void
memcheck_headline_put(FILE *out, const struct memcheck_process *process,
                      const struct memcheck_record *record,
                      const char *separator)
{
    fprintf(out, "%s: ", memcheck_kind_titles[record->kind]);
    if (memcheck_error_p(record->kind)) put_error(out, record);
    else put_leak(out, record);
    fputs(separator, out);
    memcheck_function_put(out, process, record);
}

/* ---- the stacks of C functions ---- */

static void
put_c_frame(FILE *out, const struct memcheck_process *process, uint32_t number)
{
    const struct memcheck_c_frame *frame = &process->valgrind->frames[number];
    struct memcheck_frame c = memcheck_c_frame_at(process, number);
    const char *library = memcheck_valgrind_string(process->valgrind, frame->library),
               *slash = strrchr(c.file, '/');

    fputs(frame->role == MEMCHECK_OF_EXTENSION ? "      * " : "        ", out);
    report_put(out, c.name, 0, false);
    fputs(" (", out);
    report_put(out, library[0] ? library : "?", 0, false);
    if (c.file[0]) {
        fputs(", ", out);
        report_put(out, slash ? slash + 1 : c.file, 0, false);
        fprintf(out, ":%" PRId64, c.line);
    }
    putc(')', out);
    if (frame->methods) {
        fputs(" is ", out);
        report_put(out, memcheck_valgrind_string(process->valgrind, frame->methods), 0, false);
    }
    putc('\n', out);
}

/* Writes the C frames from the function that allocated to the one that Ruby code called. */
static void
put_c_stack(FILE *out, const struct memcheck_process *process, const struct memcheck_c_stack *stack)
{
    uint32_t first = 0, end;

    if (stack->frame_count == 0) return;
    const struct memcheck_c_frame *frames = &process->valgrind->frames[stack->first_frame];
    while (first < stack->frame_count && frames[first].role == MEMCHECK_WRAPPER) first++;
    if (first == stack->frame_count) first = 0;
    for (end = first; end < stack->frame_count && frames[end].role != MEMCHECK_INTERPRETER; end++) {
        if (end - first == FRAMES_MOST) break;
        put_c_frame(out, process, stack->first_frame + end);
    }
    if (end < stack->frame_count && frames[end].role != MEMCHECK_INTERPRETER) {
        fprintf(out, "        ... %" PRIu32 " more\n", stack->frame_count - end);
    }
}

static void
put_c_stacks(FILE *out, const struct memcheck_process *process, const struct memcheck_error *error)
{
    for (uint32_t i = 0; i < error->stack_count; i++) {
        const struct memcheck_c_stack *stack = &process->valgrind->stacks[error->first_stack + i];
        fputs("      ", out);
        report_put(out,
                   stack->title ? memcheck_valgrind_string(process->valgrind, stack->title)
                                : "in C (*: an extension)",
                   0, false);
        fputs(stack->frame_count > 0 ? ":\n" : "\n", out);
        put_c_stack(out, process, stack);
    }
}

static void
put_stacks(FILE *out, const struct memcheck_process *process, const struct memcheck_record *record)
{
    put_frames(out, process, &record->stack);
    if (record->error) put_c_stacks(out, process, record->error);
    if (record->asked_by.function_length > 0) {
        fputs("      the block was asked for by ", out);
        memcheck_c_function_put(out, &record->asked_by);
        fputs(":\n", out);
    }
    else if (record->asked.count > 0) {
        fprintf(out, "      %s:\n", memcheck_asked_title(record->kind));
    }
    put_frames(out, process, &record->asked);
    if (record->collected.count > 0) fprintf(out, "      %s:\n", memcheck_collected_title);
    put_frames(out, process, &record->collected);
}

static void
put_call(FILE *out, const struct memcheck_question *question,
         const struct memcheck_process *process, const struct memcheck_record *record)
{
    put_stacks(out, process, record);
    if (!question->generate) return;
    fputs("    suppressed by: ", out);
    memcheck_suppression_put(out, process, record);
}

/* Errors of one cause are not one: each has words of its own. */
static bool
shown_p(const struct memcheck_question *question, const struct memcheck_process *process, size_t at,
        const struct memcheck_record *of)
{
    const struct memcheck_record *record = &process->records[at];

    if (of != record &&
        (memcheck_error_p(of->kind) || of->kind != record->kind || of->cause != record->cause))
        return false;
    return memcheck_judge(question, process, record) == MEMCHECK_SHOWN;
}

static void
put_calls(FILE *out, const struct memcheck_question *question,
          const struct memcheck_process *process, size_t first, size_t end)
{
    for (size_t i = first; i < end; i++) {
        const struct memcheck_record *record = &process->records[i];
        fputs("      ", out);
        put_leak(out, record);
        fputs(":\n", out);
        put_call(out, question, process, record);
    }
}

/* Writes a record, and those that follow it and have the same cause. Returns the number of the
 * next record that is not written. */
static size_t
put_cause(FILE *out, const struct memcheck_question *question,
          const struct memcheck_process *process, size_t first)
{
    const struct memcheck_record *records = process->records;
    struct memcheck_record sum = records[first];
    size_t end = first + 1;

    for (; end < process->record_count && shown_p(question, process, end, &records[first]); end++)
        memcheck_record_add(&sum, &records[end]);
    fputs("\n  ", out);
    memcheck_headline_put(out, process, &sum, "\n    ");
    if (end - first == 1) {
        putc('\n', out);
        put_call(out, question, process, &records[first]);
    }
    else {
        fprintf(out, ", in %zu calls:\n", end - first);
        put_calls(out, question, process, first, end);
    }
    return end;
}

const char *
memcheck_undecided(const struct memcheck_process *process)
{
    if (process->crashed)
        return "not decided: it crashed, so only uses of dead objects are known, which came before";
    if (!process->valgrind)
        return "not decided: there were too many blocks to record each; give more memory by "
               "RUBY_HEAPPROF=memory=";
    if (!process->model)
        return "not decided: this is not a ruby with the heap profiler, or it ended by exit!, exec "
               "or a signal";
    return "not decided: Valgrind did not search, because this ruby was built without its headers "
           "(Debian package valgrind)";
}

static void
put_tally(FILE *out, const struct memcheck_process *process, const struct memcheck_tally *tally)
{
    if (!process->decided) fputs(memcheck_undecided(process), out);
    else if (tally->leaks == 0) fputs("no leaks", out);
    else {
        fprintf(out, "%zu %s", tally->leaks, report_plural(tally->leaks, "leak", "leaks"));
        if (tally->causes < tally->leaks)
            fprintf(out, " with %zu %s", tally->causes,
                    report_plural(tally->causes, "cause", "causes"));
        fputs(", ", out);
        put_amount(out, tally->lost_blocks, tally->lost_bytes);
    }
    if (tally->errors > 0) {
        fprintf(out, "; %zu %s", tally->errors, report_plural(tally->errors, "error", "errors"));
    }
    const char *before = "; not shown: ";
    for (int verdict = MEMCHECK_SHOWN + 1; verdict < MEMCHECK_VERDICTS; verdict++) {
        if (tally->counts[verdict] == 0) continue;
        fprintf(out, "%s%zu %s %s", before, tally->counts[verdict],
                report_plural(tally->counts[verdict], "record", "records"),
                memcheck_verdict_reasons[verdict]);
        before = ", ";
    }
    putc('\n', out);
}

static void
put_suppressed(FILE *out, const struct memcheck_question *question,
               const struct memcheck_process *process)
{
    size_t *counts = memcheck_suppressed_counts(question, process);

    for (size_t i = 0; counts && i < question->suppressions->count; i++) {
        if (counts[i] == 0) continue;
        fprintf(out, "  %zu %s suppressed by ", counts[i],
                report_plural(counts[i], "record", "records"));
        report_put(out, question->suppressions->all[i].file, 0, false);
        fprintf(out, ":%u\n", question->suppressions->all[i].line);
    }
    free(counts);
}

static void
put_unseen(FILE *out, const struct memcheck_process *process, uint64_t count, const char *reason)
{
    if (count == 0) return;
    fprintf(out, "  uses of %" PRIu64 " of %" PRIu64 " dead objects could not be seen: %s\n", count,
            process->dead_objects, reason);
}

static void
put_dead_objects(FILE *out, const struct memcheck_process *process)
{
    put_unseen(out, process, process->dead_crowded,
               "there was too little memory to give each object a page of its own");
    put_unseen(out, process, process->dead_unmapped,
               "the kernel allows too few mappings; set vm.max_map_count higher");
    put_unseen(out, process, process->dead_uncoverable,
               "pages of memory are too large on this machine; use --engine=valgrind");
    if (process->unknown_uses == 0) return;
    fprintf(out, "  %" PRIu64 " more %s of dead objects, of which nothing is known\n",
            process->unknown_uses, report_plural(process->unknown_uses, "use", "uses"));
}

static void
put_process(FILE *out, const struct memcheck_question *question,
            const struct memcheck_process *process)
{
    struct memcheck_tally tally = memcheck_tally_of(question, process);

    report_put(out, process->program, 0, false);
    fputs(" (", out);
    report_put(out, process->pid, 0, false);
    fputs("): ", out);
    put_tally(out, process, &tally);
    put_suppressed(out, question, process);
    if (process->decided && process->dropped > 0) {
        fprintf(out, "  nothing is known of %" PRIu64 " %s, too\n", process->dropped,
                report_plural(process->dropped, "block, which may be a leak",
                              "blocks, which may be leaks"));
    }
    put_dead_objects(out, process);
    for (size_t i = 0; i < process->record_count; ) {
        if (shown_p(question, process, i, &process->records[i]))
            i = put_cause(out, question, process, i);
        else i++;
    }
    if (tally.counts[MEMCHECK_SHOWN] > 0) putc('\n', out);
}

bool
memcheck_text(FILE *out, const struct memcheck_question *question,
              const struct memcheck_process *processes, size_t count)
{
    for (size_t i = 0; i < count; i++) put_process(out, question, &processes[i]);
    return true;
}
