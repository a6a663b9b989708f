#ifndef GRAPH_LARGEST_H
#define GRAPH_LARGEST_H
/* Of many, those that are looked at: the largest, and what refers to them. */
#include "graph/dominators.h"

/* Sorts numbers by the value that each has, the largest first; of equal ones the lower number. */
void graph_largest_sort(uint32_t *numbers, uint32_t count, const uint64_t *values);

/* The numbers below count with the largest values, sorted, without those of value 0. numbers has room for twice most, and
 * most is 1 or more. Returns how many there are. */
uint32_t graph_largest_find(uint32_t *numbers, uint32_t most, const uint64_t *values, uint32_t count);

struct graph_referrer {
    uint32_t object;             /* 0: a root */
    uint32_t label;
};

/* Objects that were chosen, by their places, and what refers to them. */
struct graph_chosen {
    struct graph_space *space;
    uint32_t *objects;
    uint32_t  count;
    uint32_t *places;            /* by object: its place + 1; 0: it was not chosen */
    struct graph_referrer *referrers; /* of each object most at most, from place * most on */
    uint32_t *referrer_counts;   /* of all that there are */
    uint32_t  most;
    size_t    objects_capacity, places_capacity, referrers_capacity, referrer_counts_capacity;
};

/* The most objects that retain most. Free them either way, before the graph. False: no memory. */
bool graph_chosen_make(struct graph_chosen *chosen, struct graph *graph,
                       const struct graph_dominators *dominators, uint32_t most);
void graph_chosen_free(struct graph_chosen *chosen);

/* Another one, unless it is there. */
bool graph_chosen_add(struct graph_chosen *chosen, uint32_t object);

/* Finds the referrers of each, roots first; of an object's class it is one, too. To be called once, last. */
bool graph_chosen_find_referrers(struct graph_chosen *chosen, const struct graph *graph,
                                 uint32_t most);

#endif
