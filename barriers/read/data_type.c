/* data_type.c - reads initialisers of rb_data_type_t, with names of members and without. */
#include "barriers/read/reader.h"

#include <stdlib.h>

/* The members in the order of an initialiser without names. Those of `function` stand among
 * them. */
enum wb_member {NAME, MARK, FREE, SIZE, COMPACT, RESERVED, PARENT, DATA, FLAGS, MEMBERS};
static const char *const member_names[MEMBERS] = {
    "wrap_struct_name", "dmark", "dfree", "dsize", "dcompact", "reserved", "parent", "data",
        "flags",
};

struct wb_initialiser {
    struct wb_reader    *reader;
    struct wb_data_type *data_type;
    enum wb_member       at;         /* the next member */
};

static enum wb_member
member_named(CXCursor reference, enum wb_member otherwise)
{
    for (int i = 0; i < MEMBERS; i++) {
        if (wb_named_p(reference, member_names[i])) return (enum wb_member)i;
    }
    return wb_named_p(reference, "function") ? MARK : otherwise;
}

/* What find_function_i looks for: a function by its name, or a lambda. */
struct wb_found {
    struct wb_reader   *reader;
    struct wb_function *function;
};

static struct wb_function *function_in(struct wb_reader *reader, CXCursor expression);

static struct wb_function *
read_lambda(struct wb_reader *reader, CXCursor lambda)
{
    struct wb_node *closure = wb_read_lambda(reader, lambda);

    wb_make_function(closure);
    return closure->function;
}

/* Finds the first function that an expression names, through casts and variables. */
static enum CXChildVisitResult
find_function_i(CXCursor cursor, CXCursor parent, CXClientData data)
{
    CXCursor referenced = clang_getCursorReferenced(cursor), value;
    struct wb_found *found = data;

    (void)parent;
    if (clang_getCursorKind(cursor) == CXCursor_LambdaExpr) {
        found->function = read_lambda(found->reader, cursor);
    }
    else if (clang_getCursorKind(cursor) != CXCursor_DeclRefExpr) return CXChildVisit_Recurse;
    else if (clang_getCursorKind(referenced) == CXCursor_VarDecl) {
        value = clang_Cursor_getVarDeclInitializer(referenced);
        if (!clang_Cursor_isNull(value)) found->function = function_in(found->reader, value);
    }
    else if (wb_function_p(clang_getCursorKind(referenced))) {
        found->function = wb_read_function(found->reader, referenced);
        wb_request_body(found->reader, referenced, found->function);
    }
    return found->function ? CXChildVisit_Break : CXChildVisit_Recurse;
}

static struct wb_function *
function_in(struct wb_reader *reader, CXCursor expression)
{
    struct wb_found found = { .reader = reader };

    if (find_function_i(expression, expression, &found) == CXChildVisit_Recurse) {
        clang_visitChildren(expression, find_function_i, &found);
    }
    return found.function;
}

static enum CXChildVisitResult
find_name_i(CXCursor cursor, CXCursor parent, CXClientData data)
{
    (void)parent;
    if (clang_getCursorKind(cursor) != CXCursor_DeclRefExpr &&
        clang_getCursorKind(cursor) != CXCursor_LambdaExpr) return CXChildVisit_Recurse;
    *(bool *)data = true;
    return CXChildVisit_Break;
}

/* True if the expression names anything, or is a lambda. NULL, however it is written, names
 * nothing. */
static bool
names_something_p(CXCursor expression)
{
    bool found = false;

    if (find_name_i(expression, expression, &found) == CXChildVisit_Recurse) {
        clang_visitChildren(expression, find_name_i, &found);
    }
    return found;
}

static const char *
string_in(struct wb_reader *reader, CXCursor expression)
{
    CXEvalResult result = clang_Cursor_Evaluate(expression);
    const char *text = NULL;

    if (!result) return NULL;
    if (clang_EvalResult_getKind(result) == CXEval_StrLiteral) {
        text = wb_name(reader->program, clang_EvalResult_getAsStr(result));
    }
    clang_EvalResult_dispose(result);
    return text;
}

