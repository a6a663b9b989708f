/* page.c - the data of the page of `heapprof graph view`: what changed, suspects, classes, the
 * merged dominator tree (page_tree.c), the objects that retain most (page_objects.c), and code.
 *
 * The size of the page is bounded for any dump: there are limits for rows, classes, patterns,
 * objects and references of each, for each text (NAME, WAY), and for code. The page says how much
 * was left out. */
#include "cli/graph/page_writer.h"

#include <stdlib.h>

#include "cli/html.h"
#include "graph/terms.h"

#define CLASSES_MOST 2000
#define ROWS_MOST 2000     /* of a difference */

/* ---- facts, suspects, classes ---- */

static void
put_head(struct cli_graph_page_writer *writer)
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

/* Writes the rows of `graph diff`. The rest has those that the page leaves out. */
static bool
put_diff(struct cli_graph_page_writer *writer)
{
    struct cli_graph_diff *diff = writer->page->diff;
    struct report_json *json = &writer->json;
    size_t left = diff->row_count > ROWS_MOST ? diff->row_count - ROWS_MOST : 0;
    bool room;

    for (; diff->row_count > ROWS_MOST; diff->row_count--) {
        diff->told -= graph_growth_bytes(&diff->difference, diff->rows[diff->row_count - 1]);
    }
    report_json_member_begin(json, "diff", '{');
    report_json_member_begin(json, "names", '[');
    for (size_t i = 0; i < diff->count; i++)
        report_json_text(json, cli_html_name(diff->cli->operands[i]));
    report_json_end(json, ']');
    json->longest = CLI_GRAPH_PAGE_WAY_MOST;
    room = cli_graph_diff_json(json, diff);
    json->longest = CLI_GRAPH_PAGE_NAME_MOST;
    report_json_member_unsigned(json, "rowsLeftOut", left);
    report_json_end(json, '}');
    return room;
}

/* An object to show for a suspect: of those whose allocation the suspect tells, or else of those
 * that have most of it. */
static uint32_t
example_of_suspect(const struct cli_graph_page_writer *writer, const struct graph_suspect *suspect)
{
    const struct graph *graph = &writer->graph->graph;
    const struct graph_patterns *patterns = &writer->suspects.patterns;

    for (uint32_t i = 0; suspect->stack && i < graph->sample_count; i++) {
        uint32_t pattern = patterns->of[graph->samples[i].object];
        if (graph->samples[i].stack == suspect->stack &&
            (pattern == suspect->part || pattern == suspect->gathered))
            return graph->samples[i].object;
    }
    return suspect->part ? patterns->all[suspect->part].example : suspect->gathered_object;
}

static bool
put_suspects(struct cli_graph_page_writer *writer)
{
    struct report_json *json = &writer->json;

    json->longest = CLI_GRAPH_PAGE_WAY_MOST;
    report_json_member_begin(json, "suspects", '[');
    for (size_t i = 0; i < writer->suspects.count; i++) {
        if (!cli_graph_json_suspect(json, writer->graph, &writer->suspects, i)) return false;
    }
    report_json_end(json, ']');
    json->longest = CLI_GRAPH_PAGE_NAME_MOST;
    report_json_member_begin(json, "suspectExamples", '[');
    for (size_t i = 0; i < writer->suspects.count; i++) {
        report_json_unsigned(
            json, writer->chosen.places[example_of_suspect(writer, &writer->suspects.all[i])] - 1);
    }
    report_json_end(json, ']');
    return true;
}

static void
put_class(struct cli_graph_page_writer *writer, const struct graph_group *group)
{
    const struct graph_names *names = &writer->graph->graph.names;
    struct report_json *json = &writer->json;
    const char *name = graph_string(names, names->classes[group->key].name);

    report_json_line(json);
    report_json_begin(json, '{');
    report_json_member_text(json, "name", name);
    if (graph_term(name)) report_json_member_text(json, "what", graph_term(name));
    report_json_member_number(json, "objects", group->objects);
    report_json_member_number(json, "bytes", group->bytes);
    report_json_member_number(json, "retained", group->retained);
    report_json_end(json, '}');
}

static bool
put_classes(struct cli_graph_page_writer *writer)
{
    struct graph_groups groups;
    bool room = graph_groups_make(&groups, &writer->graph->graph, &writer->graph->dominators,
                                  GRAPH_BY_CLASS);

    if (room) graph_groups_sort(&groups, true);
    report_json_member_begin(&writer->json, "classes", '[');
    for (uint32_t i = 0; room && i < groups.count && i < CLASSES_MOST; i++)
        put_class(writer, &groups.all[i]);
    report_json_end(&writer->json, ']');
    report_json_member_unsigned(&writer->json, "classesLeftOut",
                                groups.count > CLASSES_MOST ? groups.count - CLASSES_MOST : 0);
    graph_groups_free(&groups);
    return room;
}

