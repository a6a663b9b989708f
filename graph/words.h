#ifndef GRAPH_WORDS_H
#define GRAPH_WORDS_H
/* Objects, labels and paths in words for people. Names are written as the file has them; a
 * caller that shows them on a terminal escapes them. */
#include <stdio.h>

#include "graph/tree.h"

/* "Hash", "class Cart", "compiled code: Cart#load". */
void graph_put_object(FILE *out, const struct graph *graph, uint32_t object);

/* How many characters of the text of a thread or fiber say where it was started: of
 * "worker.rb:12 (NAME), sleeps" the first 12. */
size_t graph_place_length(const char *text);

/* What a thread or fiber is, and where it was started: "Thread worker.rb:12". Returns false if the
 * object is neither, or if the dump does not say where. */
#define GRAPH_STARTED_BYTES 600
bool graph_started(char name[GRAPH_STARTED_BYTES], const struct graph *graph, uint32_t object);

/* Writes the first bytes of a text that may have an absolute path in it, at its beginning or
 * behind a space: "worker.rb:12, sleeps", "job in Job#run at job.rb:3". The path is as short as
 * report_short_path has it. */
void graph_put_place(FILE *out, const struct graph *graph, const char *text, size_t length);

/* The name of the class; without a class, the type: "Hash", "T_IMEMO(iseq)". */
const char *graph_class_name(const struct graph *graph, uint32_t object);

/* "@items", "[7]", "[:name]", "global $cart". If merged, without the part that differs from
 * element to element: "[]". */
void graph_put_label(FILE *out, const struct graph *graph, uint32_t label, bool merged);

/* The name in a label: "items" is that of @items' string; "" if the label has none. */
const char *graph_label_name(const struct graph *graph, uint32_t label);

/* Labels of one kind, and how their names begin: "methods show_* (2,000)", "[:sentry_*] (650)";
 * "650 constants" if each begins differently. */
void graph_put_siblings(FILE *out, const struct graph *graph, uint32_t label, uint32_t count,
                        uint32_t prefix);

/* The path to an object: "constant Cart::CACHE -> @items -> [7]". It begins at the last named
 * class or module on the path, because how a class is reached is no news. Returns false if
 * there is no memory. */
bool graph_put_way(FILE *out, const struct graph *graph, const struct graph_tree *tree,
                   uint32_t object, bool merged);

/* The named class or module at which that path begins; 0 if it begins at a root. */
uint32_t graph_way_start(const struct graph *graph, const struct graph_tree *tree, uint32_t object);

/* What people would call the beginning of that path: "Cart::CACHE", "$cart", "local log", "Thread
 * main". Returns false if there is no memory. */
bool graph_put_start(FILE *out, const struct graph *graph,
                     const struct graph_tree *tree,
                     uint32_t object);

#endif
