#ifndef HEAPPROF_BARRIERS_SYMBOLS_H
#define HEAPPROF_BARRIERS_SYMBOLS_H
/* What a value or an address is, as far as it can be said without running the code. Two things that are the same have the
 * same symbol, so that they are compared by pointer.
 *
 *     struct S *p = rb_check_typeddata(self, &T);
 *     p->list[2]          LOAD(INDEX(FIELD(DATA(PARAMETER self), list), 2))
 */
#include "barriers/program.h"

enum wb_symbol_kind {
    WB_S_UNKNOWN,    /* what a node gives, or a variable without a value has */
    WB_S_CONSTANT,   /* no object: a number, nil, NULL */
    WB_S_PARAMETER,  /* number: the how maniest of the function */
    WB_S_FRESH,      /* an object that was made at a node */
    WB_S_MEMORY,     /* memory that was made there */
    WB_S_DATA,       /* the data of object of */
    WB_S_LOCAL,      /* address of a variable of a function */
    WB_S_GLOBAL,     /* address of another variable */
    WB_S_FIELD,      /* address of a field; of: the struct's */
    WB_S_INDEX,      /* address of an element; of: the array's */
    WB_S_LOAD        /* what is at address of */
};

struct wb_symbol {
    enum wb_symbol_kind  kind;
    unsigned             depth;      /* of symbols in it */
    const void          *what;       /* the node, function, variable, field it is about */
    struct wb_symbol    *of;
    int64_t              number;
    struct wb_data_type *data_type;  /* of data: the object's type; NULL: not known */
    bool                 string;     /* it is a String */
    struct wb_symbol    *chain;      /* the next one with that hash */
};

struct wb_symbols {
    struct wb_arena   *arena;
    struct wb_symbol **buckets;
    size_t             capacity, count;  /* capacity: a power of two */
};

struct wb_symbol *wb_symbol(struct wb_symbols *symbols, enum wb_symbol_kind kind, const void *what,
                            struct wb_symbol *of, int64_t number);

/* Where an address is in: what is below fields and elements. */
struct wb_symbol *wb_base_of(struct wb_symbol *address);

/* The field whose address, or element's address, it is; NULL: of none. */
const struct wb_field *wb_field_of(const struct wb_symbol *address);

/* The field right above the base; NULL: none is. */
const struct wb_field *wb_first_field(const struct wb_symbol *address);

/* Whether a function's parameter is what it begins with. */
bool wb_of_parameter_p(const struct wb_symbol *symbol, const struct wb_function *function);

/* Which bytes an address may be of, from where its base points: an element is anywhere in its array. False: not known. */
bool wb_byte_range(const struct wb_symbol *address, int64_t *offset, int64_t *size);

/* "c.nth", "wrap[]", "head->next": how an address is reached from where all begins. */
void wb_path_text(const struct wb_symbol *address, char *text, size_t size);

#endif
