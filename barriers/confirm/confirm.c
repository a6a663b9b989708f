/* confirm.c - matches findings with what the collector missed, and writes the table of
 * --confirm.
 *
 * The collector reports type, field and method of what it missed. A finding fits if it is
 *
 *     of that type        by rb_data_type_t#wrap_struct_name, which both know
 *     at that field       by its offset in the data; memory behind a pointer has no offset
 *     in that method      in a function that the method's function calls or passes on. If these
 *                         sources do not define the method, or it is not known, any function fits.
 *
 * If several findings fit, the collector cannot tell which one it was. refute.c looks at what
 * was not missed.
 */
#include "barriers/confirm/confirm.h"

#include <stdlib.h>
#include <string.h>

#include "barriers/confirm/refute.h"
#include "barriers/flow/field_at.h"
#include "barriers/flow/reach.h"
#include "barriers/report/report.h"
#include "report/text.h"

/* ---- matching ---- */

static bool
fits_p(const struct wb_finding *finding, const struct wb_seen *seen, unsigned search)
{
    const char *type = finding->data_type->struct_name;

    if (!type || strcmp(type, seen->type) || !finding->data_type->protected_p) return false;
    if (search && finding->function->search != search) return false;
    if (finding->offset < 0) return seen->offset < 0 || seen->offset >= finding->data_type->extent;
    return finding->offset <= seen->offset && seen->offset < finding->offset + finding->size;
}

/* Matches either the missing barriers or the other findings. Returns how many fit. search 0:
 * any function fits. */
static unsigned
match_findings(struct wb_findings *findings, struct wb_seen *seen, unsigned search, bool missing)
{
    unsigned fits = 0;

    for (size_t i = 0; i < findings->count; i++) {
        struct wb_finding *finding = findings->all[i];
        fits += wb_missing_p(finding) == missing && fits_p(finding, seen, search);
    }
    for (size_t i = 0; i < findings->count && fits > 0; i++) {
        struct wb_finding *finding = findings->all[i];
        if (wb_missing_p(finding) != missing || !fits_p(finding, seen, search)) continue;
        if (finding->seen && finding->fits <= fits) continue;
        finding->seen = seen;
        finding->fits = fits;
    }
    return fits;
}

/* Sets the name of the field from the source. */
static void
name_field(const struct wb_program *program, struct wb_seen *seen)
{
    const struct wb_data_type *type = program->data_types;

    if (seen->offset < 0 || *seen->field) return;
    while (type && (!type->struct_name || strcmp(type->struct_name, seen->type))) type = type->next;
    if (type) wb_field_at(type, seen->offset, seen->field, sizeof(seen->field));
}

void
wb_match_seen(struct wb_program *program, struct wb_findings *findings, struct wb_all_seen *all)
{
    for (size_t i = 0; i < all->count; i++) {
        struct wb_seen *seen = &all->items[i];
        unsigned search = wb_reach_from_method(program, seen->method);
        if (match_findings(findings, seen, search, true) ||
            match_findings(findings, seen, search, false)) {
            seen->explained = true;
        }
        name_field(program, seen);
    }
    wb_refute(program, findings, all);
}

/* ---- the table ---- */

#define COLUMNS 6

static void
write_told(FILE *out, const struct wb_finding *finding)
{
    if (!finding->told) return;
    fprintf(out, "%llu %s%s told, in %s()", (unsigned long long)finding->told_count,
            finding->told_count == 1 ? "store" : "stores",
            finding->refuted ? ", all" : "", finding->told->function);
}

static void
write_row(FILE *out, const struct wb_finding *finding, const char *directory)
{
    const char *verdict = wb_verdict(finding);

    fprintf(out, "%s\t%s\t%s:%u:%u\t%s\t%s\t", verdict ? verdict : "-", wb_severity(finding),
            wb_shown_path(finding->place.file, directory), finding->place.line,
            finding->place.column,
            *finding->field ? finding->field : "*", finding->data_type->name);
    if (finding->seen) fputs(finding->seen->text, out);
    else write_told(out, finding);
    if (finding->seen && finding->fits > 1) fprintf(out, "; one of %u", finding->fits);
    putc('\n', out);
}

void
wb_write_rows(FILE *out, const struct wb_findings *findings, bool all, const char *directory)
{
    for (size_t i = 0; i < findings->count; i++) {
        const struct wb_finding *finding = findings->all[i];
        if (all || finding->seen || wb_missing_p(finding)) write_row(out, finding, directory);
    }
}

void
wb_write_rows_seen(FILE *out, const struct wb_all_seen *all)
{
    for (size_t i = 0; i < all->count; i++) {
        const struct wb_seen *seen = &all->items[i];
        if (seen->explained) continue;
        fprintf(out, "only seen\t-\t-\t%s\t-\t%s\n", *seen->field ? seen->field : "-", seen->text);
    }
}

/* Cuts a row into columns. */
static void
split_row(char *row, const char *columns[COLUMNS])
{
    row[strcspn(row, "\n")] = '\0';
    for (size_t i = 0; i < COLUMNS; i++) {
        char *tab = i + 1 < COLUMNS ? strchr(row, '\t') : NULL;
        columns[i] = row;
        if (!tab) row += strlen(row);
        else *tab = '\0', row = tab + 1;
    }
}

static void
print_row(FILE *out, const char *const columns[COLUMNS], const size_t widths[COLUMNS])
{
    for (size_t i = 0; i + 1 < COLUMNS; i++) {
        report_print(out, "%-*s  ", (int)widths[i], columns[i]);
    }
    report_print(out, "%s\n", columns[COLUMNS - 1]);
}

void
wb_write_table(FILE *out, FILE *rows)
{
    static const char *const names[COLUMNS] = {"verdict", "source", "place", "field", "type",
                                               "what the collector saw"};
    const char *columns[COLUMNS];
    size_t widths[COLUMNS] = {0}, capacity = 0;
    char *row = NULL;
    bool any = false;

    for (size_t i = 0; i < COLUMNS; i++) widths[i] = strlen(names[i]);
    for (rewind(rows); getline(&row, &capacity, rows) > 0; any = true) {
        split_row(row, columns);
        for (size_t i = 0; i < COLUMNS; i++) {
            if (strlen(columns[i]) > widths[i]) widths[i] = strlen(columns[i]);
        }
    }
    if (any) print_row(out, names, widths);
    for (rewind(rows); any && getline(&row, &capacity, rows) > 0; ) {
        split_row(row, columns);
        print_row(out, columns, widths);
    }
    free(row);
}
