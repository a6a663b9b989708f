/* json.c - findings for programs: as JSON of our own, and as SARIF 2.1.0 (OASIS). */
#include <stdlib.h>

#include "barriers/report/report.h"
#include "report/json.h"
#include "report/sarif.h"

/* ---- JSON ---- */

static const char *
function_name(const struct wb_function *function)
{
    return function ? function->name : NULL;
}

static void
write_type(struct report_json *json, const struct wb_data_type *type)
{
    report_json_begin(json, '{');
    report_json_member_text(json, "name", type->name);
    report_json_member_text(json, "file", type->place.file);
    report_json_member_unsigned(json, "line", type->place.line);
    report_json_member_bool(json, "wb_protected", type->protected_p);
    report_json_member_text(json, "mark", function_name(type->mark));
    report_json_member_text(json, "free", function_name(type->free));
    report_json_member_text(json, "compact", function_name(type->compact));
    report_json_end(json, '}');
}

static void
write_types(struct report_json *json, const struct wb_program *program)
{
    report_json_member_begin(json, "types", '[');
    for (const struct wb_data_type *each = program->data_types; each; each = each->next) {
        if (!each->known) continue;
        report_json_line(json);
        write_type(json, each);
    }
    report_json_end(json, ']');
}

static void
write_verdict(struct report_json *json, const struct wb_finding *finding)
{
    report_json_member_text(json, "verdict", wb_verdict(finding));
    report_json_member_text(json, "seen", finding->seen ? finding->seen->text : NULL);
    report_json_member_unsigned(json, "fits", finding->fits);
    report_json_member_unsigned(json, "told", finding->told_count);
    report_json_member_text(json, "told_in", finding->told ? finding->told->function : NULL);
}

static void
write_finding(struct report_json *json, const struct wb_finding *finding, bool seen)
{
    const struct wb_place *place = &finding->place;

    report_json_begin(json, '{');
    report_json_member_text(json, "file", place->file);
    report_json_member_unsigned(json, "line", place->line);
    report_json_member_unsigned(json, "column", place->column);
    report_json_member_text(json, "severity", wb_severity(finding));
    report_json_member_bool(json, "missing", wb_missing_p(finding));
    report_json_member_text(json, "function", function_name(finding->function));
    report_json_member_text(json, "type", finding->data_type->name);
    report_json_member_text(json, "struct", finding->record ? finding->record->name : NULL);
    report_json_member_text(json, "field", finding->field);
    report_json_member_text(json, "parent", finding->parent);
    report_json_member_text(json, "why", finding->why);
    if (place->macro) {
        report_json_member_begin(json, "macro", '{');
        report_json_member_text(json, "name", place->macro);
        report_json_member_text(json, "file", place->macro_file);
        report_json_member_unsigned(json, "line", place->macro_line);
        report_json_end(json, '}');
    }
    report_json_member_text(json, "accepted", finding->accepted);
    if (seen) write_verdict(json, finding);
    report_json_end(json, '}');
}

static void
write_remark(struct report_json *json, const struct wb_remark *remark)
{
    const struct wb_place *place = &remark->place;

    report_json_begin(json, '{');
    report_json_member_text(json, "rule", wb_rules[remark->rule].id);
    report_json_member_text(json, "severity", wb_severity_name(remark));
    report_json_member_text(json, "file", place->file);
    report_json_member_unsigned(json, "line", place->line);
    report_json_member_unsigned(json, "column", place->column);
    report_json_member_text(json, "type", remark->data_type ? remark->data_type->name : NULL);
    report_json_member_text(json, "field", remark->field);
    report_json_member_text(json, "text", remark->text);
    report_json_end(json, '}');
}

void
wb_report_json(FILE *out, const char *name, const struct wb_program *program,
               const struct wb_findings *findings, const struct wb_remark *remarks,
               const struct wb_all_seen *seen)
{
    struct report_json json = { .out = out };

    report_json_begin(&json, '{');
    report_json_member_text(&json, "extension", name);
    write_types(&json, program);
    report_json_member_begin(&json, "findings", '[');
    for (size_t i = 0; i < findings->count; i++) {
        report_json_line(&json);
        write_finding(&json, findings->all[i], seen != NULL);
    }
    report_json_end(&json, ']');
    report_json_member_begin(&json, "remarks", '[');
    for (; remarks; remarks = remarks->next) {
        report_json_line(&json);
        write_remark(&json, remarks);
    }
    report_json_end(&json, ']');
    report_json_member_bool(&json, "left_out", findings->truncated);
    report_json_end(&json, '}');
}

void
wb_report_json_seen(FILE *out, const struct wb_all_seen *seen)
{
    struct report_json json = { .out = out, .comma = true };

    report_json_member_begin(&json, "only_seen", '[');
    for (size_t i = 0; i < seen->count; i++) {
        const struct wb_seen *item = &seen->items[i];
        if (item->explained) continue;
        report_json_line(&json);
        report_json_begin(&json, '{');
        report_json_member_text(&json, "seen", item->text);
        report_json_member_text(&json, "field", *item->field ? item->field : NULL);
        report_json_end(&json, '}');
    }
    report_json_end(&json, ']');
}

/* ---- SARIF ---- */

/* The id of a rule, as WB_MISSING_BARRIER. */
#define MISSED "missed-write-barrier"

