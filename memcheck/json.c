/* json.c - the report for programs. doc/design/memcheck.md lists its keys. */
#include "memcheck/report.h"

#include <stdlib.h>

#include "memcheck/callers.h"
#include "memcheck/causes.h"
#include "report/json.h"

static void
put_frames(struct report_json *json, const char *key, const struct memcheck_process *process,
           const struct memcheck_ruby_stack *stack)
{
    report_json_member_begin(json, key, '[');
    for (uint32_t i = 0; i < stack->count; i++) {
        struct memcheck_frame frame = memcheck_frame_at(process, stack, i);
        report_json_begin(json, '{');
        report_json_member_text(json, "name", frame.name);
        report_json_member_text(json, "file", frame.file);
        report_json_member_integer(json, "line", frame.line);
        report_json_end(json, '}');
    }
    report_json_end(json, ']');
}

static void
put_c_frame(struct report_json *json, const struct memcheck_process *process, uint32_t number)
{
    const struct memcheck_c_frame *frame = &process->valgrind->frames[number];
    struct memcheck_frame c = memcheck_c_frame_at(process, number);

    report_json_begin(json, '{');
    report_json_member_text(json, "name", c.name);
    report_json_member_text(json, "library",
                            memcheck_valgrind_string(process->valgrind, frame->library));
    report_json_member_text(json, "file", c.file);
    report_json_member_integer(json, "line", c.line);
    report_json_member_bool(json, "extension", frame->role == MEMCHECK_OF_EXTENSION);
    report_json_member_text(json, "methods",
                            memcheck_valgrind_string(process->valgrind, frame->methods));
    report_json_end(json, '}');
}

static void
put_c_stacks(struct report_json *json, const struct memcheck_process *process,
             const struct memcheck_record *record)
{
    const struct memcheck_error *error = record->error;

    report_json_member_begin(json, "stacks", '[');
    for (uint32_t i = 0; i < error->stack_count; i++) {
        const struct memcheck_c_stack *stack = &process->valgrind->stacks[error->first_stack + i];
        report_json_begin(json, '{');
        report_json_member_text(json, "title",
                                memcheck_valgrind_string(process->valgrind, stack->title));
        report_json_member_begin(json, "frames", '[');
        for (uint32_t f = 0; f < stack->frame_count; f++)
            put_c_frame(json, process, stack->first_frame + f);
        report_json_end(json, ']');
        report_json_end(json, '}');
    }
    report_json_end(json, ']');
}

static void
put_c_function(struct report_json *json, const struct memcheck_c_function *one)
{
    report_json_begin(json, '{');
    report_json_member_string(json, "function", one->function, one->function_length);
    report_json_member_string(json, "library", one->library, one->library_length);
    report_json_end(json, '}');
}

static void
put_error(struct report_json *json, const struct memcheck_process *process,
          const struct memcheck_record *record)
{
    report_json_member_text(json, "what", record->what);
    report_json_member_integer(json, "times", record->times);
    if (record->asked_by.function_length > 0) {
        report_json_key(json, "asked_by");
        put_c_function(json, &record->asked_by);
    }
    put_frames(json, "asked", process, &record->asked);
    if (record->kind == MEMCHECK_DEAD_OBJECT)
        put_frames(json, "collected", process, &record->collected);
}

static void
put_callers(struct report_json *json, const struct memcheck_process *process,
            const struct memcheck_record *record)
{
    struct memcheck_callers_walk walk = {0};
    struct memcheck_c_function whom;

    if (memcheck_callers_for(process, record, &whom)) {
        report_json_key(json, "for");
        put_c_function(json, &whom);
    }
    report_json_member_begin(json, "callers", '[');
    while (memcheck_callers_next(process, record, &walk)) put_c_function(json, &walk.at);
    report_json_end(json, ']');
}

