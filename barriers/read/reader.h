#ifndef HEAPPROF_BARRIERS_READER_H
#define HEAPPROF_BARRIERS_READER_H
/* What the files of this folder share that walk clang's tree. No other file includes this
 * header, so no other file sees libclang.
 *
 *     source.c ---> types.c, data_type.c, body.c <---> literals.c, cplusplus.c
 *                                 |                                  each reads one kind of thing
 *                                 |
 *                                 v
 *                           tree.c, place.c        helpers that recurse into nothing
 *
 * body.c and the two behind it call each other: a struct literal contains expressions, and an
 * expression may be a struct literal. */
#include <clang-c/Index.h>

#include "barriers/program.h"

/* Variables of one file, found by the address of clang's declaration. */
struct wb_locals {
    struct wb_local {
        const void         *declaration;
        struct wb_variable *variable;
    } *all;
    size_t capacity, count;   /* capacity: a power of two */
};

struct wb_reader {
    struct wb_program *program;
    CXTranslationUnit  unit;
    const char        *path;        /* of the file that is read */
    CXFile             file;        /* the same file, for libclang */
    char              *ruby[2];     /* directories of Ruby's headers, with the final slash; NULL
                                     * until seen */
    struct wb_locals   locals;
    struct wb_pending {             /* functions of headers whose bodies are still to be read */
        CXCursor            definition;
        struct wb_function *function;
    } *pending;
    size_t   pending_capacity, pending_count;
    struct wb_use {                 /* a use of a macro, in the file itself */
        unsigned    line, column;
        const char *macro;
        const char *file;           /* where the macro is defined; NULL for __LINE__ and its like */
        unsigned    defined;        /* the line of that */
    } *uses;                        /* ordered by line and column */
    size_t   use_capacity, use_count;
    unsigned depth;                 /* of the tree, at the node that is read */
    bool     too_deep;              /* deeper code was left out */
    bool     returns_reference;     /* the function that is read does */
};

/* The reader follows a tree no deeper than this. Nobody writes such code by hand. */
#define WB_DEPTH_MOST 2000

/* A list of cursors. The user frees items. */
struct wb_cursors {
    CXCursor *items;
    size_t    capacity, count;
};

/* ---- tree.c ---- */

/* The name of what the cursor stands for. */
const char *wb_spelling(struct wb_reader *reader, CXCursor cursor);
bool wb_named_p(CXCursor cursor, const char *name);

/* True if the list, which ends with NULL, has that name. */
bool wb_among_p(const char *name, const char *const *names);

/* The direct children of a cursor, in order, in place of what the list had. */
void wb_children(CXCursor cursor, struct wb_cursors *children);
void wb_add_cursor(struct wb_cursors *cursors, CXCursor cursor);

struct wb_node *wb_new_node(struct wb_reader *reader, enum wb_node_kind kind);

/* A node with one child. */
struct wb_node *wb_node_around(struct wb_reader *reader, enum wb_node_kind kind,
                               struct wb_node *child);

/* ---- place.c ---- */

/* The key of a thing, which is the same in all files of the extension: see program.h. */
const char *wb_key(struct wb_reader *reader, CXCursor cursor);

/* True if the location is in the file that is read, and not in a header that it includes. */
bool wb_in_file_p(struct wb_reader *reader, CXSourceLocation location);

/* Remembers that the file uses a macro at the cursor. The caller passes uses in the order of
 * lines and columns. */
void wb_add_use(struct wb_reader *reader, CXCursor cursor);

/* Where the text of a cursor begins. */
struct wb_place wb_place_of(struct wb_reader *reader, CXCursor cursor);

/* Where it ends: behind its last character. */
struct wb_place wb_place_behind(struct wb_reader *reader, CXCursor cursor);

/* For clang_getInclusions, with the reader as data: notes the directories of Ruby's headers. */
void wb_find_ruby_i(CXFile file, CXSourceLocation *stack, unsigned stack_size, CXClientData data);

/* True if the cursor stands in one of Ruby's headers. */
bool wb_of_ruby_p(struct wb_reader *reader, CXCursor cursor);

/* ---- types.c ---- */

/* True if one of the type's typedefs is named VALUE. */
bool wb_value_p(CXType type);

/* True for a reference, except that to a VALUE that is const: it is like the VALUE. */
bool wb_reference_p(CXType type);

/* True for what stands in C++'s namespace std. */
bool wb_of_std_p(CXCursor cursor);

/* What one of std's containers contains; of a map, the VALUE. The kind is CXType_Invalid if the
 * type is no container. */
CXType wb_element_type(CXType type);

struct wb_type *wb_read_type(struct wb_reader *reader, CXType type);
struct wb_variable *wb_read_variable(struct wb_reader *reader, CXCursor declaration);
struct wb_field *wb_read_field(struct wb_reader *reader, CXCursor declaration);
struct wb_function *wb_read_function(struct wb_reader *reader, CXCursor declaration);

/* ---- data_type.c ---- */

/* Reads the initialiser of a variable, if it has one and the variable is an rb_data_type_t. */
void wb_read_data_type(struct wb_reader *reader, CXCursor declaration);

/* ---- body.c ---- */

/* A new node whose children are read from those cursors. */
struct wb_node *wb_node_with(struct wb_reader *reader, enum wb_node_kind kind,
                             const struct wb_cursors *children);

/* Reads a statement or an expression. */
struct wb_node *wb_read_code(struct wb_reader *reader, CXCursor cursor);

/* Reads the code of a function from its definition. */
void wb_read_body(struct wb_reader *reader, CXCursor definition, struct wb_function *function);

/* ---- cplusplus.c ---- */

/* True if the method returns a reference to an element of a container. */
bool wb_element_call_p(struct wb_reader *reader, CXCursor call, CXCursor method);

/* Reads a call of std::swap and the like, or of a method of a container. Returns NULL if it is
 * another call. */
struct wb_node *wb_read_std_call(struct wb_reader *reader, CXCursor call, CXCursor called);

/* Reads "for (VALUE v : list)". children: the list, the variable, the body. */
struct wb_node *wb_read_range_for(struct wb_reader *reader, const struct wb_cursors *children);

/* ---- literals.c ---- */

/* The assignments of a list in braces to what `to` stands for. Returns NULL if the cursor is no
 * such list, or its type has none. */
struct wb_node *wb_read_list(struct wb_reader *reader, struct wb_node *to, CXCursor list);

/* Reads a compound literal. children: those of the cursor. */
struct wb_node *wb_read_literal(struct wb_reader *reader, CXCursor cursor,
                                const struct wb_cursors *children);

#endif
