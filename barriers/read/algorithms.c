/* algorithms.c - functions of std: which of them store something, and what they return.
 *
 *     std::copy(a, b, p->list.begin())          p->list[?] = *a;
 *     std::transform(a, b, to, lambda)          *to = something
 *     std::for_each(a, b, lambda)               for (auto &x : list) lambda(x)
 *     std::sort(a, b)                           nothing: the object holds what it held before
 *     it = std::find_if(a, b, lambda)           it = a
 *
 * Their own code is not read: a finding there would help nobody.
 */
#include "barriers/read/reader.h"

#include <stdlib.h>
#include <string.h>

/* ---- arguments ---- */

/* An argument that is a function may be called, and a GC may start in it. */
static struct wb_node *
read_argument(struct wb_reader *reader, CXCursor cursor)
{
    struct wb_node *node = wb_read_code(reader, cursor);
    bool function = wb_without_casts(node)->kind == WB_FUNCTION;

    return function ? wb_node_around(reader, WB_CALL, node) : node;
}

struct wb_node *
wb_read_evaluation(struct wb_reader *reader, CXCursor call, struct wb_node *first, unsigned from)
{
    struct wb_node *node = wb_new_node(reader, WB_SEQUENCE), **end = &node->child;
    struct wb_node *value = wb_new_node(reader, WB_ANY);
    unsigned count = (unsigned)clang_Cursor_getNumArguments(call);

    if (first) wb_append(&end, first);
    for (; from < count; from++) {
        wb_append(&end, read_argument(reader, clang_Cursor_getArgument(call, from)));
    }
    value->type = node->type = wb_read_type(reader, clang_getCursorType(call));
    wb_append(&end, value);
    return node;
}

/* ---- those that store ---- */

#define SOMETHING (-1)

/* Which argument gives, and which one takes. */
static const struct {
    const char *name;
    int         count, from, to;
} copies[] = {
    {"copy", 3, 0, 2}, {"copy_backward", 3, 0, 2}, {"copy_if", 4, 0, 2}, {"copy_n", 3, 0, 2},
    {"fill", 3, 2, 0}, {"fill_n", 3, 2, 0}, {"generate", 3, SOMETHING, 0},
    {"generate_n", 3, SOMETHING, 0}, {"merge", 5, 0, 4}, {"move", 3, 0, 2},
    {"move_backward", 3, 0, 2}, {"remove_copy", 4, 0, 2}, {"remove_copy_if", 4, 0, 2},
    {"replace", 4, 3, 0}, {"replace_if", 4, 3, 0}, {"reverse_copy", 3, 0, 2},
    {"rotate_copy", 4, 0, 3}, {"set_difference", 5, 0, 4}, {"set_intersection", 5, 0, 4},
    {"set_symmetric_difference", 5, 0, 4}, {"set_union", 5, 0, 4}, {"swap_ranges", 3, 0, 2},
    {"transform", 4, SOMETHING, 2}, {"transform", 5, SOMETHING, 3},
    {"uninitialized_copy", 3, 0, 2}, {"uninitialized_copy_n", 3, 0, 2},
    {"uninitialized_fill", 3, 2, 0}, {"uninitialized_fill_n", 3, 2, 0}, {"unique_copy", 3, 0, 2},
};

/* What is stored: what an iterator leads to, or a value. */
static struct wb_node *
read_given(struct wb_reader *reader, CXCursor call, int from, struct wb_type *type)
{
    struct wb_node *node = from == SOMETHING ? wb_new_node(reader, WB_ANY) :
                           wb_read_code(reader, clang_Cursor_getArgument(call, (unsigned)from));

    if (from == SOMETHING) node->type = type;
    if (node->type && (node->type->kind == WB_POINTER || node->type->kind == WB_ARRAY) &&
        node->type->to && node->type->to->kind == type->kind) {
        return wb_node_around(reader, WB_POINTEE, node);
    }
    return node;
}

static struct wb_node *
read_copy(struct wb_reader *reader, CXCursor call, int from, int to)
{
    struct wb_node *node = wb_new_node(reader, WB_SEQUENCE), **end = &node->child, *element;
    struct wb_node *pointer = wb_read_code(reader, clang_Cursor_getArgument(call, (unsigned)to));
    int count = clang_Cursor_getNumArguments(call);

    if (!pointer->type || pointer->type->kind != WB_POINTER) {
        return wb_read_evaluation(reader, call, NULL, 0);
    }
    for (int i = 0; i < count; i++) {
        if (i == from || i == to) continue;
        wb_append(&end, read_argument(reader, clang_Cursor_getArgument(call, (unsigned)i)));
    }
    element = wb_node_around(reader, WB_POINTEE, pointer);
    struct wb_node *given = read_given(reader, call, from, element->type);
    wb_append(&end, wb_assignment(reader, call, element, given));
    wb_append(&end, wb_copy_of(reader, pointer));
    node->type = pointer->type;
    return node;
}

