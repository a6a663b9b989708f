/* insertion.c - what is put into one of std's containers.
 *
 *     p->list.push_back(v);                     p->list[?] = v;
 *     p->map.insert({k, v});                    p->map[?] = v;
 *     p->rows.push_back({v, w});                p->rows[?][?] = v; p->rows[?][?] = w;
 *     p->items.emplace_back(v);                 item(&p->items[?], v);
 *     p->list.insert(end, first, last);         p->list[?] = *last;
 *
 * A list in braces, and a call that makes a pair or a container of its arguments, is read as its
 * parts. Which part of a nested container a part becomes is known from its type alone.
 */
#include "barriers/read/reader.h"

#include <stdlib.h>
#include <string.h>

/* A call that puts something somewhere. */
struct insertion {
    struct wb_reader *reader;
    CXCursor          call;
    struct wb_node  **end;    /* of the list of what it does */
    bool              stores; /* it has stored something */
};

bool
wb_std_maker_p(CXCursor function)
{
    return wb_named_p(function, "make_optional") || wb_named_p(function, "make_pair") ||
           wb_named_p(function, "make_tuple");
}

/* True for an expression that makes a pair or a container of its arguments. */
static bool
makes_p(CXCursor cursor)
{
    CXCursor called = clang_getCursorReferenced(cursor);

    if (clang_getCursorKind(cursor) == CXCursor_InitListExpr) return true;
    if (clang_getCursorKind(cursor) == CXCursor_CXXFunctionalCastExpr) {
        return wb_std_class_of(clang_getCursorType(cursor)) != WB_STD_OTHER;
    }
    if (clang_getCursorKind(cursor) != CXCursor_CallExpr || !wb_of_std_p(called)) return false;
    if (clang_getCursorKind(called) == CXCursor_Constructor) {
        enum wb_std_class class = wb_std_class_of(clang_getCursorType(cursor));
        return class == WB_STD_LIST || class == WB_STD_MAP || class == WB_STD_TUPLE;
    }
    return wb_std_maker_p(called);
}

/* The expression below std::move. */
static CXCursor
moved(CXCursor cursor)
{
    cursor = wb_innermost(cursor);
    while (clang_getCursorKind(cursor) == CXCursor_CallExpr &&
           clang_Cursor_getNumArguments(cursor) == 1 &&
           wb_named_p(clang_getCursorReferenced(cursor), "move") &&
           wb_of_std_p(clang_getCursorReferenced(cursor))) {
        cursor = wb_innermost(clang_Cursor_getArgument(cursor, 0));
    }
    return cursor;
}

/* ---- one value ---- */

static unsigned
dimensions_of(const struct wb_type *type)
{
    unsigned count = 0;

    for (; type->kind == WB_ARRAY; type = type->to) count++;
    return count;
}

/* A pointer to a derived class may be put where one to its base is. */
static bool
same_kind_p(const struct wb_type *one, const struct wb_type *other)
{
    if (!one || one->kind != other->kind) return false;
    if (one->kind == WB_RECORD) return one->record == other->record;
    if (one->kind == WB_POINTER) return one->to && other->to && one->to->kind == other->to->kind;
    return dimensions_of(one) == dimensions_of(other);
}

/* What the value becomes: a part of the container, as deep as it fits. Returns the innermost part
 * if it fits nowhere. */
static struct wb_node *
part_for(struct wb_reader *reader, const struct wb_node *to, const struct wb_type *type)
{
    struct wb_node *part = wb_copy_of(reader, to);

    while (part->type->kind == WB_ARRAY && !same_kind_p(type, part->type)) {
        part = wb_any_element(reader, part);
    }
    return part;
}

/* Stores a value, if it fits; otherwise evaluates it. last: of the arguments; so it may be the end
 * of a range. */
