/* calls.c - reads calls: which function is called, with which arguments; which functions are Ruby's
 * methods, and which are called back. */
#include "barriers/read/reader.h"

#include <stdlib.h>
#include <string.h>

#include "barriers/known.h"

/* Ruby's headers write a function's name in parentheses to avoid a macro of that name.
 * libclang does not resolve such a call, so the name is taken out of the parentheses. */
static CXCursor
called_by(CXCursor cursor, const struct wb_cursors *children)
{
    CXCursor called = clang_getCursorReferenced(cursor), named;
    struct wb_cursors inner = {0};

    if (wb_function_p(clang_getCursorKind(called)) || children->count == 0) return called;
    named = wb_without_parentheses(children->items[0]);
    /* the conversion to a function pointer */
    if (clang_getCursorKind(named) == CXCursor_UnexposedExpr) {
        wb_code_children(named, &inner);
        if (inner.count == 1) named = wb_without_parentheses(inner.items[0]);
    }
    free(inner.items);
    return clang_getCursorReferenced(named);
}

/* A function that is passed behind a name, as to rb_define_method, is a Ruby method of that
 * name. */
static void
read_methods(struct wb_reader *reader, const struct wb_node *arguments)
{
    for (const struct wb_node *name = arguments; name && name->next; name = name->next) {
        const struct wb_node *function = wb_without_casts(name->next);
        if (name->kind != WB_STRING || function->kind != WB_FUNCTION) continue;
        struct wb_method *method = WB_NEW(&reader->program->arena, struct wb_method);
        *method = (struct wb_method){name->name, function->function, reader->program->methods};
        reader->program->methods = method;
    }
}

/* A callback is called at once by the function that it is passed to. So its caller counts as
 * code that is read. */
static void
read_callbacks(const struct wb_function *called, const struct wb_node *argument)
{
    for (unsigned i = 0; argument; argument = argument->next, i++) {
        struct wb_node *given = (struct wb_node *)wb_without_casts(argument);
        if (!wb_callback_of(called, i)) continue;
        if (given->kind == WB_CLOSURE) wb_make_function(given);
        else if (given->kind != WB_FUNCTION) continue;
        else given->function->addressed--;
        given->function->called = true;
    }
}

/* An argument for a reference is its address. */
static void
pass_references(struct wb_reader *reader, struct wb_node **argument, CXType function)
{
    int count = clang_getNumArgTypes(function);

    for (int i = 0; i < count && *argument; i++, argument = &(*argument)->next) {
        CXType type = clang_getArgType(function, (unsigned)i);
        struct wb_node *next = (*argument)->next;
        if (type.kind == CXType_LValueReference && (*argument)->kind == WB_VARIABLE) {
            (*argument)->variable->changed = true;
        }
        if (!wb_followed_reference_p(reader, type, wb_read_type(reader, type))) continue;
        *argument = wb_node_around(reader, WB_ADDRESS, *argument);
        (*argument)->child->next = NULL;
        (*argument)->next = next;
    }
}

/* What a call returns a reference to. */
static struct wb_node *
pointee_of(struct wb_reader *reader, struct wb_node *call, struct wb_type *type)
{
    call->type = type;
    return wb_node_around(reader, WB_POINTEE, call);
}

/* True for a call of a method of a template for VALUE, or of a function of a template that gets
 * one. object: NULL if it is no method. */
static bool
for_values_p(struct wb_reader *reader, CXCursor call, CXCursor called,
             const struct wb_node *object)
{
    int count = clang_Cursor_getNumArguments(call);
    bool values = object && wb_holds_values_p(object);

    if (!wb_of_template_p(called)) return false;
    values |= wb_values_p(reader, clang_getCursorType(call)); /* a constructor */
    for (int i = 0; i < count && !values; i++) {
        CXType type = clang_getCursorType(clang_Cursor_getArgument(call, (unsigned)i));
        CXType to = clang_getPointeeType(type);
        values = wb_value_p(reader, to.kind == CXType_Invalid ? type : to) ||
                 wb_values_p(reader, type);
    }
    return values;
}

/* An argument that the call leaves to its default is the one of the declaration. */
static CXCursor
argument_at(CXCursor call, CXCursor called, int number)
{
    CXCursor argument = clang_Cursor_getArgument(call, (unsigned)number);
    struct wb_cursors children = {0};

    wb_code_children(argument, &children);
    if (clang_getCursorKind(argument) == CXCursor_UnexposedExpr && children.count == 0) {
        wb_code_children(clang_Cursor_getArgument(called, (unsigned)number), &children);
        if (children.count > 0) argument = children.items[children.count - 1];
    }
    free(children.items);
    return argument;
}

