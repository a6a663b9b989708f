/* export_heapsnapshot.c - writes V8's heap snapshots and its allocation timelines.
 *
 *     nodes    7 numbers each: type, name, id, size, edges, trace, 0    node 0 is the root
 *     edges    3 numbers each, in the order of the nodes: type, name or index, 7 * node
 *     samples  2 numbers each: microseconds, the last id that was given by then
 *     strings  those of this file, then all of the dump
 *
 * Only a timeline has traces (traces.h) and samples; DevTools recognizes it by the end of the
 * file name. Nodes are the objects that roots lead to, in their order. The numbers of nodes and
 * edges stand at the beginning of the file. */
#include "graph/export.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "graph/traces.h"
#include "report/json.h"

#define NODE_FIELDS 7
#define STRING_MOST 1024 /* bytes; DevTools joins all strings to one, and its search is slow */

enum node_type {HIDDEN, ARRAY, STRING, OBJECT, CODE, CLOSURE, REGEXP, NUMBER, NATIVE, SYNTHETIC};
enum edge_type {CONTEXT, ELEMENT, PROPERTY, INTERNAL, HIDDEN_EDGE, SHORTCUT, WEAK};

static const char meta[] =
    "{\"snapshot\":{\"meta\":{\"node_fields\":[\"type\",\"name\",\"id\",\"self_size\",\"edge_"
    "count\",\"trace_node_id\",\"detachedness\"],"
    "\"node_types\":[[\"hidden\",\"array\",\"string\",\"object\",\"code\",\"closure\",\"regexp\","
    "\"number\",\"native\",\"synthetic\"],"
    "\"string\",\"number\",\"number\",\"number\",\"number\",\"number\"],"
    "\"edge_fields\":[\"type\",\"name_or_index\",\"to_node\"],"
    "\"edge_types\":[[\"context\",\"element\",\"property\",\"internal\",\"hidden\",\"shortcut\","
    "\"weak\"],\"string_or_number\",\"node\"],"
    "\"trace_function_info_fields\":[\"function_id\",\"name\",\"script_name\",\"script_id\","
    "\"line\",\"column\"],"
    "\"trace_node_fields\":[\"id\",\"function_info_index\",\"count\",\"size\",\"children\"],"
    "\"sample_fields\":[\"timestamp_us\",\"last_assigned_id\"],"
    "\"location_fields\":[\"object_index\",\"script_id\",\"line\",\"column\"]}";

/* Strings that this file adds, with their numbers. */
static const char *const own_strings[] = {"", "(roots)", "class", "(key)", "(value)", "(unnamed)"};
enum {EMPTY, ROOTS, CLASS, KEY, VALUE, UNNAMED, OWN_STRINGS};

struct snapshot {
    FILE *out;
    const struct graph_source *source;
    const struct graph_traces *traces; /* NULL: it is no timeline */
    const struct graph *graph;
    const struct graph_dominators *dominators;
    const struct graph_tree *tree; /* of dominators */
    const uint64_t *ids;         /* by object */
    uint32_t  root_edges;        /* DevTools wants no more than one to an object */
    uint32_t *nodes;             /* by object; 0: it is not reached */
    uint32_t  node_count;        /* with the root */
    uint64_t  edge_count;
    bool      comma;
};

static bool
reached_p(const struct snapshot *snapshot, uint32_t object)
{
    return snapshot->dominators->dominators[object] != GRAPH_UNREACHED;
}

/* True if a root refers to it. */
static bool
root_p(const struct snapshot *snapshot, uint32_t object)
{
    return snapshot->tree->from[object] == 0 &&
           graph_label_kind(snapshot->tree->labels[object]) != GRAPH_INDIRECT;
}

static uint32_t
edges_of(const struct snapshot *snapshot, uint32_t object)
{
    bool class_p = graph_class(snapshot->graph, object) != 0;

    return graph_degree(snapshot->graph, object) + class_p;
}

