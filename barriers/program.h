#ifndef HEAPPROF_BARRIERS_PROGRAM_H
#define HEAPPROF_BARRIERS_PROGRAM_H
/* An extension as it was read from all its source files. From here on no file knows libclang.
 *
 *     program --> functions --> body: a tree of nodes, in the order in which the code runs
 *             --> records --> fields --> types
 *             --> data types (rb_data_type_t): flags, mark function, ...
 *
 * Equal names are one pointer. A thing that several files declare exists once. Its key is what
 * clang calls the USR; the key of a static thing also has the path of its file.
 */
#include <stdbool.h>
#include <stdint.h>

#include "barriers/arena.h"
#include "base/strings.h"

struct wb_place {
    const char *file;        /* the file that #line names, if there is one; NULL: no place */
    unsigned    line, column;
    const char *macro;       /* the macro whose text the thing begins in; NULL: none */
    const char *macro_file;  /* where the macro is defined */
    unsigned    macro_line;
};

/* ---- types ---- */

enum wb_type_kind {WB_OTHER, WB_VALUE, WB_RECORD, WB_POINTER, WB_ARRAY};

struct wb_type {
    enum wb_type_kind kind;
    bool              constant;      /* const */
    struct wb_type   *to;            /* of a pointer, an array */
    struct wb_record *record;
};

struct wb_field {
    const char       *name;          /* "" for an anonymous struct or union */
    struct wb_record *record;        /* the struct that has it */
    struct wb_type   *type;
    int64_t           offset, size;  /* in its record, bytes; negative if not known */
    bool              holds_others;  /* a value was stored there that may not be a String */
    struct wb_field_use *uses;       /* by the data types that have it */
    struct wb_place   outside;       /* where a VALUE that a GC may free is stored there first, or
                                      * behind the pointer, in memory of malloc: flow/blocks.h;
                                      * file NULL: nowhere */
    struct wb_record *outer;         /* the struct that this memory begins with */
    bool              allocated;     /* a pointer that is given memory of malloc */
    bool              held;          /* something marks or registers what is there */
    bool              itself;        /* the object that has the field is stored there */
    struct wb_field  *next;
};

/* What one data type does with a field. Several types may share the struct. */
struct wb_field_use {
    struct wb_data_type *data_type;  /* NULL: of objects whose type is not known */
    bool              holds;         /* a value other than nil was stored there */
    bool              pinned;        /* the mark function pins it: rb_gc_mark */
    bool              movable;       /* the mark function marks it by rb_gc_mark_movable */
    bool              behind;        /* the mark function marks what it points to */
    bool              of_node;       /* the mark function marks it behind a pointer */
    bool              updated;       /* the compact function stores there */
    bool              elements_pinned, elements_movable, elements_updated; /* the same for VALUEs
                                      * that it points to */
    struct wb_field_use *next;
};

/* A class that another one is derived from. Its fields are read as if they were at the same
 * address. */
struct wb_base {
    struct wb_record *record;
    struct wb_base   *next;
};

struct wb_record {
    const char       *name;
    struct wb_field  *fields;
    struct wb_base   *bases;
    bool              complete;      /* the fields are known */
    bool              visiting;      /* a recursion is in it: it may contain itself */
    bool              values;        /* of C++: of a template, for VALUE */
    int64_t           size;          /* bytes; 0 if not known */
    struct wb_owner  *owners;        /* data types whose data it is, or is part of */
    const char       *keeper;        /* what leads to such a struct in memory of malloc after the
                                      * function that made it; NULL: nothing that is known */
    bool              global;        /* the keeper is a global variable */
    struct wb_record *kept_in;       /* a struct that has a pointer to it; or NULL */
    bool              given;         /* passed to a function of the extension that is not in these
                                      * sources: it may mark what is there */
    struct wb_record *next;
};

/* Memory that is allocated at one place. */
struct wb_block {
    struct wb_record *record;        /* what it begins with; NULL if it is not known */
    struct wb_place   stored;        /* where a VALUE is stored into it that is in no struct */
    const char       *library;       /* the function of a library that got its address */
    struct wb_field  *field;         /* which gets its address; or NULL */
    struct wb_record *outer;         /* the struct with that field */
    struct wb_variable *variable;    /* a global variable which gets its address; or NULL */
    bool              freed, held;
    struct wb_block  *next;
};

