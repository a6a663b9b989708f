/* tree.c - helpers for clang's tree and for ours. They recurse into nothing. */
#include "barriers/read/reader.h"

#include "base/array.h"

#include <stdlib.h>
#include <string.h>

/* Bytes of a string that may be the name of something. */
#define NAME_MOST 200

/* ---- clang's tree ---- */

const char *
wb_spelling(struct wb_reader *reader, CXCursor cursor)
{
    CXString spelling = clang_getCursorSpelling(cursor);
    const char *name = wb_name(reader->program, clang_getCString(spelling));

    clang_disposeString(spelling);
    return name;
}

bool
wb_named_p(CXCursor cursor, const char *name)
{
    CXString spelling = clang_getCursorSpelling(cursor);
    bool same = !strcmp(clang_getCString(spelling), name);

    clang_disposeString(spelling);
    return same;
}

bool
wb_among_p(const char *name, const char *const *names)
{
    while (*names && strcmp(*names, name)) names++;
    return *names != NULL;
}

void
wb_add_cursor(struct wb_cursors *cursors, CXCursor cursor)
{
    if (!HEAPPROF_ARRAY_GROW(cursors->items, cursors->capacity, cursors->count + 1)) {
        wb_out_of_memory();
    }
    cursors->items[cursors->count++] = cursor;
}

void
wb_drop_cursor(struct wb_cursors *cursors)
{
    if (cursors->count == 0) return;
    cursors->count--;
    memmove(cursors->items, cursors->items + 1, cursors->count * sizeof(*cursors->items));
}

static enum CXChildVisitResult
add_child_i(CXCursor cursor, CXCursor parent, CXClientData data)
{
    (void)parent;
    wb_add_cursor(data, cursor);
    return CXChildVisit_Continue;
}

void
wb_children(CXCursor cursor, struct wb_cursors *children)
{
    children->count = 0;
    clang_visitChildren(cursor, add_child_i, children);
}

/* ---- of C++ ---- */

/* Some libraries have a namespace within std. Another one has its iterators beside it. */
bool
wb_of_std_p(CXCursor cursor)
{
    static const char *const starts[] = {"c:@N@std@", "c:@N@__gnu_cxx@"};
    CXString usr = clang_getCursorUSR(cursor);
    bool of_std = false;

    for (size_t i = 0; i < sizeof(starts) / sizeof(starts[0]); i++) {
        of_std |= !strncmp(clang_getCString(usr), starts[i], strlen(starts[i]));
    }
    clang_disposeString(usr);
    return of_std;
}

bool
wb_of_template_p(CXCursor cursor)
{
    return !clang_Cursor_isNull(clang_getSpecializedCursorTemplate(cursor)) &&
           !wb_of_std_p(cursor);
}

/* ---- our tree ---- */

struct wb_node *
wb_new_node(struct wb_reader *reader, enum wb_node_kind kind)
{
    struct wb_node *node = WB_NEW(&reader->program->arena, struct wb_node);

    node->kind = kind;
    return node;
}

struct wb_node *
wb_read_string(struct wb_reader *reader, CXCursor literal)
{
    struct wb_node *node = wb_new_node(reader, WB_STRING);
    CXString spelling = clang_getCursorSpelling(literal);
    const char *text = clang_getCString(spelling);
    size_t length = strlen(text);
    char name[NAME_MOST] = "";

    if (length >= 2 && length <= sizeof(name) && text[0] == '"') {
        memcpy(name, text + 1, length - 2);
        name[length - 2] = '\0';
    }
    node->name = wb_name(reader->program, name);
    clang_disposeString(spelling);
    return node;
}

struct wb_node *
wb_node_around(struct wb_reader *reader, enum wb_node_kind kind, struct wb_node *child)
{
    struct wb_node *node = wb_new_node(reader, kind);

    node->child = child;
    if (kind == WB_POINTEE && child->type) node->type = child->type->to;
    return node;
}

struct wb_type *
wb_pointer_type(struct wb_reader *reader, struct wb_type *to)
{
    struct wb_type *type = WB_NEW(&reader->program->arena, struct wb_type);

    *type = (struct wb_type){ .kind = WB_POINTER, .to = to };
    return type;
}

/* ---- variables without a name ---- */

struct wb_variable *
wb_nameless(struct wb_reader *reader, struct wb_type *type)
{
    struct wb_variable *variable = WB_NEW(&reader->program->arena, struct wb_variable);

    variable->name = wb_name(reader->program, "");
    variable->type = type;
    return variable;
}

struct wb_node *
wb_variable_node(struct wb_reader *reader, struct wb_variable *variable)
{
    struct wb_node *node = wb_new_node(reader, WB_VARIABLE);

    node->variable = variable;
    node->type = variable->type;
    return node;
}

struct wb_node *
wb_declaration(struct wb_reader *reader, struct wb_variable *variable, struct wb_node *value)
{
    struct wb_node *node = wb_new_node(reader, WB_DECLARE);

    node->variable = variable;
    node->child = value;
    return node;
}

struct wb_node *
wb_copy_of(struct wb_reader *reader, const struct wb_node *node)
{
    struct wb_node *copy = wb_new_node(reader, node->kind);

    *copy = *node;
    copy->next = NULL;
    return copy;
}

void
wb_append(struct wb_node ***end, struct wb_node *list)
{
    **end = list;
    while (**end) *end = &(**end)->next;
}
