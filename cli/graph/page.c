/* page.c - the data of the page of `heapprof graph view`: suspects, classes, the merged
 * dominator tree, and the objects that retain most.
 *
 * The size of the page is bounded for any dump: there are limits for classes, patterns, objects
 * and references of each, and for each text (NAME, WAY). The page says how much was left out. */
#include "cli/graph/page.h"

#include <stdlib.h>

#include "graph/patterns.h"

#define CLASSES_MOST 2000
#define SIBLINGS_SHARE 1000 /* siblings that retain less than 1/1000 of all are gathered */
#define PATTERNS_MOST 20000
#define REFERENCES_MOST 20 /* of an object in each direction */
#define NAME_MOST 200      /* bytes */
#define WAY_MOST 2000

/* The dominator tree, merged. */
struct tree {
    struct graph_patterns patterns;
    uint64_t *retained;          /* by pattern */
    uint32_t *shown;             /* patterns, each behind its parent; [0] is the root */
    uint32_t  shown_count;
    uint32_t *places;            /* by pattern, in shown */
};

struct writer {
    const struct cli_graph_page *page;
    struct cli_graph *graph;
    struct report_json json;
    struct cli_graph_suspects suspects;
    struct tree tree;
    struct graph_chosen chosen;
    struct graph_dominated dominated;
};

/* ---- facts, suspects, classes ---- */

static void
put_head(struct writer *writer)
{
    const struct graph *graph = &writer->graph->graph;
    const struct graph_dominators *dominators = &writer->graph->dominators;
    const char *time = graph_fact(&graph->names, "time"); /* nanoseconds */
    struct report_json *json = &writer->json;

    report_json_member_text(json, "kind", "graph");
    report_json_member_text(json, "name", writer->page->name);
    report_json_member_integer(json, "time", time ? strtoll(time, NULL, 10) / 1000000 : 0);
    report_json_member_text(json, "incomplete", graph->complete ? NULL : writer->graph->incomplete);
    report_json_member_unsigned(json, "objects", dominators->reached);
    report_json_member_unsigned(json, "bytes", dominators->retained[0]);
    report_json_member_unsigned(json, "unreachedObjects", graph->count - dominators->reached);
    report_json_member_unsigned(json, "unreachedBytes", graph->bytes - dominators->retained[0]);
    cli_graph_json_facts(json, &graph->names, "process", false);
    cli_graph_json_facts(json, &graph->names, "footer", true);
}

static bool
put_suspects(struct writer *writer)
{
    writer->json.longest = WAY_MOST;
    report_json_member_begin(&writer->json, "suspects", '[');
    for (size_t i = 0; i < writer->suspects.count; i++) {
        if (!cli_graph_json_suspect(&writer->json, writer->graph, &writer->suspects, i)) return false;
    }
    report_json_end(&writer->json, ']');
    writer->json.longest = NAME_MOST;
    return true;
}

static void
put_class(struct writer *writer, const struct graph_group *group)
{
    const struct graph_names *names = &writer->graph->graph.names;
    struct report_json *json = &writer->json;

    report_json_line(json);
    report_json_begin(json, '{');
    report_json_member_text(json, "name", graph_string(names, names->classes[group->key].name));
    report_json_member_number(json, "objects", group->objects);
    report_json_member_number(json, "bytes", group->bytes);
    report_json_member_number(json, "retained", group->retained);
    report_json_end(json, '}');
}

static bool
put_classes(struct writer *writer)
{
    struct graph_groups groups;
    bool room = graph_groups_make(&groups, &writer->graph->graph, &writer->graph->dominators,
                                  GRAPH_BY_CLASS);

    if (room) graph_groups_sort(&groups, true);
    report_json_member_begin(&writer->json, "classes", '[');
    for (uint32_t i = 0; room && i < groups.count && i < CLASSES_MOST; i++) put_class(writer, &groups.all[i]);
    report_json_end(&writer->json, ']');
    report_json_member_unsigned(&writer->json, "classesLeftOut",
                                groups.count > CLASSES_MOST ? groups.count - CLASSES_MOST : 0);
    graph_groups_free(&groups);
    return room;
}

