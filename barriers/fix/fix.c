/* fix.c - decides how each store gets its barrier.
 *
 *     the function has a name for the object     a barrier at the store
 *     a caller has one, no GC in between         a barrier behind the call
 *     a caller has one, a GC may start           RB_OBJ_WB_UNPROTECT before the call
 *     none of these                              left to people, with the reason
 *
 * The compiler tells place, object and field. The text of the left side comes from the file. A
 * store is also left to people if its text is a macro's, or if what was copied has no name.
 */
#include "barriers/fix/fix.h"

#include <stdlib.h>
#include <string.h>

#include "barriers/fix/edits.h"
#include "barriers/fix/protect.h"
#include "barriers/fix/statement.h"
#include "barriers/flow/remarks.h"
#include "barriers/report/report.h"
#include "report/text.h"

/* The findings for one place. */
struct wb_group {
    struct wb_finding  *const *findings;
    size_t                     count;
    const struct wb_text      *text;
    struct wb_statement        statement;
};

struct wb_fixer {
    struct wb_program *program;
    struct wb_text    *texts;   /* files that were read */
    struct wb_edits    edits;
    bool               protecting;  /* a type becomes WB_PROTECTED, so no object of it may give
                                     * that up */
};

static bool
same_place_p(const struct wb_place *one, const struct wb_place *other)
{
    return one->file == other->file && one->line == other->line && one->column == other->column;
}

/* ---- one place ---- */

/* Writes a field of what is copied, as C does. Returns false if it has no name there. */
static bool
field_text(const struct wb_statement *statement, const char *rest, char *text, size_t size)
{
    const char *to = statement->to, *name = *rest == '.' ? rest + 1 : rest;
    bool pointer = statement->value ? *to == '*' : *to != '&';

    snprintf(text, size, "%s%s%s", *to == '*' || *to == '&' ? to + 1 : to, pointer ? "->" : ".",
             name);
    return *name && !strpbrk(name, "[-") && !strpbrk(text, " ()*&");
}

/* Returns NULL, or why the store is left to people. */
static const char *
read_group(struct wb_arena *arena, struct wb_text **texts, struct wb_group *group)
{
    const struct wb_finding *first = group->findings[0];

    if (first->place.macro) return "it is in a macro";
    if (!first->place.file) return "its file is not known";
    group->text = wb_text_of(arena, texts, first->place.file);
    if (group->text->count == 0) return "its file cannot be read";
    return wb_statement_read(arena, group->text, first->place.line, first->place.column,
                             &group->statement);
}

/* The number of blanks at the start of a line. */
static int
indent(const char *line)
{
    return (int)strspn(line, " \t");
}

/* Writes a barrier for each field, between those texts. */
static const char *
write_barriers(FILE *out, const struct wb_group *group, const char *before, int length,
               const char *behind)
{
    char field[600];

    for (size_t i = 0; i < group->count; i++) {
        const struct wb_finding *finding = group->findings[i];
        if (!field_text(&group->statement, finding->rest, field, sizeof(field))) {
            return "the copied field has no name there";
        }
        fprintf(out, "%.*sRB_OBJ_WRITTEN(%s, Qundef, %s);%s", length, before, finding->object,
                field, behind);
    }
    return NULL;
}

/* If the copy is the only statement of an if, it gets braces. */
static const char *
write_in_braces(FILE *out, const struct wb_group *group)
{
    const struct wb_statement *statement = &group->statement;

    fprintf(out, "%s{ %s;", statement->before, statement->whole);
    const char *wrong = write_barriers(out, group, " ", 1, "");
    fprintf(out, " }%s\n", statement->behind);
    return wrong;
}

/* True if the edit only adds lines behind the store. */
static bool
adds_p(const struct wb_group *group)
{
    return group->findings[0]->rest && group->statement.alone &&
           !strpbrk(group->statement.behind, ";}");
}

