/* report_json.c - findings for programs: as JSON of our own, and as SARIF (OASIS, 2.1.0). */
#include <stdlib.h>

#include "barriers/report.h"
#include "report/json.h"

static void
text(struct report_json *json, const char *key, const char *value)
{
    report_json_key(json, key);
    if (value) report_json_text(json, value);
    else report_json_null(json);
}

static void
number(struct report_json *json, const char *key, unsigned value)
{
    report_json_key(json, key);
    report_json_unsigned(json, value);
}

static void
boolean(struct report_json *json, const char *key, bool value)
{
    report_json_key(json, key);
    report_json_bool(json, value);
}

static void
begin(struct report_json *json, const char *key, char bracket)
{
    report_json_key(json, key);
    report_json_begin(json, bracket);
}

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
    text(json, "name", type->name);
    text(json, "file", type->place.file);
    number(json, "line", type->place.line);
    boolean(json, "wb_protected", type->protected_p);
    text(json, "mark", function_name(type->mark));
    text(json, "free", function_name(type->free));
    text(json, "compact", function_name(type->compact));
    report_json_end(json, '}');
}

static void
write_finding(struct report_json *json, const struct wb_finding *finding)
{
    const struct wb_place *place = &finding->place;

    report_json_begin(json, '{');
    text(json, "file", place->file);
    number(json, "line", place->line);
    number(json, "column", place->column);
    text(json, "severity", wb_severity(finding));
    boolean(json, "missing", wb_missing_p(finding));
    text(json, "function", function_name(finding->function));
    text(json, "type", finding->data_type->name);
    text(json, "struct", finding->record);
    text(json, "field", finding->field);
    text(json, "parent", finding->parent);
    text(json, "why", finding->why);
    if (place->macro) {
        begin(json, "macro", '{');
        text(json, "name", place->macro);
        text(json, "file", place->macro_file);
        number(json, "line", place->macro_line);
        report_json_end(json, '}');
    }
    report_json_end(json, '}');
}

void
wb_report_json(FILE *out, const char *name, const struct wb_program *program, const struct wb_findings *findings)
{
    struct report_json json = {.out = out};

    report_json_begin(&json, '{');
    text(&json, "extension", name);
    begin(&json, "types", '[');
    for (const struct wb_data_type *each = program->data_types; each; each = each->next) {
        if (!each->known) continue;
        report_json_line(&json);
        write_type(&json, each);
    }
    report_json_end(&json, ']');
    begin(&json, "findings", '[');
    for (size_t i = 0; i < findings->count; i++) {
        report_json_line(&json);
        write_finding(&json, findings->all[i]);
    }
    report_json_end(&json, ']');
    boolean(&json, "left_out", findings->left_out);
    report_json_end(&json, '}');
}

/* ---- SARIF ---- */

static void
write_message(struct report_json *json, const char *message)
{
    begin(json, "message", '{');
    text(json, "text", message);
    report_json_end(json, '}');
}

static void
write_location(struct report_json *json, const char *path, unsigned line, unsigned column, const char *message)
{
    report_json_begin(json, '{');
    begin(json, "physicalLocation", '{');
    begin(json, "artifactLocation", '{');
    text(json, "uri", path);
    report_json_end(json, '}');
    begin(json, "region", '{');
    number(json, "startLine", line);
    if (column) number(json, "startColumn", column);
    report_json_end(json, '}');
    report_json_end(json, '}');
    if (message) write_message(json, message);
    report_json_end(json, '}');
}

static void
write_result(struct report_json *json, const struct wb_finding *const *findings, size_t count, const char *directory)
{
    const struct wb_place *place = &findings[0]->place;
    char *message = NULL;
    size_t size;
    FILE *stream = open_memstream(&message, &size);

    if (!stream) wb_out_of_memory();
    wb_write_message(stream, findings, count);
    if (fclose(stream)) wb_out_of_memory();
    report_json_begin(json, '{');
    text(json, "ruleId", "missing-write-barrier");
    text(json, "level", wb_severity(findings[0]));
    write_message(json, message);
    begin(json, "locations", '[');
    write_location(json, wb_shown_path(place->file, directory), place->line, place->column, NULL);
    report_json_end(json, ']');
    if (place->macro) {
        begin(json, "relatedLocations", '[');
        write_location(json, wb_shown_path(place->macro_file, directory), place->macro_line, 0, "in this macro");
        report_json_end(json, ']');
    }
    report_json_end(json, '}');
    free(message);
}

static void
write_tool(struct report_json *json)
{
    begin(json, "tool", '{');
    begin(json, "driver", '{');
    text(json, "name", "heapprof barriers");
    begin(json, "rules", '[');
    report_json_begin(json, '{');
    text(json, "id", "missing-write-barrier");
    begin(json, "shortDescription", '{');
    text(json, "text", "A reference is stored into an object of a WB_PROTECTED type without a write barrier");
    report_json_end(json, '}');
    report_json_end(json, '}');
    report_json_end(json, ']');
    report_json_end(json, '}');
    report_json_end(json, '}');
}

void
wb_report_sarif(FILE *out, const struct wb_findings *findings, bool all, const char *directory)
{
    struct report_json json = {.out = out};
    size_t next;

    report_json_begin(&json, '{');
    write_tool(&json);
    begin(&json, "results", '[');
    for (size_t i = 0; i < findings->count; i = next) {
        next = wb_said_together(findings, i);
        if (!all && !wb_missing_p(findings->all[i])) continue;
        report_json_line(&json);
        write_result(&json, findings->all + i, next - i, directory);
    }
    report_json_end(&json, ']');
    report_json_end(&json, '}');
}
