/* destructors.c - destructors of C++: what the variables of a block do when it is left.
 *
 *     {                               {
 *         Tell tell(self, v);             Tell tell; Tell(&tell, self, v);
 *         p->item = v;                    p->item = v;
 *     }                                   ~Tell(&tell);
 *                                     }
 *
 * A return leaves all blocks of its function, behind its value. What break, continue, goto and
 * exceptions leave is not followed, nor are the destructors of members and base classes.
 */
#include "barriers/read/reader.h"

#include <stdlib.h>

/* The destructor that the source gives the class of the variable. Returns a null cursor if the
 * class has none there. */
static CXCursor
destructor_of(CXCursor declaration)
{
    CXType type = clang_getCanonicalType(clang_getCursorType(declaration));
    struct wb_cursors members = {0};
    CXCursor found = clang_getNullCursor();

    if (type.kind != CXType_Record || wb_of_std_p(clang_getTypeDeclaration(type))) return found;
    wb_children(clang_getTypeDeclaration(type), &members);
    for (size_t i = 0; i < members.count; i++) {
        CXCursor member = members.items[i];
        if (clang_getCursorKind(member) == CXCursor_Destructor &&
            !clang_CXXMethod_isDefaulted(member))
            found = member;
    }
    free(members.items);
    return found;
}

void
wb_note_destroyed(struct wb_reader *reader, CXCursor declaration, struct wb_variable *variable)
{
    CXCursor destructor = destructor_of(declaration);

    if (clang_Cursor_isNull(destructor)) return;
    if (!HEAPPROF_MEM_GROW(&reader->program->mem, reader->destroyed, reader->destroyed_capacity,
                           reader->destroyed_count + 1)) wb_out_of_memory();
    reader->destroyed[reader->destroyed_count++] = (struct wb_destroyed){
        .variable = variable, .declaration = declaration, .destructor = destructor,
    };
}

/* The calls of the destructors, from that variable on. */
static struct wb_node *
read_destructors(struct wb_reader *reader, size_t from)
{
    const struct wb_cursors none = {0};
    struct wb_node *first = NULL, **end = &first;

    for (size_t i = reader->destroyed_count; i > from; i--) {
        struct wb_destroyed each = reader->destroyed[i - 1];
        struct wb_node *object = wb_pointer_to(reader, wb_variable_node(reader, each.variable));
        wb_append(&end, wb_read_call_of(reader, each.declaration, each.destructor, object, &none));
    }
    return first;
}

struct wb_node *
wb_read_block(struct wb_reader *reader, const struct wb_cursors *children)
{
    const size_t from = reader->destroyed_count;
    struct wb_node *node = wb_node_with(reader, WB_SEQUENCE, children), **end = &node->child;

    while (*end) end = &(*end)->next;
    *end = read_destructors(reader, from);
    reader->destroyed_count = from;
    return node;
}

struct wb_node *
wb_leave_blocks(struct wb_reader *reader, struct wb_node *node)
{
    struct wb_node *destructors = read_destructors(reader, reader->destroyed_from);

    if (destructors && node->child) node->child->next = destructors;
    if (!destructors || node->child) return node;
    struct wb_node *sequence = wb_new_node(reader, WB_SEQUENCE), **end = &sequence->child;
    wb_append(&end, destructors);
    wb_append(&end, node);
    return sequence;
}
