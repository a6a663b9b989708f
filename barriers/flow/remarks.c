/* remarks.c - looks at the fields of structs that are a type's data as a whole, and of structs
 * within them.
 *
 * Behind pointers it looks only for what moves, and not into arrays of structs, or into tables. A
 * mark or compact function that passes the data on to functions that are not read is taken to do
 * everything.
 */
#include "barriers/flow/remarks.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "barriers/flow/blocks.h"
#include "barriers/flow/facts.h"
#include "report/text.h"

const struct wb_rule_text wb_rules[WB_RULES] = {
    [WB_MOVED] = {"moved-reference",
                  "A reference is marked by rb_gc_mark_movable, and not updated after a move",
                      WB_ERROR},
    [WB_UNMARKED] = {"unmarked-reference",
                     "A reference is stored, and the mark function does not mark it", WB_NOTE},
    [WB_UNPROTECTED] = {"could-be-protected", "A type is not WB_PROTECTED, and could be", WB_NOTE},
    [WB_UNREGISTERED] = {"unregistered-global",
                         "A global variable holds a reference that the GC does not know", WB_ERROR},
    [WB_OUTSIDE] = {"unmarked-memory",
                    "Memory of malloc holds a reference that nothing marks or registers", WB_ERROR},
};

struct wb_remarker {
    struct wb_program         *program;
    const struct wb_data_type *data_type;
    struct wb_place            place;
    struct wb_remark         **end;
};

static struct wb_remark * __attribute__((format(printf, 4, 5)))
add_remark(struct wb_remarker *remarker, enum wb_rule rule, const char *field, const char *format,
           ...)
{
    struct wb_remark *remark = WB_NEW(&remarker->program->arena, struct wb_remark);
    char text[600];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    *remark = (struct wb_remark){ .rule = rule, .place = remarker->place,
                                  .data_type = remarker->data_type, .field = field,
                                  .severity = wb_rules[rule].worst };
    remark->text = wb_name(remarker->program, text);
    *remarker->end = remark;
    remarker->end = &remark->next;
    return remark;
}

/* ---- fields ---- */

/* True if a reference is stored in the field, and the type does not mark it. A store into an object
 * of unknown type may be into one of another type that marks the field. */
static bool
forgotten_p(const struct wb_field *field, const struct wb_data_type *type)
{
    if (wb_marked_p(field, type)) return false;
    return wb_field_use(field, type)->holds ||
           (wb_field_use(field, NULL)->holds && !wb_marked_by_any_p(field));
}

static void
check_moves(struct wb_remarker *remarker, const char *name, bool updated)
{
    const struct wb_data_type *type = remarker->data_type;

    if (!type->compacts) {
        add_remark(remarker, WB_MOVED, name,
                   "'%s' (%s) is marked by rb_gc_mark_movable, and there is no compact "
                   "function that updates it",
                   name, type->name);
    }
    else if (type->updates_seen && !updated) {
        add_remark(remarker, WB_MOVED, name,
                   "'%s' (%s) is marked by rb_gc_mark_movable, and %s() does not update it", name,
                       type->name,
                   type->compact->name);
    }
}

/* VALUEs that a pointer of the data leads to. */
static void
check_elements(struct wb_remarker *remarker, const struct wb_field *field, const char *path)
{
    const struct wb_field_use *use = wb_field_use(field, remarker->data_type);
    char name[310];

    if (!use->elements_movable || use->elements_pinned) return;
    snprintf(name, sizeof(name), "%s[]", path);
    check_moves(remarker, wb_name(remarker->program, name), use->elements_updated);
}

/* True if the field holds the object that has the struct, and its own type updates it: where
 * another type marks that object, the object lives, so its own compact function runs. */
static bool
updates_itself_p(const struct wb_field *field)
{
    if (!field->itself) return false;
    for (const struct wb_owner *owner = field->record->owners; owner; owner = owner->next) {
        const struct wb_field_use *use = wb_field_use(field, owner->data_type);
        if (owner->whole && (use->updated || use->pinned)) return true;
    }
    return false;
}

