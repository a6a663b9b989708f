/* containers.c - std's containers of VALUEs: which elements an expression stands for.
 *
 *     p->list.push_back(v);                     p->list[?] = v;
 *     p->map[k] = v;                            p->map[?] = v;
 *     auto it = p->map.find(k); it->second = v  VALUE *it = &p->map[?]; *it = v;
 *     auto &[k, x] = p->pair; x = v;            VALUE &x = p->pair[?]; x = v;
 *
 * A container is read as an array of its VALUEs: it does not matter where its elements are. So are
 * a pair, a tuple, an optional and an atomic. An iterator is read as a pointer to any element, and
 * so is a smart pointer.
 */
#include "barriers/read/reader.h"

#include <stdlib.h>
#include <string.h>

/* ---- elements ---- */

/* The type of a container, or of the one that a pointer leads to. NULL: the object is neither. */
static struct wb_type *
container_type(struct wb_reader *reader, CXCursor object)
{
    CXType type = clang_getCursorType(object), to = clang_getPointeeType(type);

    if (to.kind != CXType_Invalid) type = to;
    struct wb_type *read = wb_read_type(reader, type);
    bool container = wb_element_type(reader, type).kind != CXType_Invalid;
    return container && read->kind == WB_ARRAY ? read : NULL;
}

/* Any element of what the node stands for. All of them have the same index. */
static struct wb_node *
any_element(struct wb_reader *reader, struct wb_node *container, struct wb_type *type)
{
    struct wb_node *node = wb_node_around(reader, WB_ELEMENT, container);

    container->next = wb_new_node(reader, WB_NUMBER);
    container->next->number = -1;
    node->type = type;
    return node;
}

static struct wb_node *
element_of(struct wb_reader *reader, CXCursor object)
{
    return any_element(reader, wb_read_code(reader, object), container_type(reader, object)->to);
}

struct wb_node *
wb_pointer_to(struct wb_reader *reader, struct wb_node *node)
{
    struct wb_type *type = wb_pointer_type(reader, node->type);

    node = wb_node_around(reader, WB_ADDRESS, node);
    node->type = type;
    return node;
}

bool
wb_object_of(CXCursor call, CXCursor method, CXCursor *object)
{
    struct wb_cursors children = {0};
    enum CXCursorKind kind = clang_getCursorKind(method);
    bool found;

    if (kind != CXCursor_CXXMethod && kind != CXCursor_ConversionFunction) return false;
    wb_children(call, &children);
    found = children.count > 0;
    if (found) *object = children.items[0];
    if (found && clang_getCursorKind(*object) == CXCursor_MemberRefExpr &&
        clang_getCursorKind(clang_getCursorReferenced(*object)) == kind) {
        wb_children(*object, &children);
        found = children.count > 0;
        if (found) *object = children.items[0];
    }
    if (found) *object = wb_innermost(*object); /* below a conversion to a base class */
    free(children.items);
    return found;
}

/* ---- what is put into a container ---- */

static struct wb_node *
assign_element(struct wb_reader *reader, CXCursor call, struct wb_node *element,
               struct wb_node *value)
{
    if (value->type && value->type->kind == WB_POINTER && element->type->kind == WB_VALUE) {
        value = wb_node_around(reader, WB_POINTEE, value); /* a range: what its iterators lead to */
    }
    return wb_assignment(reader, call, element, value);
}