/* ---- the dominator tree ---- */

static int
lower_first(const void *a, const void *b)
{
    uint32_t one = *(const uint32_t *)a, other = *(const uint32_t *)b;

    return (one > other) - (one < other);
}

/* Chooses the patterns that retain most, largest first. A parent retains at least as much as
 * its child and has a lower number, so it is chosen, too. */
static bool
make_tree(struct tree *tree, struct cli_graph *graph)
{
    uint32_t most = PATTERNS_MOST;

    if (!graph_patterns_make(&tree->patterns, &graph->graph, &graph->dominator_tree) ||
        !graph_patterns_gather(&tree->patterns, &graph->graph,
                               graph->dominators.retained[0] / SIBLINGS_SHARE)) return false;
    if (most > tree->patterns.count) most = tree->patterns.count;
    tree->retained = calloc(tree->patterns.count, sizeof(*tree->retained));
    tree->places = calloc(tree->patterns.count, sizeof(*tree->places));
    tree->shown = calloc(2 * (size_t)most, sizeof(*tree->shown));
    if (!tree->retained || !tree->places || !tree->shown) return false;
    graph_patterns_retained(&tree->patterns, tree->retained);
    tree->shown_count = graph_largest_find(tree->shown, most, tree->retained, tree->patterns.count);
    return true;
}

/* Puts the chosen patterns in order, each after its parent. */
static void
order_tree(struct tree *tree)
{
    if (tree->shown_count) qsort(tree->shown, tree->shown_count, sizeof(*tree->shown), lower_first);
    for (uint32_t i = 0; i < tree->shown_count; i++) tree->places[tree->shown[i]] = i;
}

static void
free_tree(struct tree *tree)
{
    graph_patterns_free(&tree->patterns);
    free(tree->retained);
    free(tree->shown);
    free(tree->places);
}

/* The value of a pattern in one column. */
typedef int64_t column_i(const struct writer *writer, const struct graph_pattern *pattern);

static int64_t
parent_of(const struct writer *writer, const struct graph_pattern *pattern)
{
    return pattern == writer->tree.patterns.all ? -1 : (int64_t)writer->tree.places[pattern->parent];
}

static int64_t
objects_of(const struct writer *writer, const struct graph_pattern *pattern)
{
    (void)writer;
    return (int64_t)pattern->objects;
}

static int64_t
bytes_of(const struct writer *writer, const struct graph_pattern *pattern)
{
    (void)writer;
    return (int64_t)pattern->bytes;
}

static int64_t
retained_of(const struct writer *writer, const struct graph_pattern *pattern)
{
    return (int64_t)writer->tree.retained[pattern - writer->tree.patterns.all];
}

/* The index of its first object among the objects of the page; -1 if that is not on the page. */
static int64_t
example_of(const struct writer *writer, const struct graph_pattern *pattern)
{
    return (int64_t)writer->chosen.places[pattern->example] - 1;
}

static void
put_columns(struct writer *writer)
{
    const struct tree *tree = &writer->tree;
    static const struct {const char *name; column_i *column;} columns[] = {
        {"parent", parent_of}, {"objects", objects_of}, {"bytes", bytes_of}, {"retained", retained_of},
        {"example", example_of},
    };

    for (size_t c = 0; c < sizeof(columns) / sizeof(columns[0]); c++) {
        report_json_member_begin(&writer->json, columns[c].name, '[');
        for (uint32_t i = 0; i < tree->shown_count; i++) {
            report_json_integer(&writer->json, columns[c].column(writer, &tree->patterns.all[tree->shown[i]]));
        }
        report_json_end(&writer->json, ']');
    }
}

