/* read_types.c - types, declarations and the initialisers of rb_data_type_t.
 *
 * VALUE is a typedef of an integer. So a type is looked at through its typedefs one by one, and is a VALUE when one of them
 * has that name.
 */
#include "barriers/reader.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

static bool
named_p(CXCursor cursor, const char *name)
{
    CXString spelling = clang_getCursorSpelling(cursor);
    bool same = !strcmp(clang_getCString(spelling), name);

    clang_disposeString(spelling);
    return same;
}

static void
read_field_type(struct wb_reader *reader, CXCursor declaration, struct wb_field *field)
{
    CXType type = clang_getCursorType(declaration);
    long long bits = clang_Cursor_getOffsetOfField(declaration);

    field->type = wb_read_type(reader, type);
    field->offset = bits < 0 ? -1 : bits / CHAR_BIT;
    field->size = clang_Type_getSizeOf(type);
}

static enum CXVisitorResult
add_field_i(CXCursor cursor, CXClientData data)
{
    void **arguments = data;
    struct wb_reader *reader = arguments[0];
    struct wb_field ***end = arguments[1];
    struct wb_field *field = WB_NEW(&reader->program->arena, struct wb_field);

    field->name = wb_spelling(reader, cursor);
    field->record = arguments[2];
    read_field_type(reader, cursor, field);
    **end = field;
    *end = &field->next;
    return CXVisit_Continue;
}

static struct wb_record *
read_record(struct wb_reader *reader, CXType type)
{
    CXCursor declaration = clang_getTypeDeclaration(type);
    CXString spelling = clang_getTypeSpelling(type);
    struct wb_record *record = wb_record_of(reader->program, wb_key(reader, declaration), clang_getCString(spelling));

    clang_disposeString(spelling);
    if (!record->complete && clang_Type_getSizeOf(type) >= 0) {
        struct wb_field **end = &record->fields;
        void *arguments[] = {reader, &end, record};
        record->size = clang_Type_getSizeOf(type);
        record->complete = true; /* before its fields, which may point to it */
        clang_Type_visitFields(type, add_field_i, arguments);
    }
    return record;
}

/* Whether one of the type's typedefs is named VALUE. */
static bool
value_p(CXType type)
{
    for (;;) {
        CXCursor declaration;
        if (type.kind == CXType_Elaborated) type = clang_Type_getNamedType(type);
        if (type.kind != CXType_Typedef) return false;
        declaration = clang_getTypeDeclaration(type);
        if (named_p(declaration, "VALUE")) return true;
        type = clang_getTypedefDeclUnderlyingType(declaration);
    }
}

/* One typedef less: what is behind a pointer or in an array may be a VALUE, which the canonical type has lost. */
static CXType
without_typedefs(CXType type)
{
    for (;;) {
        if (type.kind == CXType_Elaborated) type = clang_Type_getNamedType(type);
        else if (type.kind == CXType_Typedef) type = clang_getTypedefDeclUnderlyingType(clang_getTypeDeclaration(type));
        else return type;
    }
}

static struct wb_type *
new_type(struct wb_reader *reader, CXType type, enum wb_type_kind kind)
{
    struct wb_type *made = WB_NEW(&reader->program->arena, struct wb_type);

    made->kind = kind;
    made->constant = clang_isConstQualifiedType(type);
    return made;
}

/* A pointer to numbers or characters, or to a function: VALUEs are not found through it. */
static bool
plain_p(CXType pointee, const struct wb_type *read)
{
    return read->kind == WB_OTHER && clang_getCanonicalType(pointee).kind != CXType_Void;
}

struct wb_type *
wb_read_type(struct wb_reader *reader, CXType type)
{
    static struct wb_type other = {.kind = WB_OTHER};
    struct wb_type *made;

    if (value_p(type)) return new_type(reader, type, WB_VALUE);
    type = without_typedefs(type);
    if (type.kind == CXType_Unexposed) type = clang_getCanonicalType(type); /* typeof, attributes, templates */
    switch (type.kind) {
      case CXType_Pointer:
      case CXType_LValueReference:
        made = new_type(reader, type, WB_POINTER);
        made->to = wb_read_type(reader, clang_getPointeeType(type));
        return plain_p(clang_getPointeeType(type), made->to) ? &other : made;
      case CXType_ConstantArray:
      case CXType_IncompleteArray:
      case CXType_VariableArray:
        made = new_type(reader, type, WB_ARRAY);
        made->to = wb_read_type(reader, clang_getArrayElementType(type));
        return made;
      case CXType_Record:
        made = new_type(reader, type, WB_RECORD);
        made->record = read_record(reader, type);
        return made;
      default:
        return &other;
    }
}

