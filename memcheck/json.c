/* json.c - the report for programs; README.md has its keys. */
#include "memcheck/report.h"

#include "report/json.h"

static void
put_text(struct report_json *json, const char *key, const char *text)
{
    report_json_key(json, key);
    report_json_text(json, text);
}

static void
put_integer(struct report_json *json, const char *key, int64_t number)
{
    report_json_key(json, key);
    report_json_integer(json, number);
}

static void
put_count(struct report_json *json, const char *key, uint64_t count)
{
    report_json_key(json, key);
    report_json_unsigned(json, count);
}

static void
put_bool(struct report_json *json, const char *key, bool value)
{
    report_json_key(json, key);
    report_json_bool(json, value);
}

static void
put_part(struct report_json *json, const char *key, const char *text, size_t length)
{
    report_json_key(json, key);
    report_json_string(json, text, length);
}

static void
put_frames(struct report_json *json, const struct memcheck_process *process, const struct memcheck_record *record)
{
    report_json_key(json, "frames");
    report_json_begin(json, '[');
    for (uint32_t i = 0; i < record->location_count; i++) {
        struct memcheck_frame frame = memcheck_frame_at(process, record, i);
        report_json_begin(json, '{');
        put_text(json, "name", frame.name);
        put_text(json, "file", frame.file);
        put_integer(json, "line", frame.line);
        report_json_end(json, '}');
    }
    report_json_end(json, ']');
}

static void
put_record(struct report_json *json, const struct memcheck_process *process, const struct memcheck_record *record)
{
    report_json_line(json);
    report_json_begin(json, '{');
    put_text(json, "kind", memcheck_kind_names[record->kind]);
    put_integer(json, "blocks", record->blocks);
    put_integer(json, "bytes", record->bytes);
    put_integer(json, "indirect_blocks", record->indirect_blocks);
    put_integer(json, "indirect_bytes", record->indirect_bytes);
    put_part(json, "function", record->function, record->function_length);
    put_part(json, "library", record->library, record->library_length);
    put_bool(json, "core", record->core);
    put_frames(json, process, record);
    report_json_end(json, '}');
}

static void
put_tally(struct report_json *json, const struct memcheck_tally *tally)
{
    put_count(json, "leaks", tally->leaks);
    put_count(json, "lost_blocks", tally->lost_blocks);
    put_count(json, "lost_bytes", tally->lost_bytes);
    report_json_key(json, "not_shown");
    report_json_begin(json, '{');
    for (int verdict = MEMCHECK_SHOWN + 1; verdict < MEMCHECK_VERDICTS; verdict++) {
        put_count(json, memcheck_verdict_keys[verdict], tally->counts[verdict]);
    }
    report_json_end(json, '}');
}

static void
put_process(struct report_json *json, const struct memcheck_question *question, const struct memcheck_process *process)
{
    struct memcheck_tally tally = memcheck_tally_of(question, process);

    report_json_line(json);
    report_json_begin(json, '{');
    put_text(json, "pid", process->pid);
    put_text(json, "program", process->program);
    put_bool(json, "decided", process->decided);
    put_count(json, "unknown_blocks", process->dropped);
    put_tally(json, &tally);
    report_json_key(json, "records");
    report_json_begin(json, '[');
    for (size_t i = 0; i < process->record_count; i++) {
        if (memcheck_judge(question, process, &process->records[i]) != MEMCHECK_SHOWN) continue;
        put_record(json, process, &process->records[i]);
    }
    report_json_end(json, ']');
    report_json_end(json, '}');
}

bool
memcheck_json(FILE *out, const struct memcheck_question *question, const struct memcheck_process *processes, size_t count)
{
    struct report_json json = {.out = out};

    report_json_begin(&json, '{');
    put_text(&json, "engine", "vm");
    report_json_key(&json, "processes");
    report_json_begin(&json, '[');
    for (size_t i = 0; i < count; i++) put_process(&json, question, &processes[i]);
    report_json_end(&json, ']');
    report_json_end(&json, '}');
    putc('\n', out);
    return true;
}