static const char *
write_edit(FILE *out, const struct wb_group *group)
{
    const struct wb_finding *first = group->findings[0];
    const struct wb_statement *statement = &group->statement;

    if (adds_p(group)) {
        return write_barriers(out, group, statement->before, indent(statement->before), "\n");
    }
    if (first->rest) return write_in_braces(out, group);
    if (!statement->value) return "it is not an assignment";
    if (*statement->to == '*') {
        fprintf(out, "%sRB_OBJ_WRITE(%s, %s, %s);%s\n", statement->before, first->object,
                statement->to + 1, statement->value,
                statement->behind);
    }
    else {
        fprintf(out, "%sRB_OBJ_WRITE(%s, &%s, %s);%s\n", statement->before, first->object,
                statement->to, statement->value,
                statement->behind);
    }
    return NULL;
}

static const char *
edit_of(struct wb_arena *arena, const struct wb_group *group, struct wb_edit *edit)
{
    char *text = NULL;
    size_t size;
    FILE *stream = open_memstream(&text, &size);

    if (!stream) wb_out_of_memory();
    const char *wrong = write_edit(stream, group);
    if (fclose(stream)) wb_out_of_memory();
    *edit = (struct wb_edit){group->statement.first, group->statement.last,
                             wb_arena_text(arena, text, size)};
    if (adds_p(group)) edit->first = edit->last + 1;
    free(text);
    return wrong;
}

/* Returns NULL, or why the store is left to people. */
static const char *
fix_here(struct wb_fixer *fixer, struct wb_group *group)
{
    struct wb_edit edit;
    const char *wrong = read_group(&fixer->program->arena, &fixer->texts, group);

    if (!wrong) wrong = edit_of(&fixer->program->arena, group, &edit);
    return wrong ? wrong : wb_edits_add(&fixer->edits, group->text, &edit);
}

/* ---- where the object has its name ---- */

static const char *
insert_line(struct wb_fixer *fixer, const struct wb_text *text, unsigned line, const char *before,
            const char *code)
{
    char whole[1000];

    snprintf(whole, sizeof(whole), "%.*s%s\n", indent(before), before, code);
    return wb_edits_add(&fixer->edits, text,
                        &(struct wb_edit){line, line - 1, wb_name(fixer->program, whole)});
}

/* Adds a barrier behind the call, or gives up the object's protection before it. */
static const char *
fix_call(struct wb_fixer *fixer, const struct wb_call_site *site, const struct wb_function *stores)
{
    struct wb_arena *arena = &fixer->program->arena;
    struct wb_statement statement;
    char code[900];

    if (!site->object || !site->place.file) return "the function has no name for the object";
    if (site->place.macro) return "it is reached by a call in a macro";
    const struct wb_text *text = wb_text_of(arena, &fixer->texts, site->place.file);
    if (site->field && wb_statement_is_call(arena, text, site->place.line, site->place.column,
                                           &statement)) {
        snprintf(code, sizeof(code), "RB_OBJ_WRITTEN(%s, Qundef, %s);", site->object, site->field);
        return insert_line(fixer, text, statement.last + 1, statement.before, code);
    }
    if (fixer->protecting) return "a GC may start in a function that has no name for the object";
    if (!wb_line_begins_p(arena, text, site->place.line, site->place.column)) {
        return "the call that leads to it does not begin a line";
    }
    snprintf(code, sizeof(code), "RB_OBJ_WB_UNPROTECT(%s); /* %s() stores there */", site->object,
             stores->name);
    return insert_line(fixer, text, site->place.line, wb_line(text, site->place.line), code);
}

static const char *
fix_calls(struct wb_fixer *fixer, const struct wb_group *group)
{
    const char *wrong = NULL;

    for (size_t i = 0; i < group->count && !wrong; i++) {
        const struct wb_finding *finding = group->findings[i];
        for (const struct wb_call_site *site = finding->call_sites; site && !wrong;
             site = site->next) {
            wrong = fix_call(fixer, site, finding->function);
        }
    }
    return wrong;
}

/* ---- all ---- */

/* Returns NULL, or why the stores are left to people. Then nothing is changed. */
static const char *
fix_group(struct wb_fixer *fixer, struct wb_group *group)
{
    size_t planned = fixer->edits.count;
    const char *wrong = group->findings[0]->object ? fix_here(fixer, group) :
                        fix_calls(fixer, group);

    if (wrong) wb_edits_keep(&fixer->edits, planned);
    return wrong;
}

