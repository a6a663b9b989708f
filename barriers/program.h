#ifndef HEAPPROF_BARRIERS_PROGRAM_H
#define HEAPPROF_BARRIERS_PROGRAM_H
/* What is read of an extension's sources, all files together, and nothing of libclang.
 *
 *     program --> functions --> body: a tree of nodes, in the order in which things happen
 *             --> records --> fields --> types
 *             --> data types (rb_data_type_t): flags, mark function, ...
 *
 * Names of one text are one pointer. A thing that several files know is one thing: it is found by what clang calls its USR,
 * of a static one with its file's path.
 */
#include <stdbool.h>
#include <stdint.h>

#include "barriers/arena.h"
#include "base/strings.h"

struct wb_place {
    const char *file;        /* as #line has it, if it does; NULL: nowhere */
    unsigned    line, column;
    const char *macro;       /* that is used there, whose text the thing begins in; NULL: none */
    const char *macro_file;  /* where that is defined */
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
    const char       *name;          /* "": an anonymous struct or union */
    struct wb_record *record;        /* whose it is */
    struct wb_type   *type;
    int64_t           offset, size;  /* in its record, bytes; negative: not known */
    bool              holds;         /* something other than nil was stored there */
    bool              holds_others;  /* than Strings: something was stored there that may be no String */
    bool              pinned, movable, updated; /* by a mark function, by rb_gc_mark_movable; by a compact function */
    struct wb_data_type *marked;        /* whose mark function marks it; NULL: none does */
    struct wb_data_type *marked_behind; /* the same of what it points to */
    struct wb_field  *next;
};

struct wb_record {
    const char       *name;
    struct wb_field  *fields;
    bool              complete;      /* its fields are known */
    bool              visiting;      /* a search is in it */
    int64_t           size;          /* bytes; 0: not known */
    struct wb_owner  *owners;        /* the data types whose data it is, or is in */
};

struct wb_owner {
    struct wb_data_type *data_type;
    struct wb_record    *record;
    struct wb_owner     *next_record; /* of that data type */
    bool                 whole;      /* it is the data, not a part of it */
    struct wb_owner     *next;
};

struct wb_variable {
    const char          *name;
    struct wb_type      *type;
    bool                 global;
    struct wb_data_type *data_type;  /* it is an rb_data_type_t */
};

/* ---- code ---- */

enum wb_node_kind {
    /* statements */
    WB_SEQUENCE,    /* of children; as an expression, what the last one is */
    WB_IF,          /* condition, then, perhaps else; the same as an expression */
    WB_LOOP,        /* children, again and again */
    WB_SWITCH,      /* what of, body */
    WB_CASE,        /* of the switch around it: a statement */
    WB_LABEL,       /* name: a statement */
    WB_GOTO,        /* name */
    WB_BREAK,
    WB_CONTINUE,
    WB_RETURN,      /* perhaps a value */
    WB_DECLARE,     /* variable, perhaps its value */
    /* expressions */
    WB_ASSIGN,      /* to, what */
    WB_CALL,        /* function, or NULL and the first child is what is called; arguments */
    WB_VARIABLE,
    WB_MEMBER,      /* field; of what */
    WB_POINTEE,     /* *x */
    WB_ADDRESS,     /* &x */
    WB_ELEMENT,     /* array or pointer, index */
    WB_CAST,        /* an explicit one */
    WB_FUNCTION,    /* its address */
    WB_NUMBER,      /* a constant */
    WB_ANY          /* anything else: children are evaluated */
};

struct wb_node {
    enum wb_node_kind kind;
    bool              arrow;         /* of a member: -> */
    struct wb_type   *type;          /* of an expression, where it matters */
    union {
        struct wb_variable *variable;
        struct wb_field    *field;
        struct wb_function *function;
        const char         *name;
        int64_t             number;
    };
    struct wb_place   place;         /* of what can be told of */
    struct wb_node   *child, *next;
};

