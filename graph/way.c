/* way.c - paths in words: "constant Cart::CACHE -> @items -> [7]". */
#include <stdlib.h>
#include <string.h>

#include "graph/terms.h"
#include "graph/words.h"
#include "report/text.h"

#define REPEATS_SHOWN 3 /* repetitions, one behind the other, that are not counted but shown */
#define PERIOD_MOST 8   /* steps that repeat together */

/* If the object is a named class or module, sets its name and returns true. */
static bool
named_class_p(const struct graph *graph, uint32_t object, const char **name)
{
    uint32_t text = graph_module_name(graph, object);

    *name = graph_string(&graph->names, text);
    return text != 0;
}

struct way {
    uint32_t *objects;           /* from what a root refers to, to the one it is of */
    size_t    count;
};

static bool
find_way(struct way *way, const struct graph_tree *tree, uint32_t object)
{
    way->count = 0;
    for (uint32_t at = object; at; at = tree->from[at]) way->count++;
    way->objects = malloc(way->count * sizeof(*way->objects));
    if (!way->objects) return false;
    for (size_t at = way->count; at > 0; object = tree->from[object]) way->objects[--at] = object;
    return true;
}

/* True if it is the label of what a class holds by a name of its own. */
static bool
variable_p(uint32_t label)
{
    switch (graph_label_kind(label)) {
      case HEAPPROF_DUMP_CONSTANT: case HEAPPROF_DUMP_CVAR: case HEAPPROF_DUMP_IVAR: return true;
      default: return false;
    }
}

/* Returns the index of the last object on the path that a named class holds directly, and the
 * name of that class; 0 if there is none. */
static size_t
find_start(const struct way *way, const struct graph *graph, const struct graph_tree *tree,
           const char **name)
{
    for (size_t at = way->count; at-- > 1;) {
        if (variable_p(tree->labels[way->objects[at]]) &&
            named_class_p(graph, way->objects[at - 1], name)) return at;
    }
    return 0;
}

uint32_t
graph_way_start(const struct graph *graph, const struct graph_tree *tree, uint32_t object)
{
    const char *name;

    for (uint32_t at = object; at && tree->from[at]; at = tree->from[at]) {
        if (variable_p(tree->labels[at]) && named_class_p(graph, tree->from[at], &name))
            return tree->from[at];
    }
    return 0;
}

/* Writes the step to the first object that is shown. */
static void
put_first(FILE *out, const struct graph *graph, uint32_t label, const char *class_name, bool merged)
{
    const char *own = class_name ? graph_label_name(graph, label) : NULL;

    if (!class_name) graph_put_label(out, graph, label, merged);
    else if (graph_label_kind(label) != HEAPPROF_DUMP_CONSTANT)
        fprintf(out, "%s of %s", own, class_name);
    else if (!strcmp(class_name, "Object")) fprintf(out, "constant %s", own);
    else fprintf(out, "constant %s::%s", class_name, own);
}

/* True if the steps are alike: merged labels and classes are the same. */
static bool
alike_p(const struct way *way, const struct graph *graph, const struct graph_tree *tree, size_t one,
        size_t other)
{
    uint32_t a = way->objects[one], b = way->objects[other];

    return graph_merged_label(tree->labels[a]) == graph_merged_label(tree->labels[b]) &&
           graph_class_number(graph, a) == graph_class_number(graph, b);
}

/* How many times the steps from at on repeat the first `period` of them; at least once. */
static size_t
repeats(const struct way *way, const struct graph *graph, const struct graph_tree *tree, size_t at,
        size_t period)
{
    size_t end = at + period;

    while (end < way->count && alike_p(way, graph, tree, end, end - period)) end++;
    return (end - at) / period;
}

/* Finds the shortest period that repeats often enough to be counted instead of shown. Returns
 * its length, and in count how often it comes; length 1 and count 1 if there is none. */
static size_t
find_period(const struct way *way, const struct graph *graph, const struct graph_tree *tree,
            size_t at, size_t *count)
{
    for (size_t period = 1; period <= PERIOD_MOST && at + period <= way->count; period++) {
        *count = repeats(way, graph, tree, at, period);
        if (*count > REPEATS_SHOWN) return period;
    }
    *count = 1;
    return 1;
}

/* True if it is what Thread#[] gives: a local of a thread that no frame has. */
static bool
thread_local_p(const struct graph *graph, const struct graph_tree *tree, uint32_t object)
{
    uint32_t label = tree->labels[object], from = tree->from[object];

    return from && graph_label_kind(label) == HEAPPROF_DUMP_LOCAL &&
           graph_layout(graph, from)->thread &&
           graph_role(&graph->names, graph_label_detail(label)) != GRAPH_ROLE_OF_FRAME;
}

