/* report.c - what a finding means (severity, verdict), and findings as lines that a compiler
 * would write. */
#include "barriers/report/report.h"

#include <string.h>

#include "report/text.h"

const char *
wb_severity(const struct wb_finding *finding)
{
    if (!wb_missing_p(finding)) return "note";
    return finding->certainty == WB_CERTAIN ? "error" : "warning";
}

bool
wb_missing_p(const struct wb_finding *finding)
{
    return finding->data_type->protected_p && finding->certainty != WB_HARMLESS &&
           !finding->accepted;
}

const char *
wb_verdict(const struct wb_finding *finding)
{
    if (!finding->data_type->protected_p) return NULL;
    if (finding->seen) return "confirmed";
    return finding->refuted ? "refuted" : "not reached";
}

const char *
wb_shown_path(const char *path, const char *directory)
{
    size_t length = strlen(directory);

    if (!path) return "?";
    return !strncmp(path, directory, length) && path[length] == '/' ? path + length + 1 : path;
}

/* True if one message can name both: fields of a struct that is copied. */
static bool
together_p(const struct wb_finding *one, const struct wb_finding *other)
{
    return one->place.file == other->place.file && one->place.line == other->place.line &&
           one->place.column == other->place.column && one->why == other->why &&
           one->certainty == other->certainty &&
           one->data_type == other->data_type && one->accepted == other->accepted;
}

static void
write_fields(FILE *out, struct wb_finding *const *findings, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const char *between = i == 0 ? "" : i + 1 == count ? " and " : ", ";
        fprintf(out, "%s'%s'", between, *findings[i]->field ? findings[i]->field : "*");
    }
}

void
wb_write_message(FILE *out, struct wb_finding *const *findings, size_t count)
{
    const struct wb_finding *first = findings[0];

    fprintf(out, "no write barrier %sfor ", first->certainty == WB_HARMLESS ? "needed " : "");
    write_fields(out, findings, count);
    if (first->parent) fprintf(out, " of '%s'", first->parent);
    fprintf(out, " (%s%s): %s", first->data_type->name,
            first->data_type->protected_p ? "" : ", which is not WB_PROTECTED", first->why);
    if (!first->parent && first->certainty == WB_LIKELY) {
        fputs("; the object that it is stored into is not known", out);
    }
    if (first->accepted) fprintf(out, " (accepted: %s)", first->accepted);
}

void
wb_write_finding(FILE *out, struct wb_finding *const *findings, size_t count, const char *directory)
{
    const struct wb_place *place = &findings[0]->place;

    fprintf(out, "%s:%u:%u: %s: ", wb_shown_path(place->file, directory), place->line,
            place->column,
            wb_severity(findings[0]));
    wb_write_message(out, findings, count);
    putc('\n', out);
    if (place->macro) {
        fprintf(out, "%s:%u: note: in the macro %s, defined here\n",
                wb_shown_path(place->macro_file, directory),
                place->macro_line, place->macro);
    }
}

size_t
wb_group_end(const struct wb_findings *findings, size_t first)
{
    size_t next = first + 1;

    while (next < findings->count && together_p(findings->all[first], findings->all[next])) next++;
    return next;
}

void
wb_report_text(FILE *out, const struct wb_findings *findings, bool all, const char *directory)
{
    size_t next;

    for (size_t i = 0; i < findings->count; i = next) {
        next = wb_group_end(findings, i);
        if (all || wb_missing_p(findings->all[i])) {
            wb_write_finding(out, findings->all + i, next - i, directory);
        }
    }
}

void
wb_write_remark(FILE *out, const struct wb_remark *remark, const char *directory)
{
    const struct wb_place *place = &remark->place;

    fprintf(out, "%s:%u:%u: %s: %s\n", wb_shown_path(place->file, directory), place->line,
            place->column, wb_severity_name(remark), remark->text);
}

void
wb_report_remarks(FILE *out, const struct wb_remark *remarks, bool all, const char *directory)
{
    for (; remarks; remarks = remarks->next) {
        if (all || remarks->severity > WB_NOTE) wb_write_remark(out, remarks, directory);
    }
}

void
wb_report_summary(FILE *out, const char *name, const struct wb_program *program,
                  const struct wb_findings *findings, size_t faults)
{
    size_t types = 0, protected_types = 0, missing = 0, accepted = 0;

    for (const struct wb_data_type *each = program->data_types; each; each = each->next) {
        types += each->known;
        protected_types += each->protected_p;
    }
    for (size_t i = 0; i < findings->count; i++) {
        missing += wb_missing_p(findings->all[i]);
        accepted += findings->all[i]->accepted != NULL;
    }
    report_print(out, "heapprof barriers: %s: %zu %s without a write barrier", name, missing,
                 report_plural(missing, "store", "stores"));
    if (accepted > 0) fprintf(out, ", and %zu accepted", accepted);
    if (faults > 0) {
        fprintf(out, "; %zu other %s", faults, report_plural(faults, "fault", "faults"));
    }
    fprintf(out, "; %zu of %zu %s of typed data %s WB_PROTECTED%s\n", protected_types, types,
            report_plural(types, "type", "types"), report_plural(protected_types, "is", "are"),
            findings->truncated ?
                "; there was more than the limits allow, and the rest is left out" : "");
}
