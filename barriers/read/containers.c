/* containers.c - std's containers of VALUEs: which elements an expression stands for.
 *
 *     p->list[i] = v;                           p->list[?] = v;
 *     p->map[k] = v;                            p->map[?] = v;
 *     p->rows[i].back() = v;                    p->rows[?][?] = v;
 *     auto it = p->map.find(k); it->second = v  VALUE *it = &p->map[?]; *it = v;
 *     auto &[k, x] = p->pair; x = v;            VALUE &x = p->pair[?]; x = v;
 *
 * A container is read as an array of its VALUEs, of structs or of pointers: it does not matter
 * where its elements are. So are a pair, a tuple, an optional and an atomic. An iterator is read as
 * a pointer to any element, and so is a smart pointer. A method that is not known stores nothing.
 *
 * libclang says of an element that it is an unsigned long. That it is a VALUE is known from the
 * declaration of the container, so the type of a node counts rather than that of its cursor.
 */
#include "barriers/read/reader.h"

#include <stdlib.h>
#include <string.h>

/* ---- elements ---- */

/* What a container is, or the one that a pointer leads to. */
static struct wb_node *
read_container(struct wb_reader *reader, CXCursor object)
{
    struct wb_node *node = wb_read_code(reader, object);
    CXType type = clang_getCursorType(object), to = clang_getPointeeType(type);

    if (clang_getCanonicalType(type).kind == CXType_Pointer) {
        node = wb_node_around(reader, WB_POINTEE, node);
    }
    if (node->type && node->type->kind != WB_RECORD) return node;
    struct wb_type *read = wb_read_type(reader, to.kind == CXType_Invalid ? type : to);
    if (read->kind == WB_ARRAY || !node->type) node->type = read;
    return node;
}

