/* page_tree.c - the merged dominator tree on the page of `graph view`, and what grew in it. */
#include <stdlib.h>

#include "cli/graph/page_writer.h"

#define SIBLINGS_SHARE 1000 /* siblings that retain less than 1/1000 of all are gathered */
#define PATTERNS_MOST 20000

/* ---- which patterns ---- */

static int
lower_first(const void *a, const void *b)
{
    uint32_t one = *(const uint32_t *)a, other = *(const uint32_t *)b;

    return (one > other) - (one < other);
}

static uint32_t
pattern_of(const struct cli_graph_page_tree *tree, uint32_t object)
{
    return object ? tree->patterns.of[object] : 0;
}

/* A new object adds its bytes to its pattern. What survivors became larger, less what was freed,
 * is known by the row of the difference alone, and is added to the pattern of its holder. So the
 * root has the growth of the whole heap. */
static bool
find_growth(struct cli_graph_page_tree *tree, const struct cli_graph_diff *diff)
{
    const struct graph_difference *difference = &diff->difference;
    const struct graph *last = &diff->graphs[diff->count - 1].graph;

    tree->growth = calloc(tree->patterns.count, sizeof(*tree->growth));
    if (!tree->growth) return false;
    for (uint32_t object = 1; object <= last->count; object++) {
        if (!difference->rows[object] || difference->survived[object]) continue;
        tree->growth[pattern_of(tree, object)] += (int64_t)last->sizes[object];
    }
    for (uint32_t i = 0; i < difference->count; i++) {
        const struct graph_growth *row = &difference->all[i];
        uint32_t holder = row->survivor;
        if (!holder && row->holder) holder = difference->patterns.all[row->holder].example;
        tree->growth[pattern_of(tree, holder)] += row->grown - (int64_t)row->freed_bytes;
    }
    for (uint32_t i = tree->patterns.count; i-- > 1; )
        tree->growth[tree->patterns.all[i].parent] += tree->growth[i];
    return true;
}

/* A parent retains at least as much as its child and has a lower number, so it is chosen, too. */
bool
cli_graph_page_tree_make(struct cli_graph_page_writer *writer)
{
    struct cli_graph_page_tree *tree = &writer->tree;
    struct cli_graph *graph = writer->graph;
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
    return !writer->page->diff || find_growth(tree, writer->page->diff);
}

/* A parent has a lower number than its child. */
void
cli_graph_page_tree_order(struct cli_graph_page_tree *tree)
{
    if (tree->shown_count) qsort(tree->shown, tree->shown_count, sizeof(*tree->shown), lower_first);
    for (uint32_t i = 0; i < tree->shown_count; i++) tree->places[tree->shown[i]] = i + 1;
}

void
cli_graph_page_tree_free(struct cli_graph_page_tree *tree)
{
    graph_patterns_free(&tree->patterns);
    free(tree->retained);
    free(tree->growth);
    free(tree->shown);
    free(tree->places);
}

uint32_t
cli_graph_page_frame(const struct cli_graph_page_tree *tree, uint32_t object)
{
    uint32_t pattern = pattern_of(tree, object);

    while (pattern && !tree->places[pattern]) pattern = tree->patterns.all[pattern].parent;
    return pattern ? tree->places[pattern] - 1 : 0;
}

/* ---- columns ---- */

/* The value of a pattern in one column. */
typedef int64_t
column_i(const struct cli_graph_page_writer *writer, const struct graph_pattern *pattern);

static int64_t
parent_of(const struct cli_graph_page_writer *writer, const struct graph_pattern *pattern)
{
    return pattern == writer->tree.patterns.all ? -1
                                                : (int64_t)writer->tree.places[pattern->parent] - 1;
}

static int64_t
objects_of(const struct cli_graph_page_writer *writer, const struct graph_pattern *pattern)
{
    (void)writer;
    return (int64_t)pattern->objects;
}

static int64_t
bytes_of(const struct cli_graph_page_writer *writer, const struct graph_pattern *pattern)
{
    (void)writer;
    return (int64_t)pattern->bytes;
}

static int64_t
retained_of(const struct cli_graph_page_writer *writer, const struct graph_pattern *pattern)
{
    return (int64_t)writer->tree.retained[pattern - writer->tree.patterns.all];
}

static int64_t
growth_of(const struct cli_graph_page_writer *writer, const struct graph_pattern *pattern)
{
    return writer->tree.growth[pattern - writer->tree.patterns.all];
}

/* The index of its first object among the objects of the page; -1 if that is not on the page. */
static int64_t
example_of(const struct cli_graph_page_writer *writer, const struct graph_pattern *pattern)
{
    return (int64_t)writer->chosen.places[pattern->example] - 1;
}

static void
put_column(struct cli_graph_page_writer *writer, const char *name, column_i *column)
{
    const struct cli_graph_page_tree *tree = &writer->tree;

    report_json_member_begin(&writer->json, name, '[');
    for (uint32_t i = 0; i < tree->shown_count; i++) {
        report_json_integer(&writer->json, column(writer, &tree->patterns.all[tree->shown[i]]));
    }
    report_json_end(&writer->json, ']');
}

static void
put_columns(struct cli_graph_page_writer *writer)
{
    put_column(writer, "parent", parent_of);
    put_column(writer, "objects", objects_of);
    put_column(writer, "bytes", bytes_of);
    put_column(writer, "retained", retained_of);
    put_column(writer, "example", example_of);
    if (writer->tree.growth) put_column(writer, "growth", growth_of);
}

static bool
put_names(struct cli_graph_page_writer *writer)
{
    const struct cli_graph_page_tree *tree = &writer->tree;

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

bool
cli_graph_page_put_tree(struct cli_graph_page_writer *writer)
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
