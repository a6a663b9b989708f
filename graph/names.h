#ifndef GRAPH_NAMES_H
#define GRAPH_NAMES_H
/* The tables that objects share, each entry once in a dump: strings, stacks, layouts, classes,
 * facts. */
#include "base/index.h"
#include "dump/reader.h"
#include "graph/space.h"

/* What has a length and room for more. */
enum graph_collection {GRAPH_NO_COLLECTION, GRAPH_STRING, GRAPH_ARRAY, GRAPH_HASH};

struct graph_layout {
    uint64_t class_address;
    uint32_t class_number;       /* index in classes */
    uint32_t type;               /* string */
    bool     module;             /* true if its objects are classes or modules */
    bool     thread;             /* true if its objects are threads, fibers or Ractors */
    bool     structure;          /* true if its objects hold a program together: they keep much by
                                    their nature */
    uint8_t  collection;         /* enum graph_collection of its objects */
    bool     counted;            /* true if the number of its objects' elements is in the file */
    bool     shared;             /* true if their content is in another object */
};

/* What a string means as the name of a FIELD, or of a LOCAL. */
enum graph_role {
    GRAPH_NO_ROLE,
    GRAPH_ROLE_CACHE,            /* of code or of a class: its owner would do without */
    GRAPH_ROLE_SHARED,           /* from an Array or String to the memory it shares */
    GRAPH_ROLE_OF_FRAME          /* of a thread or fiber: "self in Object#run at app.rb:3" */
};

/* A class as people name it: all objects with one class name; or, without a class, all objects
 * of one type. */
struct graph_class {
    uint32_t name;               /* string */
};

struct graph_fact {
    size_t   key, value;         /* in text */
    bool     footer;
};

struct graph_names {
    struct graph_space *space;
    char     *text;              /* strings and facts, each ended by NUL */
    size_t    text_capacity, text_bytes;
    size_t   *strings;           /* by number: offset in text; [0] is "" */
    size_t    string_capacity;
    uint8_t  *roles;             /* by string: enum graph_role */
    size_t    role_capacity;
    uint32_t  string_count;      /* counts [0], too */
    struct heapprof_dump_stack *stacks; /* by number; [0] unused */
    size_t    stack_capacity;
    uint32_t  stack_count;
    struct graph_layout *layouts;
    size_t    layout_capacity;
    uint32_t  layout_count;
    struct graph_class *classes;
    size_t    class_capacity;
    uint32_t  class_count;
    struct heapprof_index class_index; /* name -> number + 1 */
    struct heapprof_mem index_mem;
    struct graph_fact *facts;
    size_t    fact_capacity;
    uint32_t  fact_count;
    bool      elsewhere;         /* no stack has a file below the directory of the program */
};

/* Returns false if there is no memory. The caller frees names either way. */
bool graph_names_init(struct graph_names *names, struct graph_space *space);
void graph_names_free(struct graph_names *names);

/* The functions that a visitor of the reader calls. Each returns false if there is no memory. */
bool graph_names_fact(struct graph_names *names, bool footer, struct heapprof_dump_text key,
                      struct heapprof_dump_text value);
bool graph_names_string(struct graph_names *names, struct heapprof_dump_text text);
bool graph_names_stack(struct graph_names *names, const struct heapprof_dump_stack *stack);
bool graph_names_layout(struct graph_names *names, const struct heapprof_dump_read_layout *layout);

/* The same as functions of a visitor, for a visitor whose data begins with a graph_names. */
bool graph_names_on_string(void *names, uint32_t number, struct heapprof_dump_text text);
bool graph_names_on_stack(void *names, uint32_t number, const struct heapprof_dump_stack *stack);
bool graph_names_on_layout(void *names, uint32_t number,
                           const struct heapprof_dump_read_layout *layout);

/* The text of a string, ended by NUL. The pointer is valid until the next string is added. */
static inline const char *
graph_string(const struct graph_names *names, uint32_t number)
{
    return number < names->string_count ? names->text + names->strings[number] : "";
}

static inline enum graph_role
graph_role(const struct graph_names *names, uint32_t number)
{
    return number < names->string_count ? (enum graph_role)names->roles[number] : GRAPH_NO_ROLE;
}

/* The innermost frame of a stack that has a file (methods written in C have none). If no frame
 * has one, the stack itself. */
uint32_t graph_site(const struct graph_names *names, uint32_t stack);

/* Called when all stacks are there: sets elsewhere. */
void graph_names_finish(struct graph_names *names);

/* The application's directories, as report_own_p takes them; NULL if the dump does not say which,
 * or if no stack has a file below them, as with "ruby ../app.rb". */
const char *graph_directories(const struct graph_names *names);

/* The last value that the dump has for this key; NULL if it has none. */
const char *graph_fact(const struct graph_names *names, const char *key);

#endif