static void
put_value(struct insertion *insertion, const struct wb_node *to, CXCursor cursor, bool last)
{
    struct wb_reader *reader = insertion->reader;
    struct wb_node *value = wb_read_code(reader, cursor), *part;
    bool number = clang_getCanonicalType(clang_getCursorType(cursor)).kind == CXType_ULong;

    part = part_for(reader, to, value->type);
    bool iterator = last && value->type && value->type->kind == WB_POINTER &&
                    !same_kind_p(value->type, part->type);
    if (iterator) { /* what is copied is behind it */
        value = wb_node_around(reader, WB_POINTEE, value);
        part = part_for(reader, to, value->type);
    }
    if (value->type && value->type->kind == WB_VALUE && part->type->kind == WB_RECORD) {
        value = wb_read_somewhere(reader, insertion->call, part, value);
        insertion->stores = true;
    }
    else if (same_kind_p(value->type, part->type) ||
        (part->type->kind == WB_VALUE && number && last && !insertion->stores)) {
        value = wb_assignment(reader, insertion->call, part, value);
        insertion->stores = true;
    }
    wb_append(&insertion->end, value);
}

/* ---- parts of a value ---- */

/* A list in braces for a struct that the container has. */
static bool
put_list(struct insertion *insertion, const struct wb_node *to, CXCursor list)
{
    struct wb_reader *reader = insertion->reader;
    struct wb_type *type = wb_read_type(reader, clang_getCursorType(list));
    struct wb_node *part = part_for(reader, to, type);

    if (type->kind != WB_RECORD || !same_kind_p(type, part->type)) return false;
    struct wb_node *assignments = wb_read_list(reader, part, list);
    for (struct wb_node *each = assignments; each; each = each->next) {
        each->place = wb_place_of(reader, insertion->call);
    }
    wb_append(&insertion->end, assignments);
    insertion->stores = true;
    return true;
}

static void
put(struct insertion *insertion, const struct wb_node *to, CXCursor value, bool last)
{
    struct wb_cursors children = {0};

    value = moved(value);
    if (!makes_p(value)) {
        put_value(insertion, to, value, last);
        return;
    }
    if (clang_getCursorKind(value) == CXCursor_InitListExpr && put_list(insertion, to, value)) {
        return;
    }
    wb_code_children(value, &children);
    for (size_t i = 0; i < children.count; i++) {
        put(insertion, to, children.items[i], last && i + 1 == children.count);
    }
    free(children.items);
}

/* ---- methods ---- */

/* The container is evaluated once, whatever is put into it. */
static struct wb_node *
container_once(struct insertion *insertion, struct wb_node *container)
{
    struct wb_reader *reader = insertion->reader;
    struct wb_node *address = wb_pointer_to(reader, container);
    struct wb_variable *variable = wb_nameless(reader, address->type);

    wb_append(&insertion->end, wb_declaration(reader, variable, address));
    return wb_node_around(reader, WB_POINTEE, wb_variable_node(reader, variable));
}

/* emplace_back(v, 1): the constructor of the struct gets the arguments. from: the first of these.
 * Returns false if the elements are no structs. */
static bool
construct_element(struct insertion *insertion, const struct wb_node *container, CXType of,
                  unsigned from)
{
    struct wb_reader *reader = insertion->reader;
    bool map = wb_std_class_of(of) == WB_STD_MAP;
    CXType made = clang_Type_getTemplateArgumentAsType(clang_getCanonicalType(of), map);
    struct wb_node *element = wb_any_element(reader, container);

    if (element->type->kind != WB_RECORD ||
        wb_read_type(reader, made)->record != element->type->record) return false;
    for (unsigned i = 0; i < from; i++) {
        put(insertion, container, clang_Cursor_getArgument(insertion->call, i), false);
    }
    wb_append(&insertion->end, wb_read_passed_on(reader, insertion->call, made,
                                                 wb_pointer_to(reader, element), from));
    return true;
}

/* What the method returns: an element, an iterator, or an iterator and whether it is new. */
static struct wb_node *
result_of(struct wb_reader *reader, CXCursor call, const struct wb_node *container)
{
    CXCursor method = clang_getCursorReferenced(call);
    CXType type = clang_getCanonicalType(clang_getCursorResultType(method));
    enum wb_std_class class = wb_std_class_of(type);

    if (type.kind == CXType_LValueReference) return wb_any_element(reader, container);
    if (class != WB_STD_ITERATOR && class != WB_STD_TUPLE) return wb_new_node(reader, WB_ANY);
    return wb_pointer_to(reader, wb_any_element(reader, container));
}

