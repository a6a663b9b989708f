/* page_objects.c - the objects on the page of `graph view`: what each is, where it was allocated,
 * and its references. */
#include "cli/graph/page_writer.h"
#include "graph/fields.h"
#include "report/own.h"

/* Writes a reference from or to an object; 0 is a root. */
static bool
put_reference(struct cli_graph_page_writer *writer, uint32_t object, uint32_t label)
{
    struct report_json *json = &writer->json;
    struct cli_text text;

    report_json_begin(json, '{');
    if (!cli_text_begin(&text)) return false;
    graph_put_label(text.out, &writer->graph->graph, label, false);
    report_json_key(json, "label");
    cli_text_json(&text, json);
    if (object && !cli_graph_json_object(json, writer->graph, object)) return false;
    report_json_end(json, '}');
    return true;
}

static bool
put_references_to(struct cli_graph_page_writer *writer, uint32_t object)
{
    const struct graph *graph = &writer->graph->graph;
    uint32_t class_object = graph_class(graph, object), shown = graph_degree(graph, object);
    bool room = true;

    report_json_member_unsigned(&writer->json, "toCount", shown + (class_object != 0));
    report_json_member_begin(&writer->json, "to", '[');
    if (class_object)
        room = put_reference(writer, class_object, graph_label(HEAPPROF_DUMP_CLASS, 0));
    if (shown > CLI_GRAPH_PAGE_REFERENCES_MOST) shown = CLI_GRAPH_PAGE_REFERENCES_MOST;
    for (uint32_t i = graph->first[object]; room && i < graph->first[object] + shown; i++) {
        room = put_reference(writer, graph->targets[i], graph->labels[i]);
    }
    report_json_end(&writer->json, ']');
    return room;
}

static bool
put_references_from(struct cli_graph_page_writer *writer, uint32_t place)
{
    const struct graph_chosen *chosen = &writer->chosen;
    const struct graph_referrer *referrers = chosen->referrers + (size_t)place * chosen->most;
    uint32_t shown = chosen->referrer_counts[place];
    bool room = true;

    report_json_member_unsigned(&writer->json, "fromCount", shown);
    report_json_member_begin(&writer->json, "from", '[');
    if (shown > chosen->most) shown = chosen->most;
    for (uint32_t i = 0; room && i < shown; i++)
        room = put_reference(writer, referrers[i].object, referrers[i].label);
    report_json_end(&writer->json, ']');
    return room;
}

/* Writes the objects that it dominates, largest first. */
static bool
put_kept(struct cli_graph_page_writer *writer, uint32_t object)
{
    const struct graph_dominated *dominated = &writer->dominated;
    uint32_t *children = dominated->children + dominated->first[object];
    uint32_t shown = dominated->first[object + 1] - dominated->first[object];
    bool room = true;

    graph_largest_sort(children, shown, writer->graph->dominators.retained);
    report_json_member_unsigned(&writer->json, "keepsCount", shown);
    report_json_member_begin(&writer->json, "keeps", '[');
    if (shown > CLI_GRAPH_PAGE_REFERENCES_MOST) shown = CLI_GRAPH_PAGE_REFERENCES_MOST;
    for (uint32_t i = 0; room && i < shown; i++) {
        room =
            put_reference(writer, children[i], writer->graph->dominator_tree.labels[children[i]]);
    }
    report_json_end(&writer->json, ']');
    return room;
}

