/* suspects.c - searches the patterns of the dominator tree downwards from the roots, through
 * objects that only hold a program together.
 *
 * A class, a thread or a piece of code keeps much alive by its nature: the search continues
 * below it. The first other pattern that keeps much is a suspect. Where the search ends without
 * one, what has become many may still be: threads, modules, methods with names of their own. The
 * VM itself is never a suspect. Below a suspect, the search follows the one object that keeps
 * nearly all of it, until the memory spreads over many. */
#include "graph/suspects.h"

#include <stdlib.h>
#include <string.h>

#include "graph/words.h"

#define NEARLY_ALL(bytes) ((bytes) / 5 * 4)
#define PREFIX_LEAST 3 /* characters that names have in common if one program line made them */
#define MANY 8         /* objects side by side that are no accident */
#define BELOW_MOST 100 /* patterns between a sample and what gathers it */
#define SYMBOLS_LEAST (1 << 20) /* bytes of symbols; a Ruby with its libraries has less */

struct suspects_search {
    const struct graph *graph;
    const struct graph_patterns *patterns;
    const uint64_t *retained;    /* by object */
    struct graph_branches branches;
    struct graph_suspect *suspects;
    size_t    count, most;
    uint64_t  least_bytes;
    uint32_t *waiting;           /* patterns whose children are to be looked at */
    uint32_t  waiting_count;
    uint8_t  *found;             /* by pattern: a suspect is at or below it */
};

static const struct graph_layout *
layout_of(const struct suspects_search *search, uint32_t pattern)
{
    return graph_layout(search->graph, search->patterns->all[pattern].example);
}

static const char *
type_of(const struct suspects_search *search, uint32_t pattern)
{
    return graph_string(&search->graph->names, layout_of(search, pattern)->type);
}

/* True if it is a module of the VM's: RubyVM, RubyVM::YJIT. */
static bool
vm_module_p(const struct suspects_search *search, uint32_t pattern)
{
    static const char vm[] = "RubyVM";
    uint32_t name = graph_module_name(search->graph, search->patterns->all[pattern].example);
    const char *text = graph_string(&search->graph->names, name);

    return !strncmp(text, vm, sizeof(vm) - 1) && strchr(":", text[sizeof(vm) - 1]);
}

/* True if it is a table of symbols of the size that each program has. */
static bool
few_symbols_p(const struct suspects_search *search, uint32_t pattern)
{
    static const char table[] = "symbol table";
    const struct graph_pattern *it = &search->patterns->all[pattern];
    const char *root = graph_label_name(search->graph, it->label);

    return !it->parent && graph_label_kind(it->label) == HEAPPROF_DUMP_ROOT &&
           !strncmp(root, table, sizeof(table) - 1) &&
           search->branches.retained[pattern] < SYMBOLS_LEAST;
}

/* True if it is the VM's own: its state, its modules, its symbols, and what it keeps for C code in
 * Arrays without a class. */
static bool
vm_p(const struct suspects_search *search, uint32_t pattern)
{
    const struct graph_pattern *it = &search->patterns->all[pattern];
    const struct graph_layout *layout = layout_of(search, pattern);
    bool hidden = layout->class_address == 0 && !layout->structure;

    if (!strcmp(type_of(search, pattern), "T_DATA(VM)") || vm_module_p(search, pattern) ||
        few_symbols_p(search, pattern)) return true;
    return hidden && it->parent &&
           !strcmp(type_of(search, it->parent), "T_DATA(VM/pin_array_list)");
}

/* ---- what is many ---- */

/* True if names of siblings were made by a program: their module has no other purpose, or they
 * begin alike. */
static bool
made_names_p(const struct suspects_search *search, uint32_t pattern)
{
    const struct graph_pattern *it = &search->patterns->all[pattern],
                               *parent = &search->patterns->all[it->parent];
    uint32_t before =
        graph_label_kind(it->label) == HEAPPROF_DUMP_FIELD ? sizeof("method ") - 1 : 0;

    if (it->prefix >= before + PREFIX_LEAST) return true;
    return it->parent && parent->objects == 1 && layout_of(search, it->parent)->module &&
           strcmp(graph_string(&search->graph->names,
                               graph_module_name(search->graph, parent->example)),
                  "Object");
}

/* True if these are several threads or fibers that were started at one place. */
static bool
threads_p(const struct suspects_search *search, uint32_t pattern)
{
    return layout_of(search, pattern)->thread && search->patterns->all[pattern].objects > 1;
}