/* The record belongs to the data of a type. */
struct wb_owner {
    struct wb_data_type *data_type;
    struct wb_record    *record;
    struct wb_owner     *next_record; /* the next record of this data type */
    bool                 whole;      /* the record is the data, not a part of it */
    struct wb_owner     *next;       /* the next data type of this record */
};

struct wb_variable {
    const char          *name;
    struct wb_type      *type;
    bool                 global;
    bool                 reference;  /* of C++: the type is a pointer to what the name stands for */
    bool                 changed;    /* otherwise than by "=": by ++, +=, or through its address */
    struct wb_node      *closure;    /* of C++: the lambda that it is initialised with; or NULL */
    struct wb_data_type *data_type;  /* if the variable is an rb_data_type_t */
    bool                 foreign;    /* Ruby's headers or the system's declare it */
    bool                 registered; /* the GC knows what it holds: flow/globals.h */
    struct wb_place      stored;     /* where a VALUE that a GC may free is stored there first;
                                      * file NULL: nowhere */
    struct wb_variable  *next;       /* of the global ones */
};

/* ---- code ---- */

enum wb_node_kind {
    /* statements */
    WB_SEQUENCE,    /* children; its value is that of the last one */
    WB_IF,          /* condition, then, perhaps else; also the operator ?: */
    WB_LOOP,        /* children, repeated */
    WB_SWITCH,      /* value, body */
    WB_CASE,        /* a statement of the switch around it; operation: WB_EQUAL with a number,
                     * WB_NOT_EQUAL for default, or WB_OTHER_OPERATOR */
    WB_LABEL,       /* name, statement */
    WB_GOTO,        /* name */
    WB_BREAK,
    WB_CONTINUE,
    WB_RETURN,      /* perhaps a value, and what runs behind it: destructors of C++ */
    WB_DECLARE,     /* variable, perhaps its value */
    /* expressions */
    WB_ASSIGN,      /* left side, right side */
    WB_CALL,        /* arguments; without function the first child is what is called */
    WB_VARIABLE,
    WB_MEMBER,      /* field; the struct */
    WB_POINTEE,     /* *x */
    WB_ADDRESS,     /* &x */
    WB_ELEMENT,     /* array or pointer, index */
    WB_CAST,        /* explicit in the source */
    WB_FUNCTION,    /* its address */
    WB_CLOSURE,     /* a lambda of C++: its function; its code */
    WB_NUMBER,      /* a constant */
    WB_STRING,      /* name: its text */
    WB_ANY          /* anything else; its children are evaluated */
};

/* Of an expression that is a condition, or a part of one. */
enum wb_operator {
    WB_OTHER_OPERATOR, /* any other, or it is not known */
    WB_NOT, WB_EQUAL, WB_NOT_EQUAL, WB_LESS, WB_LESS_OR_EQUAL, WB_GREATER, WB_GREATER_OR_EQUAL,
    WB_AND, WB_OR
};

struct wb_node {
    enum wb_node_kind kind;
    enum wb_operator  operation;     /* of WB_ANY */
    bool              arrow;         /* of a member: written with -> */
    struct wb_type   *type;          /* of an expression, where it matters */
    union {
        struct wb_variable *variable;
        struct wb_field    *field;
        struct wb_function *function;
        const char         *name;
        int64_t             number;
    };
    struct wb_place   place;         /* of nodes that a message can name */
    struct wb_node   *child, *next;
};

/* The name that Ruby has for a function, as "configure" in rb_define_method. */
struct wb_method {
    const char          *name;
    struct wb_function  *function;
    struct wb_method    *next;
};