static bool
number_nodes(struct snapshot *snapshot)
{
    const struct graph *graph = snapshot->graph;

    snapshot->nodes = calloc((size_t)graph->count + 1, sizeof(*snapshot->nodes));
    if (!snapshot->nodes) return false;
    snapshot->node_count = 1;
    for (uint32_t object = 1; object <= graph->count; object++) {
        if (!reached_p(snapshot, object)) continue;
        snapshot->nodes[object] = snapshot->node_count++;
        snapshot->edge_count += edges_of(snapshot, object);
        snapshot->root_edges += root_p(snapshot, object);
    }
    snapshot->edge_count += snapshot->root_edges;
    return true;
}

/* ---- nodes ---- */

static enum node_type
type_of(const struct graph *graph, uint32_t object)
{
    const char *type = graph_type(graph, object);

    if (!strcmp(type, "T_STRING") && graph_text(graph, object)) return STRING;
    if (!strncmp(type, "T_IMEMO", 7) || !strcmp(type, "T_CLASS") || !strcmp(type, "T_MODULE") ||
        !strcmp(type, "T_ICLASS")) return CODE;
    return OBJECT;
}

/* The object's content or name; otherwise the name of its class. */
static uint32_t
name_of(const struct graph *graph, uint32_t object)
{
    uint32_t text = graph_text(graph, object);

    return OWN_STRINGS +
           (text ? text : graph->names.classes[graph_class_number(graph, object)].name);
}

/* An id is odd, because DevTools does not count even ones as the program's. 1 belongs to the
 * root. */
static uint64_t
node_id(uint64_t id)
{
    return 2 * id + 1;
}

static void
put_node(struct snapshot *snapshot, enum node_type type, uint32_t name, uint64_t id, uint64_t bytes,
         uint32_t edges,
         uint32_t trace)
{
    fprintf(snapshot->out, "%s%d,%"PRIu32",%"PRIu64",%"PRIu64",%"PRIu32",%"PRIu32",0",
            snapshot->comma ? ",\n" : "",
            type, name, node_id(id), bytes, edges, trace);
    snapshot->comma = true;
}

static void
put_nodes(struct snapshot *snapshot)
{
    const struct graph *graph = snapshot->graph;

    put_node(snapshot, SYNTHETIC, ROOTS, 0, 0, snapshot->root_edges, 0);
    for (uint32_t object = 1; object <= graph->count; object++) {
        if (!reached_p(snapshot, object)) continue;
        put_node(snapshot, type_of(graph, object), name_of(graph, object), snapshot->ids[object],
                 graph->sizes[object],
                 edges_of(snapshot, object), snapshot->traces ? graph_trace(graph, object) : 0);
    }
    snapshot->comma = false;
}

/* ---- edges ---- */

static void
put_edge(struct snapshot *snapshot, enum edge_type type, uint32_t name, uint32_t to)
{
    fprintf(snapshot->out, "%s%d,%"PRIu32",%"PRIu64, snapshot->comma ? ",\n" : "", type, name,
            (uint64_t)snapshot->nodes[to] * NODE_FIELDS);
    snapshot->comma = true;
}

static void
put_reference(struct snapshot *snapshot, uint32_t label, uint32_t to)
{
    uint32_t detail = graph_label_detail(label);

    switch (graph_label_kind(label)) {
      case HEAPPROF_DUMP_INDEX:
      case GRAPH_VALUE_OF_INTEGER:
        put_edge(snapshot, ELEMENT, detail, to);
        break;
      case HEAPPROF_DUMP_KEY:
        put_edge(snapshot, INTERNAL, KEY, to);
        break;
      case HEAPPROF_DUMP_VALUE:
        put_edge(snapshot, INTERNAL, VALUE, to);
        break;
      case HEAPPROF_DUMP_LOCAL:
        put_edge(snapshot, CONTEXT, OWN_STRINGS + detail, to);
        break;
      case HEAPPROF_DUMP_UNLABELLED:
      case HEAPPROF_DUMP_STACK:
      case HEAPPROF_DUMP_FIELD:
      case HEAPPROF_DUMP_OFFSET:
        put_edge(snapshot, INTERNAL, detail ? OWN_STRINGS + detail : UNNAMED, to);
        break;
      default:
        put_edge(snapshot, PROPERTY, OWN_STRINGS + detail, to);
    }
}

