/* words.c - the names of objects, labels and paths. */
#include "graph/words.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define REPEATS_SHOWN 3 /* steps of one kind, one behind the other, that are not counted but shown */

/* ---- objects ---- */

static const char *
string(const struct graph *graph, uint32_t number)
{
    return graph_string(&graph->names, number);
}

const char *
graph_class_name(const struct graph *graph, uint32_t object)
{
    const struct graph_names *names = &graph->names;

    return string(graph, names->classes[graph_class_number(graph, object)].name);
}

/* If the object is a named class or module, writes its name and returns true. */
static bool
named_class_p(const struct graph *graph, uint32_t object, const char **name)
{
    uint32_t text = graph_module_name(graph, object);

    *name = string(graph, text);
    return text != 0;
}

void
graph_put_object(FILE *out, const struct graph *graph, uint32_t object)
{
    const char *name, *type = graph_type(graph, object);
    uint32_t text = graph_text(graph, object);

    if (named_class_p(graph, object, &name)) {
        fprintf(out, "%s %s", strcmp(type, "T_CLASS") ? "module" : "class", name);
        return;
    }
    fputs(graph_class_name(graph, object), out);
    if (text) fprintf(out, !strcmp(type, "T_STRING") ? " \"%s\"" : " %s", string(graph, text));
}

/* ---- labels ---- */

void
graph_put_label(FILE *out, const struct graph *graph, uint32_t label, bool merged)
{
    uint32_t detail = graph_label_detail(label);

    switch (graph_label_kind(label)) {
      case HEAPPROF_DUMP_UNLABELLED:
        fputs("(unnamed)", out);
        return;
      case HEAPPROF_DUMP_CLASS:
        fputs("its class", out);
        return;
      case GRAPH_INDIRECT:
        fputs("(several ways)", out);
        if (detail) fprintf(out, " constant %s", string(graph, detail));
        return;
      case HEAPPROF_DUMP_INDEX:
      case GRAPH_VALUE_OF_INTEGER:
        if (merged) fputs("[]", out);
        else fprintf(out, "[%"PRIu32"]", detail);
        return;
      case GRAPH_VALUE_OF_SYMBOL:
        fprintf(out, "[:%s]", string(graph, detail));
        return;
      case HEAPPROF_DUMP_KEY:
        fputs("(key)", out);
        return;
      case HEAPPROF_DUMP_VALUE:
        fputs("(value)", out);
        return;
      case HEAPPROF_DUMP_MEMBER: fputc('.', out); break;
      case HEAPPROF_DUMP_CONSTANT: fputs("constant ", out); break;
      case HEAPPROF_DUMP_LOCAL: fputs("local ", out); break;
      case HEAPPROF_DUMP_GLOBAL: fputs("global ", out); break;
      case HEAPPROF_DUMP_C_GLOBAL: fputs("C global ", out); break;
      default: break;
    }
    fputs(string(graph, detail), out);
}

/* ---- ways ---- */

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

/* Returns the index of the last object on the path that a named class holds directly, and the
 * name of that class; 0 if there is none. */
static size_t
find_start(const struct way *way, const struct graph *graph, const struct graph_tree *tree,
           const char **name)
{
    for (size_t at = way->count; at-- > 1;) {
        switch (graph_label_kind(tree->labels[way->objects[at]])) {
          case HEAPPROF_DUMP_CONSTANT: case HEAPPROF_DUMP_CVAR: case HEAPPROF_DUMP_IVAR:
            if (named_class_p(graph, way->objects[at - 1], name)) return at;
        }
    }
    return 0;
}

/* Writes the step to the first object that is shown. */
static void
put_first(FILE *out, const struct graph *graph, uint32_t label, const char *class_name, bool merged)
{
    const char *own = class_name ? string(graph, graph_label_detail(label)) : NULL;

    if (!class_name) graph_put_label(out, graph, label, merged);
    else if (graph_label_kind(label) != HEAPPROF_DUMP_CONSTANT) fprintf(out, "%s of %s", own, class_name);
    else if (!strcmp(class_name, "Object")) fprintf(out, "constant %s", own);
    else fprintf(out, "constant %s::%s", class_name, own);
}

/* How many steps from this one on are like it. */
static size_t
repeats(const struct way *way, const struct graph *graph, const struct graph_tree *tree, size_t at)
{
    uint32_t label = graph_merged_label(tree->labels[way->objects[at]]);
    uint32_t class_of = graph_class_number(graph, way->objects[at]);
    size_t end = at;

    while (end < way->count && graph_merged_label(tree->labels[way->objects[end]]) == label &&
           graph_class_number(graph, way->objects[end]) == class_of) end++;
    return end - at;
}

static void
put_step(FILE *out, const struct graph *graph, const struct graph_tree *tree,
         uint32_t object, bool merged)
{
    uint32_t kind = graph_label_kind(tree->labels[object]);

    fputs(" -> ", out);
    if (kind == HEAPPROF_DUMP_UNLABELLED) {
        fprintf(out, "(%s)", graph_class_name(graph, object));
    }
    else graph_put_label(out, graph, tree->labels[object], merged);
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
    for (size_t at = start + 1, count; at < way.count; at += count) {
        count = repeats(&way, graph, tree, at);
        if (count <= REPEATS_SHOWN) count = 1;
        put_step(out, graph, tree, way.objects[at], merged || count > 1);
        if (count > 1) fprintf(out, " (%zu times)", count);
    }
    free(way.objects);
    return true;
}

/* True if people have given that name. */
static bool
named_p(uint32_t label)
{
    switch (graph_label_kind(label)) {
      case HEAPPROF_DUMP_IVAR: case HEAPPROF_DUMP_CVAR: case HEAPPROF_DUMP_CONSTANT: case HEAPPROF_DUMP_MEMBER: case HEAPPROF_DUMP_LOCAL:
      case HEAPPROF_DUMP_GLOBAL:
        return true;
      default:
        return false;
    }
}

/* Without a class, the path begins at the root; if the root has no name, at the last step that
 * has one. */
static uint32_t
start_label(const struct way *way, const struct graph_tree *tree)
{
    uint32_t first = tree->labels[way->objects[0]];

    for (size_t at = way->count; !named_p(first) && at-- > 1;) {
        if (named_p(tree->labels[way->objects[at]])) return tree->labels[way->objects[at]];
    }
    return first;
}

bool
graph_put_start(FILE *out, const struct graph *graph, const struct graph_tree *tree,
                uint32_t object)
{
    struct way way;
    const char *name = NULL;
    uint32_t label;
    size_t start;

    if (!find_way(&way, tree, object)) return false;
    start = find_start(&way, graph, tree, &name);
    label = start ? tree->labels[way.objects[start]] : start_label(&way, tree);
    free(way.objects);
    if (!start && graph_label_kind(label) != HEAPPROF_DUMP_GLOBAL) {
        graph_put_label(out, graph, label, false);
        return true;
    }
    if (start && strcmp(name, "Object")) {
        fprintf(out, "%s%s", name, graph_label_kind(label) == HEAPPROF_DUMP_CONSTANT ? "::" : ".");
    }
    fputs(string(graph, graph_label_detail(label)), out);
    return true;
}
