/* cplusplus.c - what C++ adds to C: references, std::swap, new, lambdas, methods.
 *
 *     VALUE &slot = p->a; slot = v;     VALUE *slot = &p->a; *slot = v;
 *     std::swap(p->a, v);               old = p->a; p->a = v; v = old;
 *     new node{v}                       n = malloc(...); n->value = v;
 *     [=](VALUE v) { p->a = v; }        the code runs where the lambda is called; if that is
 *                                       nowhere, where it is made
 *     box->set(v)                       set(box, v): `this` is a parameter
 */
#include "barriers/read/reader.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- functions of std ---- */

/* old = a; a = b; and for a swap: b = old. The value is the old one. */
static struct wb_node *
read_exchange(struct wb_reader *reader, CXCursor call, bool swap)
{
    struct wb_node *node = wb_new_node(reader, WB_SEQUENCE), *declare, *old, **end = &node->child;
    CXCursor one = clang_Cursor_getArgument(call, 0), other = clang_Cursor_getArgument(call, 1);

    declare = wb_node_around(reader, WB_DECLARE, wb_read_code(reader, one));
    declare->variable = WB_NEW(&reader->program->arena, struct wb_variable);
    declare->variable->name = wb_name(reader->program, "");
    declare->variable->type = declare->child->type ? declare->child->type :
                              wb_read_type(reader, clang_getCursorType(one));
    old = wb_new_node(reader, WB_VARIABLE);
    old->variable = declare->variable;
    old->type = declare->variable->type;
    *end = declare;
    end = &declare->next;
    *end = wb_assignment(reader, call, wb_read_code(reader, one), wb_read_code(reader, other));
    end = &(*end)->next;
    *end = swap ? wb_assignment(reader, call, wb_read_code(reader, other), old) : old;
    return node;
}

/* A copy of a thing is read as the thing: an iterator that is passed by value. */
static bool
copies_p(CXCursor call, CXCursor called)
{
    CXType type = clang_getCanonicalType(clang_getCursorType(call)), from;

    if (clang_getCursorKind(called) != CXCursor_Constructor ||
        clang_Cursor_getNumArguments(call) != 1) return false;
    from = clang_getCanonicalType(clang_getCursorType(clang_Cursor_getArgument(call, 0)));
    return clang_equalTypes(clang_getCursorType(clang_getTypeDeclaration(type)),
                            clang_getCursorType(clang_getTypeDeclaration(from)));
}

static struct wb_node *
read_new_memory(struct wb_reader *reader, CXType type)
{
    struct wb_node *node = wb_new_node(reader, WB_CALL);

    node->function = wb_function_of(reader->program, "operator new", "operator new");
    node->function->foreign = true;
    node->type = wb_pointer_type(reader, wb_read_type(reader, type));
    return node;
}

struct wb_node *
wb_read_std_call(struct wb_reader *reader, CXCursor call, CXCursor called)
{
    static const char *const passing[] = {"forward", "move", NULL};
    static const char *const making[] = {"make_shared", "make_unique", NULL};
    int count = clang_Cursor_getNumArguments(call);
    const char *name = wb_spelling(reader, called);
    struct wb_node *node;
    CXCursor object;

    if (clang_getCursorKind(called) == CXCursor_ConversionFunction &&
        wb_object_of(call, called, &object)) return wb_read_converted(reader, object);
    if (copies_p(call, called)) return wb_read_code(reader, clang_Cursor_getArgument(call, 0));
    if ((node = wb_read_std_method(reader, call, called)) || !wb_of_std_p(called)) return node;
    if (count == 1 && wb_among_p(name, passing)) {
        return wb_read_code(reader, clang_Cursor_getArgument(call, 0));
    }
    if (count == 2 && !strcmp(name, "swap")) return read_exchange(reader, call, true);
    if (count == 2 && !strcmp(name, "exchange")) return read_exchange(reader, call, false);
    if (wb_among_p(name, making)) {
        CXType made = clang_getCanonicalType(clang_getCursorType(call));
        return read_new_memory(reader, clang_Type_getTemplateArgumentAsType(made, 0));
    }
    return wb_read_std_function(reader, call, called);
}