/* ---- those that call a lambda ---- */

/* The only parameter of a lambda. Returns false if it has none, or several. */
static bool
parameter_of(CXCursor lambda, CXCursor *parameter)
{
    struct wb_cursors children = {0};
    unsigned count = 0;

    wb_children(lambda, &children);
    for (size_t i = 0; i < children.count; i++) {
        if (clang_getCursorKind(children.items[i]) != CXCursor_ParmDecl) continue;
        *parameter = children.items[i];
        count++;
    }
    free(children.items);
    return count == 1;
}

/* The parameter of the lambda is an element. */
static struct wb_node *
read_with_lambda(struct wb_reader *reader, CXCursor call, struct wb_node *pointer, CXCursor lambda)
{
    struct wb_node *node = wb_new_node(reader, WB_LOOP), **end = &node->child;
    struct wb_node *sequence = wb_new_node(reader, WB_SEQUENCE), **last = &sequence->child;
    CXCursor parameter;

    if (parameter_of(lambda, &parameter)) {
        struct wb_node *element = wb_node_around(reader, WB_POINTEE, wb_copy_of(reader, pointer));
        wb_append(&end, wb_read_element_variable(reader, parameter, element));
    }
    wb_append(&end, wb_read_evaluation(reader, call, NULL, 1));
    wb_append(&last, node);
    wb_append(&last, pointer);
    sequence->type = pointer->type;
    return sequence;
}

/* ---- all of them ---- */

/* The last argument, if it is a lambda; otherwise a null cursor. */
static CXCursor
last_lambda(CXCursor call)
{
    int count = clang_Cursor_getNumArguments(call);
    CXCursor last = wb_innermost(clang_Cursor_getArgument(call, (unsigned)count - 1));

    return clang_getCursorKind(last) == CXCursor_LambdaExpr ? last : clang_getNullCursor();
}

/* True if the function returns an iterator, or a pointer that takes the place of one. */
static bool
returns_iterator_p(CXCursor call)
{
    CXType type = clang_getCursorType(call);

    return wb_std_class_of(type) == WB_STD_ITERATOR ||
           clang_getCanonicalType(type).kind == CXType_Pointer;
}

/* A function that does not store: of an iterator that it gets, it returns another one. */
static struct wb_node *
read_search(struct wb_reader *reader, CXCursor call)
{
    struct wb_node *pointer = wb_read_code(reader, clang_Cursor_getArgument(call, 0));
    CXCursor lambda = last_lambda(call);

    if (!pointer->type || pointer->type->kind != WB_POINTER) {
        return wb_read_evaluation(reader, call, pointer, 1);
    }
    if (!clang_Cursor_isNull(lambda)) return read_with_lambda(reader, call, pointer, lambda);
    struct wb_node *node = wb_read_evaluation(reader, call, pointer, 1);
    if (!returns_iterator_p(call)) return node;
    struct wb_node **end = &node->child;
    while (*end) end = &(*end)->next;
    wb_append(&end, wb_copy_of(reader, pointer));
    node->type = pointer->type;
    return node;
}

/* Functions that get a container. Returns NULL for any other function, and if the argument is no
 * container. */
static struct wb_node *
read_of_container(struct wb_reader *reader, CXCursor call, const char *name)
{
    static const char *const pointers[] = {"back_inserter", "begin", "cbegin", "cend", "data",
                                           "end", "front_inserter", "inserter", NULL};
    bool pointer = wb_among_p(name, pointers);

    if (!pointer && strcmp(name, "get")) return NULL;
    struct wb_node *node = wb_read_code(reader, clang_Cursor_getArgument(call, 0));
    if (!node->type || node->type->kind != WB_ARRAY) return NULL;
    node = wb_any_element(reader, node);
    return pointer ? wb_pointer_to(reader, node) : node;
}

struct wb_node *
wb_read_std_function(struct wb_reader *reader, CXCursor call, CXCursor called)
{
    const char *name = wb_spelling(reader, called);
    int count = clang_Cursor_getNumArguments(call);
    struct wb_node *node = NULL;

    if (wb_read_function(reader, called)->never_returns) return NULL;
    for (size_t i = 0; i < sizeof(copies) / sizeof(copies[0]); i++) {
        if (count == copies[i].count && !strcmp(name, copies[i].name)) {
            return read_copy(reader, call, copies[i].from, copies[i].to);
        }
    }
    if (count > 0 && wb_std_maker_p(called)) node = wb_read_container(reader, call);
    if (!node && count > 0) node = read_of_container(reader, call, name);
    if (node) return node;
    return count > 0 ? read_search(reader, call) : wb_read_evaluation(reader, call, NULL, 0);
}
