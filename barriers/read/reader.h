#ifndef HEAPPROF_BARRIERS_READER_H
#define HEAPPROF_BARRIERS_READER_H
/* What the files of this folder share that walk clang's tree. No other file includes this
 * header, so no other file sees libclang.
 *
 *     source.c ---> types.c, body.c <---> calls.c, literals.c, data_type.c,
 *                                 |    cplusplus.c, constructors.c, destructors.c,
 *                                 |    containers.c, insertion.c, algorithms.c
 *                                 |    each reads one kind of thing
 *                                 |
 *                                 v
 *                           tree.c, place.c        helpers that recurse into nothing
 *
 * body.c and those beside it call each other: a struct literal contains expressions, and an
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
        bool                values;
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
    bool     values;                /* what is read is of a template for VALUE: T is VALUE */
    bool     returns_reference;     /* the function that is read does */
    struct wb_variable *self;       /* of C++, `this` in the method that is read; NULL: none */
    struct wb_destroyed {           /* variables of the blocks around the node that is read, which
                                     * have destructors */
        struct wb_variable *variable;
        CXCursor            declaration, destructor;
    } *destroyed;
    size_t   destroyed_capacity, destroyed_count;
    size_t   destroyed_from;        /* the first one of the function or lambda that is read */
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

/* Removes the first one. */
void wb_drop_cursor(struct wb_cursors *cursors);

/* True for what stands in C++'s namespace std. */
bool wb_of_std_p(CXCursor cursor);

/* True for what is made of a template of the extension itself. */
bool wb_of_template_p(CXCursor cursor);

struct wb_node *wb_new_node(struct wb_reader *reader, enum wb_node_kind kind);

/* A string as the source has it, escapes too. Of one that is too long for a name it has no text. */
struct wb_node *wb_read_string(struct wb_reader *reader, CXCursor literal);

/* A node with one child. */
struct wb_node *wb_node_around(struct wb_reader *reader, enum wb_node_kind kind,
                               struct wb_node *child);

struct wb_type *wb_pointer_type(struct wb_reader *reader, struct wb_type *to);

/* A variable without a name; what stands for a variable; its declaration. value: NULL for none. */
struct wb_variable *wb_nameless(struct wb_reader *reader, struct wb_type *type);
struct wb_node *wb_variable_node(struct wb_reader *reader, struct wb_variable *variable);
struct wb_node *wb_declaration(struct wb_reader *reader, struct wb_variable *variable,
                               struct wb_node *value);

/* The same node for another list: a node can be in one list only. */
struct wb_node *wb_copy_of(struct wb_reader *reader, const struct wb_node *node);

/* Appends nodes to a list, and moves its end. */
void wb_append(struct wb_node ***end, struct wb_node *list);

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

/* True if one of the type's typedefs is named VALUE; or if it is T of a template that is read for
 * VALUE. */
bool wb_value_p(struct wb_reader *reader, CXType type);

/* True for a reference, except that to a VALUE that is const: it is like the VALUE. */
bool wb_reference_p(struct wb_reader *reader, CXType type);

/* What a class of std is for us. A list may also be a set or an optional; a tuple, a pair. */
enum wb_std_class {
    WB_STD_OTHER, WB_STD_LIST, WB_STD_MAP, WB_STD_TUPLE,
    WB_STD_POINTER,    /* a smart one */
    WB_STD_ITERATOR
};

/* The class of the type, or of what the type points to. */
enum wb_std_class wb_std_class_of(CXType type);

/* True for a class of such a template, or a pointer to it, if VALUE is one of the arguments.
 * libclang gives a template for VALUE and one for unsigned long the same code. */
bool wb_values_p(struct wb_reader *reader, CXType type);

/* The same for what an expression stands for, or points to. */
bool wb_holds_values_p(const struct wb_node *node);

/* True for a method that has `this`. */
bool wb_method_p(CXCursor called);

/* True for a call of a lambda. */
bool wb_lambda_call_p(CXCursor called);

struct wb_type *wb_read_type(struct wb_reader *reader, CXType type);
struct wb_variable *wb_read_variable(struct wb_reader *reader, CXCursor declaration);
struct wb_field *wb_read_field(struct wb_reader *reader, CXCursor declaration);
struct wb_function *wb_read_function(struct wb_reader *reader, CXCursor declaration);

/* ---- operators.c ---- */

/* True if the operator of an expression with one operand is "!". */
bool wb_not_p(struct wb_reader *reader, CXCursor cursor);

/* The operator between the two operands, if it is one that conditions are made of. */
enum wb_operator wb_operator_between(struct wb_reader *reader, CXCursor left, CXCursor right);

/* ---- data_type.c ---- */

