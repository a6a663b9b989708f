/* cplusplus.c - what C++ adds to C: references, std::swap, and std's containers.
 *
 *     VALUE &slot = p->a; slot = v;     VALUE *slot = &p->a; *slot = v;
 *     std::swap(p->a, v);               old = p->a; p->a = v; v = old;
 *     p->list.push_back(v);             p->list[?] = v;
 *     p->map[k] = v;                    p->map[?] = v;
 *
 * A container of VALUEs is read as an array of them: it does not matter where its elements are.
 */
#include "barriers/read/reader.h"

#include <stdlib.h>
#include <string.h>

/* ---- containers ---- */

/* The element type of a container, or of what a pointer to one points to. NULL if it is none. */
static struct wb_type *
element_of(struct wb_reader *reader, CXCursor object)
{
    CXType type = clang_getCursorType(object), to = clang_getPointeeType(type);

    if (to.kind != CXType_Invalid) type = to;
    struct wb_type *read = wb_read_type(reader, type);
    return wb_element_type(type).kind != CXType_Invalid && read->kind == WB_ARRAY ? read->to : NULL;
}

static struct wb_node *
any_element(struct wb_reader *reader, CXCursor object, struct wb_type *type)
{
    struct wb_node *node = wb_node_around(reader, WB_ELEMENT, wb_read_code(reader, object));

    node->child->next = wb_new_node(reader, WB_ANY);
    node->type = type;
    return node;
}

/* The object whose method is called: of "a.b(c)" the a, of "a[b]" too. Returns false if the call is
 * none of a method. */
static bool
object_of(CXCursor call, CXCursor method, CXCursor *object)
{
    struct wb_cursors children = {0};
    bool found;

    if (clang_getCursorKind(method) != CXCursor_CXXMethod) return false;
    wb_children(call, &children);
    found = children.count > 0;
    if (found) *object = children.items[0];
    if (found && clang_getCursorKind(*object) == CXCursor_MemberRefExpr &&
        clang_getCursorKind(clang_getCursorReferenced(*object)) == CXCursor_CXXMethod) {
        wb_children(*object, &children);
        found = children.count > 0;
        if (found) *object = children.items[0];
    }
    free(children.items);
    return found;
}

bool
wb_element_call_p(struct wb_reader *reader, CXCursor call, CXCursor method)
{
    static const char *const names[] = {"at", "back", "front", "operator[]", "top", NULL};
    CXCursor object;

    return wb_among_p(wb_spelling(reader, method), names) && object_of(call, method, &object) &&
           element_of(reader, object) != NULL;
}

/* A method that puts its last argument, or each VALUE of its arguments, into the container. */
static struct wb_node *
read_insertion(struct wb_reader *reader, CXCursor call, CXCursor object, struct wb_type *type,
               bool last)
{
    struct wb_node *node = wb_new_node(reader, WB_SEQUENCE), **end = &node->child;
    int count = clang_Cursor_getNumArguments(call);

    for (int i = 0; i < count; i++) {
        CXCursor argument = clang_Cursor_getArgument(call, (unsigned)i);
        struct wb_node *value = wb_read_code(reader, argument);
        *end = value;
        if (wb_value_p(clang_getCursorType(argument)) || (last && i + 1 == count)) {
            *end = wb_node_around(reader, WB_ASSIGN, any_element(reader, object, type));
            (*end)->child->next = value;
            (*end)->type = type;
            (*end)->place = wb_place_of(reader, call);
        }
        end = &(*end)->next;
    }
    return node;
}

static struct wb_node *
read_container_call(struct wb_reader *reader, CXCursor call, CXCursor method)
{
    static const char *const last[] = {"emplace", "emplace_back", "emplace_front", "insert",
                                       "insert_or_assign", "push", "push_back", "push_front",
                                       "try_emplace", NULL};
    static const char *const values[] = {"assign", "fill", "resize", NULL};
    const char *name = wb_spelling(reader, method);
    struct wb_type *type;
    CXCursor object;

    if (!object_of(call, method, &object) || !(type = element_of(reader, object))) return NULL;
    if (wb_element_call_p(reader, call, method)) return any_element(reader, object, type);
    if (wb_among_p(name, last)) return read_insertion(reader, call, object, type, true);
    return wb_among_p(name, values) ? read_insertion(reader, call, object, type, false) : NULL;
}

struct wb_node *
wb_read_range_for(struct wb_reader *reader, const struct wb_cursors *children)
{
    struct wb_node *loop = wb_new_node(reader, WB_LOOP), *variable;
    struct wb_type *type;

    if (children->count != 3 || !(type = element_of(reader, children->items[0])) ||
        clang_getCursorKind(children->items[1]) != CXCursor_VarDecl) {
        return wb_node_with(reader, WB_LOOP, children);
    }
    variable = wb_new_node(reader, WB_DECLARE);
    variable->variable = wb_read_variable(reader, children->items[1]);
    variable->place = wb_place_of(reader, children->items[1]);
    variable->child = any_element(reader, children->items[0], type);
    if (variable->variable->reference) {
        variable->child = wb_node_around(reader, WB_ADDRESS, variable->child);
    }
    loop->child = variable;
    variable->next = wb_read_code(reader, children->items[2]);
    return loop;
}

/* ---- functions of std ---- */

static struct wb_node *
assignment(struct wb_reader *reader, CXCursor call, struct wb_node *to, struct wb_node *what)
{
    struct wb_node *node = wb_node_around(reader, WB_ASSIGN, to);

    to->next = what;
    node->type = to->type;
    node->place = wb_place_of(reader, call);
    return node;
}

/* old = a; a = b; and for a swap: b = old. The value is the old one. */
static struct wb_node *
read_exchange(struct wb_reader *reader, CXCursor call, bool swap)
{
    struct wb_node *node = wb_new_node(reader, WB_SEQUENCE), *declare, *old, **end = &node->child;
    CXCursor one = clang_Cursor_getArgument(call, 0), other = clang_Cursor_getArgument(call, 1);

    declare = wb_node_around(reader, WB_DECLARE, wb_read_code(reader, one));
    declare->variable = WB_NEW(&reader->program->arena, struct wb_variable);
    declare->variable->name = wb_name(reader->program, "");
    declare->variable->type = declare->child->type ? declare->child->type :
                              wb_read_type(reader, clang_getCursorType(one));
    old = wb_new_node(reader, WB_VARIABLE);
    old->variable = declare->variable;
    old->type = declare->variable->type;
    *end = declare;
    end = &declare->next;
    *end = assignment(reader, call, wb_read_code(reader, one), wb_read_code(reader, other));
    end = &(*end)->next;
    *end = swap ? assignment(reader, call, wb_read_code(reader, other), old) : old;
    return node;
}

struct wb_node *
wb_read_std_call(struct wb_reader *reader, CXCursor call, CXCursor called)
{
    static const char *const passing[] = {"forward", "move", NULL};
    int count = clang_Cursor_getNumArguments(call);
    const char *name = wb_spelling(reader, called);

    if (!wb_of_std_p(called)) return NULL;
    if (count == 1 && wb_among_p(name, passing)) {
        return wb_read_code(reader, clang_Cursor_getArgument(call, 0));
    }
    if (count == 2 && !strcmp(name, "swap")) return read_exchange(reader, call, true);
    if (count == 2 && !strcmp(name, "exchange")) return read_exchange(reader, call, false);
    return read_container_call(reader, call, called);
}
