/* types.c - types and declarations.
 *
 * VALUE is a typedef of an integer. So the reader follows the typedefs of a type one by one. It
 * is a VALUE if one of them has that name.
 */
#include "barriers/read/reader.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

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

bool
wb_value_p(struct wb_reader *reader, CXType type)
{
    if (reader->values && (type.kind == CXType_Unexposed || type.kind == CXType_ULong)) {
        return clang_getCanonicalType(type).kind == CXType_ULong;
    }
    for (;;) {
        CXCursor declaration;
        if (type.kind == CXType_Elaborated) type = clang_Type_getNamedType(type);
        if (type.kind != CXType_Typedef) return false;
        declaration = clang_getTypeDeclaration(type);
        if (wb_named_p(declaration, "VALUE")) return true;
        type = clang_getTypedefDeclUnderlyingType(declaration);
    }
}

/* The type below its typedefs. The canonical type would have lost a VALUE behind a pointer or
 * in an array. */
static CXType
without_typedefs(CXType type)
{
    for (;;) {
        if (type.kind == CXType_Elaborated) type = clang_Type_getNamedType(type);
        else if (type.kind == CXType_Typedef) {
            type = clang_getTypedefDeclUnderlyingType(clang_getTypeDeclaration(type));
        }
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

/* True for a pointer to numbers, characters or a function. No VALUE is found through it. */
static bool
plain_p(CXType pointee, const struct wb_type *read)
{
    return read->kind == WB_OTHER && clang_getCanonicalType(pointee).kind != CXType_Void;
}

/* ---- of C++ ---- */

bool
wb_reference_p(struct wb_reader *reader, CXType type)
{
    if (type.kind != CXType_LValueReference && type.kind != CXType_RValueReference) return false;
    CXType to = clang_getPointeeType(type);
    return !(clang_isConstQualifiedType(to) && wb_value_p(reader, to));
}

/* ---- classes of std ---- */

static const struct {
    const char       *name;
    enum wb_std_class class;
} std_classes[] = {
    {"array", WB_STD_LIST}, {"atomic", WB_STD_LIST}, {"deque", WB_STD_LIST},
    {"forward_list", WB_STD_LIST}, {"initializer_list", WB_STD_LIST}, {"list", WB_STD_LIST},
    {"map", WB_STD_MAP}, {"multimap", WB_STD_MAP}, {"multiset", WB_STD_LIST},
    {"optional", WB_STD_LIST}, {"pair", WB_STD_TUPLE}, {"priority_queue", WB_STD_LIST},
    {"queue", WB_STD_LIST}, {"set", WB_STD_LIST}, {"shared_ptr", WB_STD_POINTER},
    {"stack", WB_STD_LIST}, {"tuple", WB_STD_TUPLE}, {"unique_ptr", WB_STD_POINTER},
    {"unordered_map", WB_STD_MAP}, {"unordered_multimap", WB_STD_MAP},
    {"unordered_multiset", WB_STD_LIST}, {"unordered_set", WB_STD_LIST}, {"vector", WB_STD_LIST},
};

enum wb_std_class
wb_std_class_of(CXType type)
{
    CXType canonical = clang_getCanonicalType(type), to = clang_getPointeeType(canonical);
    CXCursor declaration = clang_getTypeDeclaration(to.kind == CXType_Invalid ? canonical : to);
    enum wb_std_class class = WB_STD_OTHER;

    CXString spelling = clang_getCursorSpelling(declaration);
    const char *name = clang_getCString(spelling);
    for (size_t i = 0; i < sizeof(std_classes) / sizeof(std_classes[0]); i++) {
        if (!strcmp(name, std_classes[i].name)) class = std_classes[i].class;
    }
    if (strstr(name, "iter")) class = WB_STD_ITERATOR;
    clang_disposeString(spelling);
    return class != WB_STD_OTHER && wb_of_std_p(declaration) ? class : WB_STD_OTHER;
}

/* True if a VALUE is in a thing of that type, or behind a pointer in it. */
static bool
leads_to_values_p(const struct wb_type *type)
{
    bool leads = false;

    while (type->kind == WB_ARRAY || type->kind == WB_POINTER) type = type->to;
    if (type->kind != WB_RECORD) return type->kind == WB_VALUE;
    if (type->record->visiting) return false;
    type->record->visiting = true;
    for (const struct wb_field *field = type->record->fields; field && !leads;
         field = field->next) {
        leads = leads_to_values_p(field->type);
    }
    for (const struct wb_base *base = type->record->bases; base && !leads; base = base->next) {
        leads = leads_to_values_p(&(struct wb_type){ .kind = WB_RECORD, .record = base->record });
    }
    type->record->visiting = false;
    return leads;
}

/* The argument of a template that is a VALUE; or that leads to one. */
static CXType
argument_with_values(struct wb_reader *reader, CXType type)
{
    CXType element = { .kind = CXType_Invalid };
    int count = clang_Type_getNumTemplateArguments(type);

    for (int i = 0; i < count; i++) {
        CXType each = clang_Type_getTemplateArgumentAsType(type, (unsigned)i);
        if (wb_value_p(reader, each)) return each;
        if (element.kind == CXType_Invalid && leads_to_values_p(wb_read_type(reader, each))) {
            element = each;
        }
    }
    return element;
}

/* What one of std's containers contains; of a map, what leads to a VALUE, and rather the value than
 * the key. The kind is CXType_Invalid if the type is no container. */
static CXType
element_type(struct wb_reader *reader, CXType type)
{
    CXType element = { .kind = CXType_Invalid }, key;

    switch (wb_std_class_of(type)) {
      case WB_STD_LIST: return clang_Type_getTemplateArgumentAsType(type, 0);
      case WB_STD_TUPLE: return argument_with_values(reader, type);
      case WB_STD_MAP:
        element = clang_Type_getTemplateArgumentAsType(type, 1);
        if (leads_to_values_p(wb_read_type(reader, element))) return element;
        key = clang_Type_getTemplateArgumentAsType(type, 0);
        return leads_to_values_p(wb_read_type(reader, key)) ? key : element;
      default: return element;
    }
}

/* What a smart pointer points to. CXType_Invalid: the type is no smart pointer. */
static CXType
owned_type(CXType type)
{
    CXType owned = { .kind = CXType_Invalid };

    return wb_std_class_of(type) == WB_STD_POINTER ?
           clang_Type_getTemplateArgumentAsType(type, 0) : owned;
}

/* A container of VALUEs, of structs, or of pointers to these, is like an array of them. Returns
 * NULL for any other. */
static struct wb_type *
read_container(struct wb_reader *reader, CXType type, CXType element)
{
    struct wb_type *made = new_type(reader, type, WB_ARRAY);

    made->to = wb_read_type(reader, element);
    return made->to->kind != WB_OTHER ? made : NULL;
}

static bool
of_lambda_p(CXCursor method)
{
    CXString name = clang_getTypeSpelling(clang_getCursorType(
        clang_getCursorSemanticParent(method)));
    bool lambda = strstr(clang_getCString(name), "(lambda at ");

    clang_disposeString(name);
    return lambda;
}

bool
wb_lambda_call_p(CXCursor called)
{
    return clang_getCursorKind(called) == CXCursor_CXXMethod && of_lambda_p(called);
}

bool
wb_method_p(CXCursor called)
{
    if (clang_getCursorKind(called) == CXCursor_ConversionFunction) {
        return !wb_of_std_p(called) && !of_lambda_p(called);
    }
    return clang_getCursorKind(called) == CXCursor_CXXMethod && !clang_CXXMethod_isStatic(called) &&
           !of_lambda_p(called);
}

/* A class in a class of a template has no arguments of its own. */
bool
wb_values_p(struct wb_reader *reader, CXType type)
{
    CXType to = clang_getPointeeType(type);
    bool values = false;

    if (to.kind != CXType_Invalid) type = to;
    int count = clang_Type_getNumTemplateArguments(type);
    if (!wb_of_template_p(clang_getTypeDeclaration(clang_getCanonicalType(type)))) return false;
    if (count <= 0) return reader->values;
    for (int i = 0; i < count && !values; i++) {
        values = wb_value_p(reader, clang_Type_getTemplateArgumentAsType(type, (unsigned)i));
    }
    return values;
}

bool
wb_holds_values_p(const struct wb_node *node)
{
    const struct wb_type *type = node->kind == WB_ADDRESS && node->child ? node->child->type :
                                 node->type;

    if (type && type->kind == WB_POINTER) type = type->to;
    return type && type->kind == WB_RECORD && type->record->values;
}

/* ---- any type ---- */

static struct wb_record *read_record(struct wb_reader *reader, CXType type);

/* Notes the classes that a class is derived from. */
static void
add_bases(struct wb_reader *reader, CXCursor declaration, struct wb_record *record)
{
    struct wb_cursors children = {0};
    struct wb_base **end = &record->bases;

    wb_children(declaration, &children);
    for (size_t i = 0; i < children.count; i++) {
        if (clang_getCursorKind(children.items[i]) != CXCursor_CXXBaseSpecifier) continue;
        struct wb_base *base = WB_NEW(&reader->program->arena, struct wb_base);
        base->record = read_record(reader, clang_getCursorType(children.items[i]));
        *end = base;
        end = &base->next;
    }
    free(children.items);
}

static struct wb_record *
read_record(struct wb_reader *reader, CXType type)
{
    const bool outer = reader->values;

    reader->values = wb_values_p(reader, type);
    type = clang_getCanonicalType(type);
    CXCursor declaration = clang_getTypeDeclaration(type);
    CXString spelling = clang_getTypeSpelling(type);
    struct wb_record *record = wb_record_of(reader->program, wb_key(reader, declaration),
                                            clang_getCString(spelling));

    clang_disposeString(spelling);
    record->values = reader->values;
    if (!record->complete && clang_Type_getSizeOf(type) >= 0) {
        struct wb_field **end = &record->fields;
        void *arguments[] = {reader, &end, record};
        record->size = clang_Type_getSizeOf(type);
        record->complete = true; /* before its fields, which may point to it */
        clang_Type_visitFields(type, add_field_i, arguments);
        add_bases(reader, declaration, record);
    }
    reader->values = outer;
    return record;
}

struct wb_type *
wb_read_type(struct wb_reader *reader, CXType type)
{
    static struct wb_type other = { .kind = WB_OTHER };
    struct wb_type *made;

    if (wb_value_p(reader, type)) return new_type(reader, type, WB_VALUE);
    type = without_typedefs(type);
    const bool of_cplusplus = clang_getCanonicalType(type).kind == CXType_Record;
    CXType element = of_cplusplus ? element_type(reader, type) : (CXType){ CXType_Invalid };
    CXType owned = of_cplusplus ? owned_type(type) : (CXType){ CXType_Invalid };
    if (owned.kind != CXType_Invalid) {
        made = new_type(reader, type, WB_POINTER);
        made->to = wb_read_type(reader, owned);
        return made;
    }
    if (element.kind != CXType_Invalid && (made = read_container(reader, type, element))) {
        return made;
    }
    /* typeof, attributes, templates */
    if (type.kind == CXType_Unexposed || type.kind == CXType_Auto) {
        CXType canonical = clang_getCanonicalType(type);
        if (canonical.kind != CXType_Record) type = canonical; /* a record has its arguments */
        else {
            made = new_type(reader, type, WB_RECORD);
            made->record = read_record(reader, type);
            return made;
        }
    }
    switch (type.kind) {
      case CXType_Pointer:
      case CXType_LValueReference:
      case CXType_RValueReference:
        if (type.kind != CXType_Pointer && !wb_reference_p(reader, type)) {
            return wb_read_type(reader, clang_getPointeeType(type)); /* no more than a VALUE */
        }
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
    if (!field) { /* for example of a template */
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
    if (reader->locals.count * 2 >= reader->locals.capacity) grow_locals(reader);
    const void *key = (const char *)declaration.data[0] + reader->values;
    struct wb_local *local = local_at(&reader->locals, key);
    if (!local->declaration) {
        local->declaration = key;
        local->variable = WB_NEW(&reader->program->arena, struct wb_variable);
        local->variable->name = wb_spelling(reader, declaration);
        local->variable->type = wb_read_type(reader, clang_getCursorType(declaration));
        local->variable->reference = local->variable->type->kind == WB_POINTER &&
                                     wb_reference_p(reader, clang_getCursorType(declaration));
        reader->locals.count++;
    }
    return local->variable;
}

/* True for a variable on the stack: neither static nor outside functions. */
static bool
automatic_p(CXCursor declaration)
{
    if (clang_getCursorKind(declaration) == CXCursor_ParmDecl) return true;
    enum CXCursorKind parent = clang_getCursorKind(clang_getCursorSemanticParent(declaration));
    if (parent == CXCursor_TranslationUnit || parent == CXCursor_Namespace ||
        parent == CXCursor_LinkageSpec ||
        parent == CXCursor_ClassDecl || parent == CXCursor_StructDecl) return false;
    return clang_Cursor_getStorageClass(declaration) != CX_SC_Static &&
           clang_Cursor_getStorageClass(declaration) != CX_SC_Extern;
}

struct wb_variable *
wb_read_variable(struct wb_reader *reader, CXCursor declaration)
{
    declaration = clang_getCanonicalCursor(declaration);
    if (automatic_p(declaration)) return read_local(reader, declaration);
    const bool outer = reader->values;
    if (clang_getCanonicalType(clang_getCursorType(declaration)).kind == CXType_Record) {
        reader->values = false; /* it is no T: the same variable in each instance of a function */
    }
    struct wb_variable *variable = wb_global_of(reader->program, wb_key(reader, declaration),
                                                wb_spelling(reader, declaration));
    reader->values = outer;
    if (!variable->type) {
        variable->type = wb_read_type(reader, clang_getCursorType(declaration));
        variable->foreign = wb_of_ruby_p(reader, declaration) ||
                            clang_Location_isInSystemHeader(clang_getCursorLocation(declaration));
    }
    if (!variable->data_type && variable->type->kind == WB_RECORD &&
        strstr(variable->type->record->name, "rb_data_type_")) wb_data_type_of(reader->program,
                                                                               variable);
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
        CXType pointee = clang_getPointeeType(clang_getCanonicalType(clang_getArgType(type,
                (unsigned)i)));
        if (clang_isConstQualifiedType(pointee)) bits |= (uint64_t)1 << i;
    }
    if (wb_method_p(declaration)) bits = bits << 1 | (clang_CXXMethod_isConst(declaration) != 0);
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
        function->foreign = function->of_ruby ||
                            clang_Location_isInSystemHeader(clang_getCursorLocation(declaration));
        function->never_returns = never_returns_p(declaration);
        function->constructs = clang_getCursorKind(declaration) == CXCursor_Constructor;
        function->only_read = only_read(declaration);
    }
    return function;
}
