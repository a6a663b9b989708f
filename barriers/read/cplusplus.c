/* cplusplus.c - what C++ adds to C: references, std::swap, lambdas, methods.
 *
 *     VALUE &slot = p->a; slot = v;     VALUE *slot = &p->a; *slot = v;
 *     std::swap(p->a, v);               old = p->a; p->a = v; v = old;
 *     [=](VALUE v) { p->a = v; }        the code runs where the lambda is called; if that is
 *                                       nowhere, where it is made
 *     box->set(v)                       set(box, v): `this` is a parameter
 */
#include "barriers/read/reader.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- functions of std ---- */

struct wb_node *
wb_exchange(struct wb_reader *reader, CXCursor call, struct wb_node *one, struct wb_node *other,
            bool swap)
{
    struct wb_node *node = wb_new_node(reader, WB_SEQUENCE), **end = &node->child;
    struct wb_variable *old = wb_nameless(reader, one->type);
    struct wb_node *first = wb_copy_of(reader, other), *value = wb_variable_node(reader, old);

    wb_append(&end, wb_declaration(reader, old, wb_copy_of(reader, one)));
    wb_append(&end, wb_assignment(reader, call, one, first));
    wb_append(&end, swap ? wb_assignment(reader, call, other, value) : value);
    node->type = one->type;
    return node;
}

static struct wb_node *
read_exchange(struct wb_reader *reader, CXCursor call, bool swap)
{
    CXCursor first = clang_Cursor_getArgument(call, 0);
    struct wb_node *one = wb_read_code(reader, first);

    if (!one->type) one->type = wb_read_type(reader, clang_getCursorType(first));
    return wb_exchange(reader, call, one, wb_read_code(reader, clang_Cursor_getArgument(call, 1)),
                       swap);
}

/* An iterator, a smart pointer or a container that is made of other ones. */
static struct wb_node *
read_std_constructor(struct wb_reader *reader, CXCursor call)
{
    enum wb_std_class class = wb_std_class_of(clang_getCursorType(call));
    struct wb_node *node = NULL;

    if (class == WB_STD_POINTER || class == WB_STD_ITERATOR) {
        if (clang_Cursor_getNumArguments(call) == 0) return wb_new_node(reader, WB_NUMBER);
        node = wb_read_code(reader, clang_Cursor_getArgument(call, 0));
        return node->type && node->type->kind == WB_ARRAY ? /* of an inserter */
               wb_pointer_to(reader, wb_any_element(reader, node)) : node;
    }
    if (class != WB_STD_OTHER) node = wb_read_container(reader, call);
    return node ? node : wb_read_evaluation(reader, call, NULL, 0);
}

static struct wb_node *
read_passed(struct wb_reader *reader, CXCursor call, const char *name)
{
    static const char *const passing[] = {"as_const", "cref", "forward", "move",
                                          "move_if_noexcept", "ref", NULL};

    if (clang_Cursor_getNumArguments(call) != 1) return NULL;
    if (strcmp(name, "addressof") && !wb_among_p(name, passing)) return NULL;
    struct wb_node *node = wb_read_code(reader, clang_Cursor_getArgument(call, 0));
    return strcmp(name, "addressof") ? node : wb_pointer_to(reader, node);
}

struct wb_node *
wb_read_std_call(struct wb_reader *reader, CXCursor call, CXCursor called)
{
    static const char *const making[] = {"make_shared", "make_unique", NULL};
    int count = clang_Cursor_getNumArguments(call);
    const char *name = wb_spelling(reader, called);
    struct wb_node *node;
    CXCursor object;

    if (clang_getCursorKind(called) == CXCursor_ConversionFunction && !wb_method_p(called) &&
        wb_object_of(call, called, &object)) return wb_read_converted(reader, object);
    /* A copy of a thing is read as the thing: an iterator that is passed by value. */
    if (wb_copies_p(call, called) && (wb_of_std_p(called) || clang_CXXMethod_isDefaulted(called))) {
        return wb_read_code(reader, clang_Cursor_getArgument(call, 0));
    }
    if ((node = wb_read_std_method(reader, call, called)) || !wb_of_std_p(called)) return node;
    if (clang_getCursorKind(called) == CXCursor_Constructor) {
        return read_std_constructor(reader, call);
    }
    if ((node = read_passed(reader, call, name))) return node;
    if (count == 2 && !strcmp(name, "swap")) return read_exchange(reader, call, true);
    if (count == 2 && !strcmp(name, "exchange")) return read_exchange(reader, call, false);
    if (wb_among_p(name, making)) return wb_read_make(reader, call);
    return wb_read_std_function(reader, call, called);
}

/* ---- methods ---- */

struct wb_variable *
wb_self_of(struct wb_reader *reader, CXCursor method)
{
    struct wb_variable *self = WB_NEW(&reader->program->arena, struct wb_variable);
    CXType type = clang_getCursorType(clang_getCursorSemanticParent(method));

    self->name = wb_name(reader->program, "this");
    self->type = wb_pointer_type(reader, wb_read_type(reader, type));
    return self;
}

struct wb_node *
wb_read_self(struct wb_reader *reader)
{
    return reader->self ? wb_variable_node(reader, reader->self) : wb_new_node(reader, WB_ANY);
}

struct wb_node *
wb_read_object(struct wb_reader *reader, CXCursor call, CXCursor method)
{
    struct wb_node *node;
    CXCursor object;

    if (!wb_object_of(call, method, &object)) return wb_read_self(reader);
    node = wb_read_code(reader, object);
    return clang_getCanonicalType(clang_getCursorType(object)).kind == CXType_Pointer ? node :
           wb_node_around(reader, WB_ADDRESS, node);
}