/* True if these are the modules that a class includes. What stands for them in the class, one
 * behind the other, is more: it is the suspect. */
static bool
included_p(const struct suspects_search *search, uint32_t pattern)
{
    const struct graph_pattern *it = &search->patterns->all[pattern];

    return it->parent && graph_label_kind(it->label) == HEAPPROF_DUMP_CLASS &&
           !strcmp(type_of(search, it->parent), "T_ICLASS");
}

/* True if each belongs to one of as many above that may be a leak themselves, as a singleton class
 * belongs to its class. */
static bool
of_many_p(const struct suspects_search *search, uint32_t pattern)
{
    const struct graph_pattern *it = &search->patterns->all[pattern],
                               *parent = &search->patterns->all[it->parent];

    return it->parent && layout_of(search, it->parent)->structure && parent->siblings < 2 &&
           parent->objects >= it->objects;
}

/* True if a pattern of the program's structure may be a leak by itself. */
static bool
grown_structure_p(const struct suspects_search *search, uint32_t pattern)
{
    const struct graph_pattern *it = &search->patterns->all[pattern];
    const char *type = type_of(search, pattern);

    if (it->siblings > 1) return made_names_p(search, pattern);
    if (included_p(search, pattern)) return false;
    if (layout_of(search, pattern)->thread) return strcmp(type, "T_DATA(ractor)") != 0;
    if (it->objects < MANY || of_many_p(search, pattern)) return false;
    return strncmp(type, "T_IMEMO", 7) && strncmp(type, "T_DATA(VM", 9);
}

/* ---- the suspects ---- */

/* Inserts a suspect among the largest, in order. */
static void
add_suspect(struct suspects_search *search, uint32_t pattern)
{
    const struct graph_pattern *it = &search->patterns->all[pattern];
    uint64_t retained = search->branches.retained[pattern];
    size_t at = search->count < search->most ? search->count++ : search->most - 1;

    for (uint32_t above = pattern; above && !search->found[above];
         above = search->patterns->all[above].parent) {
        search->found[above] = 1;
    }
    if (at == search->most - 1 && search->suspects[at].pattern &&
        search->suspects[at].retained >= retained) return;
    for (; at > 0 && search->suspects[at - 1].retained < retained; at--) {
        search->suspects[at] = search->suspects[at - 1];
    }
    search->suspects[at] = (struct graph_suspect){
        .pattern = pattern, .object = it->example, .retained = retained, .gathered = pattern,
        .gathered_object = it->example,
        .count = it->objects > UINT32_MAX ? UINT32_MAX : (uint32_t)it->objects,
    };
}

static void
look_at(struct suspects_search *search, uint32_t pattern)
{
    const struct graph_branches *branches = &search->branches;

    for (uint32_t i = branches->first[pattern]; i < branches->first[pattern + 1]; i++) {
        uint32_t child = branches->children[i];
        if (branches->retained[child] < search->least_bytes) break;
        if (vm_p(search, child)) continue;
        if (!layout_of(search, child)->structure || threads_p(search, child))
            add_suspect(search, child);
        else search->waiting[search->waiting_count++] = child;
    }
}

/* Looks at all structure from the top down, and then, from below, at what has no suspect in it. */
static void
find(struct suspects_search *search)
{
    look_at(search, 0);
    for (uint32_t at = 0; at < search->waiting_count; at++) {
        if (search->patterns->all[search->waiting[at]].siblings < 2)
            look_at(search, search->waiting[at]);
    }
    for (uint32_t at = search->waiting_count; at-- > 0;) {
        uint32_t pattern = search->waiting[at];
        if (!search->found[pattern] && grown_structure_p(search, pattern))
            add_suspect(search, pattern);
    }
}

/* ---- what a suspect is made of ---- */

static uint32_t
largest_child(const struct suspects_search *search, uint32_t pattern)
{
    const struct graph_branches *branches = &search->branches;
    bool any = branches->first[pattern] < branches->first[pattern + 1];

    return any ? branches->children[branches->first[pattern]] : 0;
}

/* The object of a pattern that keeps so many bytes by itself; 0 if none does. All of one pattern,
 * unless it is a list, keep nothing of each other. */