/* A name that Ruby knows a function by: "configure". */
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
    struct wb_node      *body;       /* NULL: not in these sources */
    struct wb_type      *result;
    bool                 ours;       /* of the extension, not of a header of others */
    bool                 of_ruby;    /* declared by Ruby's headers */
    bool                 foreign;    /* the same, or by a library's */
    unsigned             addressed;  /* so many places may call it from where we do not see, as by its address */
    bool                 called;     /* from these sources */
    bool                 never_returns;
    unsigned             search;     /* the last one that came here */
    uint64_t             only_read;  /* bit n: parameter n points to what is const */
    const struct wb_known *known;    /* known.h; NULL: not looked for yet */
    struct wb_summary   *summary;    /* summary.h; NULL: not worked out */
    const struct wb_stored *stored;  /* stored.h: where it stores references */
    struct wb_function  *next;
};

/* An rb_data_type_t with its initialiser. */
struct wb_data_type {
    const char          *name;       /* of the variable */
    const char          *struct_name; /* wrap_struct_name; NULL: not seen */
    int64_t              extent;     /* of its data as far as structs say, bytes */
    struct wb_place      place;
    bool                 known;      /* its initialiser was seen */
    bool                 protected_p; /* RUBY_TYPED_WB_PROTECTED */
    bool                 declares;   /* RUBY_TYPED_DECL_MARKING: dmark is a list of offsets */
    struct wb_place      flags_end;  /* behind what the initialiser says of flags; file NULL: it says nothing */
    struct wb_place      end;        /* behind the initialiser's last brace */
    bool                 flagless;   /* flags are 0 */
    bool                 names;      /* the initialiser has members by their names */
    bool                 derived;    /* it has a parent */
    bool                 given;      /* its data is given to a function of the extension that is not in these sources */
    bool                 marks;      /* dmark is something */
    bool                 tables;     /* of what it marks some is in tables and other things of which stores are not seen */
    bool                 updates_seen; /* all that dcompact updates is a field's that says so */
    bool                 marks_seen; /* all that it marks is a field's that says so */
    struct wb_function  *mark, *free, *size, *compact;
    struct wb_owner     *owned;      /* records */
    bool                 compacts;   /* dcompact is something */
    struct wb_data_type *next;
};

struct wb_entry;

struct wb_program {
    struct wb_arena         arena;
    struct heapprof_mem     mem;
    struct heapprof_strings strings;
    struct wb_entry        *entries;    /* by the string's number */
    size_t                  entry_capacity;
    struct wb_function     *functions, **functions_end;
    struct wb_data_type    *data_types, **data_types_end;
    struct wb_method       *methods;
    unsigned                searches;   /* for functions that others reach */
    size_t                  owner_count; /* of all records: what is known of whose data they are */
};

void wb_program_init(struct wb_program *program);

/* The one pointer to that text. */
const char *wb_name(struct wb_program *program, const char *text);

/* The thing of that key, made when it is asked for first. */
struct wb_function *wb_function_of(struct wb_program *program, const char *key, const char *name);
struct wb_record *wb_record_of(struct wb_program *program, const char *key, const char *name);
struct wb_variable *wb_global_of(struct wb_program *program, const char *key, const char *name);
struct wb_data_type *wb_data_type_of(struct wb_program *program, struct wb_variable *variable);

/* The record is, or is in, the data of objects of that type; whole: it is. */
void wb_add_owner(struct wb_program *program, struct wb_record *record, struct wb_data_type *data_type, bool whole);
bool wb_owned_p(const struct wb_record *record, const struct wb_data_type *data_type);
bool wb_whole_p(const struct wb_record *record, const struct wb_data_type *data_type);

const struct wb_node *wb_without_casts(const struct wb_node *node);

/* The record that a pointer of that type points to; NULL: to none. */
struct wb_record *wb_pointed(const struct wb_type *type);

#endif
