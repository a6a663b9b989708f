#ifndef HEAPPROF_CLI_GRAPH_DIFF_H
#define HEAPPROF_CLI_GRAPH_DIFF_H
/* The difference of dumps, for the commands `graph diff` and `graph view OLD NEW`. */
#include "cli/graph/graph.h"
#include "graph/arrivals.h"

struct cli_graph_diff {
    const struct cli *cli;
    int    wanted;               /* of each dump: CLI_GRAPH_EXACTLY, CLI_GRAPH_LENGTHS or 0 */
    struct cli_graph graphs[GRAPH_DUMPS_MOST];
    struct graph_dump dumps[GRAPH_DUMPS_MOST];
    size_t count;                /* of dumps */
    struct graph_difference difference;
    struct graph_arrivals arrivals; /* what is new in each row */
    bool   compared;
    uint32_t *stacks; /* by row of the difference: where something new in it was allocated;
                         0 if nothing was sampled */
    uint32_t *rows;              /* rows of the difference in the order in which they are shown */
    size_t   row_count;
    int64_t  growth, told;       /* bytes: of the whole heap, and of the rows */
};

/* Reads all dumps that the command line names, and compares them in their order (order.h). Returns
 * a status; unless it is CLI_DONE, the error has been printed. The caller frees diff either way. */
int cli_graph_diff_read(struct cli_graph_diff *diff, const struct cli *cli, int wanted);
void cli_graph_diff_free(struct cli_graph_diff *diff);

/* Objects of the last dump that stand for a row: an example of what changed, what holds it, and
 * the one whose path is shown. Each is 0 if that dump has no such object. */
struct cli_graph_diff_shown {
    uint32_t example, holder, way;
};

struct cli_graph_diff_shown
cli_graph_diff_shown(const struct cli_graph_diff *diff, uint32_t number);

/* Writes a row in words, only what holds it, up to limit rows as text to stdout (0: all), or the
 * members of a JSON object with all rows. Each returns false if there is no memory. */
bool cli_graph_diff_put(FILE *out, const struct cli_graph_diff *diff, uint32_t number);
bool cli_graph_diff_put_holder(FILE *out, const struct cli_graph_diff *diff, uint32_t number);
bool cli_graph_diff_text(const struct cli_graph_diff *diff, long limit);
bool cli_graph_diff_json(struct report_json *json, const struct cli_graph_diff *diff);

/* Writes the classes of all dumps side by side to stdout, those that grew most first. Returns
 * false if there is no memory. */
bool cli_graph_histograms(const struct cli_graph_diff *diff, bool as_json, long limit);

#endif
