/* constructors.c - constructors of C++: an object is made in memory that is known.
 *
 *     I tmp(v);               I(&tmp, v)
 *     p->item = I(v);         I(&made, v); p->item = made;     made: a variable without a name
 *     new I(v)                made = malloc(...); I(made, v)
 *     make_unique<I>(v)       the same
 *     S(VALUE v) : item(v)    I(&this->item, v)
 *
 * A constructor that the compiler makes copies the whole struct, or sets it to 0.
 */
#include "barriers/read/reader.h"

#include <stdlib.h>
#include <string.h>

bool
wb_constructs_p(CXCursor cursor)
{
    CXCursor called = clang_getCursorReferenced(cursor);

    return clang_getCursorKind(cursor) == CXCursor_CallExpr &&
           clang_getCursorKind(called) == CXCursor_Constructor && !wb_of_std_p(called);
}

static bool
same_class_p(CXType one, CXType other)
{
    return clang_equalCursors(clang_getTypeDeclaration(clang_getCanonicalType(one)),
                              clang_getTypeDeclaration(clang_getCanonicalType(other)));
}

bool
wb_copies_p(CXCursor call, CXCursor called)
{
    return clang_getCursorKind(called) == CXCursor_Constructor &&
           clang_Cursor_getNumArguments(call) == 1 &&
           same_class_p(clang_getCursorType(call),
                        clang_getCursorType(clang_Cursor_getArgument(call, 0)));
}

struct wb_node *
wb_read_construction(struct wb_reader *reader, CXCursor call, struct wb_node *memory)
{
    CXCursor constructor = clang_getCursorReferenced(call);
    struct wb_cursors arguments = {0};
    struct wb_node *node;

    if (!clang_CXXMethod_isDefaulted(constructor)) {
        wb_arguments(call, constructor, &arguments);
        node = wb_read_call_of(reader, call, constructor, memory, &arguments);
        free(arguments.items);
        return node;
    }
    struct wb_node *object = wb_node_around(reader, WB_POINTEE, memory);
    if (!wb_copies_p(call, constructor)) return wb_read_zeros(reader, object);
    return wb_assignment(reader, call, object,
                         wb_read_code(reader, clang_Cursor_getArgument(call, 0)));
}

struct wb_node *
wb_read_temporary(struct wb_reader *reader, CXCursor call)
{
    struct wb_type *type = wb_read_type(reader, clang_getCursorType(call));
    struct wb_variable *made = wb_nameless(reader, type);
    struct wb_node *node = wb_new_node(reader, WB_SEQUENCE), **end = &node->child;

    wb_append(&end, wb_declaration(reader, made, NULL));
    wb_append(&end, wb_read_construction(reader, call,
                                         wb_pointer_to(reader, wb_variable_node(reader, made))));
    wb_append(&end, wb_variable_node(reader, made));
    node->type = type;
    return node;
}

/* ---- arguments that a function of std passes on ---- */

static CXType
without_reference(CXType type)
{
    CXType to = clang_getPointeeType(type);
    bool reference = type.kind == CXType_LValueReference || type.kind == CXType_RValueReference;

    return clang_getCanonicalType(reference ? to : type);
}

/* How well an argument fits a parameter: 0 is not at all. */
static int
fitness_of(CXCursor argument, CXCursor parameter)
{
    CXType given = clang_getCanonicalType(clang_getCursorType(argument)),
        wanted = without_reference(clang_getCursorType(parameter));

    if (given.kind == CXType_Record || wanted.kind == CXType_Record) {
        return same_class_p(given, wanted) ? 2 : wanted.kind == CXType_Record;
    }
    return given.kind == wanted.kind ? 2 : 1;
}

/* How well a constructor fits the arguments, which then are all that it has; 0 is not at all. */
static int
fitness(CXCursor constructor, struct wb_cursors *arguments)
{
    size_t count = (size_t)clang_Cursor_getNumArguments(constructor);
    struct wb_cursors code = {0};
    int sum = 1;

    if (count < arguments->count) return 0;
    for (size_t i = 0; i < count && sum > 0; i++) {
        CXCursor parameter = clang_Cursor_getArgument(constructor, (unsigned)i);
        if (i < arguments->count) {
            int fits = fitness_of(arguments->items[i], parameter);
            sum = fits ? sum + fits : 0;
            continue;
        }
        wb_code_children(parameter, &code); /* its default */
        if (code.count > 0) wb_add_cursor(arguments, code.items[code.count - 1]);
        else sum = 0;
    }
    free(code.items);
    return sum;
}

/* The constructor of a class that takes these arguments, with defaults in place of those that are
 * not given. Returns a null cursor if none is found. */