static bool
put_names(struct writer *writer)
{
    const struct tree *tree = &writer->tree;

    report_json_member_begin(&writer->json, "name", '[');
    for (uint32_t i = 0; i < tree->shown_count; i++) {
        struct cli_text text;
        if (!cli_text_begin(&text)) return false;
        if (tree->shown[i] == 0) fputs("all", text.out);
        else graph_put_step(text.out, &writer->graph->graph, &tree->patterns, tree->shown[i]);
        cli_text_json(&text, &writer->json);
    }
    report_json_end(&writer->json, ']');
    return true;
}

static bool
put_tree(struct writer *writer)
{
    bool room;

    report_json_member_begin(&writer->json, "tree", '{');
    put_columns(writer);
    room = put_names(writer);
    report_json_member_unsigned(&writer->json, "leftOut",
                                writer->tree.patterns.count - writer->tree.shown_count);
    report_json_end(&writer->json, '}');
    return room;
}

/* ---- objects ---- */

/* Writes a reference from or to an object; 0 is a root. */
static bool
put_reference(struct writer *writer, uint32_t object, uint32_t label)
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
put_references_to(struct writer *writer, uint32_t object)
{
    const struct graph *graph = &writer->graph->graph;
    uint32_t class_object = graph_class(graph, object), shown = graph_degree(graph, object);
    bool room = true;

    report_json_member_unsigned(&writer->json, "toCount", shown + (class_object != 0));
    report_json_member_begin(&writer->json, "to", '[');
    if (class_object) room = put_reference(writer, class_object, graph_label(HEAPPROF_DUMP_CLASS, 0));
    if (shown > REFERENCES_MOST) shown = REFERENCES_MOST;
    for (uint32_t i = graph->first[object]; room && i < graph->first[object] + shown; i++) {
        room = put_reference(writer, graph->targets[i], graph->labels[i]);
    }
    report_json_end(&writer->json, ']');
    return room;
}

static bool
put_references_from(struct writer *writer, uint32_t place)
{
    const struct graph_chosen *chosen = &writer->chosen;
    const struct graph_referrer *referrers = chosen->referrers + (size_t)place * chosen->most;
    uint32_t shown = chosen->referrer_counts[place];
    bool room = true;

    report_json_member_unsigned(&writer->json, "fromCount", shown);
    report_json_member_begin(&writer->json, "from", '[');
    if (shown > chosen->most) shown = chosen->most;
    for (uint32_t i = 0; room && i < shown; i++) room = put_reference(writer, referrers[i].object, referrers[i].label);
    report_json_end(&writer->json, ']');
    return room;
}

/* Writes the objects that it dominates, largest first. */
static bool
put_kept(struct writer *writer, uint32_t object)
{
    const struct graph_dominated *dominated = &writer->dominated;
    uint32_t *children = dominated->children + dominated->first[object];
    uint32_t shown = dominated->first[object + 1] - dominated->first[object];
    bool room = true;

    graph_largest_sort(children, shown, writer->graph->dominators.retained);
    report_json_member_unsigned(&writer->json, "keepsCount", shown);
    report_json_member_begin(&writer->json, "keeps", '[');
    if (shown > REFERENCES_MOST) shown = REFERENCES_MOST;
    for (uint32_t i = 0; room && i < shown; i++) {
        room = put_reference(writer, children[i], writer->graph->dominator_tree.labels[children[i]]);
    }
    report_json_end(&writer->json, ']');
    return room;
}

/* Writes what the object is, and the path to it. */
static bool
put_object_head(struct writer *writer, uint32_t object)
{
    const struct graph *graph = &writer->graph->graph;
    const struct graph_sample *sample = graph_sample(graph, object);
    struct report_json *json = &writer->json;
    struct cli_text flags;
    bool room;

    if (!cli_graph_json_object(json, writer->graph, object)) return false;
    report_json_member_text(json, "type", graph_type(graph, object));
    if (!cli_text_begin(&flags)) return false;
    cli_graph_put_flags(flags.out, graph->bits[object]);
    report_json_key(json, "flags");
    cli_text_json(&flags, json);
    json->longest = WAY_MOST;
    room = cli_graph_json_way(json, "way", graph, &writer->graph->shortest, object, false);
    json->longest = NAME_MOST;
    report_json_key(json, "stack");
    cli_graph_json_stack(json, graph, sample ? sample->stack : 0);
    return room;
}