struct wb_node *
wb_read_member_pointer(struct wb_reader *reader, const struct wb_cursors *operands)
{
    CXCursor address = wb_innermost(operands->items[1]), field = clang_getNullCursor();
    CXType object = clang_getCanonicalType(clang_getCursorType(operands->items[0]));
    struct wb_cursors children = {0};

    if (clang_getCursorKind(address) == CXCursor_UnaryOperator) {
        wb_code_children(address, &children);
        if (children.count == 1) field = clang_getCursorReferenced(children.items[0]);
    }
    free(children.items);
    if (clang_getCursorKind(field) != CXCursor_FieldDecl) return NULL;
    struct wb_node *node = wb_node_around(reader, WB_MEMBER,
                                          wb_read_code(reader, operands->items[0]));
    node->field = wb_read_field(reader, field);
    node->type = node->field->type;
    node->arrow = object.kind == CXType_Pointer;
    return node;
}

/* ---- variables ---- */

/* A variable of type auto & is a reference to what it is bound to; one that holds an iterator is a
 * pointer. */
void
wb_declare_as(struct wb_reader *reader, CXCursor declaration, struct wb_node *node)
{
    struct wb_type *type = node->child->type;
    struct wb_type *bound = node->child->kind == WB_ADDRESS ? node->child->child->type : NULL;
    bool whole = bound && (bound->kind == WB_ARRAY || bound->kind == WB_POINTER);

    if (wb_holds_values_p(node->child) || (node->variable->reference && whole)) {
        node->variable->type = bound ? wb_pointer_type(reader, bound) : type;
    }
    if (node->variable->reference) return;
    CXType own = clang_getCursorType(declaration);
    bool object = clang_getCanonicalType(own).kind == CXType_Record;

    if (wb_without_casts(node->child)->kind == WB_CLOSURE) {
        node->variable->closure = (struct wb_node *)wb_without_casts(node->child);
    }
    if (!type) return;
    if (object && (type->kind == WB_POINTER || type->kind == WB_ARRAY)) {
        node->variable->type = type;
    }
    if (own.kind != CXType_LValueReference || node->variable->type->kind == WB_VALUE) return;
    if (type->kind != WB_VALUE && type->kind != WB_ARRAY) return;
    node->variable->reference = true;
    node->child = wb_pointer_to(reader, node->child);
    node->variable->type = node->child->type;
}

/* ---- lambdas ---- */

static const char *
key_of_place(struct wb_reader *reader, CXCursor cursor)
{
    struct wb_place place = wb_place_of(reader, cursor);
    char key[64];

    snprintf(key, sizeof(key), ":%u:%u ", place.line, place.column);
    size_t size = strlen(key) + strlen(reader->path) + 1;
    char *whole = wb_arena_take(&reader->program->arena, size);
    snprintf(whole, size, "%s%s", key, reader->path);
    return wb_name(reader->program, whole);
}

struct wb_node *
wb_read_lambda(struct wb_reader *reader, CXCursor cursor)
{
    struct wb_node *node = wb_new_node(reader, WB_CLOSURE);
    struct wb_cursors all = {0};
    const size_t outer = reader->destroyed_from;
    unsigned count = 0;

    reader->destroyed_from = reader->destroyed_count;

    node->function = wb_function_of(reader->program, key_of_place(reader, cursor), "lambda");
    node->function->place = wb_place_of(reader, cursor);
    wb_children(cursor, &all);
    node->function->parameters = wb_arena_take(&reader->program->arena,
                                               all.count * sizeof(*node->function->parameters));
    for (size_t i = 0; i < all.count; i++) {
        CXCursor child = all.items[i];
        if (clang_getCursorKind(child) == CXCursor_ParmDecl) {
            node->function->parameters[count++] = wb_read_variable(reader, child);
        }
        if (clang_getCursorKind(child) == CXCursor_CompoundStmt) {
            node->child = wb_read_code(reader, child);
        }
    }
    node->function->parameter_count = count;
    reader->destroyed_from = outer;
    free(all.items);
    return node;
}

/* store(v): the code of the lambda runs here, with its parameters, and no more where it is made. */
struct wb_node *
wb_read_lambda_call(struct wb_reader *reader, CXCursor call)
{
    struct wb_node *node = wb_new_node(reader, WB_SEQUENCE), **end = &node->child, *closure;
    int count = clang_Cursor_getNumArguments(call);

    if (count < 1) return node;
    closure = (struct wb_node *)wb_without_casts(wb_read_code(reader,
                                                             clang_Cursor_getArgument(call, 0)));
    if (closure->kind == WB_VARIABLE && closure->variable->closure) {
        closure = closure->variable->closure;
        closure->kind = WB_NUMBER;
    }
    else if (closure->kind != WB_CLOSURE) closure = wb_new_node(reader, WB_CLOSURE);
    for (int i = 1; i < count; i++) {
        struct wb_node *value = wb_read_code(reader, clang_Cursor_getArgument(call, (unsigned)i));
        *end = value;
        if (closure->function && (unsigned)i <= closure->function->parameter_count) {
            struct wb_variable *parameter = closure->function->parameters[i - 1];
            if (parameter->reference) value = wb_pointer_to(reader, value);
            *end = wb_node_around(reader, WB_DECLARE, value);
            (*end)->variable = parameter;
            (*end)->place = wb_place_of(reader, call);
        }
        end = &(*end)->next;
    }
    *end = wb_new_node(reader, WB_CLOSURE);
    (*end)->function = closure->function;
    (*end)->child = closure->child;
    return node;
}

/* A lambda that is called back is a function like any other. */
void
wb_make_function(struct wb_node *closure)
{
    closure->kind = WB_FUNCTION;
    closure->function->body = closure->child;
    closure->function->ours = true;
    closure->child = NULL;
}
