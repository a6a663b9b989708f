/* words.c - the names of objects, labels and paths. */
#include "graph/words.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "report/own.h"
#include "report/text.h"

#define REPEATS_SHOWN 3 /* repetitions, one behind the other, that are not counted but shown */
#define KEY_BYTES_MOST 60 /* of a String key that are shown */
#define PERIOD_MOST 8   /* steps that repeat together */

/* ---- objects ---- */

static const char *
string(const struct graph *graph, uint32_t number)
{
    return graph_string(&graph->names, number);
}

void
graph_put_place(FILE *out, const struct graph *graph, const char *text, size_t length)
{
    const char *end = text + length, *path = text[0] == '/' ? text : strstr(text, " /"), *shorter;

    if (path && path[0] == ' ') path++;
    if (!path || path > end) path = end;
    shorter = report_short_path(path, graph_fact(&graph->names, "directory"));
    if (shorter > end) shorter = path;
    fwrite(text, 1, (size_t)(path - text), out);
    fwrite(shorter, 1, (size_t)(end - shorter), out);
}

/* The same of a whole text. */
static void
put_short(FILE *out, const struct graph *graph, const char *text)
{
    graph_put_place(out, graph, text, strlen(text));
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
    if (!text) return;
    if (!strcmp(type, "T_STRING")) fprintf(out, " \"%s\"", string(graph, text));
    else {
        fputc(' ', out);
        put_short(out, graph, string(graph, text));
    }
}

#define PLACE_MOST 500 /* characters; a hostile text may have millions */

size_t
graph_place_length(const char *text)
{
    size_t length = strnlen(text, PLACE_MOST), end = length;

    while (end > 0 && strncmp(text + end, ", ", 2)) end--;
    if (end == 0) end = length;
    for (size_t i = 1; i < end; i++) {
        bool place = (text[i - 1] >= '0' && text[i - 1] <= '9') || (i == 6 && !strncmp(text, "C code", 6));
        if (place && !strncmp(text + i, " (", 2)) return i;
    }
    return end;
}

/* ---- labels ---- */

static void
put_quoted_key(FILE *out, const char *key)
{
    size_t length = strlen(key), shown = length < KEY_BYTES_MOST ? length : KEY_BYTES_MOST;

    while (shown < length && shown > 0 && (key[shown] & 0xc0) == 0x80) shown--; /* inside a character */
    fprintf(out, "[\"%.*s%s\"]", (int)shown, key, shown < length ? "..." : "");
}

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
      case GRAPH_VALUE_OF_STRING:
        if (merged) fputs("(value)", out);
        else put_quoted_key(out, string(graph, detail));
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
    put_short(out, graph, string(graph, detail)[0] ? string(graph, detail) : "(unnamed)");
}

const char *
graph_label_name(const struct graph *graph, uint32_t label)
{
    switch (graph_label_kind(label)) {
      case HEAPPROF_DUMP_INDEX: case HEAPPROF_DUMP_KEY: case HEAPPROF_DUMP_VALUE: case GRAPH_VALUE_OF_INTEGER:
        return "";
      default:
        return string(graph, graph_label_detail(label));
    }
}

static void
put_count(FILE *out, const char *before, uint64_t count, const char *after)
{
    char amount[REPORT_AMOUNT_MAX];

    report_amount(amount, (double)count, "count");
    fprintf(out, "%s%s%s", before, amount, after);
}

/* What names of one kind are called together. */
static const char *
plural_of(uint32_t kind)
{
    switch (kind) {
      case HEAPPROF_DUMP_CONSTANT: return "constants";
      case HEAPPROF_DUMP_GLOBAL: return "globals";
      case HEAPPROF_DUMP_LOCAL: return "locals";
      case HEAPPROF_DUMP_IVAR: return "instance variables";
      case HEAPPROF_DUMP_CVAR: return "class variables";
      case HEAPPROF_DUMP_FIELD: return "methods";
      case GRAPH_VALUE_OF_SYMBOL: return "Symbol keys";
      default: return "(several ways) constants";
    }
}

void
graph_put_siblings(FILE *out, const struct graph *graph, uint32_t label, uint32_t count, uint32_t prefix)
{
    uint32_t kind = graph_label_kind(label), skipped = kind == HEAPPROF_DUMP_FIELD ? sizeof("method ") - 1 : 0;
    uint32_t sigils = kind == HEAPPROF_DUMP_IVAR || kind == HEAPPROF_DUMP_GLOBAL ? 1 : kind == HEAPPROF_DUMP_CVAR ? 2 : 0;
    const char *name = graph_label_name(graph, label) + skipped;
    int length = prefix > skipped ? (int)(prefix - skipped) : 0;

    if (length <= (int)sigils) put_count(out, "", count, " ");
    if (kind != GRAPH_VALUE_OF_SYMBOL || length == 0) fputs(plural_of(kind), out);
    if (length <= (int)sigils) return;
    fprintf(out, kind == GRAPH_VALUE_OF_SYMBOL ? "[:%.*s*]" : " %.*s*", length, name);
    put_count(out, " (", count, ")");
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
        if (variable_p(tree->labels[at]) && named_class_p(graph, tree->from[at], &name)) return tree->from[at];
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

/* True if the steps are alike: merged labels and classes are the same. */
static bool
alike_p(const struct way *way, const struct graph *graph, const struct graph_tree *tree, size_t one, size_t other)
{
    uint32_t a = way->objects[one], b = way->objects[other];

    return graph_merged_label(tree->labels[a]) == graph_merged_label(tree->labels[b]) &&
           graph_class_number(graph, a) == graph_class_number(graph, b);
}

/* The steps from at on that repeat the first `period` of them: how many times, and at least once. */
static size_t
repeats(const struct way *way, const struct graph *graph, const struct graph_tree *tree, size_t at, size_t period)
{
    size_t end = at + period;

    while (end < way->count && alike_p(way, graph, tree, end, end - period)) end++;
    return (end - at) / period;
}

/* Finds the shortest period that repeats often enough to be counted instead of shown. Returns
 * its length, and in count how often it comes; length 1 and count 1 if there is none. */
static size_t
find_period(const struct way *way, const struct graph *graph, const struct graph_tree *tree, size_t at, size_t *count)
{
    for (size_t period = 1; period <= PERIOD_MOST && at + period <= way->count; period++) {
        *count = repeats(way, graph, tree, at, period);
        if (*count > REPEATS_SHOWN) return period;
    }
    *count = 1;
    return 1;
}

static void
put_step(FILE *out, const struct graph *graph, const struct graph_tree *tree,
         uint32_t object, bool merged)
{
    uint32_t label = tree->labels[object];
    bool field = graph_label_kind(label) == HEAPPROF_DUMP_FIELD;

    if (graph_label_kind(label) == HEAPPROF_DUMP_UNLABELLED || (field && !graph_label_name(graph, label)[0])) {
        fprintf(out, "(%s)", graph_class_name(graph, object));
    }
    else graph_put_label(out, graph, tree->labels[object], merged);
}

/* Writes the steps of a period and how often it comes; a single step without a number. The step
 * to memory that is shared is no news. */
static void
put_period(FILE *out, const struct graph *graph, const struct graph_tree *tree, const uint32_t *objects,
           size_t period, size_t count, bool merged)
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
    if (count > 1 && !first) put_count(out, " (", count, " times)");
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