static uint32_t
find_keeper(const struct suspects_search *search, uint32_t pattern, uint64_t bytes)
{
    const struct graph_pattern *it = &search->patterns->all[pattern];

    if (it->objects == 1 || it->loop) return it->objects == 1 ? it->example : 0;
    for (uint32_t object = it->example; object <= search->graph->count; object++) {
        if (search->patterns->of[object] == pattern && search->retained[object] >= bytes)
            return object;
    }
    return 0;
}

/* Goes down to the object where the memory spreads over many. */
static void
describe_one(const struct suspects_search *search, struct graph_suspect *suspect)
{
    const uint64_t *retained = search->branches.retained;
    uint32_t part, keeper;

    while ((part = largest_child(search, suspect->gathered)) != 0) {
        uint64_t least = NEARLY_ALL(retained[suspect->gathered]);
        if (retained[part] < least || !(keeper = find_keeper(search, part, least))) break;
        suspect->gathered = part;
        suspect->gathered_object = keeper;
    }
    suspect->part = part;
}

/* True if its name says little of what it is for. */
static bool
plain_p(const struct suspects_search *search, uint32_t pattern)
{
    static const char *const types[] = {"T_ARRAY", "T_HASH", "T_STRING", "T_DATA(proc)"};
    const struct graph_layout *layout = layout_of(search, pattern);
    const char *type = type_of(search, pattern);

    for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
        if (!strcmp(type, types[i])) return true;
    return layout->structure;
}

/* Of many side by side: goes down to the first pattern whose name says something, as far as one
 * child keeps nearly all. */
static void
describe_many(const struct suspects_search *search, struct graph_suspect *suspect)
{
    const uint64_t *retained = search->branches.retained;
    uint32_t at = suspect->pattern, child;

    if (!plain_p(search, at)) return;
    while ((child = largest_child(search, at)) != 0 &&
           retained[child] >= NEARLY_ALL(retained[at])) {
        suspect->part = at = child;
        if (!plain_p(search, at)) return;
    }
}

static void
describe(const struct suspects_search *search, struct graph_suspect *suspect)
{
    if (suspect->count == 1) describe_one(search, suspect);
    else describe_many(search, suspect);
    if (suspect->part) suspect->part_retained = search->branches.retained[suspect->part];
}

/* Where a stack is looked for; what comes first says most. */
enum stack_place {OF_PART, OF_GATHERED, BELOW_GATHERED, STACK_PLACES};

static bool
at_place_p(const struct suspects_search *search, const struct graph_suspect *suspect,
           uint32_t pattern, enum stack_place place)
{
    uint32_t steps = 0;

    if (place == OF_PART) return pattern == suspect->part;
    if (place == OF_GATHERED) return pattern == suspect->gathered;
    while (pattern && pattern != suspect->gathered && steps++ < BELOW_MOST) {
        pattern = search->patterns->all[pattern].parent;
    }
    return pattern == suspect->gathered;
}

/* Finds the stacks of all suspects. */
static void
find_stacks(const struct suspects_search *search)
{
    const struct graph *graph = search->graph;

    for (enum stack_place place = OF_PART; place < STACK_PLACES; place++) {
        for (uint32_t i = 0; i < graph->sample_count; i++) {
            uint32_t pattern = search->patterns->of[graph->samples[i].object];
            for (size_t at = 0; pattern && at < search->count; at++) {
                struct graph_suspect *suspect = &search->suspects[at];
                if (!suspect->stack && at_place_p(search, suspect, pattern, place)) {
                    suspect->stack = graph->samples[i].stack;
                }
            }
        }
    }
}

size_t
graph_suspects(struct graph_suspect *suspects, size_t most, struct graph *graph,
               const struct graph_patterns *patterns, const uint64_t *retained,
               uint64_t least_bytes)
{
    struct suspects_search search = { .graph = graph,
                                      .patterns = patterns,
                                      .retained = retained,
                                      .suspects = suspects,
                                      .most = most,
                                      .least_bytes = least_bytes };
    bool room = graph_branches_make(&search.branches, patterns);

    memset(suspects, 0, most * sizeof(*suspects));
    search.waiting = calloc(patterns->count, sizeof(*search.waiting));
    search.found = calloc(patterns->count, sizeof(*search.found));
    room = room && search.waiting && search.found;
    if (room) {
        find(&search);
        for (size_t i = 0; i < search.count; i++) describe(&search, &suspects[i]);
        find_stacks(&search);
    }
    free(search.waiting);
    free(search.found);
    graph_branches_free(&search.branches);
    return room ? search.count : SIZE_MAX;
}