/* The same for VALUEs of nodes. */
static void
check_node(struct wb_remarker *remarker, const struct wb_record *record)
{
    const char *space = strrchr(record->name, ' '), *of = space ? space + 1 : record->name;
    char name[300];

    for (const struct wb_field *field = record->fields; field; field = field->next) {
        const struct wb_field_use *use = wb_field_use(field, remarker->data_type);
        bool moves = use->of_node && use->movable && !use->pinned;
        if (!moves || field->type->kind != WB_VALUE || updates_itself_p(field)) continue;
        snprintf(name, sizeof(name), "%s%s%s", of, *of ? "." : "", field->name);
        check_moves(remarker, wb_name(remarker->program, name), use->updated);
    }
}

static void
check_field(struct wb_remarker *remarker, const struct wb_field *field, const char *path)
{
    const struct wb_data_type *type = remarker->data_type;
    const char *name = wb_name(remarker->program, path);
    const struct wb_field_use *use = wb_field_use(field, type);
    bool marks_seen = !type->marks || type->marks_seen;

    if (use->movable && !use->pinned) check_moves(remarker, name, use->updated);
    if (forgotten_p(field, type) && marks_seen) {
        add_remark(remarker, WB_UNMARKED, name, "'%s' (%s) is stored, and %s%s", name, type->name,
                   type->mark ? type->mark->name : "there is no mark function",
                   type->mark ? "() does not mark it" : "");
    }
}

static void
check_fields(struct wb_remarker *remarker, struct wb_record *record, const char *before)
{
    char path[300];

    if (record->visiting) return;
    record->visiting = true;
    for (const struct wb_field *field = record->fields; field; field = field->next) {
        const struct wb_type *type = field->type;
        const char *brackets = type->kind == WB_ARRAY ? "[]" : "";
        snprintf(path, sizeof(path), "%s%s%s%s", before, *before && *field->name ? "." : "",
                 field->name, brackets);
        while (type->kind == WB_ARRAY) type = type->to;
        if (type->kind == WB_VALUE) check_field(remarker, field, path);
        else if (type->kind == WB_POINTER && !*brackets) check_elements(remarker, field, path);
        else if (type->kind == WB_RECORD && !*brackets) check_fields(remarker, type->record, path);
    }
    record->visiting = false;
}

/* ---- types ---- */

bool
wb_could_be_protected_p(const struct wb_data_type *type)
{
    if (!type->known || type->protected_p || type->declares) return false;
    return !type->marks || (type->marks_seen && !type->tables);
}

bool
wb_lacking_p(const struct wb_data_type *type, const struct wb_finding *finding)
{
    bool of_type = finding->data_type == type ||
                   (finding->record && wb_owned_p(finding->record, type));

    return of_type && finding->certainty != WB_HARMLESS;
}

static size_t
count_lacking(const struct wb_data_type *type, const struct wb_findings *findings)
{
    size_t count = 0;

    for (size_t i = 0; i < findings->count; i++) count += wb_lacking_p(type, findings->all[i]);
    return count;
}

static void
check_type(struct wb_remarker *remarker, const struct wb_findings *findings)
{
    const struct wb_data_type *type = remarker->data_type;
    size_t count = count_lacking(type, findings);

    if (!wb_could_be_protected_p(type)) return;
    if (!type->marks) {
        add_remark(remarker, WB_UNPROTECTED, NULL, "'%s' could be WB_PROTECTED: it marks nothing",
                   type->name);
    }
    else if (count == 0) {
        add_remark(remarker, WB_UNPROTECTED, NULL,
                   "'%s' could be WB_PROTECTED: each store that is seen has its barrier",
                       type->name);
    }
    else {
        add_remark(remarker, WB_UNPROTECTED, NULL,
                   "'%s' could be WB_PROTECTED if %zu %s had a barrier", type->name, count,
                   report_plural(count, "store", "stores"));
    }
}

/* ---- global variables, and memory of malloc ---- */

static void
check_variable(struct wb_remarker *remarker, const struct wb_variable *variable)
{
    if (!variable->stored.file || variable->registered) return;
    remarker->place = variable->stored;
    if (variable->type->kind == WB_VALUE) {
        add_remark(remarker, WB_UNREGISTERED, variable->name,
                   "global variable '%s' holds an object that the GC does not know: register "
                   "it by rb_gc_register_address(&%s) before the first object is stored",
                   variable->name, variable->name);
    }
    else {
        add_remark(remarker, WB_UNREGISTERED, variable->name,
                   "global variable '%s' leads to an object that the GC does not know: mark "
                   "it, or call rb_gc_register_address for the place that holds it",
                   variable->name);
    }
}

