/* body.c - reads the code of functions: from clang's tree to ours.
 *
 * Our tree has what the flow of VALUEs needs: assignments, calls, constants, branches and
 * loops. Any other node is WB_ANY with its children. Parentheses and implicit conversions are
 * left out.
 *
 * Before LLVM 17 libclang does not tell the operator of an expression. But the operands show
 * it:
 *
 *     a = b   the left operand is an lvalue. With any other operator of C it would stand in a
 *             conversion to its value, which libclang shows as an unexposed expression.
 *     *p      its type is what the operand's type points to
 *     &x      the operand's type is what its type points to
 */
#include "barriers/read/reader.h"

#include <stdlib.h>
#include <string.h>

#include "barriers/known.h"

/* ---- children ---- */

/* True for code: not for the name of a type, a member or a label, and not for an attribute. */
static bool
code_p(CXCursor cursor)
{
    enum CXCursorKind kind = clang_getCursorKind(cursor);

    return clang_isExpression(kind) || clang_isStatement(kind) || kind == CXCursor_VarDecl;
}

static void
code_children(CXCursor cursor, struct wb_cursors *children)
{
    size_t kept = 0;

    wb_children(cursor, children);
    for (size_t i = 0; i < children->count; i++) {
        if (code_p(children->items[i])) children->items[kept++] = children->items[i];
    }
    children->count = kept;
}

/* Reads the children from index from on, and appends them to those of the node. */
static void
read_children(struct wb_reader *reader, struct wb_node *node, const struct wb_cursors *children,
              size_t from)
{
    struct wb_node **end = &node->child;

    while (*end) end = &(*end)->next;
    for (size_t i = from; i < children->count; i++) {
        struct wb_node *child = wb_read_code(reader, children->items[i]);
        *end = child;
        while (*end) end = &(*end)->next; /* a declaration may be several nodes */
    }
}

struct wb_node *
wb_node_with(struct wb_reader *reader, enum wb_node_kind kind, const struct wb_cursors *children)
{
    struct wb_node *node = wb_new_node(reader, kind);

    read_children(reader, node, children, 0);
    return node;
}

/* ---- names ---- */

/* A function of a header, such as one behind a macro of Ruby's, is read when it is called. */
static void
request_body(struct wb_reader *reader, CXCursor declaration, struct wb_function *function)
{
    CXCursor definition = clang_getCursorDefinition(declaration);

    if (function->body || function->ours || clang_Cursor_isNull(definition)) return;
    if (!HEAPPROF_MEM_GROW(&reader->program->mem, reader->pending, reader->pending_capacity,
                           reader->pending_count + 1)) wb_out_of_memory();
    reader->pending[reader->pending_count++] = (struct wb_pending){definition, function};
}

static bool
function_p(enum CXCursorKind kind)
{
    return kind == CXCursor_FunctionDecl || kind == CXCursor_CXXMethod ||
           kind == CXCursor_Constructor ||
           kind == CXCursor_ConversionFunction || kind == CXCursor_Destructor;
}

static struct wb_node *
read_reference(struct wb_reader *reader, CXCursor cursor)
{
    CXCursor referenced = clang_getCursorReferenced(cursor);
    enum CXCursorKind kind = clang_getCursorKind(referenced);
    struct wb_node *node;

    if (function_p(kind)) {
        node = wb_new_node(reader, WB_FUNCTION);
        node->function = wb_read_function(reader, referenced);
        node->function->addressed++;
        request_body(reader, referenced, node->function);
    }
    else if (kind == CXCursor_VarDecl || kind == CXCursor_ParmDecl) {
        node = wb_new_node(reader, WB_VARIABLE);
        node->variable = wb_read_variable(reader, referenced);
        node->type = node->variable->type;
        if (node->variable->reference) node = wb_node_around(reader, WB_POINTEE, node);
    }
    else if (kind == CXCursor_EnumConstantDecl) {
        node = wb_new_node(reader, WB_NUMBER);
        node->number = clang_getEnumConstantDeclValue(referenced);
    }
    else node = wb_new_node(reader, WB_ANY);
    return node;
}

