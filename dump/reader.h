#ifndef HEAPPROF_DUMP_READER_H
#define HEAPPROF_DUMP_READER_H
/* Reads the file of an object graph (doc/graph-format.md) in one pass and tells of each thing in it, in the
 * order of the file.
 *
 * The file may be anybody's. Memory is bounded whatever it says: two blocks, and the layouts, of which there may
 * be HEAPPROF_DUMP_LABELS_MOST labels. Every number is checked before anybody is told: strings, stacks and layouts
 * are defined, addresses and sizes possible. Only what a reference leads to may be missing. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "dump/format.h"

#define HEAPPROF_DUMP_ERROR_MAX 200
#define HEAPPROF_DUMP_LABELS_MOST (1 << 24)

/* Not ended by NUL. Good during the call. */
struct heapprof_dump_text {
    const char *bytes;
    size_t      length;
};

struct heapprof_dump_stack {
    uint32_t caller;              /* stack; 0: none */
    uint32_t method, file;        /* strings */
    uint32_t line;
};

struct heapprof_dump_read_label {
    uint32_t label;               /* enum heapprof_dump_label */
    uint32_t name;                /* string */
};

struct heapprof_dump_read_layout {
    uint64_t class_address;       /* 0: none */
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
    uint64_t page;                /* address of the page's first slot */
    uint32_t slot_bytes;
    uint32_t layout;
    uint32_t bits;
    uint64_t external;            /* the fields whose bits are not set are 0 */
    uint64_t length;
    uint32_t text;
    uint32_t stack;
    uint64_t weight;              /* times 1000 */
    uint64_t hash;
};

/* An object by its address, or something else. */
struct heapprof_dump_value {
    bool     object;
    uint8_t  immediate;           /* enum heapprof_dump_immediate, of no object */
    uint64_t bits;                /* address, number, string ... */
};

struct heapprof_dump_reference {
    uint32_t label;
    uint32_t name;                /* string; 0 of elements, keys and values */
    uint64_t index;               /* of the element or the pair */
    struct heapprof_dump_value to;
    struct heapprof_dump_value key; /* of a VALUE */
};

/* What is told. A function that is NULL is not called; one that returns false stops the reader. References are
 * those of the object before them. page's count is what follows in this record. */
struct heapprof_dump_visitor {
    void *data;
    bool (*fact)(void *data, bool footer, struct heapprof_dump_text key, struct heapprof_dump_text value);
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
    HEAPPROF_DUMP_INCOMPLETE,     /* its end is missing or damaged; what was told is right */
    HEAPPROF_DUMP_WRONG,          /* it is no such file, or says what cannot be */
    HEAPPROF_DUMP_STOPPED         /* by a function of the visitor, or there is no memory */
};

/* Up to size bytes more into buffer; returns how many, 0 at the end, -1 with errno set. */
typedef ptrdiff_t heapprof_dump_more_i(void *data, void *buffer, size_t size);

/* error: in one line why it is not COMPLETE. */
enum heapprof_dump_result rb_heapprof_dump_read(heapprof_dump_more_i *more, void *more_data,
                                                const struct heapprof_dump_visitor *visitor,
                                                char error[HEAPPROF_DUMP_ERROR_MAX]);

#endif