/* A class's assignment that the compiler makes, or that is not read, copies a struct. */
static bool
copies_struct_p(CXCursor called, const struct wb_node *call)
{
    return call->function && !strcmp(call->function->name, "operator=") &&
           (clang_CXXMethod_isDefaulted(called) ||
            (!call->function->ours && !wb_of_template_p(called)));
}

static void
make_assignment(struct wb_node *call)
{
    call->kind = WB_ASSIGN;
    if (call->child->kind == WB_ADDRESS) { /* the object of a method */
        call->child->child->next = call->child->next;
        call->child = call->child->child;
    }
    call->type = call->child->type;
    call->function = NULL;
}

static void
read_called(struct wb_reader *reader, CXCursor called, struct wb_node *call)
{
    call->function = wb_read_function(reader, called);
    call->function->called = true;
    wb_request_body(reader, called, call->function);
}

struct wb_node *
wb_read_call_of(struct wb_reader *reader, CXCursor cursor, CXCursor called, struct wb_node *object,
                const struct wb_cursors *arguments)
{
    struct wb_node *node = wb_new_node(reader, WB_CALL);
    const bool outer = reader->values, values = for_values_p(reader, cursor, called, object);

    reader->values = values;
    read_called(reader, called, node);
    reader->values = outer;
    node->child = object;
    wb_append_code(reader, node, arguments, 0);
    reader->values = values;
    pass_references(reader, object ? &object->next : &node->child, clang_getCursorType(called));
    reader->values = outer;
    read_methods(reader, object ? object->next : node->child);
    read_callbacks(node->function, node->child);
    node->place = wb_place_of(reader, cursor);
    return node;
}

/* A call through a pointer. The first child is what is called. */
static struct wb_node *
read_pointer_call(struct wb_reader *reader, CXCursor cursor, CXCursor called,
                  const struct wb_cursors *children, const struct wb_cursors *arguments)
{
    struct wb_node *node = wb_new_node(reader, WB_CALL), *first;

    first = node->child = children->count > 0 ? wb_read_code(reader, children->items[0]) :
                          wb_new_node(reader, WB_ANY);
    wb_append_code(reader, node, arguments, 0);
    pass_references(reader, &first->next, clang_getCursorType(called));
    read_methods(reader, first->next);
    node->place = wb_place_of(reader, cursor);
    return node;
}

void
wb_arguments(CXCursor call, CXCursor called, struct wb_cursors *arguments)
{
    int count = clang_Cursor_getNumArguments(call);

    for (int i = 0; i < count; i++) wb_add_cursor(arguments, argument_at(call, called, i));
}

/* The first child of clang's is what is called, except for operators of C++. So the arguments come
 * from libclang's list. */
struct wb_node *
wb_read_call(struct wb_reader *reader, CXCursor cursor, const struct wb_cursors *children)
{
    CXCursor called = called_by(cursor, children);
    struct wb_node *node = wb_read_std_call(reader, cursor, called), *object;
    struct wb_cursors arguments = {0};

    if (node) return node;
    if (wb_lambda_call_p(called)) return wb_read_lambda_call(reader, cursor);
    if (wb_constructs_p(cursor)) return wb_read_temporary(reader, cursor);
    wb_arguments(cursor, called, &arguments);
    object = wb_method_p(called) ? wb_read_object(reader, cursor, called) : NULL;
    const bool outer = reader->values, values = for_values_p(reader, cursor, called, object);
    /* of an operator that is a method, the first argument is the object */
    if (object && (int)arguments.count == clang_getNumArgTypes(clang_getCursorType(called)) + 1) {
        wb_drop_cursor(&arguments);
    }
    node = wb_function_p(clang_getCursorKind(called)) ?
           wb_read_call_of(reader, cursor, called, object, &arguments) :
           read_pointer_call(reader, cursor, called, children, &arguments);
    free(arguments.items);
    if (object && object->next && copies_struct_p(called, node)) make_assignment(node);
    CXType result = clang_getCursorResultType(called);
    reader->values = values;
    struct wb_type *type = wb_read_type(reader, result);
    bool reference = node->kind == WB_CALL && wb_followed_reference_p(reader, result, type);
    if (node->kind == WB_CALL) node->type = wb_read_type(reader, clang_getCursorType(cursor));
    reader->values = outer;
    return reference ? pointee_of(reader, node, type) : node;
}