struct wb_field *
wb_read_field(struct wb_reader *reader, CXCursor declaration)
{
    CXCursor parent = clang_getCursorSemanticParent(declaration);
    struct wb_record *record = read_record(reader, clang_getCursorType(parent));
    const char *name = wb_spelling(reader, declaration);
    struct wb_field *field = record->fields;

    while (field && field->name != name) field = field->next;
    if (!field) { /* of a template, say */
        field = WB_NEW(&reader->program->arena, struct wb_field);
        field->name = name;
        field->record = record;
        read_field_type(reader, declaration, field);
        field->next = record->fields;
        record->fields = field;
    }
    return field;
}

/* ---- variables and functions ---- */

static struct wb_local *
local_at(const struct wb_locals *locals, const void *declaration)
{
    size_t at = rb_heapprof_index_hash((uintptr_t)declaration) & (locals->capacity - 1);

    while (locals->all[at].declaration && locals->all[at].declaration != declaration) {
        at = (at + 1) & (locals->capacity - 1);
    }
    return &locals->all[at];
}

static void
grow_locals(struct wb_reader *reader)
{
    struct wb_locals old = reader->locals;
    struct wb_locals *locals = &reader->locals;

    locals->capacity = old.capacity ? old.capacity * 2 : 256;
    locals->all = wb_arena_take(&reader->program->arena, locals->capacity * sizeof(*locals->all));
    for (size_t i = 0; i < old.capacity; i++) {
        if (old.all[i].declaration) *local_at(locals, old.all[i].declaration) = old.all[i];
    }
}

static struct wb_variable *
read_local(struct wb_reader *reader, CXCursor declaration)
{
    struct wb_local *local;

    if (reader->locals.count * 2 >= reader->locals.capacity) grow_locals(reader);
    local = local_at(&reader->locals, declaration.data[0]);
    if (!local->declaration) {
        local->declaration = declaration.data[0];
        local->variable = WB_NEW(&reader->program->arena, struct wb_variable);
        local->variable->name = wb_spelling(reader, declaration);
        local->variable->type = wb_read_type(reader, clang_getCursorType(declaration));
        reader->locals.count++;
    }
    return local->variable;
}

/* Whether it is on the stack: neither static nor outside functions. */
static bool
automatic_p(CXCursor declaration)
{
    enum CXCursorKind parent;

    if (clang_getCursorKind(declaration) == CXCursor_ParmDecl) return true;
    parent = clang_getCursorKind(clang_getCursorSemanticParent(declaration));
    if (parent == CXCursor_TranslationUnit || parent == CXCursor_Namespace || parent == CXCursor_LinkageSpec ||
        parent == CXCursor_ClassDecl || parent == CXCursor_StructDecl) return false;
    return clang_Cursor_getStorageClass(declaration) != CX_SC_Static &&
           clang_Cursor_getStorageClass(declaration) != CX_SC_Extern;
}

struct wb_variable *
wb_read_variable(struct wb_reader *reader, CXCursor declaration)
{
    struct wb_variable *variable;

    declaration = clang_getCanonicalCursor(declaration);
    if (automatic_p(declaration)) return read_local(reader, declaration);
    variable = wb_global_of(reader->program, wb_key(reader, declaration), wb_spelling(reader, declaration));
    if (!variable->type) variable->type = wb_read_type(reader, clang_getCursorType(declaration));
    if (!variable->data_type && variable->type->kind == WB_RECORD &&
        strstr(variable->type->record->name, "rb_data_type_")) wb_data_type_of(reader->program, variable);
    return variable;
}

static bool
never_returns_p(CXCursor declaration)
{
    CXString spelling = clang_getTypeSpelling(clang_getCursorType(declaration));
    bool never = strstr(clang_getCString(spelling), "noreturn") != NULL;

    clang_disposeString(spelling);
    return never;
}

static uint64_t
only_read(CXCursor declaration)
{
    CXType type = clang_getCursorType(declaration);
    int count = clang_getNumArgTypes(type);
    uint64_t bits = 0;

    for (int i = 0; i < count && i < 64; i++) {
        CXType pointee = clang_getPointeeType(clang_getCanonicalType(clang_getArgType(type, (unsigned)i)));
        if (clang_isConstQualifiedType(pointee)) bits |= (uint64_t)1 << i;
    }
    return bits;
}

struct wb_function *
wb_read_function(struct wb_reader *reader, CXCursor declaration)
{
    struct wb_function *function = wb_function_of(reader->program, wb_key(reader, declaration),
                                                  wb_spelling(reader, declaration));

    if (!function->result) {
        function->result = wb_read_type(reader, clang_getCursorResultType(declaration));
        function->of_ruby = wb_of_ruby_p(reader, declaration);
        function->never_returns = never_returns_p(declaration);
        function->only_read = only_read(declaration);
    }
    return function;
}