/* Reads the initialiser of a variable, if it has one and the variable is an rb_data_type_t. */
void wb_read_data_type(struct wb_reader *reader, CXCursor declaration);

/* ---- body.c ---- */

/* "to = what", at the place of the cursor. */
struct wb_node *wb_assignment(struct wb_reader *reader, CXCursor cursor, struct wb_node *to,
                              struct wb_node *what);

/* A new node whose children are read from those cursors. */
struct wb_node *wb_node_with(struct wb_reader *reader, enum wb_node_kind kind,
                             const struct wb_cursors *children);

/* The expression below parentheses; below conversions, too. */
CXCursor wb_without_parentheses(CXCursor cursor);
CXCursor wb_innermost(CXCursor cursor);

/* The children that are code, in place of what the list had. */
void wb_code_children(CXCursor cursor, struct wb_cursors *children);

/* Reads the children from index from on, and appends them to those of the node. */
void wb_append_code(struct wb_reader *reader, struct wb_node *node,
                    const struct wb_cursors *children, size_t from);

bool wb_function_p(enum CXCursorKind kind);

/* A function of a header, such as one behind a macro of Ruby's, is read when it is called. */
void wb_request_body(struct wb_reader *reader, CXCursor declaration, struct wb_function *function);

/* True for a reference through which the analysis can follow a VALUE. */
bool wb_followed_reference_p(struct wb_reader *reader, CXType type, const struct wb_type *read);

/* Reads a statement or an expression. */
struct wb_node *wb_read_code(struct wb_reader *reader, CXCursor cursor);

/* Reads the code of a function from its definition. */
void wb_read_body(struct wb_reader *reader, CXCursor definition, struct wb_function *function);

/* ---- calls.c ---- */

/* Reads a call. children: those of the cursor. */
struct wb_node *wb_read_call(struct wb_reader *reader, CXCursor cursor,
                             const struct wb_cursors *children);

/* Appends the arguments of a call. */
void wb_arguments(CXCursor call, CXCursor called, struct wb_cursors *arguments);

/* The call of a function that is known. object: the address of the object, or NULL if the function
 * is no method and no constructor. */
struct wb_node *wb_read_call_of(struct wb_reader *reader, CXCursor cursor, CXCursor called,
                                struct wb_node *object, const struct wb_cursors *arguments);

/* ---- cplusplus.c ---- */

/* Reads a call of std::swap and the like, or what containers.c and algorithms.c read. Returns NULL
 * if it is another call. */
struct wb_node *wb_read_std_call(struct wb_reader *reader, CXCursor call, CXCursor called);

/* old = one; one = other; and for a swap: other = old. The value is the old one. */
struct wb_node *wb_exchange(struct wb_reader *reader, CXCursor call, struct wb_node *one,
                            struct wb_node *other, bool swap);

/* Reads a lambda as WB_CLOSURE; makes a function of it, for one that calls it back. */
struct wb_node *wb_read_lambda(struct wb_reader *reader, CXCursor cursor);
struct wb_node *wb_read_lambda_call(struct wb_reader *reader, CXCursor call);
void wb_make_function(struct wb_node *closure);

/* A new variable for `this` in a method; what `this` is where the reader is; the address of the
 * object whose method is called. */
struct wb_variable *wb_self_of(struct wb_reader *reader, CXCursor method);
struct wb_node *wb_read_self(struct wb_reader *reader);
struct wb_node *wb_read_object(struct wb_reader *reader, CXCursor call, CXCursor method);

/* "p->*m" where m is known to be &S::a: in an instance of a template. Otherwise NULL. */
struct wb_node *wb_read_member_pointer(struct wb_reader *reader,
                                       const struct wb_cursors *operands);

/* Gives a variable the type that its value has for us. node: its declaration. */
void wb_declare_as(struct wb_reader *reader, CXCursor declaration, struct wb_node *node);

/* ---- constructors.c ---- */

/* True for a call of a constructor of a class that is not of std. */
bool wb_constructs_p(CXCursor cursor);

/* True for a call that copies an object of the same class. */
bool wb_copies_p(CXCursor call, CXCursor called);

/* Makes an object where the pointer leads to; in a variable without a name. */
struct wb_node *wb_read_construction(struct wb_reader *reader, CXCursor call,
                                     struct wb_node *memory);
struct wb_node *wb_read_temporary(struct wb_reader *reader, CXCursor call);

/* The same for a function of std that passes its arguments on to the constructor of a class, except
 * the first ones. */
struct wb_node *wb_read_passed_on(struct wb_reader *reader, CXCursor call, CXType made,
                                  struct wb_node *memory, unsigned from);

