/* sarif.c - the report in SARIF 2.1.0, as code scanning reads it: a result for each record that is shown, at the innermost Ruby line
 * that is in a file; an invocation for each process, which has not succeeded when what it has lost is not known. */
#ifndef _GNU_SOURCE
# define _GNU_SOURCE /* open_memstream */
#endif
#include "memcheck/report.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "report/json.h"

static const char *
level_of(enum memcheck_kind kind)
{
    if (kind <= MEMCHECK_DEFINITE) return "error";
    return kind == MEMCHECK_REACHABLE ? "note" : "warning";
}

static void
put_message(struct report_json *json, const char *key, const char *text)
{
    report_json_member_begin(json, key, '{');
    report_json_member_text(json, "text", text);
    report_json_end(json, '}');
}

/* ---- where ---- */

/* Not "-e", "(eval at ...)" or "<internal:...>". */
static bool
in_file_p(const struct memcheck_frame *frame)
{
    return frame->line > 0 && frame->file[0] && !strchr("<(-", frame->file[0]);
}

/* Bytes that may not stand in a URI as they are become %XX. False: no memory. */
static bool
put_uri(struct report_json *json, const char *file)
{
    char *uri = malloc(strlen("file://") + 3 * strlen(file) + 1), *end = uri;

    if (!uri) return false;
    if (file[0] == '/') end = stpcpy(uri, "file://");
    for (; *file; file++) {
        unsigned char byte = (unsigned char)*file;
        if (byte < 128 && (isalnum(byte) || strchr("/-._~", byte))) *end++ = (char)byte;
        else end += sprintf(end, "%%%02X", byte);
    }
    *end = 0;
    report_json_member_text(json, "uri", uri);
    free(uri);
    return true;
}

static bool
put_location(struct report_json *json, const struct memcheck_frame *frame)
{
    bool whole = true;

    report_json_begin(json, '{');
    if (in_file_p(frame)) {
        report_json_member_begin(json, "physicalLocation", '{');
        report_json_member_begin(json, "artifactLocation", '{');
        whole = put_uri(json, frame->file);
        report_json_end(json, '}');
        report_json_member_begin(json, "region", '{');
        report_json_member_integer(json, "startLine", frame->line);
        report_json_end(json, '}');
        report_json_end(json, '}');
    }
    report_json_member_begin(json, "logicalLocations", '[');
    report_json_begin(json, '{');
    report_json_member_text(json, "fullyQualifiedName", frame->name);
    report_json_end(json, '}');
    report_json_end(json, ']');
    report_json_end(json, '}');
    return whole;
}

/* The innermost line that is in a file: of Ruby code, else of an extension's C. */
static struct memcheck_frame
place_of(const struct memcheck_process *process, const struct memcheck_record *record)
{
    for (uint32_t i = 0; i < record->location_count; i++) {
        struct memcheck_frame frame = memcheck_frame_at(process, record, i);
        if (in_file_p(&frame)) return frame;
    }
    for (uint32_t s = 0; record->error && s < record->error->stack_count; s++) {
        const struct memcheck_c_stack *stack = &process->valgrind->stacks[record->error->first_stack + s];
        for (uint32_t i = 0; i < stack->frame_count; i++) {
            struct memcheck_frame frame = memcheck_c_frame_at(process, stack->first_frame + i);
            bool extension = process->valgrind->frames[stack->first_frame + i].role == MEMCHECK_OF_EXTENSION;
            if (extension && in_file_p(&frame)) return frame;
        }
    }
    return (struct memcheck_frame){"", "", 0};
}

static bool
put_locations(struct report_json *json, const struct memcheck_process *process, const struct memcheck_record *record)
{
    bool whole = true;

    report_json_member_begin(json, "locations", '[');
    struct memcheck_frame frame = place_of(process, record);
    if (in_file_p(&frame)) whole = put_location(json, &frame);
    report_json_end(json, ']');
    return whole;
}

static bool
put_frame(struct report_json *json, struct memcheck_frame frame)
{
    report_json_begin(json, '{');
    report_json_key(json, "location");
    bool whole = put_location(json, &frame);
    report_json_end(json, '}');
    return whole;
}

static bool
put_c_stack(struct report_json *json, const struct memcheck_process *process, const struct memcheck_c_stack *stack)
{
    bool whole = true;

    report_json_begin(json, '{');
    if (stack->title) put_message(json, "message", memcheck_valgrind_string(process->valgrind, stack->title));
    report_json_member_begin(json, "frames", '[');
    for (uint32_t i = 0; i < stack->frame_count; i++) {
        whole = put_frame(json, memcheck_c_frame_at(process, stack->first_frame + i)) && whole;
    }
    report_json_end(json, ']');
    report_json_end(json, '}');
    return whole;
}

