/* keys.c - names the values of Hashes by their String keys. */
#include "graph/keys.h"

/* A key stands before its value, and both have the number of their pair. */
void
graph_name_keys(struct graph *graph)
{
    for (uint32_t object = 1; object <= graph->count; object++) {
        for (uint32_t i = graph->first[object] + 1; i < graph->first[object + 1]; i++) {
            uint32_t key = graph->targets[i - 1], pair = graph_label_detail(graph->labels[i]), text;
            if (graph->labels[i] != graph_label(HEAPPROF_DUMP_VALUE, pair) ||
                graph->labels[i - 1] != graph_label(HEAPPROF_DUMP_KEY, pair) ||
                pair == GRAPH_DETAIL_MOST || graph_layout(graph, key)->collection != GRAPH_STRING)
                continue;
            text = graph_text(graph, key);
            if (text && text < GRAPH_DETAIL_MOST)
                graph->labels[i] = graph_label(GRAPH_VALUE_OF_STRING, text);
        }
    }
}