static void
put_edges(struct snapshot *snapshot)
{
    const struct graph *graph = snapshot->graph;

    for (uint32_t object = 1; object <= graph->count; object++) {
        if (!root_p(snapshot, object)) continue;
        put_edge(snapshot, INTERNAL,
                 OWN_STRINGS + graph_label_detail(snapshot->tree->labels[object]), object);
    }
    for (uint32_t object = 1; object <= graph->count; object++) {
        uint32_t class_object = graph_class(graph, object);
        if (!reached_p(snapshot, object)) continue;
        for (uint32_t i = graph->first[object]; i < graph->first[object + 1]; i++) {
            put_reference(snapshot, graph->labels[i], graph->targets[i]);
        }
        if (class_object) put_edge(snapshot, INTERNAL, CLASS, class_object);
    }
}

/* ---- of a timeline ---- */

static void
put_traces(const struct snapshot *snapshot)
{
    fputs("],\n\"trace_function_infos\":[", snapshot->out);
    if (snapshot->traces) {
        graph_traces_put_functions(snapshot->out, snapshot->traces, snapshot->graph, OWN_STRINGS,
                                   ROOTS);
    }
    fputs("],\n\"trace_tree\":[", snapshot->out);
    if (snapshot->traces) graph_traces_put_tree(snapshot->out, snapshot->traces, snapshot->graph);
}

/* The times count from the first dump. */
static void
put_samples(const struct snapshot *snapshot)
{
    const struct graph_source *source = snapshot->source;

    fputs("],\n\"samples\":[", snapshot->out);
    for (size_t i = 0; snapshot->traces && i < source->moment_count; i++) {
        uint64_t time_ns = source->moments[i].time_ns, first_ns = source->moments[0].time_ns;
        fprintf(snapshot->out, "%s%"PRIu64",%"PRIu64, i ? "," : "",
                time_ns > first_ns ? (time_ns - first_ns) / 1000 : 0,
                node_id(source->moments[i].next_id - 1));
    }
}

/* ---- the file ---- */

/* Writes at most STRING_MOST bytes, and no part of a character. */
static size_t
length_of(const char *text)
{
    size_t length = strnlen(text, STRING_MOST + 1);

    if (length <= STRING_MOST) return length;
    for (length = STRING_MOST; length > 0 && ((unsigned char)text[length] & 0xc0) == 0x80; length--)
        ;
    return length;
}

static void
put_strings(struct snapshot *snapshot)
{
    struct report_json json = {.out = snapshot->out};
    const struct graph_names *names = &snapshot->graph->names;

    report_json_begin(&json, '[');
    for (int i = 0; i < OWN_STRINGS; i++) report_json_text(&json, own_strings[i]);
    for (uint32_t i = 0; i < names->string_count; i++) {
        const char *text = graph_string(names, i);
        report_json_line(&json);
        report_json_string(&json, text, length_of(text));
    }
    report_json_end(&json, ']');
}

static bool
put_snapshot(FILE *out, const struct graph_source *source, const struct graph_traces *traces)
{
    struct snapshot snapshot = { .out = out,
                                 .source = source,
                                 .traces = traces,
                                 .graph = source->graph,
                                 .dominators = source->dominators,
                                 .tree = source->dominator_tree,
                                 .ids = source->ids };

    if (!number_nodes(&snapshot)) return false;
    fprintf(out,
            "%s,\"node_count\":%" PRIu32 ",\"edge_count\":%" PRIu64
            ",\"trace_function_count\":%" PRIu32 "},\n\"nodes\":[",
            meta, snapshot.node_count, snapshot.edge_count, traces ? traces->function_count : 0);
    put_nodes(&snapshot);
    fputs("],\n\"edges\":[", out);
    put_edges(&snapshot);
    put_traces(&snapshot);
    put_samples(&snapshot);
    fputs("],\n\"locations\":[],\n\"strings\":", out);
    put_strings(&snapshot);
    fputs("}\n", out);
    free(snapshot.nodes);
    return true;
}

bool
graph_heapsnapshot(FILE *out, const struct graph_source *source)
{
    return put_snapshot(out, source, NULL);
}

bool
graph_heaptimeline(FILE *out, const struct graph_source *source)
{
    struct graph_traces traces;
    bool room = graph_traces_make(&traces, source->graph, source->dominators) &&
                put_snapshot(out, source, &traces);

    graph_traces_free(&traces);
    return room;
}