static void
put_arguments(struct insertion *insertion, const struct wb_node *container, bool last)
{
    CXCursor call = insertion->call;
    unsigned count = (unsigned)clang_Cursor_getNumArguments(call);

    for (unsigned i = wb_first_argument(call, clang_getCursorReferenced(call)); i < count; i++) {
        put(insertion, container, clang_Cursor_getArgument(call, i), last && i + 1 == count);
    }
}

struct wb_node *
wb_read_insertion(struct wb_reader *reader, CXCursor call, struct wb_node *container,
                  const char *name)
{
    static const char *const sized[] = {"resize", NULL};
    struct wb_node *node = wb_new_node(reader, WB_SEQUENCE);
    struct insertion insertion = { .reader = reader, .call = call, .end = &node->child };
    bool emplaces = strstr(name, "emplace") != NULL;
    int count = clang_Cursor_getNumArguments(call);
    unsigned from = 0;
    CXCursor object;

    container = container_once(&insertion, container);
    wb_object_of(call, clang_getCursorReferenced(call), &object);
    CXType of = clang_getCursorType(object), to = clang_getPointeeType(of);
    if (to.kind != CXType_Invalid) of = to;
    if (count > 0 && wb_std_class_of(clang_getCursorType(clang_Cursor_getArgument(call, 0))) ==
        WB_STD_ITERATOR) from++; /* where */
    if (wb_std_class_of(of) == WB_STD_MAP) from++; /* the key */
    if (!emplaces || !construct_element(&insertion, container, of, from)) {
        put_arguments(&insertion, container, count > 1 || !wb_among_p(name, sized));
    }
    struct wb_node *result = result_of(reader, call, container);
    wb_append(&insertion.end, result);
    node->type = result->type;
    return node;
}

struct wb_node *
wb_read_replacement(struct wb_reader *reader, CXCursor call, struct wb_node *container,
                    CXCursor value)
{
    struct wb_node *node = wb_new_node(reader, WB_SEQUENCE);
    struct insertion insertion = { .reader = reader, .call = call, .end = &node->child };

    container = container_once(&insertion, container);
    put(&insertion, container, value, true);
    wb_append(&insertion.end, container);
    node->type = container->type;
    return node;
}

/* ---- new containers ---- */

/* libclang says of the arguments of make_pair that they are of the type unsigned long. */
static struct wb_type *
type_of_arguments(struct wb_reader *reader, CXCursor call)
{
    int count = clang_Cursor_getNumArguments(call);
    struct wb_type *type = NULL;

    for (int i = 0; i < count && !type; i++) {
        CXCursor argument = wb_innermost(clang_Cursor_getArgument(call, (unsigned)i));
        if (!wb_value_p(reader, clang_getCursorType(argument))) continue;
        type = wb_pointer_type(reader, wb_read_type(reader, clang_getCursorType(argument)));
        type->kind = WB_ARRAY;
    }
    return type;
}

/* A container that is empty, or full of zeros. */
static void
put_nothing(struct insertion *insertion, const struct wb_node *container)
{
    struct wb_reader *reader = insertion->reader;
    struct wb_node *part = part_for(reader, container, NULL);

    wb_append(&insertion->end, part->type->kind != WB_POINTER ? wb_read_zeros(reader, part) :
              wb_assignment(reader, insertion->call, part, wb_new_node(reader, WB_NUMBER)));
}

struct wb_node *
wb_read_container(struct wb_reader *reader, CXCursor call)
{
    struct wb_node *node = wb_new_node(reader, WB_SEQUENCE);
    struct insertion insertion = { .reader = reader, .call = call, .end = &node->child };
    struct wb_type *type = wb_read_type(reader, clang_getCursorType(call));

    if (type->kind != WB_ARRAY) type = type_of_arguments(reader, call);
    if (!type) return NULL;
    struct wb_node *made = wb_variable_node(reader, wb_nameless(reader, type));
    wb_append(&insertion.end, wb_declaration(reader, made->variable, NULL));
    put_arguments(&insertion, made, true);
    if (!insertion.stores) put_nothing(&insertion, made);
    wb_append(&insertion.end, made);
    node->type = type;
    return node;
}
