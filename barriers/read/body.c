/* body.c - reads the code of functions: from clang's tree to ours.
 *
 * Our tree has what the flow of VALUEs needs: assignments, calls, constants, branches and
 * loops. Any other node is WB_ANY with its children. Parentheses and implicit conversions are
 * left out.
 *
 * Before LLVM 17 libclang does not tell the operator of an expression. But the operands show
 * these; operators.c looks for those of conditions in the source:
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

    return clang_isExpression(kind) || clang_isStatement(kind) || kind == CXCursor_VarDecl ||
           wb_binding_p(cursor);
}

void
wb_code_children(CXCursor cursor, struct wb_cursors *children)
{
    size_t kept = 0;

    wb_children(cursor, children);
    for (size_t i = 0; i < children->count; i++) {
        if (code_p(children->items[i])) children->items[kept++] = children->items[i];
    }
    children->count = kept;
}

void
wb_append_code(struct wb_reader *reader, struct wb_node *node, const struct wb_cursors *children,
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

    wb_append_code(reader, node, children, 0);
    return node;
}

/* ---- names ---- */

void
wb_request_body(struct wb_reader *reader, CXCursor declaration, struct wb_function *function)
{
    CXCursor definition = clang_getCursorDefinition(declaration);

    if (function->body || function->ours || clang_Cursor_isNull(definition)) return;
    if (wb_of_std_p(declaration)) return; /* what it does is known: containers.c, algorithms.c */
    if (!HEAPPROF_MEM_GROW(&reader->program->mem, reader->pending, reader->pending_capacity,
                           reader->pending_count + 1)) wb_out_of_memory();
    reader->pending[reader->pending_count++] = (struct wb_pending){
        definition, function, reader->values
    };
}

bool
wb_function_p(enum CXCursorKind kind)
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

    if (wb_function_p(kind)) {
        node = wb_new_node(reader, WB_FUNCTION);
        node->function = wb_read_function(reader, referenced);
        node->function->addressed++;
        wb_request_body(reader, referenced, node->function);
    }
    else if (kind == CXCursor_VarDecl || kind == CXCursor_ParmDecl ||
             kind == CXCursor_UnexposedDecl) { /* the last one is a part of a structured binding */
        node = wb_new_node(reader, WB_VARIABLE);
        node->variable = wb_read_variable(reader, referenced);
        node->type = node->variable->type;
        if (node->variable->data_type && !node->variable->data_type->known) { /* of a template */
            wb_read_data_type(reader, clang_getCursorDefinition(referenced));
        }
        if (node->variable->reference) node = wb_node_around(reader, WB_POINTEE, node);
    }
    else if (kind == CXCursor_EnumConstantDecl) {
        node = wb_new_node(reader, WB_NUMBER);
        node->number = clang_getEnumConstantDeclValue(referenced);
    }
    else node = wb_new_node(reader, WB_ANY);
    return node;
}

bool
wb_followed_reference_p(struct wb_reader *reader, CXType type, const struct wb_type *read)
{
    return read && read->kind == WB_POINTER && wb_reference_p(reader, type);
}