static unsigned long long
number_in(CXCursor expression)
{
    CXEvalResult result = clang_Cursor_Evaluate(expression);
    unsigned long long number = 0;

    if (!result) return 0;
    if (clang_EvalResult_getKind(result) == CXEval_Int) {
        number = clang_EvalResult_getAsUnsigned(result);
    }
    clang_EvalResult_dispose(result);
    return number;
}

/* Bits of rb_data_type_t#flags. Their values are part of the ABI of extensions. */
#define FLAG_WB_PROTECTED (1u << 5)
#define FLAG_DECL_MARKING (1u << 14)

static void
set_member(struct wb_initialiser *initialiser, CXCursor value)
{
    struct wb_data_type *data_type = initialiser->data_type;
    unsigned long long flags;

    switch (initialiser->at) {
      case NAME: data_type->struct_name = string_in(initialiser->reader, value); break;
      case MARK:
        data_type->mark = function_in(initialiser->reader, value);
        data_type->marks = names_something_p(value);
        break;
      case FREE: data_type->free = function_in(initialiser->reader, value); break;
      case SIZE: data_type->size = function_in(initialiser->reader, value); break;
      case COMPACT:
        data_type->compact = function_in(initialiser->reader, value);
        data_type->compacts = names_something_p(value);
        break;
      case FLAGS:
        flags = number_in(value);
        data_type->protected_p = flags & FLAG_WB_PROTECTED;
        data_type->declares = flags & FLAG_DECL_MARKING;
        data_type->flagless = flags == 0;
        data_type->flags_end = wb_place_behind(initialiser->reader, value);
        break;
      case PARENT: data_type->derived = names_something_p(value); break;
      default: break;
    }
}

static enum CXChildVisitResult read_member_i(CXCursor cursor, CXCursor parent, CXClientData data);

/* The value behind designators. ".function.dmark = x" has two names before it. */
static enum CXChildVisitResult
read_designated_i(CXCursor cursor, CXCursor parent, CXClientData data)
{
    struct wb_initialiser *initialiser = data;

    if (clang_getCursorKind(cursor) == CXCursor_MemberRef) {
        initialiser->at = member_named(cursor, initialiser->at);
        initialiser->data_type->names = true;
        return CXChildVisit_Continue;
    }
    return read_member_i(cursor, parent, data);
}

static bool
designated_p(CXCursor cursor)
{
    struct wb_cursors children = {0};

    if (clang_getCursorKind(cursor) != CXCursor_UnexposedExpr) return false;
    wb_children(cursor, &children);
    bool designated = children.count > 0 &&
                      clang_getCursorKind(children.items[0]) == CXCursor_MemberRef;
    free(children.items);
    return designated;
}

static enum CXChildVisitResult
read_member_i(CXCursor cursor, CXCursor parent, CXClientData data)
{
    struct wb_initialiser *initialiser = data;

    (void)parent;
    if (clang_isReference(clang_getCursorKind(cursor))) return CXChildVisit_Continue;
    if (designated_p(cursor)) {
        clang_visitChildren(cursor, read_designated_i, data);
        return CXChildVisit_Continue;
    }
    /* the braces of `function`, or of `reserved` */
    if (clang_getCursorKind(cursor) == CXCursor_InitListExpr) {
        bool function = initialiser->at == MARK;
        if (function) clang_visitChildren(cursor, read_member_i, data);
        initialiser->at = function ? PARENT : initialiser->at + 1;
    }
    else {
        set_member(initialiser, cursor);
        if (initialiser->at < MEMBERS) initialiser->at++;
    }
    return CXChildVisit_Continue;
}

void
wb_read_data_type(struct wb_reader *reader, CXCursor declaration)
{
    CXCursor value = clang_Cursor_getVarDeclInitializer(declaration);
    struct wb_initialiser initialiser = { .reader = reader };

    if (clang_Cursor_isNull(value)) return;
    value = wb_innermost(value); /* with lambdas, it is below a conversion */
    if (clang_getCursorKind(value) != CXCursor_InitListExpr) return;
    struct wb_variable *variable = wb_read_variable(reader, declaration);
    initialiser.data_type = variable->data_type;
    if (!initialiser.data_type || initialiser.data_type->known) return;
    initialiser.data_type->known = true;
    initialiser.data_type->place = wb_place_of(reader, declaration);
    initialiser.data_type->end = wb_place_behind(reader, value);
    clang_visitChildren(value, read_member_i, &initialiser);
}