/* True for an expression that makes a pair or the like of its arguments. */
static bool
makes_p(CXCursor cursor)
{
    CXCursor called = clang_getCursorReferenced(cursor);

    if (clang_getCursorKind(cursor) == CXCursor_InitListExpr) return true;
    if (clang_getCursorKind(cursor) != CXCursor_CallExpr || !wb_of_std_p(called)) return false;
    return clang_getCursorKind(called) == CXCursor_Constructor || wb_named_p(called, "make_pair") ||
           wb_named_p(called, "make_tuple") || wb_named_p(called, "make_optional");
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

/* Appends the assignments of the VALUEs that the expression has or makes a thing of. */
static void
add_values(struct wb_reader *reader, CXCursor call, CXCursor object, CXCursor value,
           struct wb_node ***end)
{
    struct wb_cursors children = {0};

    value = moved(value);
    if (wb_value_p(reader, clang_getCursorType(value))) {
        **end = assign_element(reader, call, element_of(reader, object),
                               wb_read_code(reader, value));
        *end = &(**end)->next;
        return;
    }
    if (makes_p(value)) wb_children(value, &children);
    for (size_t i = 0; i < children.count; i++) {
        if (!clang_isExpression(clang_getCursorKind(children.items[i]))) continue;
        add_values(reader, call, object, children.items[i], end);
    }
    free(children.items);
}

/* A method that puts its last argument, or each VALUE of its arguments, into the container. */
static struct wb_node *
read_insertion(struct wb_reader *reader, CXCursor call, CXCursor object, bool last)
{
    struct wb_node *node = wb_new_node(reader, WB_SEQUENCE), **end = &node->child;
    bool of_values = container_type(reader, object)->to->kind == WB_VALUE;
    int count = clang_Cursor_getNumArguments(call);
    bool found = false;

    for (int i = 0; i < count; i++) {
        CXCursor argument = clang_Cursor_getArgument(call, (unsigned)i);
        struct wb_node **before = end;
        if (of_values) add_values(reader, call, object, argument, &end);
        found |= end != before;
        if (end != before) continue;
        struct wb_node *value = wb_read_code(reader, argument);
        bool whole = last && i + 1 == count && !found;
        *end = whole && !(of_values && makes_p(moved(argument))) ?
               assign_element(reader, call, element_of(reader, object), value) : value;
        while (*end) end = &(*end)->next;
    }
    return node;
}

/* The whole container becomes another one, or holds the VALUEs on the right. */
static struct wb_node *
read_container_assignment(struct wb_reader *reader, CXCursor call, CXCursor object, CXCursor value)
{
    struct wb_node *node = wb_new_node(reader, WB_SEQUENCE), **end = &node->child;
    struct wb_type *type = container_type(reader, object);

    if (type->to->kind == WB_VALUE) add_values(reader, call, object, value, &end);
    if (node->child || makes_p(moved(value))) return node;
    struct wb_node *to = wb_read_code(reader, object);
    to->type = type;
    *end = wb_assignment(reader, call, to, wb_read_code(reader, value));
    return node;
}

/* ---- methods ---- */

/* What is called on an iterator or a smart pointer, which is read as a pointer. */
static struct wb_node *
read_pointer_call(struct wb_reader *reader, CXCursor call, CXCursor object, const char *name)
{
    static const char *const moving[] = {"get", "operator++", "operator--", "operator->", NULL};
    struct wb_node *pointer, *value;

    if (clang_getCanonicalType(clang_getCursorType(object)).kind != CXType_Record) return NULL;
    pointer = wb_read_code(reader, object);
    if (!pointer->type || pointer->type->kind != WB_POINTER) return NULL;
    if (wb_among_p(name, moving)) return pointer;
    if (!strcmp(name, "operator*")) return wb_node_around(reader, WB_POINTEE, pointer);
    if (strcmp(name, "operator=") && strcmp(name, "reset")) return NULL;
    int count = clang_Cursor_getNumArguments(call);
    value = count > 0 ?
            wb_read_code(reader, clang_Cursor_getArgument(call, (unsigned)count - 1)) :
            wb_new_node(reader, WB_NUMBER);
    return wb_assignment(reader, call, pointer, value);
}

struct wb_node *
wb_read_converted(struct wb_reader *reader, CXCursor object)
{
    return container_type(reader, object) ? element_of(reader, object) :
           wb_read_code(reader, object);
}

struct wb_node *
wb_read_std_method(struct wb_reader *reader, CXCursor call, CXCursor method)
{
    static const char *const elements[] = {"at", "back", "front", "load", "operator*", "operator->",
                                           "operator[]", "top", "value", NULL};
    static const char *const pointers[] = {"begin", "cbegin", "cend", "crbegin", "crend", "data",
                                           "end", "equal_range", "find", "lower_bound", "rbegin",
                                           "rend", "upper_bound", NULL};
    static const char *const last[] = {"emplace", "emplace_back", "emplace_front", "exchange",
                                       "insert", "insert_or_assign", "push", "push_back",
                                       "push_front", "store", "try_emplace", NULL};
    static const char *const values[] = {"assign", "fill", "resize", NULL};
    const char *name = wb_spelling(reader, method);
    int count = clang_Cursor_getNumArguments(call);
    CXCursor object, value;

    if (!wb_object_of(call, method, &object)) return NULL;
    if (!container_type(reader, object)) return read_pointer_call(reader, call, object, name);
    if (wb_among_p(name, elements)) {
        struct wb_node *element = element_of(reader, object);
        return strcmp(name, "operator->") ? element : wb_pointer_to(reader, element);
    }
    if (wb_among_p(name, pointers)) return wb_pointer_to(reader, element_of(reader, object));
    if (wb_among_p(name, last)) return read_insertion(reader, call, object, true);
    if (wb_among_p(name, values)) return read_insertion(reader, call, object, false);
    if (count < 1 || (strcmp(name, "operator=") && strcmp(name, "swap"))) return NULL;
    value = clang_Cursor_getArgument(call, (unsigned)count - 1);
    return read_container_assignment(reader, call, object, value);
}

/* ---- functions ---- */

/* Those that copy from one iterator to another: which argument gives, and which one takes. */
static const struct {
    const char *name;
    int         count, from, to;
} copies[] = {
    {"copy", 3, 0, 2}, {"copy_backward", 3, 0, 2}, {"copy_if", 4, 0, 2}, {"copy_n", 3, 0, 2},
    {"fill", 3, 2, 0}, {"fill_n", 3, 2, 0}, {"move", 3, 0, 2}, {"swap_ranges", 3, 0, 2},
    {"uninitialized_copy", 3, 0, 2},
};

static struct wb_node *
read_copy(struct wb_reader *reader, CXCursor call, int from, int to)
{
    struct wb_node *pointer = wb_read_code(reader, clang_Cursor_getArgument(call, (unsigned)to));

    if (!pointer->type || pointer->type->kind != WB_POINTER) return NULL;
    struct wb_node *what = wb_read_code(reader, clang_Cursor_getArgument(call, (unsigned)from));
    struct wb_node *element = wb_node_around(reader, WB_POINTEE, pointer);
    if (element->type->kind == WB_VALUE) return assign_element(reader, call, element, what);
    return NULL;
}

/* for_each(begin, end, lambda): the parameter of the lambda is an element. */
static struct wb_node *
read_for_each(struct wb_reader *reader, CXCursor call)
{
    struct wb_node *pointer = wb_read_code(reader, clang_Cursor_getArgument(call, 0));
    CXCursor lambda = wb_innermost(clang_Cursor_getArgument(call, 2));
    struct wb_node *node = wb_new_node(reader, WB_LOOP), **end = &node->child;
    struct wb_cursors children = {0};

    if (clang_getCursorKind(lambda) == CXCursor_LambdaExpr) wb_children(lambda, &children);
    for (size_t i = 0; i < children.count; i++) {
        if (clang_getCursorKind(children.items[i]) != CXCursor_ParmDecl || !pointer->type ||
            pointer->type->kind != WB_POINTER) continue;
        *end = wb_read_element_variable(reader, children.items[i],
                                        wb_node_around(reader, WB_POINTEE, pointer));
        end = &(*end)->next;
        break;
    }
    *end = wb_read_code(reader, lambda);
    free(children.items);
    return node;
}

struct wb_node *
wb_read_std_function(struct wb_reader *reader, CXCursor call, CXCursor called)
{
    static const char *const pointers[] = {"back_inserter", "begin", "data", "end",
                                           "front_inserter", "inserter", NULL};
    const char *name = wb_spelling(reader, called);
    int count = clang_Cursor_getNumArguments(call);
    CXCursor first;

    if (count < 1) return NULL;
    first = clang_Cursor_getArgument(call, 0);
    for (size_t i = 0; i < sizeof(copies) / sizeof(copies[0]); i++) {
        if (count == copies[i].count && !strcmp(name, copies[i].name)) {
            return read_copy(reader, call, copies[i].from, copies[i].to);
        }
    }
    if (count == 3 && !strcmp(name, "for_each")) return read_for_each(reader, call);
    if (!container_type(reader, first)) return NULL;
    if (!strcmp(name, "get")) return element_of(reader, first);
    return wb_among_p(name, pointers) ? wb_pointer_to(reader, element_of(reader, first)) : NULL;
}

/* ---- first and second of a pair ---- */

struct wb_node *
wb_read_std_member(struct wb_reader *reader, CXCursor member, CXCursor object)
{
    struct wb_type *wanted = wb_read_type(reader, clang_getCursorType(member)), *type;
    bool value = clang_getCanonicalType(clang_getCursorType(member)).kind == CXType_ULong;

    if (!wb_of_std_p(clang_getCursorReferenced(member))) return NULL;
    struct wb_node *node = wb_read_code(reader, object);
    if (node->type && node->type->kind == WB_POINTER) {
        node = wb_node_around(reader, WB_POINTEE, node);
    }
    if (!(type = node->type)) return NULL;
    if (type->kind == WB_VALUE) return value ? node : NULL;
    if (type->kind == WB_RECORD) return wanted->kind == WB_RECORD ? node : NULL;
    if (type->kind != WB_ARRAY || value != (type->to->kind == WB_VALUE)) return NULL;
    return any_element(reader, node, type->to);
}

/* ---- variables that stand for elements ---- */

/* A variable of the type auto & has the type of what it is bound to. */
struct wb_node *
wb_read_element_variable(struct wb_reader *reader, CXCursor declaration, struct wb_node *element)
{
    struct wb_node *node = wb_new_node(reader, WB_DECLARE);
    CXType type = clang_getCursorType(declaration);
    bool reference = type.kind == CXType_LValueReference || type.kind == CXType_RValueReference;

    node->variable = wb_read_variable(reader, declaration);
    node->place = wb_place_of(reader, declaration);
    node->variable->reference = reference && element->type;
    if (node->variable->reference) {
        node->child = wb_pointer_to(reader, element);
        node->variable->type = node->child->type;
    }
    else {
        node->child = element;
        if (element->type) node->variable->type = element->type;
    }
    return node;
}

bool
wb_binding_p(CXCursor cursor)
{
    CXString spelling = clang_getCursorSpelling(cursor);
    bool binding = clang_getCursorKind(cursor) == CXCursor_UnexposedDecl &&
                   clang_getCString(spelling)[0] == '[';

    clang_disposeString(spelling);
    return binding;
}

/* The variables of a structured binding to the thing that the node stands for. */
static struct wb_node *
bind_parts(struct wb_reader *reader, const struct wb_cursors *parts, const struct wb_node *thing)
{
    struct wb_node *first = NULL, **end = &first;

    for (size_t i = 0; i < parts->count; i++) {
        CXCursor part = parts->items[i];
        struct wb_node *copy = wb_new_node(reader, WB_ANY);
        if (clang_getCursorKind(part) != CXCursor_UnexposedDecl ||
            clang_getCanonicalType(clang_getCursorType(part)).kind != CXType_ULong) continue;
        *copy = *thing; /* a node can be in one list only */
        copy->next = NULL;
        if (copy->type->kind == WB_ARRAY) copy = any_element(reader, copy, copy->type->to);
        if (copy->type->kind != WB_VALUE) continue;
        *end = wb_read_element_variable(reader, part, copy);
        (*end)->child = wb_pointer_to(reader, copy);
        (*end)->variable->type = (*end)->child->type;
        (*end)->variable->reference = true;
        end = &(*end)->next;
    }
    return first;
}

/* Variables that are copies are read as if they were references. */
struct wb_node *
wb_read_binding(struct wb_reader *reader, CXCursor binding)
{
    struct wb_cursors parts = {0};
    struct wb_node *first = NULL, *thing = NULL;

    wb_children(binding, &parts);
    if (parts.count > 0) thing = wb_read_code(reader, parts.items[parts.count - 1]);
    if (thing && thing->type) first = bind_parts(reader, &parts, thing);
    free(parts.items);
    return first ? first : thing ? thing : wb_new_node(reader, WB_ANY);
}

/* libclang tells the variable before or behind the list. */
struct wb_node *
wb_read_range_for(struct wb_reader *reader, const struct wb_cursors *children)
{
    struct wb_node *loop = wb_new_node(reader, WB_LOOP), **end = &loop->child, *element;
    CXCursor variable, list;

    if (children->count != 3) return wb_node_with(reader, WB_LOOP, children);
    bool first = !clang_isExpression(clang_getCursorKind(children->items[0]));
    variable = children->items[!first];
    list = children->items[first];
    if (!container_type(reader, list)) return wb_node_with(reader, WB_LOOP, children);
    element = element_of(reader, list);
    if (wb_binding_p(variable)) {
        struct wb_cursors parts = {0};
        wb_children(variable, &parts);
        *end = bind_parts(reader, &parts, element);
        free(parts.items);
    }
    else if (clang_getCursorKind(variable) == CXCursor_VarDecl) {
        *end = wb_read_element_variable(reader, variable, element);
    }
    else return wb_node_with(reader, WB_LOOP, children);
    while (*end) end = &(*end)->next;
    *end = wb_read_code(reader, children->items[2]);
    return loop;
}