/* True for a reference through which the analysis can follow a VALUE. */
static bool
reference_p(CXType type, const struct wb_type *read)
{
    return read && read->kind == WB_POINTER && wb_reference_p(type);
}

static struct wb_node *
read_member(struct wb_reader *reader, CXCursor cursor)
{
    CXCursor referenced = clang_getCursorReferenced(cursor);
    struct wb_cursors children = {0};

    if (clang_getCursorKind(referenced) != CXCursor_FieldDecl) {
        return read_reference(reader, cursor);
    }
    code_children(cursor, &children);
    struct wb_node *node = wb_node_with(reader, WB_MEMBER, &children);
    node->field = wb_read_field(reader, referenced);
    node->type = node->field->type;
    node->arrow = children.count == 0 ||
                  clang_getCanonicalType(clang_getCursorType(children.items[0])).kind ==
                  CXType_Pointer;
    if (!node->child) node->child = wb_new_node(reader, WB_ANY); /* this */
    free(children.items);
    return reference_p(clang_getCursorType(referenced), node->type) ?
           wb_node_around(reader, WB_POINTEE, node) : node;
}

/* ---- expressions ---- */

static int64_t
number_of(CXCursor cursor)
{
    CXEvalResult result = clang_Cursor_Evaluate(cursor);
    int64_t number = 0;

    if (!result) return 0;
    if (clang_EvalResult_getKind(result) == CXEval_Int) {
        number = clang_EvalResult_getAsLongLong(result);
    }
    clang_EvalResult_dispose(result);
    return number;
}

static bool
same_type_p(CXType one, CXType other)
{
    return one.kind != CXType_Invalid &&
           clang_equalTypes(clang_getCanonicalType(one), clang_getCanonicalType(other));
}

static enum wb_node_kind
unary_kind(CXCursor cursor, CXCursor operand)
{
    CXType result = clang_getCursorType(cursor), type = clang_getCursorType(operand);

    if (same_type_p(clang_getPointeeType(clang_getCanonicalType(result)),
                    clang_getCanonicalType(type))) {
        return WB_ADDRESS;
    }
    if (same_type_p(clang_getPointeeType(clang_getCanonicalType(type)),
                    clang_getCanonicalType(result))) {
        return WB_POINTEE;
    }
    return WB_ANY;
}

static CXCursor
without_parentheses(CXCursor cursor)
{
    struct wb_cursors children = {0};

    while (clang_getCursorKind(cursor) == CXCursor_ParenExpr) {
        code_children(cursor, &children);
        if (children.count != 1) break;
        cursor = children.items[0];
    }
    free(children.items);
    return cursor;
}

static bool
lvalue_p(CXCursor cursor)
{
    struct wb_cursors children = {0};
    bool lvalue = false;

    cursor = without_parentheses(cursor);
    switch (clang_getCursorKind(cursor)) {
      case CXCursor_DeclRefExpr:
        lvalue = clang_getCursorKind(clang_getCursorReferenced(cursor)) !=
                 CXCursor_EnumConstantDecl;
        break;
      case CXCursor_MemberRefExpr:
      case CXCursor_ArraySubscriptExpr:
        lvalue = true;
        break;
      case CXCursor_UnaryOperator:
        code_children(cursor, &children);
        lvalue = children.count == 1 && unary_kind(cursor, children.items[0]) == WB_POINTEE;
        break;
      case CXCursor_CallExpr: /* of C++ */
        lvalue = wb_reference_p(clang_getCursorResultType(clang_getCursorReferenced(cursor)));
        break;
      default: break;
    }
    free(children.items);
    return lvalue;
}