static void
write_location(struct report_json *json, const char *path, unsigned line, unsigned column,
               const char *message)
{
    report_sarif_location(json, &(struct report_sarif_place){ .file = path, .line = line,
                                                              .column = column,
                                                              .message = message });
}

/* Verdicts by field. SARIF has `properties` for what a tool has to say besides. */
static void
write_verdicts(struct report_json *json, struct wb_finding *const *findings, size_t count)
{
    report_json_member_begin(json, "properties", '{');
    report_json_member_begin(json, "verdicts", '{');
    for (size_t i = 0; i < count; i++) {
        report_json_member_text(json, findings[i]->field, wb_verdict(findings[i]));
    }
    report_json_end(json, '}');
    report_json_end(json, '}');
}

static void
write_result(struct report_json *json, struct wb_finding *const *findings, size_t count,
             const char *directory, bool seen)
{
    const struct wb_place *place = &findings[0]->place;
    char *message = NULL;
    size_t size;
    FILE *stream = open_memstream(&message, &size);

    if (!stream) wb_out_of_memory();
    wb_write_message(stream, findings, count);
    if (fclose(stream)) wb_out_of_memory();
    report_sarif_begin_result(json, WB_MISSING_BARRIER, wb_severity(findings[0]));
    report_sarif_message(json, "message", message);
    report_json_member_begin(json, "locations", '[');
    write_location(json, wb_shown_path(place->file, directory), place->line, place->column, NULL);
    report_json_end(json, ']');
    if (place->macro) {
        report_json_member_begin(json, "relatedLocations", '[');
        write_location(json, wb_shown_path(place->macro_file, directory), place->macro_line, 0,
                       "in this macro");
        report_json_end(json, ']');
    }
    if (findings[0]->accepted) {
        report_sarif_suppression(json, findings[0]->in_source, findings[0]->accepted);
    }
    if (seen) write_verdicts(json, findings, count);
    report_json_end(json, '}');
    free(message);
}

static void
write_remark_result(struct report_json *json, const struct wb_remark *remark, const char *directory)
{
    const struct wb_place *place = &remark->place;

    report_sarif_begin_result(json, wb_rules[remark->rule].id,
                              wb_severity_name(remark));
    report_sarif_message(json, "message", remark->text);
    report_json_member_begin(json, "locations", '[');
    write_location(json, wb_shown_path(place->file, directory), place->line, place->column, NULL);
    report_json_end(json, ']');
    report_json_end(json, '}');
}

static void
write_tool(struct report_json *json)
{
    struct report_sarif_rule rules[2 + WB_RULES] = {
        {WB_MISSING_BARRIER,
         "A reference is stored into an object of a WB_PROTECTED type without a write barrier"},
        {MISSED, "The collector missed a write barrier, and no store of the source explains it"},
    };

    for (int i = 0; i < WB_RULES; i++) {
        rules[2 + i] = (struct report_sarif_rule){wb_rules[i].id, wb_rules[i].description};
    }
    report_sarif_tool(json, "heapprof barriers", rules, 2 + WB_RULES);
}

/* What was judged, so that a run without results says something. */
static void
write_run_properties(struct report_json *json, const char *name, const struct wb_program *program,
                     const struct wb_findings *findings)
{
    report_json_member_begin(json, "properties", '{');
    report_json_member_text(json, "extension", name);
    write_types(json, program);
    report_json_member_bool(json, "left_out", findings->truncated);
    report_json_end(json, '}');
}

void
wb_report_sarif(FILE *out, const char *name, const struct wb_program *program,
                const struct wb_findings *findings, const struct wb_remark *remarks, bool all,
                const char *directory, const struct wb_all_seen *seen)
{
    struct report_json json = { .out = out };
    size_t next;

    report_json_begin(&json, '{');
    write_tool(&json);
    write_run_properties(&json, name, program, findings);
    report_json_member_begin(&json, "results", '[');
    for (size_t i = 0; i < findings->count; i = next) {
        const struct wb_finding *first = findings->all[i];
        next = wb_group_end(findings, i);
        if (!all && !first->seen && !first->accepted && !wb_missing_p(first)) continue;
        write_result(&json, findings->all + i, next - i, directory, seen != NULL);
    }
    for (; remarks; remarks = remarks->next) {
        if (!all && remarks->severity == WB_NOTE) continue;
        write_remark_result(&json, remarks, directory);
    }
    report_json_end(&json, ']');
    report_json_end(&json, '}');
}

static void
write_seen_message(struct report_json *json, const struct wb_seen *seen)
{
    char message[2 * WB_SEEN_TEXT + sizeof(" (field )")];

    if (*seen->field) snprintf(message, sizeof(message), "%s (field %s)", seen->text, seen->field);
    else snprintf(message, sizeof(message), "%s", seen->text);
    report_sarif_message(json, "message", message);
}

void
wb_report_sarif_seen(FILE *out, const struct wb_all_seen *seen)
{
    struct report_json json = { .out = out };

    report_json_begin(&json, '{');
    write_tool(&json);
    report_json_member_begin(&json, "results", '[');
    for (size_t i = 0; i < seen->count; i++) {
        if (seen->items[i].explained) continue;
        report_sarif_begin_result(&json, MISSED, "error");
        write_seen_message(&json, &seen->items[i]);
        report_json_end(&json, '}');
    }
    report_json_end(&json, ']');
    report_json_end(&json, '}');
}