static void
put_step(FILE *out, const struct graph *graph, const struct graph_tree *tree,
         uint32_t object, bool merged)
{
    uint32_t label = tree->labels[object];
    bool field = graph_label_kind(label) == HEAPPROF_DUMP_FIELD;

    if (graph_label_kind(label) == HEAPPROF_DUMP_UNLABELLED ||
        (field && !graph_label_name(graph, label)[0])) {
        const char *class_name = graph_class_name(graph, object), *term = graph_term(class_name);
        fprintf(out, "(%s)", term ? term : class_name);
    }
    else if (thread_local_p(graph, tree, object))
        fprintf(out, "[:%s]", graph_label_name(graph, label));
    else graph_put_label(out, graph, label, merged);
}

/* Writes the steps of a period and how often it comes; a single step without a number. The step
 * to memory that is shared is no news. */
static void
put_period(FILE *out, const struct graph *graph, const struct graph_tree *tree,
           const uint32_t *objects, size_t period, size_t count, bool merged)
{
    bool first = true;

    for (size_t i = 0; i < period; i++) {
        if (graph_shared_p(graph, tree->labels[objects[i]])) continue;
        fputs(" -> ", out);
        if (first && count > 1 && period > 1) fputc('(', out);
        first = false;
        put_step(out, graph, tree, objects[i], merged || count > 1);
    }
    if (count > 1 && period > 1 && !first) fputc(')', out);
    if (count > 1 && !first) {
        char amount[REPORT_AMOUNT_MAX];
        report_amount(amount, (double)count, "count");
        fprintf(out, " (%s times)", amount);
    }
}

bool
graph_put_way(FILE *out, const struct graph *graph, const struct graph_tree *tree,
              uint32_t object, bool merged)
{
    struct way way;
    const char *name = NULL;
    size_t start;

    if (!find_way(&way, tree, object)) return false;
    start = find_start(&way, graph, tree, &name);
    put_first(out, graph, tree->labels[way.objects[start]], start ? name : NULL, merged);
    for (size_t at = start + 1; at < way.count;) {
        size_t count, period = find_period(&way, graph, tree, at, &count);
        put_period(out, graph, tree, way.objects + at, period, count, merged);
        at += period * count;
    }
    free(way.objects);
    return true;
}

/* True if people have given that name. */
static bool
named_p(uint32_t label)
{
    switch (graph_label_kind(label)) {
      case HEAPPROF_DUMP_IVAR:
      case HEAPPROF_DUMP_CVAR:
      case HEAPPROF_DUMP_CONSTANT:
      case HEAPPROF_DUMP_MEMBER:
      case HEAPPROF_DUMP_LOCAL:
      case HEAPPROF_DUMP_GLOBAL: return true;
      default: return false;
    }
}

/* The step from which a path without a class is named: the root; if that has no name of its own,
 * the last step that has one. */
static uint32_t
start_object(const struct way *way, const struct graph_tree *tree)
{
    for (size_t at = way->count; !named_p(tree->labels[way->objects[0]]) && at-- > 1;) {
        if (named_p(tree->labels[way->objects[at]])) return way->objects[at];
    }
    return way->objects[0];
}

/* The last thread or fiber on a path; 0 if there is none. */
static uint32_t
last_thread(const struct way *way, const struct graph *graph)
{
    for (size_t at = way->count; at-- > 0;) {
        uint32_t object = way->objects[at];
        if (graph_layout(graph, object)->thread && graph_text(graph, object)) return object;
    }
    return 0;
}

/* A step that only the VM has named is told as the thread that it belongs to. */
static void
put_unclassed_start(FILE *out, const struct graph *graph, const struct graph_tree *tree,
                    const struct way *way)
{
    uint32_t object = start_object(way, tree), label = tree->labels[object];
    uint32_t thread = named_p(label) ? 0 : last_thread(way, graph);

    if (graph_label_kind(label) == HEAPPROF_DUMP_GLOBAL) fputs(graph_label_name(graph, label), out);
    else if (thread_local_p(graph, tree, object)) {
        bool ractor = !strcmp(graph_class_name(graph, tree->from[object]), "Ractor");
        fprintf(out, "%s.current[:%s]", ractor ? "Ractor" : "Thread",
                graph_label_name(graph, label));
    }
    else if (!thread) graph_put_label(out, graph, label, false);
    else {
        const char *place = graph_string(&graph->names, graph_text(graph, thread));
        fprintf(out, "%s ", graph_class_name(graph, thread));
        graph_put_place(out, graph, place, graph_place_length(place));
    }
}

bool
graph_put_start(FILE *out, const struct graph *graph, const struct graph_tree *tree,
                uint32_t object)
{
    struct way way;
    const char *name = NULL;
    size_t start;

    if (!find_way(&way, tree, object)) return false;
    start = find_start(&way, graph, tree, &name);
    if (!start) put_unclassed_start(out, graph, tree, &way);
    else {
        uint32_t label = tree->labels[way.objects[start]];
        const char *between = graph_label_kind(label) == HEAPPROF_DUMP_CONSTANT ? "::" : ".";
        if (strcmp(name, "Object")) fprintf(out, "%s%s", name, between);
        fputs(graph_label_name(graph, label), out);
    }
    free(way.objects);
    return true;
}