static struct wb_node *
read_binary(struct wb_reader *reader, CXCursor cursor, const struct wb_cursors *children)
{
    bool assigns = children->count == 2 && lvalue_p(children->items[0]);
    struct wb_node *node = wb_node_with(reader, assigns ? WB_ASSIGN : WB_ANY, children);

    if (assigns) {
        node->place = wb_place_of(reader, cursor);
        node->type = node->child->type;
    }
    else node->type = wb_read_type(reader, clang_getCursorType(cursor)); /* a pointer plus n */
    return node;
}

static struct wb_node *
read_unary(struct wb_reader *reader, CXCursor cursor, const struct wb_cursors *children)
{
    enum wb_node_kind kind = children->count == 1 ? unary_kind(cursor, children->items[0]) : WB_ANY;
    struct wb_node *node = wb_node_with(reader, kind, children);

    if (kind == WB_POINTEE) node->type = wb_read_type(reader, clang_getCursorType(cursor));
    return node;
}

static struct wb_node *
read_cast(struct wb_reader *reader, CXCursor cursor, const struct wb_cursors *children)
{
    struct wb_node *node = wb_node_with(reader, children->count == 1 ? WB_CAST : WB_ANY, children);

    node->type = wb_read_type(reader, clang_getCursorType(cursor));
    return node;
}

/* Ruby's headers write a function's name in parentheses to avoid a macro of that name.
 * libclang does not resolve such a call, so the name is taken out of the parentheses. */
static CXCursor
called_by(CXCursor cursor, const struct wb_cursors *children)
{
    CXCursor called = clang_getCursorReferenced(cursor), named;
    struct wb_cursors inner = {0};

    if (function_p(clang_getCursorKind(called)) || children->count == 0) return called;
    named = without_parentheses(children->items[0]);
    /* the conversion to a function pointer */
    if (clang_getCursorKind(named) == CXCursor_UnexposedExpr) {
        code_children(named, &inner);
        if (inner.count == 1) named = without_parentheses(inner.items[0]);
    }
    free(inner.items);
    return clang_getCursorReferenced(named);
}

/* The expression below parentheses and conversions. */
static CXCursor
innermost(CXCursor cursor)
{
    struct wb_cursors children = {0};

    for (;;) {
        enum CXCursorKind kind = clang_getCursorKind(cursor);
        if (kind != CXCursor_ParenExpr && kind != CXCursor_UnexposedExpr) break;
        code_children(cursor, &children);
        if (children.count != 1) break;
        cursor = children.items[0];
    }
    free(children.items);
    return cursor;
}

/* libclang evaluates a literal below a conversion, but not a bare one. The name of a method
 * has no escapes. */
static const char *
without_quotes(struct wb_reader *reader, const char *literal)
{
    size_t length = strlen(literal);

    if (length < 2 || literal[0] != '"') return literal;
    return wb_name(reader->program,
                   wb_arena_text(&reader->program->arena, literal + 1, length - 2));
}

/* A function that is passed behind a name, as to rb_define_method, is a Ruby method of that
 * name. */
static void
read_method(struct wb_reader *reader, const struct wb_node *function, CXCursor name)
{
    CXCursor literal = innermost(name);

    if (clang_getCursorKind(literal) != CXCursor_StringLiteral) return;
    const char *text = without_quotes(reader, wb_spelling(reader, literal));
    struct wb_method *method = WB_NEW(&reader->program->arena, struct wb_method);
    *method = (struct wb_method){text, function->function, reader->program->methods};
    reader->program->methods = method;
}

static void
read_methods(struct wb_reader *reader, const struct wb_node *arguments,
             const struct wb_cursors *cursors)
{
    size_t at = 0;

    for (const struct wb_node *name = arguments; name && name->next && at < cursors->count;
         name = name->next, at++) {
        const struct wb_node *function = wb_without_casts(name->next);
        if (name->kind == WB_NUMBER && function->kind == WB_FUNCTION) {
            read_method(reader, function, cursors->items[at]);
        }
    }
}

/* A callback is called at once by the function that it is passed to. So its caller counts as
 * code that is read. */
