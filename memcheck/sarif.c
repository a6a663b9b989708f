/* sarif.c - the report as SARIF 2.1.0, which code scanning reads. Each record that is shown is
 * a result, at its innermost Ruby line that is in a file; so is each record that is suppressed
 * or in the baseline. Each process is an invocation; it has not succeeded if its losses are not
 * known. */
#ifndef _GNU_SOURCE
# define _GNU_SOURCE /* open_memstream */
#endif
#include "memcheck/report.h"

#include <stdlib.h>
#include <string.h>

#include "memcheck/callers.h"
#include "memcheck/causes.h"
#include "report/sarif.h"

static const char *
level_of(enum memcheck_kind kind)
{
    if (kind <= MEMCHECK_DEFINITE) return "error";
    return kind == MEMCHECK_REACHABLE ? "note" : "warning";
}

/* ---- where ---- */

/* True for a real file: not "-e", "(eval at ...)" or "<internal:...>". */
static bool
in_file_p(const struct memcheck_frame *frame)
{
    return frame->line > 0 && frame->file[0] && !strchr("<(-", frame->file[0]);
}

static void
put_location(struct report_json *json, const struct memcheck_frame *frame)
{
    struct report_sarif_place place = {.file = in_file_p(frame) ? frame->file : NULL,
                                       .line = frame->line, .function = frame->name};
    report_sarif_location(json, &place);
}

/* The innermost line that is in a file: of Ruby code; else of an extension's C code. */
static struct memcheck_frame
place_of(const struct memcheck_process *process, const struct memcheck_record *record)
{
    for (uint32_t i = 0; i < record->stack.count; i++) {
        struct memcheck_frame frame = memcheck_frame_at(process, &record->stack, i);
        if (in_file_p(&frame)) return frame;
    }
    for (uint32_t s = 0; record->error && s < record->error->stack_count; s++) {
        const struct memcheck_c_stack *stack =
            &process->valgrind->stacks[record->error->first_stack + s];
        for (uint32_t i = 0; i < stack->frame_count; i++) {
            struct memcheck_frame frame = memcheck_c_frame_at(process, stack->first_frame + i);
            bool extension =
                process->valgrind->frames[stack->first_frame + i].role == MEMCHECK_OF_EXTENSION;
            if (extension && in_file_p(&frame)) return frame;
        }
    }
    return (struct memcheck_frame){"", "", 0};
}

static void
put_locations(struct report_json *json, const struct memcheck_process *process,
              const struct memcheck_record *record)
{
    struct memcheck_frame frame = place_of(process, record);

    report_json_member_begin(json, "locations", '[');
    if (in_file_p(&frame)) put_location(json, &frame);
    report_json_end(json, ']');
}

static void
put_frame(struct report_json *json, struct memcheck_frame frame)
{
    report_json_begin(json, '{');
    report_json_key(json, "location");
    put_location(json, &frame);
    report_json_end(json, '}');
}

static void
put_c_stack(struct report_json *json, const struct memcheck_process *process,
            const struct memcheck_c_stack *stack)
{
    report_json_begin(json, '{');
    if (stack->title)
        report_sarif_message(json, "message",
                             memcheck_valgrind_string(process->valgrind, stack->title));
    report_json_member_begin(json, "frames", '[');
    for (uint32_t i = 0; i < stack->frame_count; i++)
        put_frame(json, memcheck_c_frame_at(process, stack->first_frame + i));
    report_json_end(json, ']');
    report_json_end(json, '}');
}

/* title is NULL if the stack has none. */
static void
put_ruby_stack(struct report_json *json, const struct memcheck_process *process,
               const struct memcheck_ruby_stack *stack,
               const char *title)
{
    report_json_begin(json, '{');
    if (title) report_sarif_message(json, "message", title);
    report_json_member_begin(json, "frames", '[');
    for (uint32_t i = 0; i < stack->count; i++)
        put_frame(json, memcheck_frame_at(process, stack, i));
    report_json_end(json, ']');
    report_json_end(json, '}');
}

/* Engine vm has no more of the C stack than that. */
static void
put_callers(struct report_json *json, const struct memcheck_process *process,
            const struct memcheck_record *record)
{
    struct memcheck_callers_walk walk = {.at = memcheck_callers_own(record)};

    report_json_begin(json, '{');
    report_sarif_message(json, "message", "in C");
    report_json_member_begin(json, "frames", '[');
    do {
        char name[512];
        snprintf(name, sizeof(name), "%.*s (%.*s)", (int)walk.at.function_length, walk.at.function,
                 (int)walk.at.library_length, walk.at.library);
        put_frame(json, (struct memcheck_frame){name, "", 0});
    } while (memcheck_callers_next(process, record, &walk));
    report_json_end(json, ']');
    report_json_end(json, '}');
}

/* Writes the Ruby stack; for an error without one, Valgrind's stacks. */
static void
put_stacks(struct report_json *json, const struct memcheck_process *process,
           const struct memcheck_record *record)
{
    report_json_member_begin(json, "stacks", '[');
    if (record->stack.count > 0 || !record->error)
        put_ruby_stack(json, process, &record->stack, NULL);
    if (!record->error) put_callers(json, process, record);
    for (uint32_t i = 0; record->error && i < record->error->stack_count; i++) {
        put_c_stack(json, process, &process->valgrind->stacks[record->error->first_stack + i]);
    }
    if (record->asked.count > 0)
        put_ruby_stack(json, process, &record->asked, memcheck_asked_title(record->kind));
    if (record->collected.count > 0)
        put_ruby_stack(json, process, &record->collected, memcheck_collected_title);
    report_json_end(json, ']');
}