/* ---- rb_data_type_t ---- */

/* Its members in order, function's own among them, as an initialiser without names has them. */
enum member {NAME, MARK, FREE, SIZE, COMPACT, RESERVED, PARENT, DATA, FLAGS, MEMBERS};
static const char *const member_names[MEMBERS] = {
    "wrap_struct_name", "dmark", "dfree", "dsize", "dcompact", "reserved", "parent", "data", "flags",
};

struct initialiser {
    struct wb_reader    *reader;
    struct wb_data_type *data_type;
    enum member          at;         /* what comes next */
};

static enum member
member_named(CXCursor reference, enum member otherwise)
{
    for (int i = 0; i < MEMBERS; i++) {
        if (named_p(reference, member_names[i])) return (enum member)i;
    }
    return named_p(reference, "function") ? MARK : otherwise;
}

/* The first function named in an expression, through casts; null: none. */
static enum CXChildVisitResult
find_function_i(CXCursor cursor, CXCursor parent, CXClientData data)
{
    CXCursor referenced = clang_getCursorReferenced(cursor);

    (void)parent;
    if (clang_getCursorKind(cursor) == CXCursor_DeclRefExpr &&
        clang_getCursorKind(referenced) == CXCursor_FunctionDecl) {
        *(CXCursor *)data = referenced;
        return CXChildVisit_Break;
    }
    return CXChildVisit_Recurse;
}

static struct wb_function *
function_in(struct wb_reader *reader, CXCursor expression)
{
    CXCursor found = clang_getNullCursor();

    if (find_function_i(expression, expression, &found) == CXChildVisit_Recurse) {
        clang_visitChildren(expression, find_function_i, &found);
    }
    return clang_Cursor_isNull(found) ? NULL : wb_read_function(reader, found);
}

static enum CXChildVisitResult
find_name_i(CXCursor cursor, CXCursor parent, CXClientData data)
{
    (void)parent;
    if (clang_getCursorKind(cursor) != CXCursor_DeclRefExpr) return CXChildVisit_Recurse;
    *(bool *)data = true;
    return CXChildVisit_Break;
}

/* Whether there is any name in an expression: NULL, in all its forms, has none. */
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
    if (clang_EvalResult_getKind(result) == CXEval_Int) number = clang_EvalResult_getAsUnsigned(result);
    clang_EvalResult_dispose(result);
    return number;
}

/* Bits of rb_data_type_t#flags; their values are part of the ABI of extensions. */
#define FLAG_WB_PROTECTED (1u << 5)
#define FLAG_DECL_MARKING (1u << 14)

static void
set_member(struct initialiser *initialiser, CXCursor value)
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
        break;
      default: break;
    }
}

static enum CXChildVisitResult read_member_i(CXCursor cursor, CXCursor parent, CXClientData data);

/* What a designator's value is: ".function.dmark = x" has two names before it. */
static enum CXChildVisitResult
read_designated_i(CXCursor cursor, CXCursor parent, CXClientData data)
{
    struct initialiser *initialiser = data;

    if (clang_getCursorKind(cursor) == CXCursor_MemberRef) {
        initialiser->at = member_named(cursor, initialiser->at);
        return CXChildVisit_Continue;
    }
    return read_member_i(cursor, parent, data);
}

static bool
designated_p(CXCursor cursor)
{
    struct wb_cursors children = {0};
    bool designated;

    if (clang_getCursorKind(cursor) != CXCursor_UnexposedExpr) return false;
    wb_children(cursor, &children);
    designated = children.count > 0 && clang_getCursorKind(children.items[0]) == CXCursor_MemberRef;
    free(children.items);
    return designated;
}

static enum CXChildVisitResult
read_member_i(CXCursor cursor, CXCursor parent, CXClientData data)
{
    struct initialiser *initialiser = data;

    (void)parent;
    if (clang_isReference(clang_getCursorKind(cursor))) return CXChildVisit_Continue;
    if (designated_p(cursor)) {
        clang_visitChildren(cursor, read_designated_i, data);
        return CXChildVisit_Continue;
    }
    if (clang_getCursorKind(cursor) == CXCursor_InitListExpr) { /* function, or what is reserved in it */
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
    struct initialiser initialiser = {.reader = reader};
    struct wb_variable *variable;

    if (clang_Cursor_isNull(value) || clang_getCursorKind(value) != CXCursor_InitListExpr) return;
    variable = wb_read_variable(reader, declaration);
    initialiser.data_type = variable->data_type;
    if (!initialiser.data_type || initialiser.data_type->known) return;
    initialiser.data_type->known = true;
    initialiser.data_type->place = wb_place_of(reader, declaration);
    clang_visitChildren(value, read_member_i, &initialiser);
}