/* Writes its dominator, unless that is the root. */
static bool
put_keeper(struct writer *writer, uint32_t object)
{
    uint32_t keeper = writer->graph->dominators.dominators[object];
    bool room = true;

    report_json_key(&writer->json, "keptBy");
    if (keeper) room = put_reference(writer, keeper, writer->graph->dominator_tree.labels[object]);
    else report_json_null(&writer->json);
    return room;
}

static bool
put_objects(struct writer *writer)
{
    const struct graph_chosen *chosen = &writer->chosen;
    bool room = true;

    report_json_member_begin(&writer->json, "chosen", '[');
    for (uint32_t place = 0; room && place < chosen->count; place++) {
        uint32_t object = chosen->objects[place];
        report_json_line(&writer->json);
        report_json_begin(&writer->json, '{');
        room = put_object_head(writer, object) && put_keeper(writer, object) && put_references_to(writer, object) &&
               put_references_from(writer, place) && put_kept(writer, object);
        report_json_end(&writer->json, '}');
    }
    report_json_end(&writer->json, ']');
    return room;
}

/* ---- the page ---- */

/* Adds the first object of each of the largest patterns, up to objects_most. The tree is not in
 * order yet. */
static bool
choose_examples(struct writer *writer)
{
    const struct tree *tree = &writer->tree;
    uint32_t most = writer->page->objects_most;

    for (uint32_t i = 0; i < tree->shown_count && i < most; i++) {
        uint32_t example = tree->patterns.all[tree->shown[i]].example;
        if (example && !graph_chosen_add(&writer->chosen, example)) return false;
    }
    return true;
}

/* Chooses the objects of the page: those that retain most, those of the suspects, and the first
 * objects of patterns, which a reader meets in the tree. */
static bool
choose(struct writer *writer)
{
    struct graph *graph = &writer->graph->graph;
    struct graph_chosen *chosen = &writer->chosen;

    if (!graph_chosen_make(chosen, graph, &writer->graph->dominators,
                           writer->page->objects_most)) return false;
    for (size_t i = 0; i < writer->suspects.count; i++) {
        const struct graph_suspect *suspect = &writer->suspects.all[i];
        if (!graph_chosen_add(chosen, suspect->object) ||
            !graph_chosen_add(chosen, writer->suspects.patterns.all[suspect->gathered].example)) return false;
    }
    return choose_examples(writer) && graph_chosen_find_referrers(chosen, graph, REFERENCES_MOST);
}

static bool
find(struct writer *writer)
{
    if (!cli_graph_suspects_find(&writer->suspects, writer->graph, CLI_GRAPH_SUSPECTS_MOST, -1) ||
        !make_tree(&writer->tree, writer->graph) ||
        !choose(writer)) return false;
    order_tree(&writer->tree);
    return graph_dominated_make(&writer->dominated, &writer->graph->graph,
                                &writer->graph->dominators);
}

bool
cli_graph_page_write(FILE *out, const struct cli_graph_page *page)
{
    struct graph_space *space = &page->graph->graph.space;
    struct writer writer = {.page = page, .graph = page->graph, .tree.patterns.space = space,
                            .chosen.space = space,
                            .dominated.space = space, .json = {.out = out, .longest = NAME_MOST, .markup = true}};
    bool room;

    report_json_begin(&writer.json, '{');
    put_head(&writer);
    room = find(&writer) && put_suspects(&writer) && put_classes(&writer) && put_tree(&writer) && put_objects(&writer);
    report_json_end(&writer.json, '}');
    graph_dominated_free(&writer.dominated);
    graph_chosen_free(&writer.chosen);
    free_tree(&writer.tree);
    cli_graph_suspects_free(&writer.suspects);
    return room;
}
