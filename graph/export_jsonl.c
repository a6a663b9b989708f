/* export_jsonl.c - writes the lines of ObjectSpace.dump_all: first the roots by category, then
 * one line for each object.
 *
 * Its readers search lines for fixed patterns. So there is a space after each comma, and a
 * category has only lower case letters and _. */
#include "graph/export.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "report/json.h"

static void
put_address(struct report_json *json, const char *key, uint64_t address)
{
    char text[24];

    snprintf(text, sizeof(text), "%#"PRIx64, address);
    if (key) report_json_key(json, key);
    report_json_text(json, text);
}

/* T_DATA(mutex) becomes DATA, with the struct mutex. */
static void
put_type(struct report_json *json, const char *type)
{
    size_t length = strcspn(type, "(");

    if (!strncmp(type, "T_", 2)) {
        type += 2;
        length -= 2;
    }
    report_json_member_string(json, "type", type, length);
    if (!type[length]) return;
    report_json_member_string(json, !strncmp(type, "IMEMO", 5) ? "imemo_type" : "struct",
                              type + length + 1,
                              strlen(type + length + 1) - 1);
}

static void
put_references(struct report_json *json, const struct graph *graph, uint32_t object)
{
    if (graph_degree(graph, object) == 0) return;
    report_json_member_begin(json, "references", '[');
    for (uint32_t i = graph->first[object]; i < graph->first[object + 1]; i++) {
        put_address(json, NULL, graph_address(graph, graph->targets[i]));
    }
    report_json_end(json, ']');
}

static void
put_stack(struct report_json *json, const struct graph *graph, uint32_t object)
{
    const struct graph_sample *sample = graph_sample(graph, object);
    const struct heapprof_dump_stack *frame =
        sample ? &graph->names.stacks[graph_site(&graph->names, sample->stack)] : NULL;

    if (!frame) return;
    if (graph_string(&graph->names, frame->file)[0]) { /* code in C has no file */
        report_json_member_text(json, "file", graph_string(&graph->names, frame->file));
        report_json_member_unsigned(json, "line", frame->line);
    }
    report_json_member_text(json, "method", graph_string(&graph->names, frame->method));
}

static void
put_flags(struct report_json *json, uint32_t bits)
{
    report_json_member_begin(json, "flags", '{');
    if ((bits & HEAPPROF_DUMP_AGE) == HEAPPROF_DUMP_AGE) {
        report_json_member_bool(json, "old", true);
    }
    report_json_end(json, '}');
}

static void
put_object(FILE *out, const struct graph *graph, uint32_t object)
{
    struct report_json json = {.out = out, .spaced = true};
    uint32_t text = graph_text(graph, object), class_object = graph_class(graph, object);
    const char *type = graph_type(graph, object);

    report_json_begin(&json, '{');
    put_address(&json, "address", graph_address(graph, object));
    put_type(&json, type);
    if (class_object) put_address(&json, "class", graph_address(graph, class_object));
    if (text) report_json_member_text(&json, strcmp(type, "T_STRING") ? "name" : "value",
                                      graph_string(&graph->names, text));
    put_references(&json, graph, object);
    put_stack(&json, graph, object);
    report_json_member_unsigned(&json, "memsize", graph->sizes[object]);
    put_flags(&json, graph->bits[object]);
    report_json_end(&json, '}');
    putc('\n', out);
}

/* ---- roots ---- */

static int
by_category(const void *a, const void *b)
{
    const struct graph_root *one = a, *other = b;

    if (one->category != other->category) return one->category < other->category ? -1 : 1;
    return (one->target > other->target) - (one->target < other->target);
}

static void
put_category(struct report_json *json, const char *category)
{
    char name[64];
    size_t length = 0;

    for (; category[length] && length < sizeof(name) - 1; length++) {
        char at = category[length];
        if (at >= 'A' && at <= 'Z') at = (char)(at - 'A' + 'a');
        name[length] = at >= 'a' && at <= 'z' ? at : '_';
    }
    report_json_member_string(json, "root", name, length);
}

/* Writes the roots that have the category of the first one. Returns how many these are. */
static uint32_t
put_roots(FILE *out, const struct graph *graph, const struct graph_root *roots, uint32_t most)
{
    struct report_json json = {.out = out, .spaced = true};
    uint32_t count = 0;

    report_json_begin(&json, '{');
    report_json_member_text(&json, "type", "ROOT");
    put_category(&json, graph_string(&graph->names, roots[0].category));
    report_json_member_begin(&json, "references", '[');
    for (; count < most && roots[count].category == roots[0].category; count++) {
        put_address(&json, NULL, graph_address(graph, roots[count].target));
    }
    report_json_end(&json, ']');
    report_json_end(&json, '}');
    putc('\n', out);
    return count;
}

static bool
put_all_roots(FILE *out, const struct graph *graph)
{
    struct graph_root *roots = malloc(((size_t)graph->root_count + 1) * sizeof(*roots));

    if (!roots) return false;
    if (graph->root_count) {
        memcpy(roots, graph->roots, graph->root_count * sizeof(*roots));
        qsort(roots, graph->root_count, sizeof(*roots), by_category);
    }
    for (uint32_t at = 0; at < graph->root_count; )
        at += put_roots(out, graph, roots + at, graph->root_count - at);
    free(roots);
    return true;
}

bool
graph_jsonl(FILE *out, const struct graph_source *source)
{
    const struct graph *graph = source->graph;

    if (!put_all_roots(out, graph)) return false;
    for (uint32_t object = 1; object <= graph->count; object++) {
        if (source->dominators->dominators[object] != GRAPH_UNREACHED)
            put_object(out, graph, object);
    }
    return true;
}
