/* literals.c - reads lists in braces as assignments: "struct S s = {.a = x}" to the variable, and
 * "(struct S){.a = x}" to a nameless one. */
#include "barriers/read/reader.h"

#include <stdlib.h>

static struct wb_node *
member_of(struct wb_reader *reader, struct wb_node *of, struct wb_field *field)
{
    struct wb_node *node = wb_node_around(reader, WB_MEMBER, wb_copy_of(reader, of));

    node->field = field;
    node->type = field->type;
    return node;
}

static void
add_assignment(struct wb_reader *reader, struct wb_node ***end, struct wb_node *to,
               struct wb_node *what)
{
    struct wb_node *node = wb_new_node(reader, WB_ASSIGN);

    node->type = to->type;
    node->child = to;
    to->next = what;
    **end = node;
    *end = &node->next;
}

/* A literal sets what its list does not name to 0. So all VALUEs in it are set to 0 first, also
 * those of arrays. */
static void
add_zeros(struct wb_reader *reader, struct wb_node ***end, struct wb_node *to)
{
    struct wb_record *record;

    while (to->type->kind == WB_ARRAY) to = wb_any_element(reader, to);
    if (to->type->kind == WB_VALUE) {
        add_assignment(reader, end, to, wb_new_node(reader, WB_NUMBER));
        return;
    }
    if (to->type->kind != WB_RECORD) return;
    record = to->type->record;
    if (record->visiting) return;
    record->visiting = true;
    for (struct wb_field *field = record->fields; field; field = field->next) {
        add_zeros(reader, end, member_of(reader, to, field));
    }
    for (struct wb_base *base = record->bases; base; base = base->next) {
        struct wb_node *part = wb_copy_of(reader, to);
        part->type = WB_NEW(&reader->program->arena, struct wb_type);
        *part->type = (struct wb_type){ .kind = WB_RECORD, .record = base->record };
        add_zeros(reader, end, part);
    }
    record->visiting = false;
}

/* The left side of ".a.b = x". All parts but the last are names of fields. */
static struct wb_node *
designated(struct wb_reader *reader, struct wb_node *to, const struct wb_cursors *parts)
{
    for (size_t i = 0; i + 1 < parts->count; i++) {
        CXCursor field = clang_getCursorReferenced(parts->items[i]);
        if (clang_getCursorKind(field) == CXCursor_FieldDecl) {
            to = member_of(reader, to, wb_read_field(reader, field));
        }
    }
    return to;
}

static void add_list(struct wb_reader *reader, struct wb_node ***end, struct wb_node *to,
                     CXCursor list);

static struct wb_node *
element_of(struct wb_reader *reader, struct wb_node *of, int64_t number)
{
    struct wb_node *node = wb_new_node(reader, WB_ELEMENT), *copy = wb_new_node(reader, of->kind);

    *copy = *of;
    copy->next = wb_new_node(reader, WB_NUMBER);
    copy->next->number = number;
    node->child = copy;
    node->type = of->type->to;
    return node;
}

static bool
listed_p(const struct wb_node *node)
{
    return node->type && (node->type->kind == WB_RECORD || node->type->kind == WB_ARRAY);
}

static void
add_element(struct wb_reader *reader, struct wb_node ***end, struct wb_node *to, CXCursor value)
{
    bool list = clang_getCursorKind(value) == CXCursor_InitListExpr;

    if (list && listed_p(to)) add_list(reader, end, to, value);
    else add_assignment(reader, end, to, wb_read_code(reader, value));
}

static void
add_array(struct wb_reader *reader, struct wb_node ***end, struct wb_node *to, CXCursor list)
{
    struct wb_cursors elements = {0};

    wb_children(list, &elements);
    for (size_t i = 0; i < elements.count; i++) {
        add_element(reader, end, element_of(reader, to, (int64_t)i), elements.items[i]);
    }
    free(elements.items);
}

/* An assignment for each element. Elements without a name are the fields in order. */
static void
add_list(struct wb_reader *reader, struct wb_node ***end, struct wb_node *to, CXCursor list)
{
    if (to->type->kind == WB_ARRAY) {
        add_array(reader, end, to, list);
        return;
    }
    struct wb_field *next = to->type->record->fields;
    struct wb_cursors elements = {0}, parts = {0};

    wb_children(list, &elements);
    for (size_t i = 0; i < elements.count; i++) {
        struct wb_node *element = NULL;
        CXCursor value = elements.items[i];
        wb_children(value, &parts);
        if (parts.count > 1 && clang_getCursorKind(parts.items[0]) == CXCursor_MemberRef) {
            element = designated(reader, to, &parts);
            value = parts.items[parts.count - 1];
        }
        else if (next) element = member_of(reader, to, next);
        if (element && element->kind == WB_MEMBER) add_element(reader, end, element, value);
        if (element && element->kind == WB_MEMBER) next = element->field->next;
    }
    free(elements.items);
    free(parts.items);
}

struct wb_node *
wb_read_list(struct wb_reader *reader, struct wb_node *to, CXCursor list)
{
    struct wb_node *first = NULL, **end = &first;

    if (clang_getCursorKind(list) != CXCursor_InitListExpr || !listed_p(to)) return NULL;
    if (to->type->kind == WB_RECORD) add_zeros(reader, &end, to);
    add_list(reader, &end, to, list);
    return first;
}

struct wb_node *
wb_read_zeros(struct wb_reader *reader, struct wb_node *to)
{
    struct wb_node *node = wb_new_node(reader, WB_SEQUENCE), **end = &node->child;

    if (to->type) add_zeros(reader, &end, to);
    return node;
}

/* The value is the nameless variable, after the assignments to its fields. */
struct wb_node *
wb_read_literal(struct wb_reader *reader, CXCursor cursor, const struct wb_cursors *children)
{
    struct wb_node *node = wb_new_node(reader, WB_SEQUENCE),
        *variable = wb_new_node(reader, WB_VARIABLE), **end = &node->child;
    struct wb_type *type = wb_read_type(reader, clang_getCursorType(cursor));
    bool bare = !children->count || clang_getCursorKind(cursor) == CXCursor_InitListExpr;
    CXCursor list = bare ? cursor : children->items[children->count - 1];

    if (type->kind != WB_RECORD || clang_getCursorKind(list) != CXCursor_InitListExpr) {
        return wb_node_with(reader, WB_ANY, children);
    }
    variable->type = type;
    variable->variable = WB_NEW(&reader->program->arena, struct wb_variable);
    variable->variable->name = wb_name(reader->program, "");
    variable->variable->type = type;
    add_zeros(reader, &end, variable);
    add_list(reader, &end, variable, list);
    *end = variable;
    node->type = type;
    return node;
}
