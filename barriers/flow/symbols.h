#ifndef HEAPPROF_BARRIERS_SYMBOLS_H
#define HEAPPROF_BARRIERS_SYMBOLS_H
/* A symbol says where a value or an address comes from. It is what is known of it without
 * running the code. Equal things have the same symbol, so symbols are compared by pointer.
 *
 *     struct S *p = rb_check_typeddata(self, &T);
 *     p->list[2]          LOAD(INDEX(FIELD(DATA(PARAMETER self), list), 2))
 */
#include "barriers/program.h"

enum wb_symbol_kind {
    WB_S_UNKNOWN,    /* the result of a node that is not understood, or an unset variable */
    WB_S_CONSTANT,   /* no object: a number, nil or NULL; number: its classes, 0 if not known; what:
                      * where paths with several of them met, or NULL */
    WB_S_PARAMETER,  /* of a function; number counts from 0 */
    WB_S_FRESH,      /* an object that was made at a node */
    WB_S_MEMORY,     /* memory that was allocated at a node */
    WB_S_DATA,       /* the data of an object; of: the object */
    WB_S_LOCAL,      /* address of a variable of a function */
    WB_S_GLOBAL,     /* address of a global or static variable */
    WB_S_FIELD,      /* address of a field; of: address of the struct */
    WB_S_INDEX,      /* address of an element; of: address of the array */
    WB_S_LOAD,       /* the contents of an address; of: the address */
    WB_S_EITHER      /* one of two, of and other; it is not known which */
};

struct wb_symbol {
    enum wb_symbol_kind  kind;
    unsigned             depth;      /* of nested symbols */
    const void          *what;       /* the node, function, variable, field it is about */
    struct wb_symbol    *of;
    int64_t              number;
    struct wb_symbol    *other;      /* for WB_S_EITHER */
    struct wb_data_type *data_type;  /* for WB_S_DATA: the type of the object; NULL if not known */
    bool                 string;     /* it is a String */
    bool                 immortal;   /* no GC frees or moves it */
    bool                 held;       /* a caller holds what the function returned */
    struct wb_block     *block;      /* for WB_S_MEMORY: flow/blocks.h; NULL until it is needed */
    struct wb_symbol    *chain;      /* the next one in the bucket */
};

struct wb_symbols {
    struct wb_arena   *arena;
    struct wb_symbol **buckets;
    size_t             capacity, count;  /* capacity: a power of two */
};

/* The one symbol with these members. */
struct wb_symbol *wb_symbol(struct wb_symbols *symbols, enum wb_symbol_kind kind, const void *what,
                            struct wb_symbol *of, int64_t number);

/* The address of an element. An index that is a number or a variable makes an element of its own.
 * Any other index makes an element for its node. */
struct wb_symbol *wb_element_at(struct wb_symbols *symbols, struct wb_symbol *array,
                                const struct wb_node *index);

/* The address of an element of which it is not known which one it is. */
struct wb_symbol *wb_element_of(struct wb_symbols *symbols, struct wb_symbol *array);

/* What an object of Ruby's own holds: an element, at an index of an Array; or its class, at the
 * object itself. It is an unknown value. */
struct wb_symbol *wb_contents(struct wb_symbols *symbols, struct wb_symbol *place);
bool wb_contents_p(const struct wb_symbol *value);

/* One of two values, at a place; each may be one of two itself. Returns NULL if an origin is not
 * known, or if there are too many. */
struct wb_symbol *wb_either(struct wb_symbols *symbols, const void *place, struct wb_symbol *one,
                            struct wb_symbol *other);

/* The address that fields and elements are counted from: of a variable, of memory, of data. */
struct wb_symbol *wb_base_of(struct wb_symbol *address);

/* True for a variable: no object owns it. */
bool wb_on_stack_p(const struct wb_symbol *base);

/* The innermost field: the address is its address, or of an element in it. Returns NULL if it
 * has none. */
const struct wb_field *wb_field_of(const struct wb_symbol *address);

/* The outermost field, next to the base. Returns NULL if it has none. */
const struct wb_field *wb_first_field(const struct wb_symbol *address);

/* The field whose pointer leads to the memory of the address, perhaps by an array of pointers.
 * Returns NULL if no field does. */
const struct wb_field *wb_holder_of(struct wb_symbol *address);

/* True if a field or a variable of the type holds a VALUE, or an array of them. */
bool wb_of_values_p(const struct wb_type *type);

/* True if the symbol is reached from a parameter of the function. */
bool wb_of_parameter_p(const struct wb_symbol *symbol, const struct wb_function *function);

/* The bytes that an address may stand for, counted from its base. An element may be anywhere in its
 * array. Returns false if they are not known. */
bool wb_byte_range(const struct wb_symbol *address, int64_t *offset, int64_t *size);

/* Writes how an address is reached from its start, as in C: "c.nth", "wrap[]", "head->next". */
void wb_path_text(const struct wb_symbol *address, char *text, size_t size);

#endif