/* All of them have the same index. */
struct wb_node *
wb_any_element(struct wb_reader *reader, const struct wb_node *container)
{
    struct wb_node *node = wb_node_around(reader, WB_ELEMENT, wb_copy_of(reader, container));

    node->child->next = wb_new_node(reader, WB_NUMBER);
    node->child->next->number = -1;
    node->type = container->type->to;
    return node;
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

struct wb_node *
wb_read_converted(struct wb_reader *reader, CXCursor object)
{
    struct wb_node *node = read_container(reader, object);

    return node->type && node->type->kind == WB_ARRAY ? wb_any_element(reader, node) : node;
}

/* ---- methods ---- */

unsigned
wb_first_argument(CXCursor call, CXCursor method)
{
    int declared = clang_getNumArgTypes(clang_getCursorType(method));

    return clang_Cursor_getNumArguments(call) > declared;
}

static bool
pointer_p(const struct wb_node *node)
{
    return node->type && node->type->kind == WB_POINTER;
}

/* "p = q", "p.reset(q)". An iterator that was declared without a value gets its type here. */
static struct wb_node *
assign_pointer(struct wb_reader *reader, CXCursor call, struct wb_node *pointer, unsigned first)
{
    struct wb_node *value = clang_Cursor_getNumArguments(call) > (int)first ?
                            wb_read_code(reader, clang_Cursor_getArgument(call, first)) :
                            wb_new_node(reader, WB_NUMBER);

    if (pointer->kind == WB_VARIABLE && !pointer_p(pointer) && pointer_p(value)) {
        pointer->type = pointer->variable->type = value->type;
    }
    return wb_assignment(reader, call, pointer, value);
}

/* What is called on an iterator or a smart pointer, which is read as a pointer. */
static struct wb_node *
read_pointer_call(struct wb_reader *reader, CXCursor call, struct wb_node *pointer,
                  enum wb_std_class class, const char *name, unsigned first)
{
    static const char *const moving[] = {"base", "get", "operator++", "operator--", "operator->",
                                         "operator+", "operator+=", "operator-=", "release", NULL};
    static const char *const assigning[] = {"operator=", "reset", NULL};
    int count = clang_Cursor_getNumArguments(call);
    struct wb_node *node;

    if (wb_among_p(name, assigning)) return assign_pointer(reader, call, pointer, first);
    if (!pointer_p(pointer)) return wb_read_evaluation(reader, call, pointer, first);
    if (wb_among_p(name, moving)) return pointer;
    if (!strcmp(name, "operator*") || (class == WB_STD_ITERATOR && !strcmp(name, "operator[]"))) {
        return wb_node_around(reader, WB_POINTEE, pointer);
    }
    if (count > (int)first && !strcmp(name, "operator[]")) {
        node = wb_node_around(reader, WB_ELEMENT, pointer);
        pointer->next = wb_read_code(reader, clang_Cursor_getArgument(call, first));
        node->type = pointer->type->to;
        return node;
    }
    if (count > (int)first && !strcmp(name, "swap")) {
        node = wb_read_code(reader, clang_Cursor_getArgument(call, first));
        return wb_exchange(reader, call, pointer, node, true);
    }
    bool moves = wb_std_class_of(clang_getCursorType(call)) == WB_STD_ITERATOR; /* it - 1 */
    return moves ? pointer : wb_read_evaluation(reader, call, pointer, first);
}

/* True if the member has the type of such a node. */
static bool
fits_p(CXType member, const struct wb_type *type)
{
    enum wb_std_class class = wb_std_class_of(member);

    member = clang_getCanonicalType(member);
    switch (type->kind) {
      case WB_VALUE: return member.kind == CXType_ULong;
      case WB_ARRAY: return class == WB_STD_LIST || class == WB_STD_MAP || class == WB_STD_TUPLE;
      case WB_POINTER: return class == WB_STD_POINTER || class == WB_STD_ITERATOR ||
                              member.kind == CXType_Pointer;
      case WB_RECORD: return member.kind == CXType_Record && class == WB_STD_OTHER;
      default: return false;
    }
}

/* True for a map of which the keys are read, and not the values. */
static bool
keys_p(CXType type, const struct wb_node *container)
{
    type = clang_getCanonicalType(type);
    return wb_std_class_of(type) == WB_STD_MAP &&
           !fits_p(clang_Type_getTemplateArgumentAsType(type, 1), container->type->to);
}

/* "map[key]", where the element is the key: it is stored. */
static struct wb_node *
read_key(struct wb_reader *reader, CXCursor call, struct wb_node *container, const char *name)
{
    struct wb_node *node = wb_new_node(reader, WB_SEQUENCE), **end = &node->child;

    wb_append(&end, wb_read_insertion(reader, call, container, name));
    wb_append(&end, wb_new_node(reader, WB_ANY));
    return node;
}

static struct wb_node *
read_container_call(struct wb_reader *reader, CXCursor call, struct wb_node *container,
                    const char *name, unsigned first)
{
    static const char *const elements[] = {"at", "back", "front", "load", "operator*", "operator[]",
                                           "top", "value", NULL};
    static const char *const pointers[] = {"begin", "cbegin", "cend", "crbegin", "crend", "data",
                                           "end", "equal_range", "erase", "find", "lower_bound",
                                           "operator->", "rbegin", "rend", "upper_bound", NULL};
    static const char *const putting[] = {
        "assign", "emplace", "emplace_back", "emplace_front", "emplace_hint", "exchange", "fill",
        "insert", "insert_after", "insert_or_assign", "push", "push_back", "push_front", "resize",
        "store", "try_emplace", NULL
    };
    int count = clang_Cursor_getNumArguments(call);

    if (wb_among_p(name, elements)) return wb_any_element(reader, container);
    if (wb_among_p(name, pointers)) {
        return wb_pointer_to(reader, wb_any_element(reader, container));
    }
    if (wb_among_p(name, putting)) return wb_read_insertion(reader, call, container, name);
    if (count <= (int)first) return container; /* it is cleared, or asked for something */
    bool splices = !strncmp(name, "splice", strlen("splice")) && count > (int)first + 1;
    CXCursor value = clang_Cursor_getArgument(call, first + splices); /* behind a position */
    if (splices || !strcmp(name, "merge") || !strcmp(name, "operator=")) {
        return wb_read_replacement(reader, call, container, value);
    }
    if (!strcmp(name, "swap")) {
        return wb_exchange(reader, call, container, wb_read_code(reader, value), true);
    }
    return wb_read_evaluation(reader, call, container, first);
}

struct wb_node *
wb_read_std_method(struct wb_reader *reader, CXCursor call, CXCursor method)
{
    const char *name = wb_spelling(reader, method);
    unsigned first = wb_first_argument(call, method);
    CXCursor object;

    if (!wb_of_std_p(method) || !wb_object_of(call, method, &object)) return NULL;
    enum wb_std_class class = wb_std_class_of(clang_getCursorType(object));
    struct wb_node *node = read_container(reader, object);
    if (node->type && node->type->kind == WB_ARRAY) {
        bool key = keys_p(clang_getCursorType(object), node) && !strcmp(name, "operator[]");
        return key ? read_key(reader, call, node, name) :
               read_container_call(reader, call, node, name, first);
    }
    if (pointer_p(node) || class == WB_STD_ITERATOR) {
        return read_pointer_call(reader, call, node, class, name, first);
    }
    return wb_read_evaluation(reader, call, node, first);
}

/* ---- first and second of a pair ---- */

/* An element of a map is read as its VALUE, or as what leads to one: "it->second" is "*it", unless
 * it is the pair that is read as an array. */
struct wb_node *
wb_read_std_member(struct wb_reader *reader, CXCursor member, CXCursor object)
{
    CXType type = clang_getCursorType(member), of = clang_getCursorType(object);
    const struct wb_type *to;

    if (!wb_of_std_p(clang_getCursorReferenced(member)) ||
        wb_std_class_of(of) != WB_STD_TUPLE) return NULL;
    struct wb_node *node = wb_read_code(reader, object);
    if (pointer_p(node) && clang_getCanonicalType(of).kind == CXType_Pointer) {
        node = wb_node_around(reader, WB_POINTEE, node);
    }
    if (!node->type) return wb_new_node(reader, WB_ANY);
    to = node->type->kind == WB_ARRAY ? node->type->to : NULL;
    bool part = to && fits_p(type, to);
    if (fits_p(type, node->type) && !(part && to->kind == WB_ARRAY)) return node;
    return part ? wb_any_element(reader, node) : wb_new_node(reader, WB_ANY);
}

/* ---- variables that stand for elements ---- */

/* A variable of the type auto & has the type of what it is bound to. */
struct wb_node *
wb_read_element_variable(struct wb_reader *reader, CXCursor declaration, struct wb_node *element)
{
    struct wb_node *node = wb_declaration(reader, wb_read_variable(reader, declaration), NULL);
    CXType type = clang_getCursorType(declaration);
    bool reference = type.kind == CXType_LValueReference || type.kind == CXType_RValueReference;

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

/* A variable that is a reference to what the node stands for. */
static struct wb_node *
declare_reference(struct wb_reader *reader, CXCursor cursor, struct wb_node *to)
{
    struct wb_node *node = wb_declaration(reader, wb_read_variable(reader, cursor),
                                          wb_pointer_to(reader, to));

    node->variable->type = node->child->type;
    node->variable->reference = true;
    return node;
}

/* The declaration of a part of what is bound. Returns NULL if the analysis does not follow it. */
static struct wb_node *
bind_part(struct wb_reader *reader, CXCursor part, const struct wb_node *thing)
{
    CXType type = clang_getCursorType(part);
    struct wb_node *node, *copy = wb_copy_of(reader, thing);

    if (pointer_p(thing) && wb_std_class_of(type) == WB_STD_ITERATOR) { /* of insert() */
        node = wb_declaration(reader, wb_read_variable(reader, part), copy);
        node->variable->type = copy->type;
        return node;
    }
    if (!fits_p(type, copy->type) && copy->type->kind == WB_ARRAY) {
        copy = wb_any_element(reader, copy);
    }
    return fits_p(type, copy->type) ? declare_reference(reader, part, copy) : NULL;
}

/* Of a struct, a part is a field. */
static struct wb_node *
bind_field(struct wb_reader *reader, CXCursor part, const struct wb_node *thing,
           struct wb_field *field)
{
    struct wb_node *member = wb_node_around(reader, WB_MEMBER, wb_copy_of(reader, thing));

    member->field = field;
    member->type = field->type;
    return declare_reference(reader, part, member);
}

/* The variables of a structured binding to the thing that the node stands for. */
static struct wb_node *
bind_parts(struct wb_reader *reader, const struct wb_cursors *parts, const struct wb_node *thing)
{
    struct wb_node *first = NULL, **end = &first, *node;
    CXType last = clang_getCursorType(parts->items[parts->count - 1]);
    bool record = thing->type->kind == WB_RECORD && wb_std_class_of(last) == WB_STD_OTHER;
    struct wb_field *field = record ? thing->type->record->fields : NULL;

    for (size_t i = 0; i < parts->count; i++) {
        if (clang_getCursorKind(parts->items[i]) != CXCursor_UnexposedDecl) continue;
        node = field ? bind_field(reader, parts->items[i], thing, field) :
               bind_part(reader, parts->items[i], thing);
        if (field) field = field->next;
        if (node) wb_append(&end, node);
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
    struct wb_node *loop = wb_new_node(reader, WB_LOOP), **end = &loop->child, *list;
    CXCursor variable;

    if (children->count != 3) return wb_node_with(reader, WB_LOOP, children);
    bool first = !clang_isExpression(clang_getCursorKind(children->items[0]));
    variable = children->items[!first];
    if (!wb_binding_p(variable) && clang_getCursorKind(variable) != CXCursor_VarDecl) {
        return wb_node_with(reader, WB_LOOP, children);
    }
    list = read_container(reader, children->items[first]);
    if (!list->type || list->type->kind != WB_ARRAY) {
        wb_append(&end, list);
        wb_append(&end, wb_read_code(reader, variable));
    }
    else if (wb_binding_p(variable)) {
        struct wb_cursors parts = {0};
        wb_children(variable, &parts);
        wb_append(&end, bind_parts(reader, &parts, wb_any_element(reader, list)));
        free(parts.items);
    }
    else {
        wb_append(&end, wb_read_element_variable(reader, variable, wb_any_element(reader, list)));
    }
    wb_append(&end, wb_read_code(reader, children->items[2]));
    return loop;
}
