/* names.c - fills the tables of a dump in the order of the file. */
#include "graph/names.h"

#include <string.h>

#include "report/own.h"

bool
graph_names_init(struct graph_names *names, struct graph_space *space)
{
    memset(names, 0, sizeof(*names));
    names->space = space;
    names->stack_count = 1;
    rb_heapprof_mem_init(&names->index_mem, SIZE_MAX);
    return GRAPH_SPACE_GROW(space, names->stacks, names->stack_capacity, 1) &&
           graph_names_string(names, (struct heapprof_dump_text){"", 0});
}

void
graph_names_free(struct graph_names *names)
{
    struct graph_space *space = names->space;

    GRAPH_SPACE_RELEASE(space, names->text, names->text_capacity);
    GRAPH_SPACE_RELEASE(space, names->strings, names->string_capacity);
    GRAPH_SPACE_RELEASE(space, names->roles, names->role_capacity);
    GRAPH_SPACE_RELEASE(space, names->stacks, names->stack_capacity);
    GRAPH_SPACE_RELEASE(space, names->layouts, names->layout_capacity);
    GRAPH_SPACE_RELEASE(space, names->classes, names->class_capacity);
    GRAPH_SPACE_RELEASE(space, names->facts, names->fact_capacity);
    rb_heapprof_index_release(&names->class_index, &names->index_mem);
}

/* Copies a text. Returns its offset; SIZE_MAX if there is no memory. */
static size_t
keep(struct graph_names *names, struct heapprof_dump_text text)
{
    size_t at = names->text_bytes;

    if (!GRAPH_SPACE_GROW(names->space, names->text, names->text_capacity,
                          at + text.length + 1)) return SIZE_MAX;
    memcpy(names->text + at, text.bytes, text.length);
    names->text[at + text.length] = '\0';
    names->text_bytes = at + text.length + 1;
    return at;
}

bool
graph_names_fact(struct graph_names *names, bool footer, struct heapprof_dump_text key,
                 struct heapprof_dump_text value)
{
    size_t key_at = keep(names, key), value_at = keep(names, value);

    if (key_at == SIZE_MAX || value_at == SIZE_MAX) return false;
    if (!GRAPH_SPACE_GROW(names->space, names->facts, names->fact_capacity,
                          (size_t)names->fact_count + 1)) return false;
    names->facts[names->fact_count++] = (struct graph_fact){key_at, value_at, footer};
    return true;
}

const char *
graph_fact(const struct graph_names *names, const char *key)
{
    for (uint32_t i = names->fact_count; i-- > 0;) {
        if (!strcmp(names->text + names->facts[i].key,
                    key)) return names->text + names->facts[i].value;
    }
    return NULL;
}

void
graph_names_finish(struct graph_names *names)
{
    const char *directories = graph_fact(names, "directory");

    names->elsewhere = names->stack_count > 1;
    for (uint32_t i = 1; names->elsewhere && i < names->stack_count; i++) {
        if (report_below_p(graph_string(names, names->stacks[i].file), directories))
            names->elsewhere = false;
    }
}

const char *
graph_directories(const struct graph_names *names)
{
    return names->elsewhere ? NULL : graph_fact(names, "directory");
}

static enum graph_role
role_of(const char *text)
{
    static const struct {const char *name; enum graph_role role;} roles[] = {
        {"call cache", GRAPH_ROLE_CACHE}, {"cached method", GRAPH_ROLE_CACHE},
        {"constant cache", GRAPH_ROLE_CACHE}, {"class variable cache", GRAPH_ROLE_CACHE},
        {"shared", GRAPH_ROLE_SHARED},
    };

    for (size_t i = 0; i < sizeof(roles) / sizeof(roles[0]); i++) {
        if (!strcmp(text, roles[i].name)) return roles[i].role;
    }
    return strstr(text, " in ") ? GRAPH_ROLE_OF_FRAME : GRAPH_NO_ROLE;
}

bool
graph_names_string(struct graph_names *names, struct heapprof_dump_text text)
{
    size_t at = keep(names, text), count = (size_t)names->string_count + 1;

    if (at == SIZE_MAX) return false;
    if (!GRAPH_SPACE_GROW(names->space, names->strings, names->string_capacity, count) ||
        !GRAPH_SPACE_GROW(names->space, names->roles, names->role_capacity, count)) return false;
    names->roles[names->string_count] = (uint8_t)role_of(names->text + at);
    names->strings[names->string_count++] = at;
    return true;
}