/* True if it is known what the types mark to which the struct belongs. */
static bool
owners_known_p(const struct wb_record *record)
{
    for (const struct wb_owner *owner = record->owners; owner; owner = owner->next) {
        const struct wb_data_type *type = owner->data_type;
        if (!type->known || type->declares || (type->marks && !type->marks_seen)) return false;
    }
    return true;
}

/* A field of the data itself has the rule unmarked-reference. */
static bool
in_data_p(const struct wb_field *field)
{
    if (!wb_of_values_p(field->type)) return false;
    for (const struct wb_owner *owner = field->outer->owners; owner; owner = owner->next) {
        if (owner->whole) return true;
    }
    return false;
}

/* What only a global variable leads to is surely wrong. An object may exist for a moment, as the
 * state of a parser, and a library may forget what it got: that is a warning. */
static void
check_outside(struct wb_remarker *remarker, const struct wb_field *field)
{
    const struct wb_record *outer = field->outer, *kept;
    bool pointer = !wb_of_values_p(field->type);
    const char *keeper;

    if (!field->outside.file || field->held || outer->given || in_data_p(field)) return;
    if (pointer && remarker->program->marks_unknown) return;
    if (!owners_known_p(outer)) return;
    kept = wb_kept_record(outer);
    if (!kept && !outer->owners) return;
    keeper = kept ? kept->keeper : outer->owners->data_type->name;
    remarker->place = field->outside;
    add_remark(remarker, WB_OUTSIDE, field->name,
               "%s'%s' of '%s' holds an object in memory that the GC does not look into, and %s "
               "leads to it: mark the object, or call rb_gc_register_address for its place",
               pointer ? "what is behind " : "", field->name, outer->name, keeper)
        ->severity = kept && kept->global ? WB_ERROR : WB_WARNING;
}

static void
check_block(struct wb_remarker *remarker, const struct wb_block *block)
{
    if (!block->library || block->freed) return;
    if (block->record && !block->record->keeper) {
        char text[300];
        snprintf(text, sizeof(text), "perhaps %s()", block->library);
        block->record->keeper = wb_name(remarker->program, text);
    }
    if (block->field || block->variable) return;
    if (!block->stored.file || block->held || remarker->program->marks_unknown) return;
    remarker->place = block->stored;
    add_remark(remarker, WB_OUTSIDE, NULL,
               "memory that the GC does not look into holds an object, and perhaps %s() leads to "
               "it: call rb_gc_register_address for its place",
               block->library)->severity = WB_WARNING;
}

const struct wb_remark *
wb_make_remarks(struct wb_program *program, const struct wb_findings *findings)
{
    struct wb_remark *first = NULL;
    struct wb_remarker remarker = { .program = program, .end = &first };

    for (const struct wb_data_type *type = program->data_types; type; type = type->next) {
        remarker.data_type = type;
        remarker.place = type->place;
        if (!type->known) continue;
        for (const struct wb_owner *owner = type->owned; owner; owner = owner->next_record) {
            if (owner->whole) check_fields(&remarker, owner->record, "");
            else check_node(&remarker, owner->record);
        }
        check_type(&remarker, findings);
    }
    remarker.data_type = NULL;
    for (const struct wb_variable *each = program->globals; each; each = each->next) {
        check_variable(&remarker, each);
    }
    for (const struct wb_block *each = program->blocks; each; each = each->next) {
        check_block(&remarker, each);
    }
    for (const struct wb_record *each = program->records; each; each = each->next) {
        for (const struct wb_field *field = each->fields; field; field = field->next) {
            check_outside(&remarker, field);
        }
    }
    return first;
}

const char *
wb_severity_name(const struct wb_remark *remark)
{
    static const char *const names[] = {
        [WB_NOTE] = "note", [WB_WARNING] = "warning", [WB_ERROR] = "error",
    };

    return names[remark->severity];
}

size_t
wb_count_faults(const struct wb_remark *remarks)
{
    size_t count = 0;

    for (; remarks; remarks = remarks->next) count += remarks->severity > WB_NOTE;
    return count;
}
