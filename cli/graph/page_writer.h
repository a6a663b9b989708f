#ifndef HEAPPROF_CLI_GRAPH_PAGE_WRITER_H
#define HEAPPROF_CLI_GRAPH_PAGE_WRITER_H
/* What the files that write the page of `graph view` share: page.c, page_tree.c, page_objects.c. */
#include "cli/graph/page.h"
#include "graph/largest.h"

#define CLI_GRAPH_PAGE_NAME_MOST 200 /* bytes of a text */
#define CLI_GRAPH_PAGE_WAY_MOST 2000
#define CLI_GRAPH_PAGE_REFERENCES_MOST 20 /* of an object in each direction */

/* The dominator tree, merged. A frame is a pattern that the page shows. */
struct cli_graph_page_tree {
    struct graph_patterns patterns;
    uint64_t *retained;          /* by pattern */
    int64_t  *growth;            /* by pattern, with all below it; NULL unless dumps are compared */
    uint32_t *shown;             /* by frame: its pattern; a parent comes first, [0] is the root */
    uint32_t  shown_count;
    uint32_t *places;            /* by pattern: its frame + 1; 0 if it is not shown */
};

struct cli_graph_page_writer {
    const struct cli_graph_page *page;
    struct cli_graph *graph;
    struct report_json json;
    struct cli_graph_suspects suspects;
    struct cli_graph_page_tree tree;
    struct graph_chosen chosen;
    struct graph_dominated dominated;
    bool *stacks;                /* by stack: its line is among the sources' places */
};

/* Chooses the patterns that retain most, largest first. Returns false if there is no memory; the
 * caller frees the tree either way. order puts the frames into the order of the page. */
bool cli_graph_page_tree_make(struct cli_graph_page_writer *writer);
void cli_graph_page_tree_order(struct cli_graph_page_tree *tree);
void cli_graph_page_tree_free(struct cli_graph_page_tree *tree);

/* The frame that an object is in; if that is not shown, the nearest above it. */
uint32_t cli_graph_page_frame(const struct cli_graph_page_tree *tree, uint32_t object);

/* Write "tree" and "chosen". Return false if there is no memory. */
bool cli_graph_page_put_tree(struct cli_graph_page_writer *writer);
bool cli_graph_page_put_objects(struct cli_graph_page_writer *writer);

#endif