static CXCursor
constructor_for(CXType made, struct wb_cursors *arguments)
{
    struct wb_cursors members = {0}, tried = {0};
    CXCursor found = clang_getNullCursor();
    const size_t given = arguments->count;
    int best = 0;

    wb_children(clang_getTypeDeclaration(clang_getCanonicalType(made)), &members);
    for (size_t i = 0; i < members.count; i++) {
        if (clang_getCursorKind(members.items[i]) != CXCursor_Constructor) continue;
        tried.count = 0;
        for (size_t k = 0; k < given; k++) wb_add_cursor(&tried, arguments->items[k]);
        int fits = fitness(members.items[i], &tried);
        if (fits <= best) continue;
        best = fits;
        found = members.items[i];
        arguments->count = 0;
        for (size_t k = 0; k < tried.count; k++) wb_add_cursor(arguments, tried.items[k]);
    }
    free(members.items);
    free(tried.items);
    return found;
}

struct wb_node *
wb_read_somewhere(struct wb_reader *reader, CXCursor call, const struct wb_node *object,
                  struct wb_node *value)
{
    struct wb_node *node = wb_new_node(reader, WB_SEQUENCE), **end = &node->child;
    struct wb_variable *given = wb_nameless(reader, value->type);
    struct wb_field *field = object->type->record->fields;

    wb_append(&end, wb_declaration(reader, given, value));
    for (; field; field = field->next) {
        struct wb_node *member = wb_node_around(reader, WB_MEMBER, wb_copy_of(reader, object));
        if (field->type->kind != WB_VALUE) continue;
        member->field = field;
        member->type = field->type;
        wb_append(&end, wb_assignment(reader, call, member, wb_variable_node(reader, given)));
    }
    return node;
}

/* Of a class whose constructor is not found. */
static struct wb_node *
read_anywhere(struct wb_reader *reader, CXCursor call, const struct wb_node *memory,
              const struct wb_cursors *arguments)
{
    struct wb_node *node = wb_new_node(reader, WB_SEQUENCE), **end = &node->child;
    struct wb_node *object = wb_node_around(reader, WB_POINTEE, wb_copy_of(reader, memory));

    for (size_t i = 0; i < arguments->count; i++) {
        struct wb_node *value = wb_read_code(reader, arguments->items[i]);
        if (value->type && value->type->kind == WB_VALUE && wb_pointed(memory->type)) {
            value = wb_read_somewhere(reader, call, object, value);
        }
        wb_append(&end, value);
    }
    return node;
}

struct wb_node *
wb_read_passed_on(struct wb_reader *reader, CXCursor call, CXType made, struct wb_node *memory,
                  unsigned from)
{
    unsigned count = (unsigned)clang_Cursor_getNumArguments(call);
    struct wb_cursors arguments = {0};
    struct wb_node *node;

    for (; from < count; from++) wb_add_cursor(&arguments, clang_Cursor_getArgument(call, from));
    CXCursor constructor = constructor_for(made, &arguments);
    if (arguments.count == 1 && same_class_p(clang_getCursorType(arguments.items[0]), made)) {
        node = wb_assignment(reader, call, wb_node_around(reader, WB_POINTEE, memory),
                             wb_read_code(reader, arguments.items[0]));
    }
    else if (clang_Cursor_isNull(constructor)) {
        node = read_anywhere(reader, call, memory, &arguments);
    }
    else node = wb_read_call_of(reader, call, constructor, memory, &arguments);
    free(arguments.items);
    return node;
}

/* ---- new ---- */

static struct wb_node *
read_new_memory(struct wb_reader *reader, CXType type)
{
    struct wb_node *node = wb_new_node(reader, WB_CALL);

    node->function = wb_function_of(reader->program, "operator new", "operator new");
    node->function->foreign = true;
    node->type = wb_pointer_type(reader, wb_read_type(reader, type));
    return node;
}

/* The address in "new (address) T(...)", or new memory. */
static struct wb_node *
read_place_of_new(struct wb_reader *reader, CXType made, const struct wb_cursors *children)
{
    struct wb_node *node;

    if (children->count < 2 ||
        clang_getCanonicalType(clang_getCursorType(children->items[0])).kind != CXType_Pointer) {
        return read_new_memory(reader, made);
    }
    node = wb_node_around(reader, WB_CAST, wb_read_code(reader, children->items[0]));
    node->type = wb_pointer_type(reader, wb_read_type(reader, made));
    return node;
}

