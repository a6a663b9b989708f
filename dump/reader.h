#ifndef HEAPPROF_DUMP_READER_H
#define HEAPPROF_DUMP_READER_H
/* Reads the file of an object graph (doc/graph-format.md) in one pass, like reading a book
 * aloud: the reader calls the visitor for each thing, in the order of the file.
 *
 * The file may come from anybody. Whatever it contains, memory is bounded: two blocks, and the
 * layouts with at most HEAPPROF_DUMP_LABELS_MOST labels together. The reader checks every
 * number before it calls the visitor: strings, stacks and layouts are defined; addresses and
 * sizes are possible. Only the object that a reference leads to may be missing. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "dump/format.h"

#define HEAPPROF_DUMP_ERROR_MAX 200
#define HEAPPROF_DUMP_LABELS_MOST (1 << 24)

/* Text that is not ended by NUL. Valid during the call only. */
struct heapprof_dump_text {
    const char *bytes;
    size_t      length;
};

struct heapprof_dump_stack {
    uint32_t caller;              /* a stack; 0 if it has no caller */
    uint32_t method, file;        /* strings */
    uint32_t line;
};

struct heapprof_dump_read_label {
    uint32_t label;               /* enum heapprof_dump_label */
    uint32_t name;                /* string */
};

struct heapprof_dump_read_layout {
    uint64_t class_address;       /* 0 if there is no class */
    uint32_t type, class_name;    /* strings */
    uint8_t  bits, tail;
    uint32_t label_count;
    const struct heapprof_dump_read_label *labels;
};

struct heapprof_dump_root {
    uint32_t label;               /* enum heapprof_dump_label */
    uint32_t name, category;      /* strings */
    uint64_t address;
};

struct heapprof_dump_read_object {
    uint64_t address;
    uint64_t page;                /* address of the first slot of its page */
    uint32_t slot_bytes;
    uint32_t layout;
    uint32_t bits;
    uint64_t external;            /* this field and those below are 0 if their bit is not set */
    uint64_t length;
    uint32_t text;
    uint32_t stack;
    uint64_t weight;              /* how many objects the sample stands for, times 1000 */
    uint32_t doing;               /* a string */
    uint64_t hash;
};

/* A value: an object by its address, or another value. */
struct heapprof_dump_value {
    bool     object;
    uint8_t  immediate;           /* enum heapprof_dump_immediate, unless it is an object */
    uint64_t bits;                /* address, number, string ... */
};

struct heapprof_dump_reference {
    uint32_t label;
    uint32_t name;                /* string; 0 for elements, keys and values */
    uint64_t index;               /* of the element or the pair */
    struct heapprof_dump_value to;
    struct heapprof_dump_value key; /* the key, if the label is VALUE */
};

/* The functions that the reader calls. It skips a function that is NULL, and stops if one
 * returns false. A reference belongs to the object before it. The count of a page is the number
 * of objects in this record. */
struct heapprof_dump_visitor {
    void *data;
    bool (*fact)(void *data, bool footer, struct heapprof_dump_text key,
                 struct heapprof_dump_text value);
    bool (*string)(void *data, uint32_t number, struct heapprof_dump_text text);
    bool (*stack)(void *data, uint32_t number, const struct heapprof_dump_stack *stack);
    bool (*layout)(void *data, uint32_t number, const struct heapprof_dump_read_layout *layout);
    bool (*root)(void *data, const struct heapprof_dump_root *root);
    bool (*page)(void *data, uint64_t address, uint32_t slot_bytes, uint64_t count);
    bool (*object)(void *data, const struct heapprof_dump_read_object *object);
    bool (*reference)(void *data, const struct heapprof_dump_reference *reference);
    bool (*move)(void *data, uint64_t from, uint64_t to);
};

enum heapprof_dump_result {
    HEAPPROF_DUMP_COMPLETE,
    HEAPPROF_DUMP_INCOMPLETE,     /* the end is missing or damaged; everything before is correct */
    HEAPPROF_DUMP_WRONG,          /* it is not such a file, or its content is impossible */
    HEAPPROF_DUMP_STOPPED         /* a function of the visitor stopped it, or there is no memory */
};

/* Reads up to size further bytes into buffer. Returns how many, 0 at the end, or -1 with errno
 * set. */
typedef ptrdiff_t heapprof_dump_more_i(void *data, void *buffer, size_t size);

/* Reads a whole file. Unless the result is COMPLETE, error says why, in one line. */
enum heapprof_dump_result rb_heapprof_dump_read(heapprof_dump_more_i *more, void *more_data,
                                                const struct heapprof_dump_visitor *visitor,
                                                char error[HEAPPROF_DUMP_ERROR_MAX]);

#endif