/* Stores a VALUE in a struct. It is not known in which field, so it is each of them. */
struct wb_node *wb_read_somewhere(struct wb_reader *reader, CXCursor call,
                                  const struct wb_node *object, struct wb_node *value);

/* Reads "new node{v}". children: those of the cursor. */
struct wb_node *wb_read_new(struct wb_reader *reader, CXCursor cursor,
                            const struct wb_cursors *children);

/* Reads std::make_unique and the like. */
struct wb_node *wb_read_make(struct wb_reader *reader, CXCursor call);

/* The body of a constructor, behind what it initialises. children: those of its definition. */
struct wb_node *wb_read_initialisers(struct wb_reader *reader, const struct wb_cursors *children,
                                     struct wb_node *body);

/* ---- destructors.c ---- */

/* A variable of a block, which may have a destructor. */
void wb_note_destroyed(struct wb_reader *reader, CXCursor declaration,
                       struct wb_variable *variable);

/* Reads a block in braces, at whose end its variables are destroyed. children: those of it. */
struct wb_node *wb_read_block(struct wb_reader *reader, const struct wb_cursors *children);

/* A return, with the destructors of all blocks that it leaves. */
struct wb_node *wb_leave_blocks(struct wb_reader *reader, struct wb_node *node);

/* ---- containers.c ---- */

/* A pointer to what the node stands for; any element of what it stands for. */
struct wb_node *wb_pointer_to(struct wb_reader *reader, struct wb_node *node);
struct wb_node *wb_any_element(struct wb_reader *reader, const struct wb_node *container);

/* The object whose method is called: of "a.b(c)" the a, of "a[b]" too. Returns false if the call is
 * none of a method. */
bool wb_object_of(CXCursor call, CXCursor method, CXCursor *object);

/* The number of the first argument that is not the object itself, as it is of an operator. */
unsigned wb_first_argument(CXCursor call, CXCursor method);

/* What a conversion makes of an object: of an atomic its VALUE, of a lambda the function. */
struct wb_node *wb_read_converted(struct wb_reader *reader, CXCursor object);

/* Reads a call of a method of a container, an iterator or a smart pointer; or "first" and "second"
 * of a pair. Each returns NULL if it is something else. */
struct wb_node *wb_read_std_method(struct wb_reader *reader, CXCursor call, CXCursor method);
struct wb_node *wb_read_std_member(struct wb_reader *reader, CXCursor member, CXCursor object);

/* The declaration of a variable that stands for what the node stands for, or is a copy of it. */
struct wb_node *wb_read_element_variable(struct wb_reader *reader, CXCursor declaration,
                                         struct wb_node *element);

/* "auto &[a, b] = pair". */
bool wb_binding_p(CXCursor cursor);
struct wb_node *wb_read_binding(struct wb_reader *reader, CXCursor binding);

/* Reads "for (VALUE v : list)". children: the list and the variable, and the body. */
struct wb_node *wb_read_range_for(struct wb_reader *reader, const struct wb_cursors *children);

/* ---- insertion.c ---- */

/* True for a function of std that makes a pair or the like of its arguments. */
bool wb_std_maker_p(CXCursor function);

/* A method that puts its arguments into the container. */
struct wb_node *wb_read_insertion(struct wb_reader *reader, CXCursor call,
                                  struct wb_node *container, const char *name);

/* The whole container becomes another one, or holds the VALUEs on the right. */
struct wb_node *wb_read_replacement(struct wb_reader *reader, CXCursor call,
                                    struct wb_node *container, CXCursor value);

/* A new container, or a pair and the like, of the arguments. Returns NULL if the analysis follows
 * none of them. */
struct wb_node *wb_read_container(struct wb_reader *reader, CXCursor call);

/* ---- algorithms.c ---- */

/* Evaluates the arguments from that one on; the value is not known. first: evaluated before. */
struct wb_node *wb_read_evaluation(struct wb_reader *reader, CXCursor call, struct wb_node *first,
                                   unsigned from);

/* Reads a call of a function of std. Returns NULL if it never returns. */
struct wb_node *wb_read_std_function(struct wb_reader *reader, CXCursor call, CXCursor called);

/* ---- literals.c ---- */

/* The assignments of a list in braces to what `to` stands for. Returns NULL if the cursor is no
 * such list, or its type has none. */
struct wb_node *wb_read_list(struct wb_reader *reader, struct wb_node *to, CXCursor list);

/* Sets all VALUEs in it to 0. */
struct wb_node *wb_read_zeros(struct wb_reader *reader, struct wb_node *to);

/* Reads a compound literal. children: those of the cursor. */
struct wb_node *wb_read_literal(struct wb_reader *reader, CXCursor cursor,
                                const struct wb_cursors *children);

#endif
