#ifndef GRAPH_LARGEST_H
#define GRAPH_LARGEST_H
/* Selects the largest of many objects, and finds what refers to them. */
#include "graph/dominators.h"

/* Sorts numbers by values[number], largest first; equal values by number. */
void graph_largest_sort(uint32_t *numbers, uint32_t count, const uint64_t *values);

/* Finds the numbers below count with the largest values, sorted, without zero values. At least
 * 1 is wanted (most); numbers has room for 2 * most. Returns how many were found. */
uint32_t graph_largest_find(uint32_t *numbers, uint32_t most, const uint64_t *values,
                            uint32_t count);

struct graph_referrer {
    uint32_t object;             /* 0 for a root */
    uint32_t label;
};

/* The chosen objects, and what refers to each of them. */
struct graph_chosen {
    struct graph_space *space;
    uint32_t *objects;
    uint32_t  count;
    uint32_t *places;            /* by object: its index in objects, plus 1; 0 if it was not
                                    chosen */
    struct graph_referrer *referrers; /* up to `most` of each object, from index * most on */
    uint32_t *referrer_counts;   /* by index: how many referrers exist */
    uint32_t  most;
    size_t    objects_capacity, places_capacity, referrers_capacity, referrer_counts_capacity;
};

/* Chooses the `most` objects that retain the most bytes. Returns false if there is no memory.
 * The caller frees chosen either way, before the graph. */
bool graph_chosen_make(struct graph_chosen *chosen, struct graph *graph,
                       const struct graph_dominators *dominators, uint32_t most);
void graph_chosen_free(struct graph_chosen *chosen);

/* Adds an object unless it is already chosen. Returns false if there is no memory. */
bool graph_chosen_add(struct graph_chosen *chosen, uint32_t object);

/* Finds the referrers of each chosen object, roots first. An object counts as a referrer of its
 * class, too. The caller calls this once, after the last graph_chosen_add. */
bool graph_chosen_find_referrers(struct graph_chosen *chosen, const struct graph *graph,
                                 uint32_t most);

#endif