/* Writes where the object was allocated, and adds these lines to the sources. */
static bool
put_stack(struct cli_graph_page_writer *writer, uint32_t stack)
{
    const struct graph_names *names = &writer->graph->graph.names;
    struct cli_sources *sources = writer->page->sources;
    struct report_json *json = &writer->json;

    report_json_member_begin(json, "stack", '[');
    for (; stack; stack = names->stacks[stack].caller) {
        const struct heapprof_dump_stack *frame = &names->stacks[stack];
        const char *path = graph_string(names, frame->file);
        bool known = writer->stacks[stack];
        writer->stacks[stack] = true;
        if (sources && !known && frame->line && path[0] &&
            !cli_sources_add(sources, path, frame->file, frame->line)) return false;
        report_json_begin(json, '{');
        report_json_member_text(json, "file", path);
        report_json_member_unsigned(json, "line", frame->line);
        report_json_member_text(json, "method", graph_string(names, frame->method));
        report_json_member_unsigned(json, "source", frame->file);
        report_json_member_bool(json, "own", report_own_p(path, graph_directories(names)));
        report_json_end(json, '}');
    }
    report_json_end(json, ']');
    return true;
}

/* Writes a number that a collection has. */
static void
put_number(struct cli_graph_page_writer *writer, uint32_t object, const char *key,
           enum graph_field field)
{
    const struct cli_graph *graph = writer->graph;
    double value;

    if (!graph_field_number(&graph->graph, &graph->dominators, object, field, &value)) return;
    report_json_member_number(&writer->json, key, value);
}

/* Writes what the object is, and the path to it. */
static bool
put_object_head(struct cli_graph_page_writer *writer, uint32_t object)
{
    const struct graph *graph = &writer->graph->graph;
    const struct graph_sample *sample = graph_sample(graph, object);
    uint32_t text = graph_text(graph, object);
    struct report_json *json = &writer->json;
    struct cli_text flags;
    bool room;

    if (!cli_graph_json_object(json, writer->graph, object)) return false;
    report_json_member_text(json, "class", graph_class_name(graph, object));
    report_json_member_text(json, "type", graph_type(graph, object));
    report_json_member_text(json, "text", text ? graph_string(&graph->names, text) : NULL);
    put_number(writer, object, "length", GRAPH_LENGTH_FIELD);
    put_number(writer, object, "capacity", GRAPH_CAPACITY_FIELD);
    put_number(writer, object, "unused", GRAPH_UNUSED_FIELD);
    report_json_member_unsigned(json, "refs", graph_degree(graph, object));
    report_json_member_unsigned(json, "age", graph->bits[object] & HEAPPROF_DUMP_AGE);
    report_json_member_unsigned(json, "frame", cli_graph_page_frame(&writer->tree, object));
    if (!cli_text_begin(&flags)) return false;
    cli_graph_put_flags(flags.out, graph->bits[object]);
    report_json_key(json, "flags");
    cli_text_json(&flags, json);
    json->longest = CLI_GRAPH_PAGE_WAY_MOST;
    room = cli_graph_json_way(json, "way", graph, &writer->graph->shortest, object, false);
    json->longest = CLI_GRAPH_PAGE_NAME_MOST;
    return put_stack(writer, sample ? sample->stack : 0) && room;
}

/* Writes its dominator, unless that is the root. */
static bool
put_keeper(struct cli_graph_page_writer *writer, uint32_t object)
{
    uint32_t keeper = writer->graph->dominators.dominators[object];
    bool room = true;

    report_json_key(&writer->json, "keptBy");
    if (keeper) room = put_reference(writer, keeper, writer->graph->dominator_tree.labels[object]);
    else report_json_null(&writer->json);
    return room;
}

bool
cli_graph_page_put_objects(struct cli_graph_page_writer *writer)
{
    const struct graph_chosen *chosen = &writer->chosen;
    bool room = true;

    report_json_member_begin(&writer->json, "chosen", '[');
    for (uint32_t place = 0; room && place < chosen->count; place++) {
        uint32_t object = chosen->objects[place];
        report_json_line(&writer->json);
        report_json_begin(&writer->json, '{');
        room = put_object_head(writer, object) && put_keeper(writer, object) &&
               put_references_to(writer, object) && put_references_from(writer, place) &&
               put_kept(writer, object);
        report_json_end(&writer->json, '}');
    }
    report_json_end(&writer->json, ']');
    return room;
}