static void
put_record(struct report_json *json, const struct memcheck_process *process,
           const struct memcheck_record *record)
{
    char cause[MEMCHECK_CAUSE_TEXT];

    report_json_line(json);
    report_json_begin(json, '{');
    memcheck_cause_text(record->cause, cause);
    report_json_member_text(json, "cause", cause);
    report_json_member_text(json, "kind", memcheck_kind_names[record->kind]);
    report_json_member_integer(json, "blocks", record->blocks);
    report_json_member_integer(json, "bytes", record->bytes);
    report_json_member_integer(json, "indirect_blocks", record->indirect_blocks);
    report_json_member_integer(json, "indirect_bytes", record->indirect_bytes);
    report_json_member_string(json, "function", record->function, record->function_length);
    report_json_member_string(json, "library", record->library, record->library_length);
    report_json_member_bool(json, "core", record->core);
    put_callers(json, process, record);
    put_frames(json, "frames", process, &record->stack);
    if (memcheck_error_p(record->kind) || record->error) put_error(json, process, record);
    if (record->error) put_c_stacks(json, process, record);
    report_json_end(json, '}');
}

void
memcheck_not_shown_put(struct report_json *json, const struct memcheck_tally *tally)
{
    report_json_member_begin(json, "not_shown", '{');
    for (int verdict = MEMCHECK_SHOWN + 1; verdict < MEMCHECK_VERDICTS; verdict++) {
        report_json_member_unsigned(json, memcheck_verdict_keys[verdict], tally->counts[verdict]);
    }
    report_json_end(json, '}');
}

static void
put_suppressed(struct report_json *json, const struct memcheck_question *question,
               const struct memcheck_process *process)
{
    size_t *counts = memcheck_suppressed_counts(question, process);

    report_json_member_begin(json, "suppressed", '[');
    for (size_t i = 0; counts && i < question->suppressions->count; i++) {
        if (counts[i] == 0) continue;
        report_json_begin(json, '{');
        report_json_member_text(json, "file", question->suppressions->all[i].file);
        report_json_member_unsigned(json, "line", question->suppressions->all[i].line);
        report_json_member_unsigned(json, "records", counts[i]);
        report_json_end(json, '}');
    }
    report_json_end(json, ']');
    free(counts);
}

static void
put_tally(struct report_json *json, const struct memcheck_tally *tally)
{
    report_json_member_unsigned(json, "leaks", tally->leaks);
    report_json_member_unsigned(json, "causes", tally->causes);
    report_json_member_unsigned(json, "errors", tally->errors);
    report_json_member_unsigned(json, "lost_blocks", tally->lost_blocks);
    report_json_member_unsigned(json, "lost_bytes", tally->lost_bytes);
    memcheck_not_shown_put(json, tally);
}

static void
put_dead_objects(struct report_json *json, const struct memcheck_process *process)
{
    if (process->dead_objects == 0) return;
    report_json_member_begin(json, "dead_objects", '{');
    report_json_member_unsigned(json, "held", process->dead_objects);
    report_json_member_unsigned(json, "among_others", process->dead_crowded);
    report_json_member_unsigned(json, "without_mapping", process->dead_unmapped);
    report_json_member_unsigned(json, "uncoverable", process->dead_uncoverable);
    report_json_member_unsigned(json, "unknown_uses", process->unknown_uses);
    report_json_end(json, '}');
}

static void
put_process(struct report_json *json, const struct memcheck_question *question,
            const struct memcheck_process *process)
{
    struct memcheck_tally tally = memcheck_tally_of(question, process);

    report_json_line(json);
    report_json_begin(json, '{');
    report_json_member_text(json, "pid", process->pid);
    report_json_member_text(json, "program", process->program);
    report_json_member_bool(json, "decided", process->decided);
    report_json_member_unsigned(json, "unknown_blocks", process->dropped);
    put_dead_objects(json, process);
    put_tally(json, &tally);
    put_suppressed(json, question, process);
    report_json_member_begin(json, "records", '[');
    for (size_t i = 0; i < process->record_count; i++) {
        if (memcheck_judge(question, process, &process->records[i]) != MEMCHECK_SHOWN) continue;
        put_record(json, process, &process->records[i]);
    }
    report_json_end(json, ']');
    report_json_end(json, '}');
}

bool
memcheck_json(FILE *out, const struct memcheck_question *question,
              const struct memcheck_process *processes, size_t count)
{
    struct report_json json = {.out = out};

    report_json_begin(&json, '{');
    report_json_member_text(&json, "engine", question->valgrind ? "valgrind" : "vm");
    report_json_member_begin(&json, "processes", '[');
    for (size_t i = 0; i < count; i++) put_process(&json, question, &processes[i]);
    report_json_end(&json, ']');
    report_json_end(&json, '}');
    putc('\n', out);
    return true;
}