bool
graph_names_stack(struct graph_names *names, const struct heapprof_dump_stack *stack)
{
    if (!GRAPH_SPACE_GROW(names->space, names->stacks, names->stack_capacity,
                          (size_t)names->stack_count + 1)) return false;
    names->stacks[names->stack_count++] = *stack;
    return true;
}

uint32_t
graph_site(const struct graph_names *names, uint32_t stack)
{
    for (uint32_t at = stack; at; at = names->stacks[at].caller) {
        if (graph_string(names, names->stacks[at].file)[0]) return at;
    }
    return stack;
}

/* ---- layouts and classes ---- */

static uint64_t
hash_class(const void *owner, uint32_t number)
{
    const struct graph_names *names = owner;

    return rb_heapprof_index_hash(names->classes[number - 1].name);
}

/* Returns the number of the class of that name; UINT32_MAX if there is no memory. */
static uint32_t
class_of(struct graph_names *names, uint32_t name)
{
    uint64_t hash = rb_heapprof_index_hash(name);
    uint32_t number;

    for (uint64_t probe = hash; (number = rb_heapprof_index_at(&names->class_index, probe)) != 0;
         probe++) {
        if (names->classes[number - 1].name == name) return number - 1;
    }
    if (!GRAPH_SPACE_GROW(names->space, names->classes, names->class_capacity,
                          (size_t)names->class_count + 1) ||
        !rb_heapprof_index_reserve(&names->class_index, &names->index_mem, names->class_count,
                                   hash_class, names)) {
        return UINT32_MAX;
    }
    names->classes[names->class_count++].name = name;
    rb_heapprof_index_insert(&names->class_index, hash, names->class_count);
    return names->class_count - 1;
}

static bool
structure_p(const char *type)
{
    static const char *const types[] = {"T_CLASS", "T_MODULE", "T_ICLASS", "T_IMEMO", "T_DATA(VM",
                                        "T_DATA(ractor", "T_DATA(fiber"};

    for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
        if (!strncmp(type, types[i], strlen(types[i]))) return true;
    }
    return false;
}

static enum graph_collection
collection_of(const char *type)
{
    if (!strcmp(type, "T_STRING")) return GRAPH_STRING;
    if (!strcmp(type, "T_ARRAY")) return GRAPH_ARRAY;
    return strcmp(type, "T_HASH") ? GRAPH_NO_COLLECTION : GRAPH_HASH;
}

static bool
shared_p(const struct graph_names *names, const struct heapprof_dump_read_layout *layout)
{
    for (uint32_t i = 0; i < layout->label_count; i++) {
        if (layout->labels[i].label == HEAPPROF_DUMP_FIELD &&
            graph_role(names, layout->labels[i].name) == GRAPH_ROLE_SHARED) return true;
    }
    return false;
}

bool
graph_names_layout(struct graph_names *names, const struct heapprof_dump_read_layout *layout)
{
    uint32_t class_number = class_of(names, layout->class_name ? layout->class_name : layout->type);
    const char *type = graph_string(names, layout->type);
    bool module = !strcmp(type, "T_CLASS") || !strcmp(type, "T_MODULE");
    bool thread = !strcmp(type, "T_DATA(VM/thread)") || !strcmp(type, "T_DATA(fiber)") ||
                  !strcmp(type, "T_DATA(ractor)");

    if (class_number == UINT32_MAX) return false;
    if (!GRAPH_SPACE_GROW(names->space, names->layouts, names->layout_capacity,
                          (size_t)names->layout_count + 1)) return false;
    names->layouts[names->layout_count++] = (struct graph_layout){
        .class_address = layout->class_address,
        .class_number = class_number,
        .type = layout->type,
        .module = module,
        .thread = thread,
        .structure = structure_p(type),
        .collection = (uint8_t)collection_of(type),
        .counted = layout->tail != HEAPPROF_DUMP_NO_TAIL,
        .shared = shared_p(names, layout),
    };
    return true;
}

/* ---- functions of a visitor ---- */

bool
graph_names_on_string(void *names, uint32_t number, struct heapprof_dump_text text)
{
    (void)number;
    return graph_names_string(names, text);
}

bool
graph_names_on_stack(void *names, uint32_t number, const struct heapprof_dump_stack *stack)
{
    (void)number;
    return graph_names_stack(names, stack);
}

bool
graph_names_on_layout(void *names, uint32_t number, const struct heapprof_dump_read_layout *layout)
{
    (void)number;
    return graph_names_layout(names, layout);
}
