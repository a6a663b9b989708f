#ifndef GRAPH_REPEATS_H
#define GRAPH_REPEATS_H
/* Duplicates (duplicates.h) added up by what holds them, or by the line that allocated them. Of k
 * objects with one content k - 1 are too many. Nobody can say which, so each counts as (k - 1)/k
 * of its bytes, and the rows add up to what all duplicates waste. */
#include "graph/duplicates.h"
#include "graph/patterns.h"

enum graph_repeats_by {
    GRAPH_REPEATS_BY_HOLDER,     /* key: pattern of the strongest path to it; 0: garbage */
    GRAPH_REPEATS_BY_LINE        /* key: a stack whose own frame is the line; 0: not sampled. A
                                    sample counts as the objects it stands for */
};

struct graph_repeat {
    uint32_t key;
    uint32_t example;            /* its first object */
    double   objects;            /* that have a duplicate anywhere */
    double   wasted;             /* bytes */
};

struct graph_repeats {
    struct graph_space *space;
    struct graph_duplicates duplicates;
    struct graph_patterns patterns; /* if by holder */
    struct graph_repeat *all;    /* most wasted bytes first */
    uint32_t  count;
    uint32_t *contents;          /* by object: see graph_duplicates_find */
    uint32_t *lines;             /* by stack: the first stack with the same line */
    uint32_t *by_key;            /* row + 1 */
    size_t    all_capacity, contents_capacity, lines_capacity, by_key_capacity;
};

/* Makes the rows for a graph that was loaded with GRAPH_HASHES; shortest has its strongest paths.
 * Returns false if there is no memory. The caller frees the repeats either way, before the
 * graph. */
bool
graph_repeats_make(struct graph_repeats *repeats, struct graph *graph,
                   const struct graph_tree *shortest, size_t limit_bytes, enum graph_repeats_by by);
void graph_repeats_free(struct graph_repeats *repeats);

#endif
