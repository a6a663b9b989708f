#ifndef HEAPPROF_GRAPH_LARGEST_H
#define HEAPPROF_GRAPH_LARGEST_H
/* Of many, those that are looked at: the largest, and what refers to them. */
#include "graph/dominators.h"

/* Sorts numbers by the value that each has, the largest first; of equal ones the lower number. */
void rb_heapprof_largest_sort(uint32_t *numbers, uint32_t count, const uint64_t *values);

/* The numbers below count with the largest values, sorted, without those of value 0. numbers has room for twice most, and
 * most is 1 or more. Returns how many there are. */
uint32_t rb_heapprof_largest_find(uint32_t *numbers, uint32_t most, const uint64_t *values, uint32_t count);

struct heapprof_graph_referrer {
    uint32_t object;             /* 0: a root */
    uint32_t label;
};

/* Objects that were chosen, by their places, and what refers to them. */
struct heapprof_graph_chosen {
    struct heapprof_space *space;
    uint32_t *objects;
    uint32_t  count;
    uint32_t *places;            /* by object: its place + 1; 0: it was not chosen */
    struct heapprof_graph_referrer *referrers; /* of each object most at most, from place * most on */
    uint32_t *referrer_counts;   /* of all that there are */
    uint32_t  most;
    size_t    objects_capacity, places_capacity, referrers_capacity, referrer_counts_capacity;
};

/* The most objects that retain most. Free them either way, before the graph. False: no memory. */
bool rb_heapprof_graph_chosen_make(struct heapprof_graph_chosen *chosen, struct heapprof_graph *graph,
                                   const struct heapprof_dominators *dominators, uint32_t most);
void rb_heapprof_graph_chosen_free(struct heapprof_graph_chosen *chosen);

/* Another one, unless it is there. */
bool rb_heapprof_graph_chosen_add(struct heapprof_graph_chosen *chosen, uint32_t object);

/* Finds the referrers of each, roots first; of an object's class it is one, too. To be called once, last. */
bool rb_heapprof_graph_chosen_find_referrers(struct heapprof_graph_chosen *chosen, const struct heapprof_graph *graph,
                                             uint32_t most);

#endif