/* True if the finding has to be fixed: for the type to become WB_PROTECTED, or, if type is
 * NULL, because its type is. */
static bool
wanted_p(const struct wb_finding *finding, const struct wb_data_type *type)
{
    return type ? wb_lacking_p(type, finding) : wb_missing_p(finding);
}

/* Fixes all such findings. Calls left_i for each place that is left to people. */
static void
fix_all(struct wb_fixer *fixer, const struct wb_findings *findings, const struct wb_data_type *type,
        void (*left_i)(void *data, const struct wb_finding *finding, const char *why), void *data)
{
    struct wb_arena *arena = &fixer->program->arena;
    struct wb_finding **wanted = wb_arena_take(arena, (findings->count + 1) * sizeof(*wanted));
    size_t count = 0, next;

    for (size_t i = 0; i < findings->count; i++) {
        if (wanted_p(findings->all[i], type)) wanted[count++] = findings->all[i];
    }
    for (size_t i = 0; i < count; i = next) {
        struct wb_group group = { .findings = wanted + i };
        const char *wrong;
        for (next = i + 1; next < count && same_place_p(&wanted[i]->place, &wanted[next]->place);
             ) {
            next++;
        }
        group.count = next - i;
        wrong = fix_group(fixer, &group);
        if (wrong) left_i(data, wanted[i], wrong);
    }
}

static void
report_place(const struct wb_fixer *fixer, const struct wb_place *place, const char *what,
             const char *why)
{
    report_print(stderr, "heapprof barriers: %s:%u: %s: %s\n",
                 wb_shown_path(place->file, fixer->edits.directory), place->line, what,
            why);
}

static void
report_left_i(void *data, const struct wb_finding *finding, const char *why)
{
    report_place(data, &finding->place, "fix this by hand", why);
}

/* ---- types ---- */

struct wb_left {
    const struct wb_finding *finding;  /* the first finding that is left to people; NULL if none
                                        * is */
    const char              *why;
};

static void
note_left_i(void *data, const struct wb_finding *finding, const char *why)
{
    struct wb_left *left = data;

    if (!left->finding) *left = (struct wb_left){finding, why};
}

/* Adds the flag to the type. Returns NULL, or why it cannot. */
static const char *
add_flag(struct wb_fixer *fixer, const struct wb_data_type *type)
{
    struct wb_edit edit;

    if (type->derived) return "its parent type's functions store into it, too";
    if (type->given) return "its data is passed to a function that is not in these sources";
    if (!type->place.file) return "its file is not known";
    const struct wb_text *text = wb_text_of(&fixer->program->arena, &fixer->texts,
                                            type->place.file);
    const char *wrong = wb_protect(&fixer->program->arena, type, text, &edit);
    return wrong ? wrong : wb_edits_add(&fixer->edits, text, &edit);
}

/* Makes the type WB_PROTECTED together with all its stores, or not at all. */
static void
protect_type(struct wb_fixer *fixer, const struct wb_findings *findings,
             const struct wb_data_type *type)
{
    size_t planned = fixer->edits.count;
    struct wb_left left = {0};
    char what[300];

    fixer->protecting = true;
    fix_all(fixer, findings, type, note_left_i, &left);
    const char *wrong = left.finding ? left.why : add_flag(fixer, type);
    fixer->protecting = false;
    if (!wrong) return;
    wb_edits_keep(&fixer->edits, planned);
    snprintf(what, sizeof(what), "'%s' is not made WB_PROTECTED", type->name);
    report_place(fixer, left.finding ? &left.finding->place : &type->place, what, wrong);
}

void
wb_fix(FILE *out, struct wb_program *program, const struct wb_findings *findings,
       const char *directory, bool types)
{
    struct wb_fixer fixer = { .program = program,
                           .edits = { .arena = &program->arena, .directory = directory } };

    fix_all(&fixer, findings, NULL, report_left_i, &fixer);
    for (const struct wb_data_type *type = types ? program->data_types : NULL; type;
         type = type->next) {
        if (wb_could_be_protected_p(type)) protect_type(&fixer, findings, type);
    }
    wb_edits_write(out, &fixer.edits);
}
