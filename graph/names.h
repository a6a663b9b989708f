#ifndef HEAPPROF_GRAPH_NAMES_H
#define HEAPPROF_GRAPH_NAMES_H
/* What is said once in a dump and used by many objects: strings, stacks, layouts, classes, facts. */
#include "base/index.h"
#include "dump/reader.h"
#include "graph/space.h"

struct heapprof_graph_layout {
    uint64_t class_address;
    uint32_t class_number;       /* in classes */
    uint32_t type;               /* string */
    bool     module;             /* its objects are classes or modules */
};

/* What people call a class: objects of one class name, or, without a class, of one type. */
struct heapprof_graph_class {
    uint32_t name;               /* string */
};

struct heapprof_graph_fact {
    size_t   key, value;         /* in text */
    bool     footer;
};

struct heapprof_graph_names {
    struct heapprof_space *space;
    char     *text;              /* strings and facts, each with a NUL behind it */
    size_t    text_capacity, text_bytes;
    size_t   *strings;           /* by number: where in text; [0] is "" */
    size_t    string_capacity;
    uint32_t  string_count;      /* with 0 */
    struct heapprof_dump_stack *stacks; /* by number; [0] unused */
    size_t    stack_capacity;
    uint32_t  stack_count;
    struct heapprof_graph_layout *layouts;
    size_t    layout_capacity;
    uint32_t  layout_count;
    struct heapprof_graph_class *classes;
    size_t    class_capacity;
    uint32_t  class_count;
    struct heapprof_index class_index; /* name -> number + 1 */
    struct heapprof_mem index_mem;
    struct heapprof_graph_fact *facts;
    size_t    fact_capacity;
    uint32_t  fact_count;
};

/* False: no memory. Free it either way. */
bool rb_heapprof_graph_names_init(struct heapprof_graph_names *names, struct heapprof_space *space);
void rb_heapprof_graph_names_free(struct heapprof_graph_names *names);

/* What a visitor of the reader calls. */
bool rb_heapprof_graph_names_fact(struct heapprof_graph_names *names, bool footer, struct heapprof_dump_text key,
                                  struct heapprof_dump_text value);
bool rb_heapprof_graph_names_string(struct heapprof_graph_names *names, struct heapprof_dump_text text);
bool rb_heapprof_graph_names_stack(struct heapprof_graph_names *names, const struct heapprof_dump_stack *stack);
bool rb_heapprof_graph_names_layout(struct heapprof_graph_names *names, const struct heapprof_dump_layout *layout);

/* The functions themselves, of a visitor whose data begins with the names. */
bool rb_heapprof_graph_names_on_string(void *names, uint32_t number, struct heapprof_dump_text text);
bool rb_heapprof_graph_names_on_stack(void *names, uint32_t number, const struct heapprof_dump_stack *stack);
bool rb_heapprof_graph_names_on_layout(void *names, uint32_t number, const struct heapprof_dump_layout *layout);

/* The text of a string, ended by NUL, good until the next one is added. */
static inline const char *
rb_heapprof_graph_string(const struct heapprof_graph_names *names, uint32_t number)
{
    return number < names->string_count ? names->text + names->strings[number] : "";
}

/* The innermost frame of a stack that has a file, for methods in C have none; the stack itself, if no one has. */
uint32_t rb_heapprof_graph_site(const struct heapprof_graph_names *names, uint32_t stack);

/* The last value that the dump has for a fact; NULL: it has none. */
const char *rb_heapprof_graph_fact(const struct heapprof_graph_names *names, const char *key);

#endif