struct wb_function {
    const char          *name;
    const char          *key;
    struct wb_place      place;
    struct wb_variable **parameters;
    unsigned             parameter_count;
    struct wb_node      *body;       /* NULL if it is not in these sources */
    struct wb_type      *result;
    bool                 ours;       /* written in the extension, not in a header of Ruby or of
                                      * the system */
    bool                 of_ruby;    /* declared by Ruby's headers */
    bool                 foreign;    /* declared by Ruby's headers or by the system's */
    unsigned             addressed;  /* places that take its address: it may be called from code
                                      * that is not read */
    bool                 called;     /* by code that is read */
    bool                 constructs; /* a constructor of C++: its first parameter is `this` */
    bool                 never_returns;
    bool                 recursive;  /* it calls itself, perhaps through others */
    unsigned             search;     /* number of the last search that reached it: flow/reach.h */
    uint64_t             only_read;  /* bit n: parameter n points to const */
    const struct wb_known *known;    /* known.h; NULL until it is looked up */
    struct wb_summary   *summary;    /* flow/flow.h; NULL until it is computed */
    const struct wb_stored *stored;  /* flow/stored.h: where it stores references */
    struct wb_function  *next;
};

/* An rb_data_type_t with its initialiser. */
struct wb_data_type {
    const char          *name;       /* of the variable */
    const char          *struct_name; /* wrap_struct_name; NULL if not known */
    int64_t              extent;     /* size of its largest known struct, bytes */
    struct wb_place      place;
    bool                 known;      /* its initialiser was seen */
    bool                 protected_p; /* RUBY_TYPED_WB_PROTECTED */
    bool                 declares;   /* RUBY_TYPED_DECL_MARKING: dmark is a list of offsets */
    struct wb_place      flags_end;  /* behind the flags in the initialiser; file NULL if it has
                                      * none */
    struct wb_place      end;        /* behind the initialiser's last brace */
    bool                 flagless;   /* flags are 0 */
    bool                 names;      /* the initialiser names its members */
    bool                 derived;    /* it has a parent */
    bool                 given;      /* its data is passed to a function of the extension that is
                                      * not in these sources */
    bool                 marks;      /* it has a dmark */
    bool                 tables;     /* it marks values in tables and the like, whose stores are
                                      * not found */
    bool                 updates_seen; /* everything that dcompact updates is known: the same */
    bool                 marks_seen; /* everything that dmark marks is known: its fields say so */
    struct wb_function  *mark, *free, *size, *compact;
    struct wb_owner     *owned;      /* records */
    bool                 compacts;   /* it has a dcompact */
    struct wb_data_type *next;
};

struct wb_entry;

struct wb_program {
    struct wb_arena         arena;
    struct heapprof_mem     mem;
    struct heapprof_strings strings;
    struct wb_entry        *entries;    /* by the number of the string */
    size_t                  entry_capacity;
    struct wb_function     *functions, **functions_end;
    struct wb_data_type    *data_types, **data_types_end;
    struct wb_method       *methods;
    struct wb_variable     *globals, **globals_end;
    struct wb_record       *records, **records_end;
    struct wb_block        *blocks;
    bool                    marks_unknown; /* a value is marked, and it is not known where it is */
    unsigned                searches;   /* how many there were: flow/reach.h */
    size_t                  owner_count; /* of all records; it grows while the analysis learns */
};

void wb_program_init(struct wb_program *program);

/* The one pointer to that text. */
const char *wb_name(struct wb_program *program, const char *text);

/* The thing with that key. The first call for a key makes it. */
struct wb_function *wb_function_of(struct wb_program *program, const char *key, const char *name);
struct wb_record *wb_record_of(struct wb_program *program, const char *key, const char *name);
struct wb_variable *wb_global_of(struct wb_program *program, const char *key, const char *name);
struct wb_data_type *wb_data_type_of(struct wb_program *program, struct wb_variable *variable);

/* Notes that the record is the data of objects of that type (whole), or a part of it. */
void wb_add_owner(struct wb_program *program, struct wb_record *record,
                  struct wb_data_type *data_type, bool whole);
bool wb_owned_p(const struct wb_record *record, const struct wb_data_type *data_type);
bool wb_whole_p(const struct wb_record *record, const struct wb_data_type *data_type);

/* The node below casts and other nodes with a single child. */
const struct wb_node *wb_without_casts(const struct wb_node *node);

/* The record that a pointer of that type points to. Returns NULL if the type is no such pointer. */
struct wb_record *wb_pointed(const struct wb_type *type);

#endif