/* Behind it stands a list in braces, or a call of the constructor, which gets the memory. */
struct wb_node *
wb_read_new(struct wb_reader *reader, CXCursor cursor, const struct wb_cursors *children)
{
    CXType made = clang_getPointeeType(clang_getCanonicalType(clang_getCursorType(cursor)));
    CXType sugared = clang_getPointeeType(clang_getCursorType(cursor));
    struct wb_node *node = wb_new_node(reader, WB_SEQUENCE), **end = &node->child;
    CXCursor what = children->count ? wb_innermost(children->items[children->count - 1]) : cursor;
    struct wb_node *memory;

    if (sugared.kind != CXType_Invalid) made = sugared;
    memory = read_place_of_new(reader, made, children);
    struct wb_variable *variable = wb_nameless(reader, memory->type);
    wb_append(&end, wb_declaration(reader, variable, memory));
    memory = wb_variable_node(reader, variable);
    node->type = memory->type;
    if (clang_getCursorKind(what) == CXCursor_InitListExpr) {
        struct wb_node *list = wb_read_list(reader, wb_node_around(reader, WB_POINTEE, memory),
                                            what);
        for (struct wb_node *each = list; each; each = each->next) {
            each->place = wb_place_of(reader, cursor);
        }
        wb_append(&end, list);
    }
    else if (children->count > 0 && wb_constructs_p(what)) {
        wb_append(&end, wb_read_construction(reader, what, memory));
    }
    else if (children->count > 0) wb_append(&end, wb_read_code(reader, what));
    wb_append(&end, wb_variable_node(reader, variable));
    return node;
}

struct wb_node *
wb_read_make(struct wb_reader *reader, CXCursor call)
{
    CXType pointer = clang_getCanonicalType(clang_getCursorType(call));
    CXType made = clang_Type_getTemplateArgumentAsType(pointer, 0);
    struct wb_node *memory = read_new_memory(reader, made);
    struct wb_node *node = wb_new_node(reader, WB_SEQUENCE), **end = &node->child;
    struct wb_variable *variable = wb_nameless(reader, memory->type);

    wb_append(&end, wb_declaration(reader, variable, memory));
    memory = wb_variable_node(reader, variable);
    if (clang_Cursor_getNumArguments(call) > 0) {
        wb_append(&end, wb_read_passed_on(reader, call, made, memory, 0));
    }
    wb_append(&end, wb_variable_node(reader, variable));
    node->type = memory->type;
    return node;
}

/* ---- what stands before the body ---- */

/* "item()" is an expression without anything in it. */
static struct wb_node *
read_initial(struct wb_reader *reader, CXCursor value)
{
    struct wb_cursors children = {0};

    wb_code_children(value, &children);
    bool zero = clang_getCursorKind(value) == CXCursor_UnexposedExpr && children.count == 0;
    free(children.items);
    return zero ? wb_new_node(reader, WB_NUMBER) : wb_read_code(reader, value);
}

static struct wb_node *
read_member_initialiser(struct wb_reader *reader, CXCursor member, CXCursor field, CXCursor value)
{
    struct wb_node *node = wb_node_around(reader, WB_MEMBER, wb_read_self(reader));

    node->field = wb_read_field(reader, field);
    node->type = node->field->type;
    node->arrow = true;
    if (wb_constructs_p(wb_innermost(value)) && node->type->kind == WB_RECORD) {
        return wb_read_construction(reader, wb_innermost(value), wb_pointer_to(reader, node));
    }
    struct wb_node *list = wb_read_list(reader, node, wb_innermost(value));
    if (list) {
        struct wb_node *sequence = wb_node_around(reader, WB_SEQUENCE, list);
        for (; list; list = list->next) list->place = wb_place_of(reader, member);
        return sequence;
    }
    return wb_assignment(reader, member, node, read_initial(reader, value));
}

struct wb_node *
wb_read_initialisers(struct wb_reader *reader, const struct wb_cursors *children,
                     struct wb_node *body)
{
    struct wb_node *first = wb_new_node(reader, WB_SEQUENCE), **end = &first->child;
    const CXCursor *items = children->items;
    struct wb_node *self = wb_read_self(reader);

    if (self->type) { /* members that are not named */
        wb_append(&end, wb_read_zeros(reader, wb_node_around(reader, WB_POINTEE, self)));
    }
    for (size_t i = 0; i + 1 < children->count; i++) {
        CXCursor field = clang_getCursorReferenced(items[i]);
        bool member = clang_getCursorKind(items[i]) == CXCursor_MemberRef &&
                      clang_getCursorKind(field) == CXCursor_FieldDecl;
        if (!clang_isExpression(clang_getCursorKind(items[i + 1]))) continue;
        if (member) {
            wb_append(&end, read_member_initialiser(reader, items[i], field, items[i + 1]));
        }
        else if (wb_constructs_p(wb_innermost(items[i + 1]))) { /* of a base class */
            wb_append(&end, wb_read_construction(reader, wb_innermost(items[i + 1]),
                                                 wb_read_self(reader)));
        }
    }
    *end = body;
    return first;
}
