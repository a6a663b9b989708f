#ifndef GRAPH_WORDS_H
#define GRAPH_WORDS_H
/* Objects, labels and ways as people read them. Names stand as the file has them: whoever shows them to a terminal
 * escapes them. */
#include <stdio.h>

#include "graph/tree.h"

/* "Hash", "class Cart", "T_IMEMO(iseq) Cart#load". */
void graph_put_object(FILE *out, const struct graph *graph, uint32_t object);

/* The class's name, or without one the type: "Hash", "T_IMEMO(iseq)". */
const char *graph_class_name(const struct graph *graph, uint32_t object);

/* "@items", "[7]", "[:name]", "global $cart". merged: without what only one of many has, "[]". */
void graph_put_label(FILE *out, const struct graph *graph, uint32_t label, bool merged);

/* The way to an object: "constant Cart::CACHE -> @items -> [7]". It begins at the last class or module with a name,
 * if there is one: how that is reached, everybody knows. False: no memory. */
bool graph_put_way(FILE *out, const struct graph *graph, const struct graph_tree *tree,
                   uint32_t object, bool merged);

/* What people would call the beginning of that way: "Cart::CACHE", "$cart", "local log". */
bool graph_put_start(FILE *out, const struct graph *graph,
                     const struct graph_tree *tree,
                     uint32_t object);

#endif