/* ---- what ---- */

static bool
put_headline(struct report_json *json, const struct memcheck_process *process,
             const struct memcheck_record *record)
{
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);

    if (!out) return false;
    memcheck_headline_put(out, process, record,
                          memcheck_error_p(record->kind) ? ", by " : ", asked for by ");
    if (fclose(out) == 0) report_sarif_message(json, "message", text);
    free(text);
    return text != NULL;
}

static void
put_suppression(struct report_json *json, const struct memcheck_suppression *suppression)
{
    char place[512];

    snprintf(place, sizeof(place), "%.400s:%u", suppression->file, suppression->line);
    report_sarif_suppression(json, false, place);
}

static bool
put_result(struct report_json *json, const struct memcheck_question *question,
           const struct memcheck_process *process, const struct memcheck_record *record,
           size_t invocation)
{
    const struct memcheck_suppression *suppression =
        question->suppressions ? memcheck_suppression_of(question->suppressions, process, record)
                               : NULL;
    bool known = question->baseline && memcheck_baseline_has_p(question->baseline, record->cause);
    char cause[MEMCHECK_CAUSE_TEXT];

    report_sarif_begin_result(json, memcheck_kind_names[record->kind], level_of(record->kind));
    report_json_member_integer(json, "ruleIndex", record->kind);
    bool whole = put_headline(json, process, record);
    put_locations(json, process, record);
    put_stacks(json, process, record);
    memcheck_cause_text(record->cause, cause);
    report_json_member_begin(json, "partialFingerprints", '{');
    report_json_member_text(json, "cause/v1", cause);
    report_json_end(json, '}');
    if (question->baseline)
        report_json_member_text(json, "baselineState", known ? "unchanged" : "new");
    if (suppression) put_suppression(json, suppression);
    report_json_member_begin(json, "provenance", '{');
    report_json_member_integer(json, "invocationIndex", (int64_t)invocation);
    report_json_end(json, '}');
    report_json_end(json, '}');
    return whole;
}

static bool
put_results(struct report_json *json, const struct memcheck_question *question,
            const struct memcheck_process *process, size_t invocation)
{
    bool whole = true;

    for (size_t i = 0; i < process->record_count; i++) {
        const struct memcheck_record *record = &process->records[i];
        enum memcheck_verdict verdict = memcheck_judge(question, process, record);
        if (verdict != MEMCHECK_SHOWN && verdict != MEMCHECK_SUPPRESSED &&
            verdict != MEMCHECK_KNOWN)
            continue;
        whole = put_result(json, question, process, record, invocation) && whole;
    }
    return whole;
}

/* ---- by whom ---- */

static void
put_tool(struct report_json *json)
{
    struct report_sarif_rule rules[MEMCHECK_KINDS];

    for (int kind = 0; kind < MEMCHECK_KINDS; kind++) {
        rules[kind] =
            (struct report_sarif_rule){ memcheck_kind_names[kind], memcheck_kind_titles[kind] };
    }
    report_sarif_tool(json, "heapprof memcheck", rules, MEMCHECK_KINDS);
}

static void
put_notification(struct report_json *json, const char *text)
{
    report_json_member_begin(json, "toolExecutionNotifications", '[');
    report_json_begin(json, '{');
    report_json_member_text(json, "level", "error");
    report_sarif_message(json, "message", text);
    report_json_end(json, '}');
    report_json_end(json, ']');
}

static void
put_invocation(struct report_json *json, const struct memcheck_question *question,
               const struct memcheck_process *process)
{
    struct memcheck_tally tally = memcheck_tally_of(question, process);
    long pid = strtol(process->pid, NULL, 10);

    report_json_line(json);
    report_json_begin(json, '{');
    report_json_member_bool(json, "executionSuccessful", process->decided && process->dropped == 0);
    report_json_member_text(json, "commandLine", process->program);
    if (pid > 0) report_json_member_integer(json, "processId", pid);
    if (!process->decided) put_notification(json, memcheck_undecided(process));
    else if (process->dropped > 0)
        put_notification(json, "nothing is known of some blocks, which may be leaks, too");
    else if (process->dead_crowded + process->dead_unmapped + process->dead_uncoverable +
                 process->unknown_uses > 0)
        put_notification(json, "uses of some dead objects could not be seen");
    report_json_member_begin(json, "properties", '{');
    memcheck_not_shown_put(json, &tally);
    report_json_end(json, '}');
    report_json_end(json, '}');
}

bool
memcheck_sarif(FILE *out, const struct memcheck_question *question,
               const struct memcheck_process *processes, size_t count)
{
    struct report_json json = {.out = out};
    bool whole = true;

    fputs(REPORT_SARIF_BEGIN, out);
    report_json_begin(&json, '{');
    put_tool(&json);
    report_json_member_begin(&json, "invocations", '[');
    for (size_t i = 0; i < count; i++) put_invocation(&json, question, &processes[i]);
    report_json_end(&json, ']');
    report_json_member_begin(&json, "results", '[');
    for (size_t i = 0; i < count; i++)
        whole = put_results(&json, question, &processes[i], i) && whole;
    report_json_end(&json, ']');
    report_json_end(&json, '}');
    fputs(REPORT_SARIF_END, out);
    return whole;
}