/* ---- the page ---- */

/* Adds the first object of each of the largest patterns, up to objects_most. The tree is not in
 * order yet. */
static bool
choose_examples(struct cli_graph_page_writer *writer)
{
    const struct cli_graph_page_tree *tree = &writer->tree;
    uint32_t most = writer->page->objects_most;

    for (uint32_t i = 0; i < tree->shown_count && i < most; i++) {
        uint32_t example = tree->patterns.all[tree->shown[i]].example;
        if (example && !graph_chosen_add(&writer->chosen, example)) return false;
    }
    return true;
}

static bool
choose_suspects(struct cli_graph_page_writer *writer)
{
    for (size_t i = 0; i < writer->suspects.count; i++) {
        const struct graph_suspect *suspect = &writer->suspects.all[i];
        if (!graph_chosen_add(&writer->chosen, suspect->object) ||
            !graph_chosen_add(&writer->chosen, suspect->gathered_object) ||
            !graph_chosen_add(&writer->chosen, example_of_suspect(writer, suspect))) return false;
    }
    return true;
}

/* Chooses what the rows of a difference show: an example, and what holds it. */
static bool
choose_rows(struct cli_graph_page_writer *writer)
{
    const struct cli_graph_diff *diff = writer->page->diff;

    for (size_t i = 0; diff && i < diff->row_count && i < ROWS_MOST; i++) {
        struct cli_graph_diff_shown shown = cli_graph_diff_shown(diff, diff->rows[i]);
        if ((shown.example && !graph_chosen_add(&writer->chosen, shown.example)) ||
            (shown.holder && !graph_chosen_add(&writer->chosen, shown.holder))) return false;
    }
    return true;
}

/* Chooses the objects of the page: those that retain most, those of the rows and the suspects,
 * and the first objects of patterns, which a reader meets in the tree. */
static bool
choose(struct cli_graph_page_writer *writer)
{
    struct graph *graph = &writer->graph->graph;

    return graph_chosen_make(&writer->chosen, graph, &writer->graph->dominators,
                             writer->page->objects_most) &&
           choose_suspects(writer) && choose_rows(writer) && choose_examples(writer) &&
           graph_chosen_find_referrers(&writer->chosen, graph, CLI_GRAPH_PAGE_REFERENCES_MOST);
}

static bool
find(struct cli_graph_page_writer *writer)
{
    writer->stacks =
        calloc((size_t)writer->graph->graph.names.stack_count + 1, sizeof(*writer->stacks));
    if (!writer->stacks ||
        !cli_graph_suspects_find(&writer->suspects, writer->graph, CLI_GRAPH_SUSPECTS_MOST, -1) ||
        !cli_graph_page_tree_make(writer) || !choose(writer)) return false;
    cli_graph_page_tree_order(&writer->tree);
    return graph_dominated_make(&writer->dominated, &writer->graph->graph,
                                &writer->graph->dominators);
}

static bool
put(struct cli_graph_page_writer *writer)
{
    if (writer->page->diff && !put_diff(writer)) return false;
    if (!put_suspects(writer) || !put_classes(writer) || !cli_graph_page_put_tree(writer) ||
        !cli_graph_page_put_objects(writer)) return false;
    writer->json.longest = 0;
    report_json_key(&writer->json, "sources");
    if (writer->page->sources) cli_put_sources(&writer->json, writer->page->sources);
    else cli_put_no_sources(&writer->json, NULL);
    return true;
}

bool
cli_graph_page_write(FILE *out, const struct cli_graph_page *page)
{
    struct graph_space *space = &page->graph->graph.space;
    struct cli_graph_page_writer writer = {
        .page = page, .graph = page->graph,
        .tree.patterns.space = space, .chosen.space = space, .dominated.space = space,
        .json = {.out = out, .longest = CLI_GRAPH_PAGE_NAME_MOST, .markup = true},
    };
    bool room;

    report_json_begin(&writer.json, '{');
    put_head(&writer);
    room = find(&writer) && put(&writer);
    report_json_end(&writer.json, '}');
    graph_dominated_free(&writer.dominated);
    graph_chosen_free(&writer.chosen);
    cli_graph_page_tree_free(&writer.tree);
    cli_graph_suspects_free(&writer.suspects);
    free(writer.stacks);
    return room;
}
