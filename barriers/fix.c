/* fix.c - see fix.h.
 *
 * The compiler tells place, object and field; the text of what is assigned to is taken from the file. A store is left to people
 * where the object has no name in that function, where the text is a macro's, and where what was copied has no name.
 */
#include "barriers/fix.h"

#include <stdlib.h>
#include <string.h>

#include "barriers/diff.h"
#include "barriers/report.h"
#include "barriers/statement.h"

/* The stores of one place. */
struct group {
    struct wb_finding  *const *findings;
    size_t                     count;
    const struct wb_text      *text;
    struct wb_statement        statement;
};

static bool
same_place_p(const struct wb_place *one, const struct wb_place *other)
{
    return one->file == other->file && one->line == other->line && one->column == other->column;
}

/* ---- one place ---- */

/* A field of what is copied, as C writes it; false: it has no name there. */
static bool
field_text(const struct wb_statement *statement, const char *rest, char *text, size_t size)
{
    const char *to = statement->to, *name = *rest == '.' ? rest + 1 : rest;
    bool pointer = statement->value ? *to == '*' : *to != '&';

    snprintf(text, size, "%s%s%s", *to == '*' || *to == '&' ? to + 1 : to, pointer ? "->" : ".", name);
    return *name && !strpbrk(name, "[-") && !strpbrk(text, " ()*&");
}

/* NULL, or why it is left to people. */
static const char *
look(struct wb_arena *arena, struct wb_text **texts, struct group *group)
{
    const struct wb_finding *first = group->findings[0];

    if (!first->object) return "the object has no name there";
    if (first->place.macro) return "it is in a macro";
    if (!first->place.file) return "its file is not known";
    group->text = wb_text_of(arena, texts, first->place.file);
    if (group->text->count == 0) return "its file cannot be read";
    return wb_statement_read(arena, group->text, first->place.line, first->place.column, &group->statement);
}

/* Spaces and tabs that a line begins with. */
static int
indent(const char *line)
{
    return (int)strspn(line, " \t");
}

/* A barrier for each field, each between those texts. */
static const char *
write_barriers(FILE *out, const struct group *group, const char *before, int length, const char *behind)
{
    char field[600];

    for (size_t i = 0; i < group->count; i++) {
        const struct wb_finding *finding = group->findings[i];
        if (!field_text(&group->statement, finding->rest, field, sizeof(field))) return "what is copied has no name there";
        fprintf(out, "%.*sRB_OBJ_WRITTEN(%s, Qundef, %s);%s", length, before, finding->object, field, behind);
    }
    return NULL;
}

/* Where it is all of an if's: the two in braces. */
static const char *
write_in_braces(FILE *out, const struct group *group)
{
    const struct wb_statement *statement = &group->statement;
    const char *wrong;

    fprintf(out, "%s{ %s;", statement->before, statement->whole);
    wrong = write_barriers(out, group, " ", 1, "");
    fprintf(out, " }%s\n", statement->behind);
    return wrong;
}

/* Whether the store stays as it is, and lines behind it are all. */
static bool
adds_p(const struct group *group)
{
    return group->findings[0]->rest && group->statement.alone && !strpbrk(group->statement.behind, ";}");
}

static const char *
write_edit(FILE *out, const struct group *group)
{
    const struct wb_finding *first = group->findings[0];
    const struct wb_statement *statement = &group->statement;

    if (adds_p(group)) return write_barriers(out, group, statement->before, indent(statement->before), "\n");
    if (first->rest) return write_in_braces(out, group);
    if (!statement->value) return "it is no assignment";
    if (*statement->to == '*') {
        fprintf(out, "%sRB_OBJ_WRITE(%s, %s, %s);%s\n", statement->before, first->object, statement->to + 1, statement->value,
                statement->behind);
    }
    else {
        fprintf(out, "%sRB_OBJ_WRITE(%s, &%s, %s);%s\n", statement->before, first->object, statement->to, statement->value,
                statement->behind);
    }
    return NULL;
}

static const char *
edit_of(struct wb_arena *arena, const struct group *group, struct wb_edit *edit)
{
    char *text = NULL;
    size_t size;
    FILE *stream = open_memstream(&text, &size);
    const char *wrong;

    if (!stream) wb_out_of_memory();
    wrong = write_edit(stream, group);
    if (fclose(stream)) wb_out_of_memory();
    *edit = (struct wb_edit){group->statement.first, group->statement.last, wb_arena_text(arena, text, size)};
    if (adds_p(group)) edit->first = edit->last + 1;
    free(text);
    return wrong;
}

/* ---- files ---- */

/* The changes of one file, which are written when the next one begins. */
struct changes {
    FILE                 *out;
    const char           *directory;
    const struct wb_text *text;
    struct wb_edit       *edits;
    size_t                count;
};

static void
finish(struct changes *changes)
{
    if (changes->count == 0) return;
    wb_write_diff(changes->out, wb_shown_path(changes->text->path, changes->directory), changes->text, changes->edits,
                  changes->count);
    changes->count = 0;
}

/* NULL, or why it is left to people. */
static const char *
change(struct changes *changes, struct wb_arena *arena, const struct group *group)
{
    const struct wb_edit *last = changes->count ? &changes->edits[changes->count - 1] : NULL;
    const char *wrong;

    if (*wb_shown_path(group->text->path, changes->directory) == '/') return "its file is not below the current directory";
    if (changes->text != group->text) {
        finish(changes);
        last = NULL;
    }
    if (last && last->last >= group->statement.first) return "its line is changed already";
    changes->text = group->text;
    wrong = edit_of(arena, group, &changes->edits[changes->count]);
    if (!wrong) changes->count++;
    return wrong;
}

static void
tell_unfixed(const struct wb_finding *finding, const char *directory, const char *why)
{
    fprintf(stderr, "heapprof barriers: %s:%u: to be mended by hand: %s\n", wb_shown_path(finding->place.file, directory),
            finding->place.line, why);
}

void
wb_fix(FILE *out, struct wb_program *program, const struct wb_findings *findings, const char *directory)
{
    struct changes changes = {.out = out, .directory = directory};
    struct wb_finding **missing = wb_arena_take(&program->arena, (findings->count + 1) * sizeof(*missing));
    struct wb_text *texts = NULL;
    size_t count = 0, next;

    for (size_t i = 0; i < findings->count; i++) {
        if (wb_missing_p(findings->all[i])) missing[count++] = findings->all[i];
    }
    changes.edits = wb_arena_take(&program->arena, (count + 1) * sizeof(*changes.edits));
    for (size_t i = 0; i < count; i = next) {
        struct group group = {.findings = missing + i};
        const char *wrong;
        for (next = i + 1; next < count && same_place_p(&missing[i]->place, &missing[next]->place); ) next++;
        group.count = next - i;
        wrong = look(&program->arena, &texts, &group);
        if (!wrong) wrong = change(&changes, &program->arena, &group);
        if (wrong) tell_unfixed(missing[i], directory, wrong);
    }
    finish(&changes);
}