static void
read_callbacks(const struct wb_function *called, const struct wb_node *argument)
{
    for (unsigned i = 0; argument; argument = argument->next, i++) {
        const struct wb_node *given = wb_without_casts(argument);
        if (given->kind != WB_FUNCTION || !wb_callback_of(called, i)) continue;
        given->function->addressed--;
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
        if (!reference_p(type, wb_read_type(reader, type))) continue;
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

/* The first child is what is called, except for operators of C++. So the arguments come from
 * libclang's list. */
static struct wb_node *
read_call(struct wb_reader *reader, CXCursor cursor, const struct wb_cursors *children)
{
    CXCursor called = called_by(cursor, children);
    int count = clang_Cursor_getNumArguments(cursor);
    struct wb_cursors arguments = {0};
    struct wb_node *node = wb_read_std_call(reader, cursor, called), *first;

    if (node) return node;
    node = wb_new_node(reader, WB_CALL);
    if (function_p(clang_getCursorKind(called))) {
        node->function = wb_read_function(reader, called);
        node->function->called = true;
        request_body(reader, called, node->function);
    }
    else if (children->count > 0) node->child = wb_read_code(reader, children->items[0]);
    else node->child = wb_new_node(reader, WB_ANY);
    first = node->child;
    for (int i = 0; i < count; i++) {
        wb_add_cursor(&arguments, clang_Cursor_getArgument(cursor, (unsigned)i));
    }
    read_children(reader, node, &arguments, 0);
    pass_references(reader, first ? &first->next : &node->child, clang_getCursorType(called));
    read_methods(reader, first ? first->next : node->child, &arguments);
    if (node->function) read_callbacks(node->function, node->child);
    free(arguments.items);
    node->place = wb_place_of(reader, cursor);
    node->type = wb_read_type(reader, clang_getCursorType(cursor));
    if (node->function && count == 2 && !strcmp(node->function->name, "operator=")) {
        node->kind = WB_ASSIGN;
        node->type = node->child ? node->child->type : NULL;
        node->function = NULL;
    }
    CXType result = clang_getCursorResultType(called);
    struct wb_type *type = wb_read_type(reader, result);
    return node->kind == WB_CALL && reference_p(result, type) ? pointee_of(reader, node, type) :
           node;
}

/* ---- statements ---- */

static struct wb_node *
read_declaration(struct wb_reader *reader, CXCursor cursor)
{
    CXCursor value = clang_Cursor_getVarDeclInitializer(cursor);
    struct wb_node *node = wb_new_node(reader, WB_DECLARE);

    node->variable = wb_read_variable(reader, cursor);
    node->place = wb_place_of(reader, cursor);
    if (node->variable->data_type) wb_read_data_type(reader, cursor);
    if (clang_Cursor_isNull(value)) return node;
    if (!node->variable->global) {
        struct wb_node *variable = wb_new_node(reader, WB_VARIABLE);
        variable->variable = node->variable;
        variable->type = node->variable->type;
        node->next = wb_read_list(reader, variable, value);
    }
    if (node->next) return node;
    node->child = wb_read_code(reader, value);
    if (node->variable->reference) {
        node->child = wb_node_around(reader, WB_ADDRESS, node->child);
    }
    return node;
}

/* A condition of C++ may declare variables. They come before the if, in a sequence around both. */
static struct wb_node *
read_if(struct wb_reader *reader, struct wb_cursors *children)
{
    struct wb_node *node = wb_new_node(reader, WB_IF), *outer = node, **end = &outer;
    size_t at = 0;

    while (at < children->count && !clang_isExpression(clang_getCursorKind(children->items[at]))) {
        if (outer == node) {
            outer = wb_new_node(reader, WB_SEQUENCE);
            end = &outer->child;
        }
        *end = wb_read_code(reader, children->items[at++]);
        while (*end) end = &(*end)->next;
    }
    read_children(reader, node, children, at);
    if (outer != node) *end = node;
    return outer;
}

/* True for what begins or continues a loop: a declaration, an assignment, ++. */
static bool
changes_p(CXCursor cursor)
{
    struct wb_cursors children = {0};
    enum CXCursorKind kind = clang_getCursorKind(cursor);
    bool changes = kind == CXCursor_DeclStmt || kind == CXCursor_CompoundAssignOperator ||
                   kind == CXCursor_UnaryOperator;

    if (kind == CXCursor_BinaryOperator) {
        code_children(cursor, &children);
        changes = children.count == 2 && lvalue_p(children.items[0]);
    }
    free(children.items);
    return changes;
}

/* libclang does not tell which of the three parts of a for are there. They come in the order of the
 * source; the last one runs behind the body. */
static struct wb_node *
read_for(struct wb_reader *reader, struct wb_cursors *children)
{
    struct wb_node *node = wb_new_node(reader, WB_SEQUENCE), *loop = wb_new_node(reader, WB_LOOP);
    struct wb_cursors first = *children, rest;
    size_t parts = children->count ? children->count - 1 : 0;
    bool begins = parts == 3 || (parts == 2 && changes_p(children->items[0])) ||
                  (parts == 1 && clang_getCursorKind(children->items[0]) == CXCursor_DeclStmt);
    bool continues = parts > begins && changes_p(children->items[parts - 1]);

    first.count = begins;
    read_children(reader, node, &first, 0);
    rest = *children;
    if (continues) { /* the last part changes places with the body */
        CXCursor body = rest.items[parts];
        rest.items[parts] = rest.items[parts - 1];
        rest.items[parts - 1] = body;
    }
    read_children(reader, loop, &rest, begins);
    struct wb_node **end = &node->child;
    while (*end) end = &(*end)->next;
    *end = loop;
    return node;
}

static struct wb_node *
read_named(struct wb_reader *reader, enum wb_node_kind kind, CXCursor cursor,
           const struct wb_cursors *children)
{
    struct wb_node *node = wb_node_with(reader, kind, children);

    node->name = wb_spelling(reader, cursor);
    return node;
}

static struct wb_node *
read_goto(struct wb_reader *reader, CXCursor cursor)
{
    struct wb_cursors all = {0};
    struct wb_node *node = wb_new_node(reader, WB_GOTO);

    wb_children(cursor, &all);
    node->name = all.count ? wb_spelling(reader, all.items[0]) : wb_name(reader->program, "");
    free(all.items);
    return node;
}

static struct wb_node *
read_return(struct wb_reader *reader, CXCursor cursor, const struct wb_cursors *children)
{
    struct wb_node *node = wb_node_with(reader, WB_RETURN, children);

    node->place = wb_place_of(reader, cursor);
    if (reader->returns_reference && node->child) {
        node->child = wb_node_around(reader, WB_ADDRESS, node->child);
    }
    return node;
}

/* Returns NULL for a declaration without code, such as a type. */
static struct wb_node *
read_kind(struct wb_reader *reader, CXCursor cursor, struct wb_cursors *children)
{
    struct wb_node *node;

    switch (clang_getCursorKind(cursor)) {
      case CXCursor_VarDecl: return read_declaration(reader, cursor);
      case CXCursor_DeclRefExpr: return read_reference(reader, cursor);
      case CXCursor_MemberRefExpr: return read_member(reader, cursor);
      case CXCursor_GotoStmt: return read_goto(reader, cursor);
      case CXCursor_UnaryExpr: /* sizeof evaluates nothing */
      case CXCursor_SizeOfPackExpr:
      case CXCursor_StringLiteral:
      case CXCursor_CharacterLiteral:
      case CXCursor_CXXNullPtrLiteralExpr:
        return wb_new_node(reader, WB_NUMBER);
      case CXCursor_IntegerLiteral:
        node = wb_new_node(reader, WB_NUMBER);
        node->number = number_of(cursor);
        return node;
      default: break;
    }
    code_children(cursor, children);
    switch (clang_getCursorKind(cursor)) {
      case CXCursor_CompoundStmt:
      case CXCursor_DeclStmt:
      case CXCursor_StmtExpr: return wb_node_with(reader, WB_SEQUENCE, children);
      case CXCursor_IfStmt:
      case CXCursor_ConditionalOperator: return read_if(reader, children);
      case CXCursor_WhileStmt:
      case CXCursor_DoStmt: return wb_node_with(reader, WB_LOOP, children);
      case CXCursor_CXXForRangeStmt: return wb_read_range_for(reader, children);
      case CXCursor_ForStmt: return read_for(reader, children);
      case CXCursor_SwitchStmt: return wb_node_with(reader, WB_SWITCH, children);
      case CXCursor_CaseStmt:
      case CXCursor_DefaultStmt: return wb_node_with(reader, WB_CASE, children);
      case CXCursor_LabelStmt: return read_named(reader, WB_LABEL, cursor, children);
      case CXCursor_BreakStmt: return wb_new_node(reader, WB_BREAK);
      case CXCursor_ContinueStmt: return wb_new_node(reader, WB_CONTINUE);
      case CXCursor_ReturnStmt: return read_return(reader, cursor, children);
      case CXCursor_BinaryOperator: return read_binary(reader, cursor, children);
      case CXCursor_UnaryOperator: return read_unary(reader, cursor, children);
      case CXCursor_CallExpr: return read_call(reader, cursor, children);
      case CXCursor_CStyleCastExpr:
      case CXCursor_CXXStaticCastExpr:
      case CXCursor_CXXReinterpretCastExpr:
      case CXCursor_CXXFunctionalCastExpr: return read_cast(reader, cursor, children);
      case CXCursor_CompoundLiteralExpr: return wb_read_literal(reader, cursor, children);
      case CXCursor_ArraySubscriptExpr:
        node = wb_node_with(reader, WB_ELEMENT, children);
        node->type = wb_read_type(reader, clang_getCursorType(cursor));
        return node;
      case CXCursor_UnexposedExpr: /* with three children: __builtin_choose_expr, behind Ruby's
                                    * INT2FIX */
        if (children->count == 3) return wb_node_with(reader, WB_IF, children);
        /* fall through */
      default:
        if (children->count == 1) return wb_read_code(reader, children->items[0]);
        return wb_node_with(reader, WB_ANY, children);
    }
}

struct wb_node *
wb_read_code(struct wb_reader *reader, CXCursor cursor)
{
    struct wb_cursors children = {0};

    if (reader->depth >= WB_DEPTH_MOST) {
        reader->too_deep = true;
        return wb_new_node(reader, WB_ANY);
    }
    reader->depth++;
    struct wb_node *node = read_kind(reader, cursor, &children);
    reader->depth--;
    free(children.items);
    return node;
}

/* ---- whole functions ---- */

static void
read_parameters(struct wb_reader *reader, CXCursor definition, struct wb_function *function)
{
    int count = clang_Cursor_getNumArguments(definition);

    if (count <= 0) return;
    function->parameter_count = (unsigned)count;
    function->parameters = wb_arena_take(&reader->program->arena,
                                         (size_t)count * sizeof(*function->parameters));
    for (int i = 0; i < count; i++) {
        function->parameters[i] = wb_read_variable(reader,
                                                   clang_Cursor_getArgument(definition,
                                                                            (unsigned)i));
    }
}

void
wb_read_body(struct wb_reader *reader, CXCursor definition, struct wb_function *function)
{
    struct wb_cursors children = {0};

    if (function->body) return;
    wb_children(definition, &children);
    for (size_t i = 0; i < children.count; i++) {
        if (clang_getCursorKind(children.items[i]) != CXCursor_CompoundStmt) continue;
        read_parameters(reader, definition, function);
        function->place = wb_place_of(reader, definition);
        reader->returns_reference = reference_p(clang_getCursorResultType(definition),
                                                function->result);
        function->body = wb_read_code(reader, children.items[i]);
    }
    free(children.items);
}
