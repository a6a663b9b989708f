#ifndef HEAPPROF_BARRIERS_READER_H
#define HEAPPROF_BARRIERS_READER_H
/* What the files share that read clang's tree: source.c (files), read_types.c, read_data_type.c, read_body.c (code) and
 * read_literals.c. Nobody else includes this, so that nobody else sees libclang. */
#include <clang-c/Index.h>

#include "barriers/program.h"

/* Variables of one file, by the address of clang's declaration. */
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
    CXFile             file;        /* that file */
    char              *ruby[2];     /* directories of Ruby's headers, with the final slash; NULL: none was seen */
    struct wb_locals   locals;
    struct wb_pending {             /* functions of headers whose bodies are wanted */
        CXCursor            definition;
        struct wb_function *function;
    } *pending;
    size_t   pending_capacity, pending_count;
    struct wb_use {                 /* of a macro, in the file itself */
        unsigned    line, column;
        const char *macro;
        const char *file;           /* where the macro is defined; NULL: nowhere, as __LINE__ is */
        unsigned    defined;        /* on that line */
    } *uses;                        /* in the order of lines and columns */
    size_t   use_capacity, use_count;
    unsigned depth;                 /* of the tree, where we are */
    bool     too_deep;              /* something was left out */
};

/* Deeper than this no tree is followed: nobody writes that. */
#define WB_DEPTH_MOST 2000

/* A few cursors; free items afterwards. */
struct wb_cursors {
    CXCursor *items;
    size_t    capacity, count;
};

/* What is right below a cursor, in order. */
void wb_children(CXCursor cursor, struct wb_cursors *children);

/* One name for the thing in all files: see program.h. */
const char *wb_key(struct wb_reader *reader, CXCursor cursor);
const char *wb_spelling(struct wb_reader *reader, CXCursor cursor);
struct wb_place wb_place_of(struct wb_reader *reader, CXCursor cursor);

/* Where its text ends: behind the last character. */
struct wb_place wb_place_behind(struct wb_reader *reader, CXCursor cursor);

bool wb_named_p(CXCursor cursor, const char *name);

/* Whether it stands in one of Ruby's headers. */
bool wb_of_ruby_p(struct wb_reader *reader, CXCursor cursor);

/* ---- read_types.c ---- */

struct wb_type *wb_read_type(struct wb_reader *reader, CXType type);
struct wb_variable *wb_read_variable(struct wb_reader *reader, CXCursor declaration);
struct wb_field *wb_read_field(struct wb_reader *reader, CXCursor declaration);
struct wb_function *wb_read_function(struct wb_reader *reader, CXCursor declaration);

/* ---- read_data_type.c ---- */

/* What its initialiser says, if the variable is an rb_data_type_t and has one. */
void wb_read_data_type(struct wb_reader *reader, CXCursor declaration);

/* ---- read_body.c ---- */

struct wb_node *wb_new_node(struct wb_reader *reader, enum wb_node_kind kind);

/* With those as its children. */
struct wb_node *wb_node_with(struct wb_reader *reader, enum wb_node_kind kind, const struct wb_cursors *children);

/* A statement or an expression. */
struct wb_node *wb_read_code(struct wb_reader *reader, CXCursor cursor);

/* The code of a definition. */
void wb_read_body(struct wb_reader *reader, CXCursor definition, struct wb_function *function);

/* An initialiser outside functions: for the functions whose addresses are in it. */
void wb_read_initialiser(struct wb_reader *reader, CXCursor expression);

/* ---- read_literals.c ---- */

/* A compound literal; children: its own. */
struct wb_node *wb_read_literal(struct wb_reader *reader, CXCursor cursor, const struct wb_cursors *children);

#endif
