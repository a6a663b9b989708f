/* tree.c - helpers for clang's tree and for ours. They recurse into nothing. */
#include "barriers/read/reader.h"

#include "base/array.h"

#include <stdlib.h>
#include <string.h>

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

/* Some libraries have a namespace within std. */
bool
wb_of_std_p(CXCursor cursor)
{
    CXString usr = clang_getCursorUSR(cursor);
    static const char start[] = "c:@N@std@";
    bool of_std = !strncmp(clang_getCString(usr), start, strlen(start));

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