static struct wb_node *
read_member(struct wb_reader *reader, CXCursor cursor)
{
    CXCursor referenced = clang_getCursorReferenced(cursor);
    struct wb_cursors children = {0};

    if (clang_getCursorKind(referenced) != CXCursor_FieldDecl) {
        return read_reference(reader, cursor);
    }
    wb_code_children(cursor, &children);
    struct wb_node *node = children.count == 1 ?
                           wb_read_std_member(reader, cursor, children.items[0]) : NULL;
    if (node) {
        free(children.items);
        return node;
    }
    node = wb_node_with(reader, WB_MEMBER, &children);
    const bool outer = reader->values;
    reader->values = node->child ? wb_holds_values_p(node->child) : outer;
    node->field = wb_read_field(reader, referenced);
    reader->values = outer;
    node->type = node->field->type;
    node->arrow = children.count == 0 ||
                  clang_getCanonicalType(clang_getCursorType(children.items[0])).kind ==
                  CXType_Pointer;
    if (!node->child) node->child = wb_read_self(reader);
    free(children.items);
    return wb_followed_reference_p(reader, clang_getCursorType(referenced), node->type) ?
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

static struct wb_node *
read_number(struct wb_reader *reader, CXCursor cursor)
{
    struct wb_node *node = wb_new_node(reader, WB_NUMBER);

    node->number = number_of(cursor);
    return node;
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

CXCursor
wb_without_parentheses(CXCursor cursor)
{
    struct wb_cursors children = {0};

    while (clang_getCursorKind(cursor) == CXCursor_ParenExpr) {
        wb_code_children(cursor, &children);
        if (children.count != 1) break;
        cursor = children.items[0];
    }
    free(children.items);
    return cursor;
}

static enum CXTypeKind
canonical_kind(CXCursor cursor)
{
    return clang_getCanonicalType(clang_getCursorType(cursor)).kind;
}

/* p->*m */
static bool
member_pointer_p(CXCursor cursor, const struct wb_cursors *operands)
{
    return operands->count == 2 &&
           canonical_kind(operands->items[1]) == CXType_MemberPointer &&
           canonical_kind(cursor) != CXType_MemberPointer;
}

static bool
lvalue_p(CXCursor cursor)
{
    struct wb_cursors children = {0};
    bool lvalue = false;

    cursor = wb_without_parentheses(cursor);
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
        wb_code_children(cursor, &children);
        lvalue = children.count == 1 && unary_kind(cursor, children.items[0]) == WB_POINTEE;
        break;
      case CXCursor_CallExpr: /* of C++ */
        lvalue = clang_getCanonicalType(clang_getCursorResultType(
            clang_getCursorReferenced(cursor))).kind == CXType_LValueReference;
        break;
      case CXCursor_BinaryOperator:
        wb_code_children(cursor, &children);
        lvalue = member_pointer_p(cursor, &children);
        break;
      case CXCursor_ConditionalOperator: /* of C++: in C there are conversions below */
        wb_code_children(cursor, &children);
        lvalue = children.count == 3 && lvalue_p(children.items[1]) &&
                 lvalue_p(children.items[2]);
        break;
      default: break;
    }
    free(children.items);
    return lvalue;
}

static struct wb_node *
read_binary(struct wb_reader *reader, CXCursor cursor, const struct wb_cursors *children)
{
    bool member = member_pointer_p(cursor, children);
    struct wb_node *named = member ? wb_read_member_pointer(reader, children) : NULL;

    if (named) return named;
    bool assigns = !member && children->count == 2 && lvalue_p(children->items[0]);
    struct wb_node *node = wb_node_with(reader, assigns ? WB_ASSIGN : member ? WB_ELEMENT : WB_ANY,
                                        children);

    if (assigns) {
        node->place = wb_place_of(reader, cursor);
        node->type = node->child->type;
    }
    else {
        node->type = wb_read_type(reader, clang_getCursorType(cursor)); /* a pointer plus n */
        if (!member && children->count == 2) {
            node->operation = wb_operator_between(reader, children->items[0], children->items[1]);
        }
    }
    return node;
}

/* A variable that is not only assigned to: of its value nothing is known. */
static void
note_changed(struct wb_node *node)
{
    if (node && node->kind == WB_VARIABLE) node->variable->changed = true;
}

static struct wb_node *
read_unary(struct wb_reader *reader, CXCursor cursor, const struct wb_cursors *children)
{
    enum wb_node_kind kind = children->count == 1 ? unary_kind(cursor, children->items[0]) : WB_ANY;
    struct wb_node *node;

    if (kind == WB_ANY && children->count == 1 && /* "-1" */
        clang_getCursorKind(wb_innermost(children->items[0])) == CXCursor_IntegerLiteral) {
        return read_number(reader, cursor);
    }
    node = wb_node_with(reader, kind, children);
    if (kind != WB_POINTEE && children->count == 1 && lvalue_p(children->items[0])) {
        note_changed(node->child);
    }
    else if (kind == WB_ANY && wb_not_p(reader, cursor)) node->operation = WB_NOT;
    if (kind == WB_POINTEE) node->type = wb_read_type(reader, clang_getCursorType(cursor));
    return node;
}

/* __builtin_choose_expr: both expressions have the same value. In Ruby's INT2FIX one of them is a
 * call that is known to return no object, so the other one need not be looked at. */
static struct wb_node *
read_choice(struct wb_reader *reader, const struct wb_cursors *children)
{
    struct wb_node *node = wb_node_with(reader, WB_IF, children), *last = node->child->next->next;
    const struct wb_node *call = wb_without_casts(last);
    bool immediate = call->kind == WB_CALL && call->function &&
                     wb_known_of(call->function)->effect == WB_RETURN_IMMEDIATE;

    return immediate ? last : node;
}

static struct wb_node *
read_cast(struct wb_reader *reader, CXCursor cursor, const struct wb_cursors *children)
{
    struct wb_node *node = wb_node_with(reader, children->count == 1 ? WB_CAST : WB_ANY, children);

    node->type = wb_read_type(reader, clang_getCursorType(cursor));
    return node;
}

/* True for what stands in place of a parameter of a template, above it. */
static bool
substituted_p(CXCursor cursor)
{
    return clang_getCursorKind(cursor) == CXCursor_DeclRefExpr &&
           clang_Cursor_isNull(clang_getCursorReferenced(cursor));
}

CXCursor
wb_innermost(CXCursor cursor)
{
    struct wb_cursors children = {0};

    for (;;) {
        enum CXCursorKind kind = clang_getCursorKind(cursor);
        if (kind != CXCursor_ParenExpr && kind != CXCursor_UnexposedExpr &&
            !substituted_p(cursor)) break;
        wb_code_children(cursor, &children);
        if (children.count != 1) break;
        cursor = children.items[0];
    }
    free(children.items);
    return cursor;
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
    if (!node->variable->global) wb_note_destroyed(reader, cursor, node->variable);
    if (clang_Cursor_isNull(value)) return node;
    if (!node->variable->global) {
        node->next = wb_read_list(reader, wb_variable_node(reader, node->variable), value);
    }
    if (node->next) return node;
    if (wb_constructs_p(wb_innermost(value)) && node->variable->type->kind == WB_RECORD) {
        struct wb_node *variable = wb_variable_node(reader, node->variable);
        node->next = wb_read_construction(reader, wb_innermost(value),
                                          wb_pointer_to(reader, variable));
        return node;
    }
    node->child = wb_read_code(reader, value);
    if (node->variable->reference) {
        node->child = wb_node_around(reader, WB_ADDRESS, node->child);
    }
    if (!node->variable->global) wb_declare_as(reader, cursor, node);
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
    wb_append_code(reader, node, children, at);
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
        wb_code_children(cursor, &children);
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
    wb_append_code(reader, node, &first, 0);
    rest = *children;
    if (continues) { /* the last part changes places with the body */
        CXCursor body = rest.items[parts];
        rest.items[parts] = rest.items[parts - 1];
        rest.items[parts - 1] = body;
    }
    wb_append_code(reader, loop, &rest, begins);
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

/* A range "case 1 ... 3" is any number. */
static struct wb_node *
read_case(struct wb_reader *reader, const struct wb_cursors *children)
{
    struct wb_node *node = wb_node_with(reader, WB_CASE, children);
    const struct wb_node *number = node->child ? wb_without_casts(node->child) : NULL;

    if (children->count == 2 && number && number->kind == WB_NUMBER) {
        node->operation = WB_EQUAL;
        node->number = number->number;
    }
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
    return wb_leave_blocks(reader, node);
}

/* True for the operands of __atomic_store_n and its like: the address, the order, the value. */
static bool
atomic_p(const struct wb_cursors *operands)
{
    return operands->count >= 3 && canonical_kind(operands->items[0]) == CXType_Pointer;
}

struct wb_node *
wb_assignment(struct wb_reader *reader, CXCursor cursor, struct wb_node *to, struct wb_node *what)
{
    struct wb_node *node = wb_node_around(reader, WB_ASSIGN, to);

    to->next = what;
    node->type = to->type;
    node->place = wb_place_of(reader, cursor);
    return node;
}

/* Its last operand is the value that is stored. */
static struct wb_node *
read_atomic(struct wb_reader *reader, CXCursor cursor, const struct wb_cursors *operands)
{
    struct wb_node *address = wb_read_code(reader, operands->items[0]);

    return wb_assignment(reader, cursor, wb_node_around(reader, WB_POINTEE, address),
                         wb_read_code(reader, operands->items[operands->count - 1]));
}

/* Returns NULL for a declaration without code, such as a type. */
static struct wb_node *
read_kind(struct wb_reader *reader, CXCursor cursor, struct wb_cursors *children)
{
    struct wb_node *node;

    switch (clang_getCursorKind(cursor)) {
      case CXCursor_VarDecl: return read_declaration(reader, cursor);
      case CXCursor_UnexposedDecl: return wb_read_binding(reader, cursor);
      case CXCursor_LambdaExpr: return wb_read_lambda(reader, cursor);
      case CXCursor_CXXThisExpr: return wb_read_self(reader);
      case CXCursor_DeclRefExpr:
        if (!substituted_p(cursor)) return read_reference(reader, cursor);
        break;
      case CXCursor_MemberRefExpr: return read_member(reader, cursor);
      case CXCursor_GotoStmt: return read_goto(reader, cursor);
      case CXCursor_StringLiteral: return wb_read_string(reader, cursor);
      case CXCursor_UnaryExpr: /* sizeof evaluates nothing */
      case CXCursor_SizeOfPackExpr:
        node = wb_new_node(reader, WB_NUMBER);
        node->number = 1; /* anything but 0 */
        return node;
      case CXCursor_CXXNullPtrLiteralExpr: return wb_new_node(reader, WB_NUMBER);
      case CXCursor_CharacterLiteral:
      case CXCursor_CXXBoolLiteralExpr:
      case CXCursor_IntegerLiteral: return read_number(reader, cursor);
      default: break;
    }
    wb_code_children(cursor, children);
    switch (clang_getCursorKind(cursor)) {
      case CXCursor_CompoundStmt: return wb_read_block(reader, children);
      case CXCursor_DeclStmt:
      case CXCursor_StmtExpr: return wb_node_with(reader, WB_SEQUENCE, children);
      case CXCursor_IfStmt:
      case CXCursor_ConditionalOperator: return read_if(reader, children);
      case CXCursor_WhileStmt:
      case CXCursor_DoStmt: return wb_node_with(reader, WB_LOOP, children);
      case CXCursor_CXXForRangeStmt: return wb_read_range_for(reader, children);
      case CXCursor_ForStmt: return read_for(reader, children);
      case CXCursor_SwitchStmt: return wb_node_with(reader, WB_SWITCH, children);
      case CXCursor_CaseStmt: return read_case(reader, children);
      case CXCursor_DefaultStmt:
        node = wb_node_with(reader, WB_CASE, children);
        node->operation = WB_NOT_EQUAL;
        return node;
      case CXCursor_LabelStmt: return read_named(reader, WB_LABEL, cursor, children);
      case CXCursor_BreakStmt: return wb_new_node(reader, WB_BREAK);
      case CXCursor_ContinueStmt: return wb_new_node(reader, WB_CONTINUE);
      case CXCursor_ReturnStmt: return read_return(reader, cursor, children);
      case CXCursor_BinaryOperator: return read_binary(reader, cursor, children);
      case CXCursor_UnaryOperator: return read_unary(reader, cursor, children);
      case CXCursor_CompoundAssignOperator:
        node = wb_node_with(reader, WB_ANY, children);
        note_changed(node->child);
        return node;
      case CXCursor_CallExpr: return wb_read_call(reader, cursor, children);
      case CXCursor_CStyleCastExpr:
      case CXCursor_CXXStaticCastExpr:
      case CXCursor_CXXReinterpretCastExpr:
      case CXCursor_CXXFunctionalCastExpr: return read_cast(reader, cursor, children);
      case CXCursor_CXXNewExpr: return wb_read_new(reader, cursor, children);
      case CXCursor_InitListExpr:
      case CXCursor_CompoundLiteralExpr: return wb_read_literal(reader, cursor, children);
      case CXCursor_ArraySubscriptExpr:
        node = wb_node_with(reader, WB_ELEMENT, children);
        node->type = wb_read_type(reader, clang_getCursorType(cursor));
        return node;
      case CXCursor_UnexposedExpr: /* with three children: __builtin_choose_expr, behind Ruby's
                                    * INT2FIX */
        if (atomic_p(children)) return read_atomic(reader, cursor, children);
        if (children->count == 3) return read_choice(reader, children);
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
    unsigned filled = 0;

    const enum CXCursorKind kind = clang_getCursorKind(definition);

    reader->self = wb_method_p(definition) || kind == CXCursor_Constructor ||
                   kind == CXCursor_Destructor ? wb_self_of(reader, definition) : NULL;
    if (count + (reader->self != NULL) <= 0) return;
    function->parameters = wb_arena_take(&reader->program->arena,
                                         ((size_t)count + 1) * sizeof(*function->parameters));
    if (reader->self) function->parameters[filled++] = reader->self;
    for (int i = 0; i < count; i++) {
        function->parameters[filled++] =
            wb_read_variable(reader, clang_Cursor_getArgument(definition, (unsigned)i));
    }
    function->parameter_count = filled;
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
        CXType result = clang_getCursorResultType(definition);
        reader->returns_reference = wb_followed_reference_p(reader, result, function->result);
        function->body = wb_read_code(reader, children.items[i]);
        if (clang_getCursorKind(definition) == CXCursor_Constructor) {
            function->body = wb_read_initialisers(reader, &children, function->body);
        }
    }
    free(children.items);
}