/* Of Ruby, unless none is known of an error; then Valgrind's. */
static bool
put_stacks(struct report_json *json, const struct memcheck_process *process, const struct memcheck_record *record)
{
    bool whole = true;

    report_json_member_begin(json, "stacks", '[');
    if (record->location_count > 0 || !record->error) {
        report_json_begin(json, '{');
        report_json_member_begin(json, "frames", '[');
        for (uint32_t i = 0; i < record->location_count; i++) {
            whole = put_frame(json, memcheck_frame_at(process, record, i)) && whole;
        }
        report_json_end(json, ']');
        report_json_end(json, '}');
    }
    for (uint32_t i = 0; record->error && i < record->error->stack_count; i++) {
        whole = put_c_stack(json, process, &process->valgrind->stacks[record->error->first_stack + i]) && whole;
    }
    report_json_end(json, ']');
    return whole;
}

/* ---- what ---- */

static bool
put_headline(struct report_json *json, const struct memcheck_process *process, const struct memcheck_record *record)
{
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);

    if (!out) return false;
    memcheck_headline_put(out, process, record, memcheck_error_p(record->kind) ? ", by " : ", asked for by ");
    if (fclose(out) == 0) put_message(json, "message", text);
    free(text);
    return text != NULL;
}

static bool
put_result(struct report_json *json, const struct memcheck_process *process, const struct memcheck_record *record, size_t invocation)
{
    bool whole;

    report_json_line(json);
    report_json_begin(json, '{');
    report_json_member_text(json, "ruleId", memcheck_kind_names[record->kind]);
    report_json_member_integer(json, "ruleIndex", record->kind);
    report_json_member_text(json, "level", level_of(record->kind));
    whole = put_headline(json, process, record);
    whole = put_locations(json, process, record) && whole;
    whole = put_stacks(json, process, record) && whole;
    report_json_member_begin(json, "provenance", '{');
    report_json_member_integer(json, "invocationIndex", (int64_t)invocation);
    report_json_end(json, '}');
    report_json_end(json, '}');
    return whole;
}

static bool
put_results(struct report_json *json, const struct memcheck_question *question, const struct memcheck_process *process, size_t invocation)
{
    bool whole = true;

    for (size_t i = 0; i < process->record_count; i++) {
        if (memcheck_judge(question, process, &process->records[i]) != MEMCHECK_SHOWN) continue;
        whole = put_result(json, process, &process->records[i], invocation) && whole;
    }
    return whole;
}

/* ---- by whom ---- */

static void
put_tool(struct report_json *json)
{
    report_json_member_begin(json, "tool", '{');
    report_json_member_begin(json, "driver", '{');
    report_json_member_text(json, "name", "heapprof memcheck");
    report_json_member_begin(json, "rules", '[');
    for (int kind = 0; kind < MEMCHECK_KINDS; kind++) {
        report_json_begin(json, '{');
        report_json_member_text(json, "id", memcheck_kind_names[kind]);
        put_message(json, "shortDescription", memcheck_kind_titles[kind]);
        report_json_end(json, '}');
    }
    report_json_end(json, ']');
    report_json_end(json, '}');
    report_json_end(json, '}');
}

static void
put_notification(struct report_json *json, const char *text)
{
    report_json_member_begin(json, "toolExecutionNotifications", '[');
    report_json_begin(json, '{');
    report_json_member_text(json, "level", "error");
    put_message(json, "message", text);
    report_json_end(json, '}');
    report_json_end(json, ']');
}

static void
put_invocation(struct report_json *json, const struct memcheck_process *process)
{
    long pid = strtol(process->pid, NULL, 10);

    report_json_line(json);
    report_json_begin(json, '{');
    report_json_member_bool(json, "executionSuccessful", process->decided && process->dropped == 0);
    report_json_member_text(json, "commandLine", process->program);
    if (pid > 0) report_json_member_integer(json, "processId", pid);
    if (!process->decided) put_notification(json, memcheck_undecided(process));
    else if (process->dropped > 0) put_notification(json, "nothing is known of some blocks, which may be leaks, too");
    report_json_end(json, '}');
}

bool
memcheck_sarif(FILE *out, const struct memcheck_question *question, const struct memcheck_process *processes, size_t count)
{
    struct report_json json = {.out = out};
    bool whole = true;

    report_json_begin(&json, '{');
    report_json_member_text(&json, "version", "2.1.0");
    report_json_member_begin(&json, "runs", '[');
    report_json_begin(&json, '{');
    put_tool(&json);
    report_json_member_begin(&json, "invocations", '[');
    for (size_t i = 0; i < count; i++) put_invocation(&json, &processes[i]);
    report_json_end(&json, ']');
    report_json_member_begin(&json, "results", '[');
    for (size_t i = 0; i < count; i++) whole = put_results(&json, question, &processes[i], i) && whole;
    report_json_end(&json, ']');
    report_json_end(&json, '}');
    report_json_end(&json, ']');
    report_json_end(&json, '}');
    putc('\n', out);
    return whole;
}