/* ---- new ---- */

static struct wb_node *
read_variable(struct wb_reader *reader, struct wb_variable *variable)
{
    struct wb_node *node = wb_new_node(reader, WB_VARIABLE);

    node->variable = variable;
    node->type = variable->type;
    return node;
}

/* Behind it stands a list in braces, or a call of the constructor, which gets the memory. */
struct wb_node *
wb_read_new(struct wb_reader *reader, CXCursor cursor, const struct wb_cursors *children)
{
    CXType made = clang_getPointeeType(clang_getCanonicalType(clang_getCursorType(cursor)));
    struct wb_node *node = wb_new_node(reader, WB_SEQUENCE), *declare, *memory, **end;
    CXCursor what = children->count ? wb_innermost(children->items[children->count - 1]) : cursor;

    declare = wb_node_around(reader, WB_DECLARE, read_new_memory(reader, made));
    declare->variable = WB_NEW(&reader->program->arena, struct wb_variable);
    declare->variable->name = wb_name(reader->program, "");
    declare->variable->type = declare->child->type;
    memory = read_variable(reader, declare->variable);
    node->child = declare;
    node->type = memory->type;
    end = &declare->next;
    if (clang_getCursorKind(what) == CXCursor_InitListExpr) {
        *end = wb_read_list(reader, wb_node_around(reader, WB_POINTEE, memory), what);
        for (struct wb_node *each = *end; each; each = each->next) {
            each->place = wb_place_of(reader, cursor);
        }
    }
    else if (children->count > 0) {
        struct wb_node *call = *end = wb_read_code(reader, what);
        if (clang_getCursorKind(clang_getCursorReferenced(what)) == CXCursor_Constructor &&
            call->kind == WB_CALL && call->child) {
            memory->next = call->child->next;
            call->child = memory;
        }
    }
    while (*end) end = &(*end)->next;
    *end = read_variable(reader, declare->variable);
    return node;
}

/* ---- methods ---- */

struct wb_node *
wb_read_initialisers(struct wb_reader *reader, const struct wb_cursors *children,
                     struct wb_node *body)
{
    struct wb_node *first = wb_new_node(reader, WB_SEQUENCE), **end = &first->child;

    for (size_t i = 0; i + 1 < children->count; i++) {
        CXCursor field = clang_getCursorReferenced(children->items[i]);
        if (clang_getCursorKind(children->items[i]) != CXCursor_MemberRef ||
            clang_getCursorKind(field) != CXCursor_FieldDecl ||
            !clang_isExpression(clang_getCursorKind(children->items[i + 1]))) continue;
        struct wb_node *member = wb_node_around(reader, WB_MEMBER, wb_read_self(reader));
        member->field = wb_read_field(reader, field);
        member->type = member->field->type;
        member->arrow = true;
        *end = wb_assignment(reader, children->items[i], member,
                          wb_read_code(reader, children->items[i + 1]));
        end = &(*end)->next;
    }
    *end = body;
    return first;
}

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
    return reader->self ? read_variable(reader, reader->self) : wb_new_node(reader, WB_ANY);
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

/* ---- variables ---- */

/* A variable of type auto & is a reference to what it is bound to; one that holds an iterator is a
 * pointer. */
void
wb_declare_as(struct wb_reader *reader, CXCursor declaration, struct wb_node *node)
{
    struct wb_type *type = node->child->type;
    if (wb_holds_values_p(node->child)) {
        node->variable->type = node->child->kind == WB_ADDRESS ?
                               wb_pointer_type(reader, node->child->child->type) : type;
    }
    if (node->variable->reference) return;
    CXType own = clang_getCursorType(declaration);
    bool object = clang_getCanonicalType(own).kind == CXType_Record;

    if (wb_without_casts(node->child)->kind == WB_CLOSURE) {
        node->variable->closure = (struct wb_node *)wb_without_casts(node->child);
    }
    if (!type) return;
    if (object && type->kind == WB_POINTER) node->variable->type = type;
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
    unsigned count = 0;

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
