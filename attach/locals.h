#ifndef ATTACH_LOCALS_H
#define ATTACH_LOCALS_H
/* The local variables of the frames of a stack: their names, and the classes of their values. If
 * the caller asks for values, also those that are short: numbers, nil, true, false, symbols, the
 * beginnings of strings, the sizes of arrays and hashes (the contract "locals 1").
 *
 * A frame has the variables of its own block or method. Those of the blocks around it belong to
 * their frames. Variables without a name, which Ruby uses itself, are left out. */
#include "attach/walk.h"

#define ATTACH_LOCALS_TEXT_MOST 60 /* bytes of a string that are read */

enum attach_value_kind {
    ATTACH_VALUE_UNSAID,  /* not asked for, or not short */
    ATTACH_VALUE_NIL, ATTACH_VALUE_TRUE, ATTACH_VALUE_FALSE,
    ATTACH_VALUE_INTEGER, /* integer */
    ATTACH_VALUE_FLOAT,   /* real */
    ATTACH_VALUE_SYMBOL,  /* text */
    ATTACH_VALUE_STRING,  /* text, of size bytes; text may be only its beginning */
    ATTACH_VALUE_SIZE     /* size */
};

struct attach_local {
    uint32_t name, class_name; /* strings of names */
    enum attach_value_kind kind;
    uint32_t text;             /* a string of names */
    int64_t  integer;
    double   real;
    uint64_t size;
};

enum attach_locals_state {
    ATTACH_LOCALS_NONE,     /* the frame is no Ruby code */
    ATTACH_LOCALS_KNOWN,
    ATTACH_LOCALS_MOVING,   /* unknown: the thread could not be stopped */
    ATTACH_LOCALS_COMPILED, /* unknown: YJIT may have them in registers */
    ATTACH_LOCALS_UNREADABLE
};

/* The variables of a frame. */
struct attach_locals_frame {
    enum attach_locals_state state;
    size_t first, count;       /* in all */
};

struct attach_locals {
    struct attach_vm *vm;
    struct heapprof_mem *mem;
    struct attach_names *names;
    bool wanted, with_values;  /* set by the caller */
    struct attach_locals_frame *frames; /* the first has number 1 */
    size_t frame_capacity, frame_count;
    struct attach_local *all;
    size_t capacity, count;
};

/* names and mem have to outlive it. */
void attach_locals_init(struct attach_locals *locals, struct attach_vm *vm,
                        struct attach_names *names, struct heapprof_mem *mem);
void attach_locals_free(struct attach_locals *locals);

/* Forgets all frames. */
void attach_locals_clear(struct attach_locals *locals);

/* Reads the variables of a frame of the walk. *number is then what attach_locals_of finds them by,
 * until the next clear. If state is not KNOWN, nothing is read, and the frame has that state; with
 * NONE, *number stays as it is. Returns false without memory. */
bool attach_locals_read(struct attach_locals *locals, const struct attach_walk *walk, size_t frame,
                        enum attach_locals_state state, size_t *number);

/* Returns what is known of the frame with that number; of number 0, the state NONE. */
struct attach_locals_frame attach_locals_of(const struct attach_locals *locals, size_t number);

/* Returns why the variables are not known, "the thread could not be stopped"; or NULL. */
const char *attach_locals_why(enum attach_locals_state state);

#endif
